"""Attention of this project as modules of PyTorch, with the same random vectors as the program for the same seed."""

from ._attention import Attention
from ._features import METHODS
from ._forms import State

__all__ = ["METHODS", "Attention", "State"]
