"""What `rfa_export` finds after attention, in modules that somebody wrote: python outputs.py"""

import pathlib
import sys
from typing import Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import rfa_export  # noqa: E402

torch.manual_seed(0)
BATCH, TOKENS, WIDTH, HEADS = 2, 7, 12, 3


class Attention(nn.Module):
    def __init__(self, name: str = "out_proj", entries: int = WIDTH) -> None:
        super().__init__()
        self.add_module(name, nn.Linear(entries, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        return scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)


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
