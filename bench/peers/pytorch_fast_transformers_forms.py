"""The package pytorch-fast-transformers: linear attention with elu + 1 and FAVOR+, its C++ loop where causal."""

from functools import partial
from importlib.metadata import version

import torch
from fast_transformers.attention import CausalLinearAttention, LinearAttention
from fast_transformers.feature_maps import Favor, elu_feature_map
from fast_transformers.masking import FullMask, LengthMask, TriangularCausalMask
from fast_transformers.recurrent.attention import RecurrentLinearAttention

from rfa_peers import Form, decoding
from torch_forms import INSTRUCTION_SET, array, bytes_of, started  # noqa: F401
from torch_forms import PACKAGES as TORCH

PACKAGES = {"pytorch-fast-transformers": version("pytorch-fast-transformers"), **TORCH}


def preset(case):
    return "fast-transformers" if case["method"] == "elu" else "exact"


def layer_of(make, case, projection):
    """With the projection of the case, which its heads share."""
    if case["method"] == "elu":
        return make(case["head_dim"], elu_feature_map).eval()
    favor = partial(Favor, n_dims=case["num_features"], deterministic_eval=True)
    layer = make(case["head_dim"], favor).eval()
    layer.feature_map.omega.copy_(projection[0, ::2].T)  # of rows w and -w it stores one
    return layer


def rows_first(x):
    """[B, H, L, D] to [B, L, H, D] and back."""
    return x.transpose(1, 2)


def attention(case, q, k, v, projection):
    q, k, v = (rows_first(x).contiguous() for x in (q, k, v))
    layer = layer_of(CausalLinearAttention if case["causal"] else LinearAttention, case, projection)
    length = case["length"]
    mask = TriangularCausalMask(length) if case["causal"] else FullMask(length)
    lengths = LengthMask(torch.tensor([length]))
    return Form(lambda: layer(q, k, v, mask, lengths, lengths), arranged=rows_first)


def decode(case, q, k, v, projection):
    layer = layer_of(RecurrentLinearAttention, case, projection)
    tokens = [tuple(x[:, :, t].contiguous() for x in (q, k, v)) for t in range(case["tokens"])]
    held = {}

    def token(t):
        out, held["state"] = layer(*tokens[t % len(tokens)], held.get("state"))
        return out.unsqueeze(2)

    return decoding(case, held.clear, token)


def forms(case):
    if case["method"] not in ("elu", "favor-pos"):
        return {}
    return {"RecurrentLinearAttention": decode} if case["decode"] else {"LinearAttention": attention}
