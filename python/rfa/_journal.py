"""Journals: records in lines, each with a checksum of its bytes, as `rfa` writes them."""

from __future__ import annotations

import json
import zlib
from typing import Any

from ._errors import InputError

#: In front of the checksum, eight hexadecimal digits; behind it the line ends with a quote and a brace.
_FIELD = b',"crc32":"'
_ENDING = len(_FIELD) + 8 + 2


def newest(journal: bytes, where: str, checked: bool) -> list[dict[str, Any]]:
    """The records of a journal; of a cell that ran again the newest.

    Args:
        journal: its bytes. What stands behind the last newline is of a cell that has not ended.
        where: its path.
        checked: whether each line must have a checksum; else those behind the first that has one.

    Raises:
        InputError: for a line that is not as it was written.
    """
    found: dict[str, dict[str, Any]] = {}
    lines = journal.split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        place = f"{where}:{number}"
        has = line[-_ENDING:].startswith(_FIELD)
        if not has and not checked and number == len(lines) and not _is_json(line):
            break  # what a power cut leaves of the line that was being written
        if not has and checked:
            raise _damaged(place, "a record that ends with its checksum")
        checked = checked or has
        if has and line[-_ENDING:] != _FIELD + b'%08x"}' % zlib.crc32(line[:-_ENDING]):
            raise _damaged(place, "a record with the checksum of its bytes")
        record = parsed(line, place)
        if not isinstance(record.get("key"), str):
            raise _damaged(place, "a record with a key")
        if _is_whole(record) or not _is_whole(found.get(record["key"], {})):
            found[record["key"]] = record
    return list(found.values())


def _is_whole(record: dict[str, Any]) -> bool:
    """Whether a record stands for its cell: those that failed or were interrupted run again."""
    status = record.get("status")
    return status == "skipped" or (status == "completed" and not record.get("interrupted"))


def parsed(text: bytes, where: str) -> dict[str, Any]:
    """An object that is stored as JSON.

    Raises:
        InputError: for anything else.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(where, "an object as JSON", type(error).__name__) from None
    if not isinstance(value, dict):
        raise _damaged(where, "an object as JSON", type(value).__name__)
    return value


def _is_json(line: bytes) -> bool:
    try:
        parsed(line, "")
    except InputError:
        return False
    return True


def _damaged(where: str, expected: str, got: str = "another line") -> InputError:
    tries = ["restore the file from a copy", "repeat the command of the run with --resume"]
    return InputError(f"{where}: expected {expected}, got {got}", tries)
