"""``python -m headwater_cli``: the ``headwater`` command where its script is not on the path."""

from .main import main

main()
