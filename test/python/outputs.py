"""What `rfa_export` finds after attention, in modules that somebody wrote: python outputs.py"""

import pathlib
import sys
import warnings
from typing import Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import rfa_export  # noqa: E402

torch.manual_seed(0)
BATCH, TOKENS, WIDTH, HEADS = 2, 7, 12, 3


class Attention(nn.Module):
    def __init__(self, name: str = "out_proj", entries: int = WIDTH, width: int = 10) -> None:
        super().__init__()
        self.name = name
        self.add_module(name, nn.Linear(entries, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        out = self.changed(scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2))
        linear = self.get_submodule(self.name)
        return linear(out) if linear.in_features == WIDTH else out

    def changed(self, out: torch.Tensor) -> torch.Tensor:
        return out


class Residual(Attention):
    """Attention times its matrix, each times a factor, in a sum."""

    def __init__(self, before: float, behind: float) -> None:
        super().__init__(width=WIDTH)
        self.before, self.behind = before, behind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.behind * super().forward(x)

    def changed(self, out: torch.Tensor) -> torch.Tensor:
        return self.before * out


class Block(nn.Module):
    """Pre-norm, with two attentions."""

    def __init__(self, batch_first: bool = True) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.first = nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)
        self.second = nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        x = x + self.first(y, y, y)[0]
        return x + self.second(x, x, x)[0]


def captured(model: nn.Module, *inputs: Any, **options: Any) -> dict[int, rfa_export.Layer]:
    with rfa_export.capture(model.eval(), None, **options) as found, torch.no_grad():
        model(*inputs)
    return found.layers


def near(a: float | None, b: torch.Tensor) -> bool:
    """A row has fewer than 64 entries, each squared and added in float32."""
    return a is not None and abs(a / float(b) - 1) < 64 * 2**-24


def rms(stream: torch.Tensor) -> torch.Tensor:
    return stream.double().norm(dim=-1).square().mean().sqrt()


x = torch.randn(BATCH, TOKENS, WIDTH) * 3

# by its name, and by how many entries it takes
for name in rfa_export.OUTPUTS:
    if "." not in name:
        model = Attention(name)
        layer = captured(model, x)[0]
        assert torch.equal(layer.o, model.get_submodule(name).weight.T), name
        assert layer.residual_norm is None, name
for other in (Attention("unusual"), Attention("out_proj", WIDTH + 1)):
    assert captured(other, x)[0].o is None

# a factor of 1.05 is more than rounding in bfloat16, and one of 1.001 is in float32
for dtype, factor in ((torch.float32, 1.001), (torch.bfloat16, 1.05), (torch.bfloat16, 1.25), (torch.float16, 1.01)):
    for before, behind in ((1, 1), (factor, 1), (1, factor)):
        model = nn.Sequential(Residual(before, behind)).to(dtype)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = captured(model, x.to(dtype))[0]
        assert (found.o is not None) == (before == behind), (dtype, before, behind)
        assert len(said) == (before != behind)
    model = nn.Sequential(Residual(1, 1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert captured(model, x)[0].o is not None

# heads that were chosen have their rows
model = Attention()
rows = model.out_proj.weight.T.unflatten(0, (HEADS, -1))
assert torch.equal(captured(model, x, heads=[2, 0])[0].o, rows[[2, 0]].flatten(0, 1))

# the stream is what enters the block, before its norm; the second attention is added to another one
for first in (True, False):
    model = nn.Sequential(nn.Identity(), Block(first))
    given = x if first else x.transpose(0, 1)
    layers = captured(model, given)
    assert torch.equal(layers[0].o, model[1].first.out_proj.weight.T)
    assert near(layers[0].residual_norm, rms(x)), first
    assert layers[1].residual_norm is None and layers[1].o is not None
    # of the first tokens only
    assert near(captured(model, given, tokens=4)[0].residual_norm, rms(x[:, :4])), first

# rows of padding do not count
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 8, batch_first=True), 1, enable_nested_tensor=False)
hidden = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
hidden[1, 3:] = True
with rfa_export.capture(encoder.eval(), None) as found, torch.no_grad():
    encoder(x, src_key_padding_mask=hidden)
assert near(found.layers[0].residual_norm, rms(x[~hidden]))
