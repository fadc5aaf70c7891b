"""The random vectors of the program by seed, in NumPy.

rows = draw_projection("orth", heads=8, num_features=64, head_dim=32, seed=7)  # [8, 64, 32]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._errors import UsageError
from ._random import Reals, Stream

__all__ = ["PROJECTIONS", "draw_projection"]


@dataclass(frozen=True)
class _Head:
    """What the matrix of one head is drawn from."""

    count: int  # M
    dim: int  # D
    seed: int
    indices: tuple[int, int]  # repetition, head
    suffix: str  # of a redraw

    def stream(self, part: str, block: int = 0) -> Stream:
        return Stream(self.seed, f"projection.{part}{self.suffix}", *self.indices, block)

    def in_blocks(self, size: int, build: Callable[[int, int], Reals]) -> Reals:
        """Independent blocks of `size` rows, the last one truncated. `build` takes a block and its number of rows."""
        blocks = range(-(-self.count // size))
        return np.concatenate([build(block, min(size, self.count - block * size)) for block in blocks])


def _lengths(stream: Stream, count: int, dim: int) -> Reals:
    """Lengths of normal vectors."""
    return np.linalg.norm(stream.normals(count * dim).reshape(count, dim), axis=1)


def _orthonormal(rows: Reals) -> Reals:
    """Orthonormal rows, each with a positive component along its input row: Gram-Schmidt."""
    q, r = np.linalg.qr(rows.T)
    return (q * np.sign(np.diag(r))).T


def _gaussian(head: _Head, block: int, rows: int) -> Reals:
    return head.stream("directions", block).normals(rows * head.dim).reshape(rows, head.dim)


def _iid(head: _Head) -> Reals:
    return head.in_blocks(head.dim, lambda block, rows: _gaussian(head, block, rows))


def _orth(head: _Head) -> Reals:
    def block_of(block: int, rows: int) -> Reals:
        lengths = _lengths(head.stream("lengths", block), rows, head.dim)
        return _orthonormal(_gaussian(head, block, rows)) * lengths[:, None]

    return head.in_blocks(head.dim, block_of)


def _orth_sqrt_d(head: _Head) -> Reals:
    return head.in_blocks(
        head.dim, lambda block, rows: _orthonormal(_gaussian(head, block, rows)) * math.sqrt(head.dim)
    )


def _givens(head: _Head) -> Reals:
    def block_of(block: int, rows: int) -> Reals:
        turned = _rotated(rows, head.dim, head.stream("directions", block))
        return turned * _lengths(head.stream("lengths", block), rows, head.dim)[:, None]

    return head.in_blocks(head.dim, block_of)


def _rotated(rows: int, dim: int, stream: Stream) -> Reals:
    """The first rows of a signed permutation times D ceil(ln D) plane rotations."""
    out = np.zeros((rows, dim))
    axes = list(range(dim))
    for i in range(dim):
        other = i + stream.integer(dim - i)
        axes[i], axes[other] = axes[other], axes[i]
        sign = 1 if stream.integer(2) == 0 else -1
        if i < rows:
            out[i, axes[i]] = sign
    for _ in range(dim * math.ceil(math.log(dim))):
        a = stream.integer(dim)
        b = (a + 1 + stream.integer(dim - 1)) % dim
        angle = 2 * math.pi * stream.uniform()
        x, y = out[:, a].copy(), out[:, b].copy()
        out[:, a] = math.cos(angle) * x - math.sin(angle) * y
        out[:, b] = math.sin(angle) * x + math.cos(angle) * y
    return out


def _hadamard_rows(head: _Head) -> Reals:
    """Rows of sqrt(P) H S1 H S2 H S3, P the power of two from D up."""
    size = 2 ** math.ceil(math.log2(head.dim))

    def block_of(block: int, rows: int) -> Reals:
        stream = head.stream("directions", block)
        signs = np.array([1.0 if stream.integer(2) == 0 else -1.0 for _ in range(3 * size)]).reshape(3, size)
        x = math.sqrt(size) * np.eye(rows, size)
        for turn in range(3):
            x = _walsh_hadamard(x) * signs[turn]
        return x[:, : head.dim]

    return head.in_blocks(size, block_of)


def _walsh_hadamard(x: Reals) -> Reals:
    rows, size = x.shape
    half = 1
    while half < size:
        pairs = x.reshape(rows, -1, 2, half)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(rows, size)
        half *= 2
    return x / math.sqrt(size)


def _sorf_chi(head: _Head) -> Reals:
    size = 2 ** math.ceil(math.log2(head.dim))
    lengths = head.in_blocks(size, lambda block, rows: _lengths(head.stream("lengths", block), rows, size))
    return _hadamard_rows(head) * (lengths / math.sqrt(size))[:, None]


def _simplex_blocks(head: _Head, directions: Callable[[int, Reals], Reals]) -> Reals:
    dim = head.dim

    def block_of(block: int, rows: int) -> Reals:
        lengths = _lengths(head.stream("lengths", block), dim, dim)
        stream = head.stream("directions", block)
        if dim == 1:
            return np.array([[lengths[0] * (1 if stream.integer(2) == 0 else -1)]])
        rotation = _orthonormal(stream.normals(dim * dim).reshape(dim, dim))
        return (directions(dim, lengths) @ rotation * lengths[:, None])[:rows]

    return head.in_blocks(dim, block_of)


def _vertices(dim: int, _lengths: Reals) -> Reals:
    """Unit vectors to the vertices of a regular simplex."""
    return math.sqrt(dim / (dim - 1)) * (np.eye(dim) - 1 / dim)


def _adapted(dim: int, lengths: Reals) -> Reals:
    """The same, each in turn against the sum of all other rows, five times."""
    directions = _vertices(dim, lengths)
    for _ in range(5):
        total = lengths @ directions
        for row in range(dim):
            total -= lengths[row] * directions[row]
            directions[row] = -total / np.linalg.norm(total)
            total += lengths[row] * directions[row]
    return directions


def _antithetic(head: _Head) -> Reals:
    half = head.stream("directions").normals(-(-head.count // 2) * head.dim).reshape(-1, head.dim)
    return np.stack([half, -half], 1).reshape(-1, head.dim)[: head.count]


def _moment(head: _Head) -> Reals:
    if head.count <= head.dim:
        raise UsageError(f"num_features: expected more than the head dimension {head.dim} for moment, got {head.count}")
    rows = head.stream("directions").normals(head.count * head.dim).reshape(head.count, head.dim)
    rows = rows - rows.mean(0)
    factor = np.linalg.cholesky(rows.T @ rows / head.count)
    return np.linalg.solve(factor, rows.T).T


PROJECTIONS: dict[str, Callable[[_Head], Reals]] = {
    "iid": _iid,
    "orth": _orth,
    "orth-sqrt-d": _orth_sqrt_d,
    "givens": _givens,
    "sorf": _hadamard_rows,
    "sorf-chi": _sorf_chi,
    "simplex": lambda head: _simplex_blocks(head, _vertices),
    "simplex-plus": lambda head: _simplex_blocks(head, _adapted),
    "antithetic": _antithetic,
    "moment": _moment,
}
"""Draws of one head by name; `rfa methods` explains them."""


def draw_projection(
    name: str,
    *,
    heads: int,
    num_features: int,
    head_dim: int,
    seed: int = 0,
    replicate: int = 0,
    redraw: int = 0,
) -> Reals:
    """Draws the random vectors of all heads, the same as the program with this seed.

    Args:
        name: one of `PROJECTIONS`.
        heads: one matrix each, independent of the others.
        num_features: M, its rows.
        head_dim: D, its columns.
        seed: of every draw, below 2^53.
        replicate: index of the independent repetition.
        redraw: index of the redraw within a repetition.

    Returns:
        [heads, num_features, head_dim], in double precision.
    """
    if name not in PROJECTIONS:
        raise UsageError(f"projection: expected one of {', '.join(PROJECTIONS)}, got {name!r}", code="UNKNOWN_NAME")
    sizes = {"heads": heads, "num_features": num_features, "head_dim": head_dim}
    for what, value in sizes.items():
        if value < 1:
            raise UsageError(f"{what}: expected at least 1, got {value}", code="BAD_OPTION")
    if not 0 <= seed < 2**53:
        raise UsageError(f"seed: expected a number from 0 to 2^53 - 1, got {seed}", code="BAD_OPTION")
    suffix = "" if redraw == 0 else f".{redraw}"
    own = [_Head(num_features, head_dim, seed, (replicate, head), suffix) for head in range(heads)]
    return np.stack([PROJECTIONS[name](head) for head in own])
