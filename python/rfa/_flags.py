"""Keyword arguments as flags of a command, checked against the flags that it has before a process starts."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeAlias, cast

from ._errors import ArgumentTypeError, UsageError
from ._program import package_root

#: What a flag takes: a switch, a word, a number, several of them, or values by name.
FlagValue: TypeAlias = (
    bool | str | int | float | os.PathLike[str] | Iterable[str | int | float] | Mapping[str, Any] | None
)

#: What this package sets itself, or a notebook cannot show.
_RESERVED = {
    "json": "results are returned",
    "quiet": "use progress=False",
    "details": "use Run.html()",
    "plot": "use Run.html()",
    "dry_run": "use rfa ... --dry-run in a terminal",
    "help": "use help(rfa)",
    "fail_on": "compare what is returned",
    "strict": "compare what is returned",
}


@cache
def flags_of(command: str) -> dict[str, dict[str, Any]]:
    """The flags of a command by their names, as the program's manifest has them."""
    manifest = json.loads((package_root() / "oclif.manifest.json").read_text(encoding="utf-8"))
    return manifest["commands"][command]["flags"]


def to_argv(command: str, values: Mapping[str, FlagValue]) -> list[str]:
    """The command line of keyword arguments; those that are `None` are left out.

    Raises:
        ArgumentTypeError: for an argument that the command does not have, or of a type that its flag does not take.
        UsageError: for a word that is not among those of its flag.
    """
    return [word for name, value in values.items() if value is not None for word in _words(command, name, value)]


def _words(command: str, name: str, value: FlagValue) -> list[str]:
    flag = _flag(command, name)
    option = f"--{name.replace('_', '-')}"
    if flag["type"] == "boolean":
        return _switch(name, value, option, bool(flag.get("allowNo")))
    if isinstance(value, bool):
        raise ArgumentTypeError(f"{name}: expected a value, got {value!r}")
    if isinstance(value, Mapping):
        if name != "option":
            raise ArgumentTypeError(f"{name}: expected a value or a list, got a dict")
        named = cast("Mapping[str, Any]", value)
        return [f"{option}={key}={_listed(name, each)}" for key, each in named.items()]
    several = _several(value)
    if several is not None and not flag.get("multiple"):
        raise ArgumentTypeError(f"{name}: expected one value, got {value!r}")
    if several == []:
        raise UsageError(f"{name}: expected at least one value, got none")
    choices = flag.get("options")
    if choices and value not in choices:
        raise UsageError(f"{name}: expected one of {', '.join(choices)}, got {value!r}", _guess(str(value), choices))
    if several is not None and not flag.get("delimiter"):
        return [f"{option}={_text(name, each)}" for each in several]
    # one word: a value may begin as a flag does
    return [f"{option}={_listed(name, value)}"]


def _switch(name: str, value: FlagValue, option: str, takes_no: bool) -> list[str]:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name}: expected True or False, got {value!r}")
    if value:
        return [option]
    return [f"--no-{option[2:]}"] if takes_no else []


def _flag(command: str, name: str) -> dict[str, Any]:
    if name in _RESERVED:
        raise ArgumentTypeError(f"{command}: expected arguments without {name}", [_RESERVED[name]])
    flags = {flag.replace("-", "_"): facts for flag, facts in flags_of(command).items()}
    if name not in flags:
        raise ArgumentTypeError(
            f"{command}: expected an argument of rfa {command}, got {name}",
            [*_guess(name, flags), f"rfa {command} --help lists them"],
        )
    return flags[name]


def _guess(name: str, names: Iterable[str]) -> list[str]:
    return [f"did you mean {match}?" for match in difflib.get_close_matches(name, list(names), 1)]


def _several(value: Any) -> list[Any] | None:
    """The values of a list, tuple, range or array; `None` for one value."""
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return None
    return list(cast("Iterable[Any]", value))


def _listed(name: str, value: Any) -> str:
    several = _several(value)
    return ",".join(_text(name, each) for each in ([value] if several is None else several))


def _text(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        path = os.fspath(cast("os.PathLike[str]", value))
        return path.replace(",", "\\,") if name == "input" else path
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Real):  # of NumPy, too
        return repr(int(value) if isinstance(value, Integral) else float(value))
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name}: expected text or a number, got {type(value).__name__}")
    if value.strip() == "":
        raise UsageError(f"{name}: expected a value, got {value!r}")
    return value
