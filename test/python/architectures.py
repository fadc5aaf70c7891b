"""Softmax in place of softmax, in every architecture of Transformers that can be made small: the same numbers, or a refusal.

Prints a line of JSON for each: python architectures.py [PROCESSES [MODEL_TYPE ...]]
"""

import copy
import json
import logging
import multiprocessing
import pathlib
import sys
import warnings
from collections import Counter
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import rfa  # noqa: E402
import rfa.torch  # noqa: E402
from tiny_models import BATCH, TOKENS, architectures, inputs_of, tiny  # noqa: E402

transformers.logging.set_verbosity_error()
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
torch.set_num_threads(1)
#: Of the size of the output: both are computed in float32, and a model has a few layers of a few dozen entries.
TOLERANCE = 1e-5
Inputs = dict[str, Tensor]


class Failure(Exception):
    """What is neither the same nor refused."""


def first(out: Any) -> Tensor:
    """The first tensor of floats in an output."""
    for value in out.values() if hasattr(out, "values") else out if isinstance(out, (list, tuple)) else [out]:
        if isinstance(value, Tensor) and value.is_floating_point():
            return value
        if isinstance(value, (list, tuple)) or hasattr(value, "values"):
            return first(value)
    raise TypeError("an output without a tensor")


def run(model: nn.Module, inputs: Inputs) -> Tensor:
    torch.manual_seed(0)  # some draw noise
    with torch.no_grad():
        out = first(model(**inputs))
    if not bool(out.isfinite().all()):
        raise ValueError("an output that is not finite")
    return out


def made(kind: str, name: str) -> tuple[nn.Module, Inputs] | str:
    """A model that runs, or why there is none."""
    why = "no inputs"
    for _recipe, model in tiny(kind, name):
        if isinstance(model, Exception):
            why = f"{type(model).__name__}: {model}"
            continue
        for inputs in inputs_of(model):
            try:
                run(model, inputs)
            except Exception as error:  # a recipe for all of them fits some
                why = f"{type(error).__name__}: {error}"
                continue
            return model, inputs
    return why


def cases(model: nn.Module, inputs: Inputs) -> list[tuple[str, Inputs, Tensor, Any]]:
    """Inputs with what eager attention gives, and where it counts: whole texts, and padded on either side."""
    found: list[tuple[str, Inputs, Tensor, Any]] = [("whole", inputs, run(model, inputs), ...)]
    if set(inputs) - {"decoder_input_ids"} != {"input_ids"}:
        return found
    other = copy.deepcopy(model)
    other.set_attn_implementation("sdpa") if other._supports_sdpa else None
    for side in ("left", "right"):
        mask = torch.ones(BATCH, TOKENS, dtype=torch.long)
        mask[1, slice(0, 4) if side == "left" else slice(8, None)] = 0
        padded = {**inputs, "attention_mask": mask}
        try:
            out = run(model, padded)
            real = mask.bool() if out.shape[:2] == mask.shape and "decoder_input_ids" not in inputs else ...
            # padding that reaches tokens by another way than attention is nobody's business here
            if distance(run(other, padded), out, real) <= TOLERANCE:
                found.append((side, padded, out, real))
        except Exception:
            continue
    return found


def distance(a: Tensor, b: Tensor, real: Any) -> float:
    a, b = a[real].double(), b[real].double()
    return float((a - b).norm() / b.norm())


class Own(TorchFunctionMode):
    """Counts softmax over heads and keys: attention that a model still computes by itself."""

    count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        softmax = func in (torch.softmax, Tensor.softmax, F.softmax) and args and args[0].dim() == 4
        self.count += bool(softmax or func is F.scaled_dot_product_attention)
        return func(*args, **(kwargs or {}))


def exchanged(model: nn.Module, method: str) -> nn.Module:
    return rfa.torch.use(copy.deepcopy(model), method)


def compare(model: nn.Module, inputs: Inputs) -> dict[str, Any]:
    """Raises rfa.Error for a refusal, and Failure."""
    tried = cases(model, inputs)
    softmax = exchanged(model, "softmax")
    worst = 0.0
    for name, given, wanted, real in tried:
        off = distance(run(softmax, given), wanted, real)
        if not off <= TOLERANCE:
            raise Failure(f"{name}: softmax is {off:.1e} off")
        worst = max(worst, off)
    other = exchanged(model, "elu")
    with Own() as own:
        if torch.equal(run(other, inputs), tried[0][2]):
            raise Failure("nothing was exchanged")
    if own.count:
        raise Failure(f"{own.count} attentions were not exchanged")
    return {"cases": [name for name, *_ in tried], "off": worst}


def outcome(architecture: tuple[str, str]) -> dict[str, Any]:
    kind, name = architecture
    about = {"kind": kind, "class": name}
    try:
        found = made(kind, name)
    except Exception as error:  # a package that is missing
        found = f"{type(error).__name__}: {error}"
    if isinstance(found, str):
        return {**about, "outcome": "not made", "why": found.strip()[:200]}
    try:
        return {**about, "outcome": "identical", **compare(*found)}
    except rfa.Error as error:
        return {**about, "outcome": "refused", "why": str(error)}
    except Failure as error:
        return {**about, "outcome": "failed", "why": str(error)}
    except Exception as error:
        return {**about, "outcome": "failed", "why": f"{type(error).__name__}: {error}"[:300]}


if __name__ == "__main__":
    processes, chosen = int((sys.argv[1:] or ["1"])[0]), sys.argv[2:]
    tasks = [(kind, name) for kind, name in architectures() if not chosen or kind in chosen]
    counts: Counter[str] = Counter()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for found in pool.imap_unordered(outcome, tasks):
            counts[found["outcome"]] += 1
            print(json.dumps(found), flush=True)
    print(dict(counts), file=sys.stderr)
