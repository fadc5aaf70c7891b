"""LARA: attention to a few vectors drawn around means of tokens, `mis=opt` with segments.

Source: Zheng, Wang, Kong 2022, arXiv:2204.04667, section 4.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def proposal_count(num_features: int, q: Tensor, k: Tensor) -> int:
    """C: what was asked for, at most the number of tokens."""
    return min(num_features, q.shape[2], k.shape[2])


def lara(q: Tensor, k: Tensor, v: Tensor, noise: Tensor | None, scale: float, num_features: int) -> Tensor:
    """`out_n = sum_c softmax_c(log alpha_nc + w_c.x_n + lse_m(w_c.y_m - |y_m|^2/2) - log q_c(w_c)) f(w_c)`.

    Args:
        noise: [B, H, C, D], around the means; None: the means themselves.
    """
    count, root = proposal_count(num_features, q, k), math.sqrt(scale)
    x, y = q * root, k * root
    landmarks = _segment_means(x, count)
    centres = landmarks + _segment_means(y, count)
    vectors = centres if noise is None else centres + noise
    logits = vectors @ y.mT - y.square().sum(-1).unsqueeze(-2) / 2  # [B, H, C, S]
    values, mass = logits.softmax(-1) @ v, logits.logsumexp(-1)
    densities = vectors @ centres.mT - centres.square().sum(-1).unsqueeze(-2) / 2  # [B, H, C, C]
    own = (vectors * centres).sum(-1) - centres.square().sum(-1) / 2
    balance = (own - densities.logsumexp(-1)).clamp_max(0).exp()
    affinity = (landmarks @ x.mT).softmax(-1).mT  # over queries, as the authors' code has it
    alpha = balance.unsqueeze(-2) + affinity - affinity.mean(-1, keepdim=True)
    weights = (x @ vectors.mT + (mass - own).unsqueeze(-2) + alpha.clamp_min(1e-8).log()).softmax(-1)
    return weights @ values


def _segment_means(x: Tensor, count: int) -> Tensor:
    """Means of `count` runs of rows: the first ones have floor(n / count) rows, the others one more."""
    length = x.shape[2]
    short = length // count
    short_ones = (short + 1) * count - length
    sizes = torch.full((count,), short + 1, device=x.device)
    sizes[:short_ones] = short
    segment = torch.repeat_interleave(torch.arange(count, device=x.device), sizes)
    weights = F.one_hot(segment, count).to(x.dtype) / sizes
    return weights.mT @ x
