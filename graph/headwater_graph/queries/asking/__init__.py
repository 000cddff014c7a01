"""The reading API: every question about the graph as a method, with typed answers."""

from .answers import Details, GraphAnswer, Lineage, Listing
from .connection import connect
from .graph import QUESTIONS, Graph
from .questions import Parameter, Question

__all__ = ["QUESTIONS", "Details", "Graph", "GraphAnswer", "Lineage", "Listing", "Parameter", "Question", "connect"]
