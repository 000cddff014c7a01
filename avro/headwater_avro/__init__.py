"""The wire of headwater: event model, codecs, canonical JSON, names and errors.

A leaf: it imports nothing else of headwater, and does no I/O.
"""
