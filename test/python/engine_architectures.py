"""Which architectures `rfa swap --engine transformers` runs: python engine_architectures.py PROCESSES [KIND ...]

Makes each small, stores it, and opens it as the engine does. Prints a line of JSON for each: "ran", with what softmax in
place of softmax and elu change, "refused" or "failed" with why, or "not made".
"""

import json
import logging
import multiprocessing
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import transformers_engine
from tiny_models import VOCABULARY, architectures, tiny

import rfa

LENGTHS = [12, 8]
Numbers = dict[str, float]


class Failure(Exception):
    """What is neither refused nor right."""


def stored(kind: str, name: str, folder: str) -> str | None:
    """Stores a small model with a tokenizer of words. Returns why there is none."""
    why = "no recipe"
    for _recipe, model in tiny(kind, name):
        if isinstance(model, Exception):
            why = f"{type(model).__name__}: {model}"
            continue
        try:
            model.save_pretrained(folder)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            continue
        words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(VOCABULARY)}, unk_token="w0"))
        words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
        return None
    return why


def run(folder: str) -> Numbers:
    """What the methods change: relative distances of hidden states, and of a causal model nats of a token."""
    model = transformers_engine.Model(folder)
    texts = [" ".join(f"w{3 + (7 * place + 5 * row) % 90}" for place in range(length)) for row, length in enumerate(LENGTHS)]
    rows = model.tokenize(texts, 64)["rows"]
    if [len(row) for row in rows] != LENGTHS:
        raise Failure(f"rows of {[len(row) for row in rows]} tokens")
    model.check(max(LENGTHS))
    ids = torch.tensor([row + [0] * (max(LENGTHS) - len(row)) for row in rows], dtype=torch.int32)
    sent = bytearray(ids.numpy().tobytes())
    squares = model.original({"batch": 0, "lengths": LENGTHS}, sent)[0]
    found: Numbers = {"layers": model.layers, "projections": len(model.projections)}
    present = model.batches[0].present
    for name, factor in (("softmax", 3), ("elu", 1)):
        method = {"name": name, "options": {}, "seed": 0, "factor": factor, "text_by_text": False}
        request = {"batch": 0, "layers": list(range(model.layers)), "draws": 1, "method": method}
        arrays = model.exchanged(request, bytearray())
        off = arrays[model.layers - 1]
        found[name] = float((off[present].sum() / squares[-1][present].sum()).sqrt())
        if model.causal:
            before, after, kl, _top = arrays[-1][0] if arrays[-1].dim() == 4 else arrays[-1]
            found[f"{name}_nats"] = float((after - before).sum() / (sum(LENGTHS) - len(LENGTHS)))
            found[f"{name}_kl"] = float(kl.sum() / (sum(LENGTHS) - len(LENGTHS)))
    return found


def outcome(architecture: tuple[str, str]) -> dict[str, Any]:
    kind, name = architecture
    about = {"kind": kind, "class": name}
    with tempfile.TemporaryDirectory() as folder:
        try:
            why = stored(kind, name, folder)
        except Exception as error:  # a package that is missing
            why = f"{type(error).__name__}: {error}"
        if why is not None:
            return {**about, "outcome": "not made", "why": why.strip()[:200]}
        try:
            with torch.inference_mode():
                return {**about, "outcome": "ran", **run(folder)}
        except rfa.Error as error:
            return {**about, "outcome": "refused", "why": error.message}
        except Exception as error:
            return {**about, "outcome": "failed", "why": f"{type(error).__name__}: {error}"[:300]}


def kinds(chosen: list[str]) -> list[tuple[str, str]]:
    """Decoders with their heads."""
    found = []
    for kind, name in architectures():
        head = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
        decoder = head is not None and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        if not chosen or kind in chosen:
            found.append((kind, head if decoder and isinstance(head, str) else name))
    return found


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    transformers_engine.facts(1)
    processes = int((sys.argv[1:] or ["1"])[0])
    counts: Counter[str] = Counter()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for found in pool.imap_unordered(outcome, kinds(sys.argv[2:])):
            counts[found["outcome"]] += 1
            print(json.dumps(found), flush=True)
    print(dict(counts), file=sys.stderr)
