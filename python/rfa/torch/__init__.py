"""Attention of this project as modules of PyTorch, with the same random vectors as the program for the same seed."""

try:
    import numpy as _numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import torch as _torch  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as error:
    raise ImportError(f"rfa.torch: expected PyTorch and NumPy, got {error}; try: pip install torch numpy") from error

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..export import export
from ._attention import Attention
from ._distil import Distilled, distil
from ._features import METHODS
from ._forms import State
from ._saved import load, save
from ._swap import swap
from ._transformers import register, use
from ._tuned import load_tuned

if _TYPE_CHECKING:
    from ._state_cache import StateCache as StateCache

__all__ = [
    "METHODS",
    "Attention",
    "Distilled",
    "State",
    "distil",
    "export",
    "load",
    "load_tuned",
    "register",
    "save",
    "swap",
    "use",
]


def __getattr__(name: str) -> object:
    """What needs Transformers, which is loaded only then."""
    if name != "StateCache":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._state_cache import StateCache as StateCache

    return StateCache
