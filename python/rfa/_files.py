"""Files that are read whole: a pipe or a device may have no end."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path


def read_bytes(place: Path) -> bytes:
    """
    Raises:
        OSError: for what is no regular file, too.
    """
    with open(place, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no regular file", str(place))
        return file.read()


def read_text(place: Path) -> str:
    """The same as text, with "\\n" at the end of each line."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(place)), encoding="utf-8").read()


def _at_once(path: str, flags: int) -> int:
    """Does not wait for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
