"""The random vectors of the program by seed, in NumPy.

rows = draw_projection("orth", heads=8, num_features=64, head_dim=32, seed=7)  # [8, 64, 32]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np

from ._errors import UsageError
from ._random import Reals, Stream, stream_rows
from ._sobol_directions import TABLE

__all__ = ["ORTH_SIGNS", "PROJECTIONS", "draw_projection"]

#: Signs of orthogonal factors: `haar`, of a uniform rotation, or `raw`, as LAPACK leaves them.
ORTH_SIGNS = ("haar", "raw")


@dataclass(frozen=True)
class _Head:
    """What the matrix of one head is drawn from."""

    count: int  # M
    dim: int  # D
    seed: int
    indices: tuple[int, int]  # repetition, head
    suffix: str  # of a redraw
    sign: str  # of orthogonal factors
    square: Callable[[str], Reals]  # normals of a part for square blocks of all heads, [heads, blocks, D * D]

    def stream(self, part: str, block: int = 0) -> Stream:
        return Stream(self.seed, f"projection.{part}{self.suffix}", *self.indices, block)

    def rows_of(self, part: str, block: int, rows: int) -> Reals:
        """Normal rows of a square block."""
        blocks = self.square(f"projection.{part}{self.suffix}")[self.indices[1]]
        return blocks[block, : rows * self.dim].reshape(rows, self.dim)

    def in_blocks(self, size: int, build: Callable[[int, int], Reals]) -> Reals:
        """Independent blocks of `size` rows, the last one truncated. `build` takes a block and its number of rows."""
        blocks = range(-(-self.count // size))
        return np.concatenate([build(block, min(size, self.count - block * size)) for block in blocks])


def _lengths(stream: Stream, count: int, dim: int) -> Reals:
    """Lengths of normal vectors."""
    return np.linalg.norm(stream.normals(count * dim).reshape(count, dim), axis=1)


def _orthonormal(rows: Reals, sign: str = "haar") -> Reals:
    """Orthonormal rows, each with a positive component along its input row: Gram-Schmidt. `raw`: signs of LAPACK."""
    q, r = np.linalg.qr(rows.T)
    return q.T if sign == "raw" else (q * np.sign(np.diag(r))).T


def _gaussian(head: _Head, block: int, rows: int) -> Reals:
    return head.stream("directions", block).normals(rows * head.dim).reshape(rows, head.dim)


def _iid(head: _Head) -> Reals:
    return head.in_blocks(head.dim, lambda block, rows: head.rows_of("directions", block, rows))


def _orth(head: _Head) -> Reals:
    def block_of(block: int, rows: int) -> Reals:
        lengths = np.linalg.norm(head.rows_of("lengths", block, rows), axis=1)
        return _orthonormal(head.rows_of("directions", block, rows), head.sign) * lengths[:, None]

    return head.in_blocks(head.dim, block_of)


def _orth_sqrt_d(head: _Head) -> Reals:
    def block_of(block: int, rows: int) -> Reals:
        return _orthonormal(head.rows_of("directions", block, rows), head.sign) * math.sqrt(head.dim)

    return head.in_blocks(head.dim, block_of)


def _orth_tall(head: _Head) -> Reals:
    """Rows of the orthogonal factor of one M x D matrix, times chi_M lengths."""
    if head.count < head.dim:
        raise _too_few(head, "orth-tall", f"at least the head dimension {head.dim}")
    columns = _gaussian(head, 0, head.count).T
    lengths = _lengths(head.stream("lengths"), head.count, head.count)
    return _orthonormal(columns, head.sign).T * lengths[:, None]


def _orth_columns(head: _Head) -> Reals:
    """Orthogonal columns, as long as those that were orthogonalised."""
    turned = replace(head, count=head.dim, dim=head.count)

    def block_of(block: int, rows: int) -> Reals:
        gaussian = _gaussian(turned, block, rows)
        return _orthonormal(gaussian, head.sign) * np.linalg.norm(gaussian, axis=1)[:, None]

    return turned.in_blocks(head.count, block_of).T


def _orth_coupled(head: _Head) -> Reals:
    """Orthogonal blocks with the row lengths of the matrix whose columns were orthogonalised."""

    def block_of(block: int, rows: int) -> Reals:
        gaussian = _gaussian(head, block, head.dim)
        factor = _orthonormal(gaussian.T, head.sign)
        return (factor * np.linalg.norm(gaussian, axis=1)[:, None])[:rows]

    return head.in_blocks(head.dim, block_of)


def _householder(head: _Head) -> Reals:
    """sqrt(D) times the transpose of H_1 ... H_D; H_i reflects along column i of the lower triangle."""

    def block_of(block: int, rows: int) -> Reals:
        mirrors = np.tril(_gaussian(head, block, head.dim)).T
        out = math.sqrt(head.dim) * np.eye(head.dim)
        for mirror in mirrors[::-1]:
            out -= np.outer(out @ mirror, 2 * mirror / (mirror @ mirror))
        return out[:rows]

    return head.in_blocks(head.dim, block_of)


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


def _quasi_normals(cells: list[list[int]], sizes: list[int], stream: Stream) -> Reals:
    """Normal quantiles of a random place in each cell, of as many as its column has. `cells` is [M][D]."""

    def quantile(cell: int, size: int) -> float:
        offset = max(stream.uniform(), 2.0**-54)
        if cell < size / 2:
            return NormalDist().inv_cdf((cell + offset) / size)
        return -NormalDist().inv_cdf((size - cell - offset) / size)

    return np.array([[quantile(cell, size) for cell, size in zip(row, sizes, strict=True)] for row in cells])


def _sobol(head: _Head) -> Reals:
    """Sobol points: a random lower-triangular matrix and a digital shift for each dimension."""
    numbers = TABLE.splitlines()
    if head.dim > len(numbers) + 1:
        raise UsageError(f"head_dim: expected at most {len(numbers) + 1} for sobol, got {head.dim}", code="BAD_OPTION")
    used = (head.count - 1).bit_length()
    stream = head.stream("directions")
    directions, digits = [], []
    for d in range(head.dim):
        plain = _direction_numbers([int(text) for text in numbers[d - 1].split()] if d > 0 else [])[:used]
        directions.append(_scrambled(plain, stream))
        digits.append(stream.word())
    cells = [digits]
    for point in range(1, head.count):
        zeros = (point & -point).bit_length() - 1  # Gray code: one direction number takes a point to the next
        cells.append([last ^ own[zeros] for last, own in zip(cells[-1], directions, strict=True)])
    return _quasi_normals(cells, [2**32] * head.dim, head.stream("offsets"))


def _direction_numbers(row: list[int]) -> list[int]:
    """Direction numbers of a dimension as 32-bit fractions. Source: Bratley & Fox 1988, algorithm 659."""
    polynomial, *initial = row or [0]
    degree = len(initial)
    out: list[int] = []
    for i in range(32):
        if degree == 0 or i < degree:
            out.append((initial[i] if degree else 1) << (31 - i))
            continue
        number = out[i - degree] ^ (out[i - degree] >> degree)
        for k in range(1, degree):
            if (polynomial >> (degree - 1 - k)) & 1:
                number ^= out[i - k]
        out.append(number)
    return out


def _scrambled(numbers: list[int], stream: Stream) -> list[int]:
    """Each number, as a column of binary digits, times a random lower-triangular matrix of ones on the diagonal."""
    masks = [stream.word() >> (32 - digit) << (32 - digit) | 1 << (31 - digit) for digit in range(32)]
    return [
        sum(((number & mask).bit_count() & 1) << (31 - digit) for digit, mask in enumerate(masks)) for number in numbers
    ]


def _halton(head: _Head) -> Reals:
    """Halton points: digits in base p, the d-th prime, with a random permutation for each place."""
    primes: list[int] = []
    n = 2
    while len(primes) < head.dim:
        if all(n % prime for prime in primes):
            primes.append(n)
        n += 1
    scramblings = [_scrambling(prime, head.stream("digits", d)) for d, prime in enumerate(primes)]
    cells = [[_radical_inverse(point, places) for places in scramblings] for point in range(head.count)]
    sizes = [prime ** len(places) for prime, places in zip(primes, scramblings, strict=True)]
    return _quasi_normals(cells, sizes, head.stream("offsets"))


def _scrambling(prime: int, stream: Stream) -> list[list[int]]:
    """A permutation of the digits for each place, the most significant first."""
    places: list[list[int]] = []
    while prime ** len(places) < 2**32:
        digits = list(range(prime))
        for i in range(prime - 1, 0, -1):
            j = stream.integer(i + 1)
            digits[i], digits[j] = digits[j], digits[i]
        places.append(digits)
    return places


def _radical_inverse(index: int, places: list[list[int]]) -> int:
    """An index with its digits reversed and permuted."""
    rest, cell = index, 0
    for digits in places:
        rest, digit = divmod(rest, len(digits))
        cell = cell * len(digits) + digits[digit]
    return cell


def _too_few(head: _Head, name: str, expected: str) -> UsageError:
    return UsageError(f"num_features: expected {expected} for {name}, got {head.count}", code="BAD_OPTION")


def _moment(head: _Head) -> Reals:
    if head.count <= head.dim:
        raise _too_few(head, "moment", f"more than the head dimension {head.dim}")
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
    "sobol": _sobol,
    "halton": _halton,
    "orth-tall": _orth_tall,
    "orth-columns": _orth_columns,
    "orth-coupled": _orth_coupled,
    "householder": _householder,
}
"""Draws of one head by name; `rfa methods` explains them."""


def check_names(name: str, orth_sign: str) -> None:
    """
    Raises:
        UsageError: for a projection or signs that there are not.
    """
    if name not in PROJECTIONS:
        raise UsageError(f"projection: expected one of {', '.join(PROJECTIONS)}, got {name!r}", code="UNKNOWN_NAME")
    if orth_sign not in ORTH_SIGNS:
        raise UsageError(f"orth_sign: expected one of {', '.join(ORTH_SIGNS)}, got {orth_sign!r}", code="UNKNOWN_NAME")


def draw_projection(
    name: str,
    *,
    heads: int,
    num_features: int,
    head_dim: int,
    seed: int = 0,
    replicate: int = 0,
    redraw: int = 0,
    orth_sign: str = "haar",
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
        orth_sign: one of `ORTH_SIGNS`; projections without orthogonal factors ignore it.

    Returns:
        [heads, num_features, head_dim], in double precision.
    """
    check_names(name, orth_sign)
    sizes = {"heads": heads, "num_features": num_features, "head_dim": head_dim}
    for what, value in sizes.items():
        if value < 1:
            raise UsageError(f"{what}: expected at least 1, got {value}", code="BAD_OPTION")
    if not 0 <= seed < 2**53:
        raise UsageError(f"seed: expected a number from 0 to 2^53 - 1, got {seed}", code="BAD_OPTION")
    suffix = "" if redraw == 0 else f".{redraw}"
    shape = (heads, -(-num_features // head_dim), head_dim**2)

    @cache
    def square(stream: str) -> Reals:
        return stream_rows(seed, stream, replicate, shape)

    own = [_Head(num_features, head_dim, seed, (replicate, head), suffix, orth_sign, square) for head in range(heads)]
    return np.stack([PROJECTIONS[name](head) for head in own])
