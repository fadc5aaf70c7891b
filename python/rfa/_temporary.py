"""A folder for arrays that nobody else may find later."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":  # where a folder in use cannot be told from another one
    import fcntl

_PREFIX = "rfa-arrays-"
#: Seconds in which a new folder is sure to be locked.
_NEW = 60


@contextmanager
def temporary_folder() -> Generator[Path, None, None]:
    """A folder that goes with this process, or with the next call where all processes were killed at once."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / "lock").open("w") as lock:
            if sys.platform != "win32":
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder


def _sweep() -> None:
    """Removes folders of processes that are gone: nobody locks them."""
    if sys.platform == "win32":
        return
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/lock"):
        try:
            if time.time() - lock.stat().st_mtime < _NEW:
                continue
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:  # in use, or of another user
            continue
