"""`python -m rfa`, the same as the command `rfa`."""

from ._program import main

main()
