"""The experiments as functions: arrays in, a run out."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ._arrays import attention_arrays, write
from ._errors import ArgumentTypeError, UsageError
from ._flags import FlagValue, to_argv
from ._process import run_json, run_text
from ._run import Advice, Comparison, Place, Run, read
from ._temporary import temporary_folder

#: One value or several.
T = TypeVar("T")
Several: TypeAlias = T | Sequence[T]


class CellsFailedWarning(UserWarning):
    """Some cells of a run failed or were skipped; the others are in its table."""


def error_sweep(
    q: Any = None,
    k: Any = None,
    v: Any = None,
    *,
    key_mask: Any = None,
    methods: Several[str] | None = None,
    num_features: Several[int | str] | None = None,
    projections: Several[str] | None = None,
    causal: bool | None = None,
    scale: float | None = None,
    layout: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    input: Several[Place] | None = None,
    output: Place | None = None,
    progress: bool = True,
    **flags: FlagValue,
) -> Run:
    """Measures how far each method is from exact attention on these queries, keys and values.

    Args:
        q: [batch, heads, length, head_dim], before the logit scale 1/sqrt(head_dim). Without arrays and `input`, a
            layer of a pretrained sentence encoder is taken.
        k: [batch, kv_heads, keys, head_dim]; kv_heads divides heads.
        v: [batch, kv_heads, keys, value_dim].
        key_mask: [batch, keys], true for keys that take part.
        methods: names; `rfa methods` lists them.
        num_features: numbers of random vectors M, or ranges such as "64..1kx4".
        projections: random matrices, e.g. "iid" and "orth".
        causal: query i sees keys 0..i only.
        scale: the factor on q.k. Default: 1/sqrt(head_dim).
        layout: "blhd" where arrays are [batch, length, heads, head_dim].
        replicates: independent draws of each cell.
        seed: of every random draw.
        quick: fewer cells and draws.
        input: a file, or several, in place of arrays.
        output: folder of the run. Default: a new one in `results`.
        progress: shows progress and notes on stderr.
        **flags: any other flag of `rfa error-sweep`, with underscores; `option={"tau": 0.5}` for options of methods.

    Raises:
        ArgumentTypeError: before anything runs, for arguments of other types and for names that there are not.
        UsageError: for values that cannot be.
        InputError: for arrays and files that cannot be used.
    """
    given = {
        "methods": methods,
        "num_features": num_features,
        "projections": projections,
        "causal": causal,
        "scale": scale,
        "layout": layout,
        "replicates": replicates,
        "seed": seed,
        "quick": quick,
        "input": input,
        "output": output,
        **flags,
    }
    return _measure("error-sweep", (q, k, v), key_mask, given, progress)


def variance(
    q: Any = None,
    k: Any = None,
    *,
    methods: Several[str] | None = None,
    num_features: Several[int | str] | None = None,
    projections: Several[str] | None = None,
    norms: Several[float | str] | None = None,
    angles: Several[float | str] | None = None,
    pairs: int | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    input: Several[Place] | None = None,
    output: Place | None = None,
    progress: bool = True,
    **flags: FlagValue,
) -> Run:
    """Measures bias and variance of kernel estimates, of pairs of q and k or of chosen norms and angles.

    Args:
        q: [batch, heads, length, head_dim]; without arrays, `norms` and `angles` say which vectors are taken.
        k: [batch, kv_heads, keys, head_dim].
        methods: names of feature maps.
        num_features: numbers of random vectors M.
        projections: random matrices.
        norms: lengths of q and k, divided by head_dim^(1/4).
        angles: between them, in degrees.
        pairs: how many pairs of the arrays are taken.
        replicates: independent draws of each cell.
        seed: of every random draw.
        quick: fewer cells and draws.
        input: a file, or several, in place of arrays.
        output: folder of the run. Default: a new one in `results`.
        progress: shows progress and notes on stderr.
        **flags: any other flag of `rfa variance`, with underscores.
    """
    given = {
        "methods": methods,
        "num_features": num_features,
        "projections": projections,
        "norms": norms,
        "angles": angles,
        "pairs": pairs,
        "replicates": replicates,
        "seed": seed,
        "quick": quick,
        "input": input,
        "output": output,
        **flags,
    }
    # the file has values too, which pairs do not need
    return _measure("variance", (q, k, k), None, given, progress)


def bench(
    q: Any = None,
    k: Any = None,
    v: Any = None,
    *,
    methods: Several[str] | None = None,
    num_features: Several[int | str] | None = None,
    seq_len: Several[int | str] | None = None,
    causal: bool | None = None,
    mode: str | None = None,
    threads: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    input: Several[Place] | None = None,
    output: Place | None = None,
    progress: bool = True,
    **flags: FlagValue,
) -> Run:
    """Measures how long each method takes on this machine, on these arrays or on generated ones.

    Args:
        q: [batch, heads, length, head_dim]; without arrays, sizes are `seq_len`, `heads`, `head_dim` and `batch`.
        k: [batch, kv_heads, keys, head_dim].
        v: [batch, kv_heads, keys, value_dim].
        methods: names.
        num_features: numbers of random vectors M.
        seq_len: lengths L, or ranges such as "256..4kx2".
        causal: query i sees keys 0..i only.
        mode: "forward", "decode", "layer" or "model"; `model="DIR"` times a whole pretrained model.
        threads: of each call.
        seed: of every random draw.
        quick: fewer cells and runs.
        input: a file, or several, in place of arrays.
        output: folder of the run. Default: a new one in `results`.
        progress: shows progress and notes on stderr.
        **flags: any other flag of `rfa bench`, with underscores; `peers="torch"` times PyTorch, too.
    """
    given = {
        "methods": methods,
        "num_features": num_features,
        "seq_len": seq_len,
        "causal": causal,
        "mode": mode,
        "threads": threads,
        "seed": seed,
        "quick": quick,
        "input": input,
        "output": output,
        **flags,
    }
    return _measure("bench", (q, k, v), None, given, progress)


def advise(
    q: Any = None,
    k: Any = None,
    v: Any = None,
    *,
    key_mask: Any = None,
    seq_len: int | None = None,
    tolerance: float | str | None = None,
    methods: Several[str] | None = None,
    causal: bool | None = None,
    scale: float | None = None,
    seed: int | None = None,
    quick: bool = False,
    input: Several[Place] | None = None,
    model: Place | None = None,
    output: Place | None = None,
    progress: bool = True,
    **flags: FlagValue,
) -> Advice:
    """Says whether this attention should be replaced, and by what.

    Args:
        q: [batch, heads, length, head_dim].
        k: [batch, kv_heads, keys, head_dim].
        v: [batch, kv_heads, keys, value_dim].
        key_mask: [batch, keys], true for keys that take part.
        seq_len: length to advise for. Default: that of the arrays.
        tolerance: largest error that is accepted, 0.05 or "5%".
        methods: candidates.
        causal: query i sees keys 0..i only.
        scale: the factor on q.k. Default: 1/sqrt(head_dim).
        seed: of every random draw.
        quick: fewer candidates and runs.
        input: a file, or several, in place of arrays.
        model: a folder of Hugging Face, for advice on a whole model.
        output: folder of the runs. Default: a new one in `results`.
        progress: shows progress and notes on stderr.
        **flags: any other flag of `rfa advise`, with underscores.
    """
    given = {
        "seq_len": seq_len,
        "tolerance": tolerance,
        "methods": methods,
        "causal": causal,
        "scale": scale,
        "seed": seed,
        "quick": quick,
        "input": input,
        "model": model,
        "output": output,
        **flags,
    }
    run = _measure("advise", (q, k, v), key_mask, given, progress)
    return Advice(run.path, run.document)


def swap(
    *,
    model: Place | None = None,
    texts: Place | None = None,
    methods: Several[str] | None = None,
    num_features: Several[int | str] | None = None,
    layers: str | None = None,
    budget: float | str | None = None,
    seed: int | None = None,
    quick: bool = False,
    output: Place | None = None,
    progress: bool = True,
    **flags: FlagValue,
) -> Run:
    """Measures what a pretrained model loses with another attention.

    Args:
        model: a folder of Hugging Face. Default: a small model of the package.
        texts: a file or a folder of texts.
        methods: names.
        num_features: numbers of random vectors M.
        layers: "all", "each", "first:2", "last:2" or numbers.
        budget: largest loss, for the largest set of layers within it.
        seed: of every random draw.
        quick: fewer cells and texts.
        output: folder of the run. Default: a new one in `results`.
        progress: shows progress and notes on stderr.
        **flags: any other flag of `rfa swap`, with underscores.
    """
    given = {
        "model": model,
        "texts": texts,
        "methods": methods,
        "num_features": num_features,
        "layers": layers,
        "budget": budget,
        "seed": seed,
        "quick": quick,
        "output": output,
        **flags,
    }
    return _measure("swap", (None, None, None), None, given, progress)


def compare(a: Run | Place, b: Run | Place | None = None, *, methods: Sequence[str] | None = None) -> Comparison:
    """What run `b` has over run `a`, or one method of a run over another.

    Args:
        a: the base.
        b: the other run.
        methods: two names, in place of `b`.
    """
    if (b is None) == (methods is None):
        raise UsageError("compare: expected either a second run or two methods", ["compare(run, methods=['a', 'b'])"])
    if methods is not None and (isinstance(methods, str) or len(methods) != 2):
        raise UsageError(f"methods: expected two names, got {methods!r}")
    folders = [run if isinstance(run, Run) else read(run) for run in (a, b) if run is not None]
    chosen = [] if methods is None else ["--methods", ",".join(methods)]
    argv = ["compare", *(str(run.path) for run in folders), *chosen]
    return Comparison(run_json(argv, progress=False), run_text(argv))


def _measure(
    command: str,
    arrays: tuple[Any, Any, Any],
    key_mask: Any,
    given: dict[str, Any],
    progress: object,
) -> Run:
    """Runs a command on arrays, or on what its flags name."""
    if not isinstance(progress, bool):
        raise ArgumentTypeError(f"progress: expected True or False, got {progress!r}")
    values = {name: value for name, value in given.items() if value is not None}
    with _file_of(command, arrays, key_mask, values) as file:
        argv = to_argv(command, {**values, **({"input": str(file)} if file else {})})
        document = run_json([command, *argv], progress, file.parent if file else None)
    counts = document.get("counts") or document.get("summary", {}).get("counts", {})
    if counts.get("failed"):
        warnings.warn(
            f"{counts['failed']} of {counts['total']} cells failed: see the column status of the table",
            CellsFailedWarning,
            stacklevel=3,
        )
    return Run(document["directory"], document)


@contextmanager
def _file_of(
    command: str, arrays: tuple[Any, Any, Any], key_mask: Any, values: dict[str, Any]
) -> Generator[Path | None, None, None]:
    """A file with the arrays, for as long as the command runs; `None` where there are no arrays."""
    missing = [name for name, array in zip("qkv", arrays, strict=True) if array is None]
    if len(missing) == 3:
        if key_mask is not None:
            raise UsageError("key_mask: expected q, k and v with it, got none")
        yield None
        return
    if missing:
        raise UsageError(f"{command}: expected q, k and v, got no {' and no '.join(missing)}")
    if "input" in values or "generator" in values:
        raise UsageError(f"{command}: expected either arrays or input, got both")
    found = attention_arrays(*arrays, key_mask, values.get("layout") == "blhd")
    with temporary_folder() as folder:
        file = folder / "arrays.safetensors"
        write(file, found, {"origin": "arrays of Python"})
        yield file
