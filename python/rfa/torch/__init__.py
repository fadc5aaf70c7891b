"""Attention of this project as modules of PyTorch, with the same random vectors as the program for the same seed."""

try:
    import numpy as _numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import torch as _torch  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as error:
    raise ImportError(f"rfa.torch: expected PyTorch and NumPy, got {error}; try: pip install torch numpy") from error

from ..export import export
from ._attention import Attention
from ._features import METHODS
from ._forms import State
from ._swap import swap
from ._transformers import register, use
from ._tuned import load_tuned

__all__ = ["METHODS", "Attention", "State", "export", "load_tuned", "register", "swap", "use"]
