"""Measures what random-feature attention gets wrong and what it costs, on your own queries, keys and values."""

from ._errors import ArgumentTypeError, Error, InputError, ProgramMissingError, RunError, UsageError

__all__ = ["ArgumentTypeError", "Error", "InputError", "ProgramMissingError", "RunError", "UsageError"]
__version__ = "0.2.0"
