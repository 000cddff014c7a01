"""The ``headwater`` command: one module per command; ``main`` lists them."""
