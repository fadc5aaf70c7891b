"""One process of the program for each call: its document, its progress, its errors."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ._errors import Error, error_of
from ._program import child_environment, command


def run_json(argv: Sequence[str], progress: bool, temporary: Path | None = None) -> dict[str, Any]:
    """Runs a command with `--json` and returns its document.

    Progress and warnings go to `sys.stderr`: in a terminal as the program draws them, elsewhere line by line.

    Args:
        argv: the command and its flags.
        progress: whether it shows progress.
        temporary: a folder that goes with this process, however that ends.

    Raises:
        Error: the error that the program reports; of a run with failed cells the document is returned.
        KeyboardInterrupt: once the program has saved what it has.
    """
    text, exit_code = _run([*argv, "--json", *([] if progress else ["--quiet"])], temporary)
    try:
        document = json.loads(text)
    except ValueError:
        raise Error(f"rfa {argv[0]}: expected a JSON document, got exit code {exit_code}: {text[:200]!r}") from None
    if document.get("schema") == "rfa.error/1":
        error = document["error"]
        raise error_of(error["code"], error["message"], error["suggestions"], error["exit"])
    return document


def run_text(argv: Sequence[str], temporary: Path | None = None) -> str:
    """Runs a command and returns what it prints on stdout; what it says on stderr is in the error."""
    words, env = command(*argv), child_environment(temporary)
    done = subprocess.run(words, capture_output=True, encoding="utf-8", env=env, check=False)
    if done.returncode != 0:
        raise Error(f"rfa {argv[0]}: {done.stderr.strip()}")
    return done.stdout


def _run(argv: Sequence[str], temporary: Path | None) -> tuple[str, int]:
    drawn = _is_terminal(sys.stderr)
    process = subprocess.Popen(
        command(*argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if drawn else subprocess.PIPE,
        encoding="utf-8",
        env=child_environment(temporary),
        # Ctrl-C reaches this process alone, which passes it on once
        start_new_session=True,
    )
    passing = threading.Thread(target=_pass_on, args=(process.stderr,), daemon=True)
    if not drawn:
        passing.start()
    try:
        text, exit_code = _read(process)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        try:
            _read(process)
        except KeyboardInterrupt:
            process.kill()
        raise
    except BaseException:  # what a handler of another signal raises
        process.kill()
        process.wait()
        raise
    if not drawn:
        passing.join()
    return text, exit_code


def _read(process: subprocess.Popen[str]) -> tuple[str, int]:
    """What the program prints, to its end, and its exit code."""
    assert process.stdout is not None
    text = process.stdout.read()
    return text, process.wait()


def _pass_on(lines: IO[str] | None) -> None:
    for line in lines or ():
        print(line, end="", file=sys.stderr, flush=True)


def _is_terminal(stream: Any) -> bool:
    """Whether the program can draw there itself: a notebook's stream is not the process's own."""
    try:
        return stream.isatty() and stream.fileno() == 2
    except (AttributeError, ValueError, io.UnsupportedOperation):
        return False
