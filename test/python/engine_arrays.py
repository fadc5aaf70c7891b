"""Small models that read arrays, stored in a folder, and what elu does to them by `rfa.torch.use`: python engine_arrays.py FOLDER

Prints a line of JSON: for each model its loss, 1 - cosine of the mean of the last hidden states, and the share of items of
the same class, where it predicts classes; and what the engine says of files that no model reads, and of models that read no
texts.
"""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_models import randomized
from torch import nn
from torch.nn import functional as F
from transformers import (
    CLIPConfig,
    CLIPModel,
    ViTConfig,
    ViTForImageClassification,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import transformers_engine

import rfa.torch

FOLDER = Path(sys.argv[1])
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
IMAGES: dict[str, Any] = {"image_size": 16, "patch_size": 4}
WHISPER: dict[str, Any] = {
    **{f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")},
    **{f"{part}_ffn_dim": 48 for part in ("encoder", "decoder")},
    "d_model": 32, "num_mel_bins": 8, "max_source_positions": 20, "vocab_size": 60,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
ITEMS = 12


def saved(model: nn.Module, name: str, arrays: dict[str, Any]) -> dict[str, torch.Tensor]:
    model.save_pretrained(FOLDER / name)  # pyright: ignore[reportCallIssue]
    np.savez(FOLDER / f"{name}.npz", **arrays)
    return {key: torch.from_numpy(array) for key, array in arrays.items()}


def effects(part: nn.Module, arrays: dict[str, torch.Tensor], whole: nn.Module | None = None) -> dict[str, float]:
    """Args: whole: what predicts classes from the last hidden states of the part."""
    other, predicts = copy.deepcopy((part, whole))
    rfa.torch.use(other, "elu")
    before, after = (each(**arrays).last_hidden_state for each in (part, other))
    found = {"loss": (1 - F.cosine_similarity(before.mean(1), after.mean(1))).mean().item()}
    if whole is not None and predicts is not None:
        rfa.torch.use(predicts, "elu")
        one, two = (each(**arrays).logits.argmax(-1) for each in (whole, predicts))
        found["same_class"] = (one == two).double().mean().item()
    return found


def refused(arrays: np.ndarray) -> None:
    """Files that no model reads."""
    ids = np.ones((3, 5), np.int64)
    np.savez(FOLDER / "uneven.npz", pixel_values=arrays, labels=np.zeros(2))
    np.savez(FOLDER / "unknown.npz", pixel_values=arrays, labels_of_mine=np.zeros(len(arrays)))
    np.savez(FOLDER / "infinite.npz", pixel_values=np.full_like(arrays, np.inf))
    np.savez(FOLDER / "left.npz", input_ids=ids, attention_mask=np.tril(ids)[:, ::-1])
    np.savez(FOLDER / "objects.npz", pixel_values=np.array([{}, {}], dtype=object))
    (FOLDER / "text.npz").write_text("no archive")


def said(name: str, file: str | None) -> str:
    """Why the engine refuses a model with a file, or with texts."""
    try:
        transformers_engine.Model(str(FOLDER / name), torch.device("cpu"), file and str(FOLDER / f"{file}.npz"))
    except rfa.Error as error:
        return error.message
    return "nothing"


def main() -> None:
    draw = np.random.default_rng(0).standard_normal
    found = {}
    pixels = draw((ITEMS, 3, 16, 16)).astype("f")
    vit = randomized(ViTForImageClassification(ViTConfig(**SIZES, **IMAGES, num_labels=200)).eval())
    arrays = saved(vit, "vit", {"pixel_values": pixels})
    found["vit"] = effects(vit.base_model, arrays, vit)
    texts = {**SIZES, "vocab_size": 60}
    clip = randomized(CLIPModel(CLIPConfig(text_config=texts, vision_config={**SIZES, **IMAGES})).eval())
    found["clip"] = effects(clip.vision_model, saved(clip, "clip", {"pixel_values": pixels}))
    whisper = randomized(WhisperForConditionalGeneration(WhisperConfig(**WHISPER)).eval())
    features = draw((ITEMS, 8, 40)).astype("f")
    found["whisper"] = effects(whisper.get_encoder(), saved(whisper, "whisper", {"input_features": features}))
    refused(pixels)
    files = ("uneven", "unknown", "infinite", "left", "objects", "text")
    whys = {**{file: said("vit", file) for file in files}, **{name: said(name, None) for name in found}}
    print(json.dumps({"wanted": found, "refused": whys}))


with torch.no_grad():
    main()
