"""Measures what random-feature attention gets wrong and what it costs, on your own queries, keys and values.

import numpy as np
import rfa

q, k, v = (np.random.default_rng(i).standard_normal((1, 4, 256, 32)) for i in range(3))
run = rfa.error_sweep(q, k, v, methods=["favor-pos", "elu"], num_features=[64, 256])
print(run)      # the answer; in a notebook with its figure
run.table       # one row for each method, projection and M
"""

from ._commands import CellsFailedWarning, advise, bench, compare, error_sweep, swap, variance
from ._errors import ArgumentTypeError, Error, InputError, ProgramMissingError, RunError, UsageError
from ._run import Advice, Comparison, Run, read

__all__ = [
    "Advice",
    "ArgumentTypeError",
    "CellsFailedWarning",
    "Comparison",
    "Error",
    "InputError",
    "ProgramMissingError",
    "Run",
    "RunError",
    "UsageError",
    "advise",
    "bench",
    "compare",
    "error_sweep",
    "read",
    "swap",
    "variance",
]
__version__ = "0.2.0"
