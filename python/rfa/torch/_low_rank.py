"""Low-rank changes of the weights around attention (Hu et al. 2021, arXiv:2106.09685), which merge into the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from .._errors import UsageError


class _LowRank(nn.Module):
    """Adds left @ right to a weight, at first zero."""

    def __init__(self, weight: Tensor, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        rows, columns = weight.shape
        rank = min(rank, rows, columns)
        self.left = nn.Parameter(weight.new_zeros(rows, rank))
        self.right = nn.Parameter(torch.randn(rank, columns, generator=generator).to(weight) / columns**0.5)

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.left @ self.right


def add_low_rank(model: nn.Module, attending: list[nn.Module], rank: int, seed: int) -> list[nn.Parameter]:
    """Changes the projections of queries, keys, values and outputs of some layers.

    Args:
        attending: the modules that attend.

    Returns:
        What is to be learned.

    Raises:
        UsageError: for a model with other projections than matrices.
    """
    learned: list[nn.Parameter] = []
    generator = torch.Generator().manual_seed(seed)
    for module in _projections(model, attending):
        weight: Any = module.weight
        own = _LowRank(weight.detach(), rank, generator)
        parametrize.register_parametrization(module, "weight", own)
        learned += [own.left, own.right]
    return learned


def merge_low_rank(model: nn.Module) -> None:
    """Puts the changes into the weights."""
    for module in list(model.modules()):
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)


def _projections(model: nn.Module, attending: list[nn.Module]) -> list[nn.Module]:
    """Matrices in the modules that attend, and in the attention around them: BERT projects outputs next to them."""
    places = {module: place for place, module in model.named_modules()}
    found: dict[nn.Module, None] = {}
    for module in attending:
        own, place = module, places[module]
        while "." in place:
            place = place.rpartition(".")[0]
            around = model.get_submodule(place)
            if "attention" not in type(around).__name__.lower():
                break
            own = around
        inner = [each for each in own.modules() if isinstance(each, nn.Linear) or type(each).__name__ == "Conv1D"]
        if not inner:
            raise UsageError(
                f"distil: expected attention with matrices for queries and keys, got {type(module).__name__}",
                ['learn="features" or learn="all"'],
                "UNSUPPORTED",
            )
        found.update(dict.fromkeys(inner))
    return list(found)
