"""Answers as text, pictures and tables, for the command line, notebooks and agents."""
