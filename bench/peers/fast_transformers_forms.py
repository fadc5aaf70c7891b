"""The package pytorch-fast-transformers: linear attention with elu + 1 and FAVOR+, its C++ loop where causal."""

from functools import partial

import numpy
import torch
from fast_transformers.attention import CausalLinearAttention, LinearAttention
from fast_transformers.feature_maps import Favor, elu_feature_map
from fast_transformers.masking import FullMask, LengthMask, TriangularCausalMask
from fast_transformers.recurrent.attention import RecurrentLinearAttention

from form import Form
from torch_forms import started, tensors, to_numpy  # noqa: F401

PACKAGES = ["pytorch-fast-transformers", "torch"]
DEPARTS = {"denominatorEpsilon": 1e-6}


def feature_map(case, projection):
    if case["method"] == "elu":
        return elu_feature_map
    # rows of both signs, of which it stores one
    return partial(Favor, n_dims=len(projection), deterministic_eval=True)


def with_projection(layer, projection):
    layer.eval()
    if hasattr(layer.feature_map, "omega"):
        layer.feature_map.omega.copy_(projection[: len(projection) // 2].T)
    return layer


def rows_first(x):
    """[1, H, L, D] to [1, L, H, D] and back."""
    return x.transpose(1, 2) if isinstance(x, torch.Tensor) else x.transpose(0, 2, 1, 3)


def attention(case, inputs):
    q, k, v, projection = tensors(inputs).values()
    q, k, v = (rows_first(x).contiguous() for x in (q, k, v))
    make = CausalLinearAttention if case["causal"] else LinearAttention
    layer = with_projection(make(case["headDim"], feature_map(case, projection)), projection)
    length = case["length"]
    mask = TriangularCausalMask(length) if case["causal"] else FullMask(length)
    lengths = LengthMask(torch.tensor([length]))
    return Form(lambda: layer(q, k, v, mask, lengths, lengths), arranged=rows_first, departs=DEPARTS)


def decode(case, inputs):
    q, k, v, projection = tensors(inputs).values()
    make = RecurrentLinearAttention(case["headDim"], feature_map(case, projection))
    layer = with_projection(make, projection)
    position = case["position"]
    past = layer.feature_map.forward_keys(rows_first(k[:, :, :position]).contiguous())
    first = torch.einsum("nlhd,nhlm->nhdm", past, v[:, :, :position]), past.sum(1)
    state = [x.clone() for x in first]
    steps = [
        tuple(x[:, :, t].contiguous() for x in (q, k, v))
        for t in range(position, position + case["tokens"])
    ]

    def reset():
        for held, before in zip(state, first):
            held.copy_(before)

    def run():
        held, outs = state, []
        for token in steps:
            out, held = layer(*token, held)
            outs.append(out)
        return outs

    return Form(run, arranged=lambda outs: numpy.stack(outs, 2), reset=reset, departs=DEPARTS)


def forms(case):
    if case["method"] not in ("elu", "favor-pos"):
        return {}
    return {"RecurrentLinearAttention": decode} if case["kind"] == "decode" else {"LinearAttention": attention}
