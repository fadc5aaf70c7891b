"""Which architectures `rfa swap --engine transformers` runs: python engine_architectures.py PROCESSES [KIND ...]

Makes each small, stores it, and opens it as the engine does, on texts, and on arrays where it reads no texts. Prints a line
of JSON for each: "ran", with what softmax in place of softmax and elu change, "refused" or "failed" with why, or "not made".
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

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import transformers_engine
from tiny_models import VOCABULARY, architectures, inputs_of, tiny

import rfa

LENGTHS = [12, 8]
CPU = torch.device("cpu")
Numbers = dict[str, float]


def stored(kind: str, name: str, folder: str) -> nn.Module | str:
    """Stores a small model with a tokenizer of words. Returns it, or why there is none."""
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
        return model
    return why


def on_texts(folder: str) -> Numbers:
    """Raises rfa.Error for a model that does not read texts."""
    model = transformers_engine.Model(folder, CPU)
    texts = [" ".join(f"w{3 + (7 * place + 5 * row) % 90}" for place in range(length)) for row, length in enumerate(LENGTHS)]
    rows = model.tokenize(texts, 64)["rows"]
    if [len(row) for row in rows] != LENGTHS:
        # some kinds have tokenizers of their own, which make nothing of words
        rows = [[3 + (7 * place + 5 * row) % 90 for place in range(length)] for row, length in enumerate(LENGTHS)]
    model.check(max(LENGTHS))
    ids = torch.tensor([row + [0] * (max(LENGTHS) - len(row)) for row in rows], dtype=torch.int32)
    return numbers(model, {"lengths": LENGTHS}, bytearray(ids.numpy().tobytes()))


def on_arrays(folder: str, own: nn.Module) -> Numbers:
    """By the first arrays that the model as it was made takes.

    Raises:
        rfa.Error: for a model that takes none of them.
    """
    refused: rfa.Error | None = None
    path = f"{folder}/inputs.npz"
    for arrays in inputs_of(own):
        np.savez(path, **{name: tensor.numpy() for name, tensor in arrays.items()})
        try:
            model = transformers_engine.Model(folder, CPU, path)
            lengths = model.lengths(2)["lengths"]
        except rfa.Error as error:
            refused = error
            continue
        return numbers(model, {"lengths": lengths, "items": list(range(len(lengths)))}, bytearray())
    raise refused or rfa.UsageError("expected arrays, got none")


def numbers(model: transformers_engine.Model, request: dict[str, Any], sent: bytearray) -> Numbers:
    """What the methods change: relative distances of hidden states, and of a causal model nats of a token."""
    lengths = request["lengths"]
    squares = model.original({"batch": 0, **request}, sent)[0]
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
            found[f"{name}_nats"] = float((after - before).sum() / (sum(lengths) - len(lengths)))
            found[f"{name}_kl"] = float(kl.sum() / (sum(lengths) - len(lengths)))
    return found


def outcome(architecture: tuple[str, str]) -> dict[str, Any]:
    kind, name = architecture
    about = {"kind": kind, "class": name}
    with tempfile.TemporaryDirectory() as folder:
        try:
            own = stored(kind, name, folder)
        except Exception as error:  # a package that is missing
            own = f"{type(error).__name__}: {error}"
        if isinstance(own, str):
            return {**about, "outcome": "not made", "why": own.strip()[:200]}
        try:
            with torch.inference_mode():
                return ran(about, own, folder)
        except rfa.Error as error:
            return {**about, "outcome": "refused", "why": error.message}
        except Exception as error:
            return {**about, "outcome": "failed", "why": f"{type(error).__name__}: {error}"[:300]}


def ran(about: dict[str, str], own: nn.Module, folder: str) -> dict[str, Any]:
    try:
        return {**about, "outcome": "ran", "reads": "texts", **on_texts(folder)}
    except rfa.Error as error:
        if transformers_engine.ARRAYS not in error.suggestions:
            raise
        try:
            return {**about, "outcome": "ran", "reads": "arrays", **on_arrays(folder, own)}
        except rfa.Error as other:
            return {**about, "outcome": "refused", "why": other.message, "texts": error.message}


def of_two(kind: str) -> bool:
    """Whether it is an encoder with a decoder."""
    return bool(getattr(CONFIG_MAPPING[kind], "is_encoder_decoder", False))


def kinds(chosen: list[str]) -> list[tuple[str, str]]:
    """Decoders with their heads."""
    found = []
    for kind, name in architectures():
        head = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
        decoder = head is not None and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not of_two(kind)
        if not chosen or kind in chosen:
            found.append((kind, head if decoder and isinstance(head, str) else name))
    return found


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    transformers_engine.facts(1, CPU)
    processes = int((sys.argv[1:] or ["1"])[0])
    counts: Counter[str] = Counter()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for found in pool.imap_unordered(outcome, kinds(sys.argv[2:])):
            counts[found["outcome"]] += 1
            print(json.dumps(found), flush=True)
    print(dict(counts), file=sys.stderr)
