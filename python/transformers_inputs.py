"""Arrays that a model of Transformers reads in place of texts: a file of NumPy, one array for each argument."""

import zipfile

import numpy as np
import torch

import rfa

#: What stands for a token each.
TOKENS = ("input_ids", "attention_mask", "token_type_ids")
REMEDY = 'np.savez(FILE, **processor(images, return_tensors="np")) of a processor of Transformers'


class Inputs:
    """
    Args:
        path: .npz file, of arrays with an item a row.

    Raises:
        rfa.Error: for a file of something else, arrays of different numbers of items, and items without a token.
    """

    def __init__(self, path):
        self.path = path
        try:
            with np.load(path, allow_pickle=False) as file:
                own = {name: file[name] for name in file.files}
        except (OSError, ValueError, zipfile.BadZipFile, AttributeError) as error:
            raise self.refused("an .npz file of arrays", "one that NumPy does not read without pickle") from error
        if not own:
            raise self.refused("an .npz file of arrays", "one without any")
        shapes = {name: list(array.shape) for name, array in own.items()}
        counts = {shape[0] if shape else None for shape in shapes.values()}
        if len(counts) > 1 or not counts - {None, 0}:
            raise self.refused("arrays with a row for each item, equally many", named(shapes))
        self.arrays = {name: self.tensor(name, array) for name, array in own.items()}
        (self.count,) = counts
        self.lengths = self.lengths_of(shapes)

    def tensor(self, name, array):
        if array.dtype.kind in "iub" and name not in ("pixel_values", "input_values", "input_features"):
            return torch.from_numpy(array.astype(np.int64))
        if array.dtype.kind not in "iubf":
            raise self.refused("arrays of numbers", f"{name} of {array.dtype}")
        floats = torch.from_numpy(array.astype(np.float32))
        if not bool(floats.isfinite().all()):
            raise self.refused("finite numbers", f"{name} with others")
        return floats

    def lengths_of(self, shapes):
        """Tokens of each item; None: the model makes positions of what it reads."""
        mask = self.arrays.get("attention_mask")
        if "input_ids" not in self.arrays:
            if mask is not None and not bool(mask.all()):
                raise self.refused("items of one length, as arrays have no tokens", "an attention_mask with padding")
            return None
        tokens = {name: shapes[name] for name in TOKENS if name in shapes}
        if len({tuple(shape) for shape in tokens.values()}) > 1 or len(shapes["input_ids"]) != 2:
            raise self.refused(f"{', '.join(tokens)} of one shape [items, tokens]", named(tokens))
        length = shapes["input_ids"][1]
        present = torch.ones(self.count, length, dtype=torch.bool) if mask is None else mask != 0
        lengths = present.sum(-1)
        if not torch.equal(present, torch.arange(length) < lengths[:, None]) or not bool(lengths.all()):
            raise self.refused("at least one token in each item, and padding after the last", "another attention_mask")
        return lengths.tolist()

    def taken(self, items, length, device):
        """Arguments of some items on a device, cut to a number of tokens, and which of these take part [B, length], where there are
        tokens."""
        own = {name: array[items].to(device) for name, array in self.arrays.items()}
        if self.lengths is None:
            return own, None
        longest = length or max(self.lengths[item] for item in items)
        cut = {name: array[:, :longest] if name in TOKENS else array for name, array in own.items()}
        lengths = torch.tensor([self.lengths[item] for item in items], device=device)
        present = torch.arange(longest, device=device) < lengths[:, None]
        return {**cut, "attention_mask": present.long()}, present

    def refused(self, expected, got):
        return rfa.UsageError(f"{self.path}: expected {expected}, got {got}", [REMEDY], code="BAD_FILE")


def named(shapes):
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())
