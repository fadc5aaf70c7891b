"""What every peer hands to the driver."""

from dataclasses import dataclass, field
from typing import Any, Callable


@dataclass
class Form:
    """A case in one peer's form, ready to be run again and again."""

    run: Callable[[], Any]
    """One pass."""
    arranged: Callable[[Any], Any] = lambda out: out
    """Its output, as a numpy array, to [1, H, L, D]."""
    reset: Callable[[], Any] = lambda: None
    """Puts back what a run changes in place; not timed."""
    departs: dict = field(default_factory=dict)
    """What it computes otherwise than the textbook, in numbers."""
