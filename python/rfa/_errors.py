"""Errors of the package: what was expected, what came, and what to try."""

from __future__ import annotations

from collections.abc import Sequence


class Error(Exception):
    """Anything that rfa refuses or cannot do.

    Attributes:
        code: a stable name of the kind of error, e.g. `SHAPE_MISMATCH`.
        message: what was expected, and what came.
        suggestions: what to try.
    """

    def __init__(self, message: str, suggestions: Sequence[str] = (), code: str = "INTERNAL") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestions = list(suggestions)

    def __str__(self) -> str:
        tries = f" (try: {'; '.join(self.suggestions)})" if self.suggestions else ""
        return f"{self.message}{tries} [{self.code}]"


class UsageError(Error, ValueError):
    """An argument, or a combination of them, that cannot be."""

    def __init__(self, message: str, suggestions: Sequence[str] = (), code: str = "USAGE") -> None:
        super().__init__(message, suggestions, code)


class ArgumentTypeError(Error, TypeError):
    """An argument of another type, or one that there is not."""

    def __init__(self, message: str, suggestions: Sequence[str] = (), code: str = "USAGE") -> None:
        super().__init__(message, suggestions, code)


class InputError(Error, ValueError):
    """Arrays or files that cannot be used."""

    def __init__(self, message: str, suggestions: Sequence[str] = (), code: str = "BAD_FILE") -> None:
        super().__init__(message, suggestions, code)


class RunError(Error, RuntimeError):
    """Cells that failed, or a check that did."""


class ProgramMissingError(Error, RuntimeError):
    """The program, or the Node.js that runs it, is not there."""

    def __init__(self, message: str, suggestions: Sequence[str] = (), code: str = "BACKEND_MISSING") -> None:
        super().__init__(message, suggestions, code)


#: Classes by the exit codes of the program.
_OF_EXIT: dict[int, type[Error]] = {2: UsageError, 3: InputError, 1: RunError, 4: RunError}


def error_of(code: str, message: str, suggestions: Sequence[str], exit_code: int) -> Error:
    """The error that a JSON document of the program describes."""
    return _OF_EXIT.get(exit_code, Error)(message, suggestions, code)
