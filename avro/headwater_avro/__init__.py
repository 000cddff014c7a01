"""Wire formats of headwater: event model, codecs, canonical JSON, names and errors.

The package imports no other package of headwater; only ``registry`` does I/O.
"""
