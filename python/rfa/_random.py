"""Random numbers by seed, the same as those of the program: Philox4x32-10 under a name and up to three indices.

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Reals = npt.NDArray[np.float64]

_MASK = 0xFFFFFFFF


_FACTORS = np.array([[0xCD9E8D57], [0xD2511F53]], np.uint64)
_STEPS = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)


def philox(counters: Words, key: tuple[int, int]) -> Words:
    """Blocks of four random words. Counters are [n, 4]."""
    # words 0 and 2 in reverse, as each goes to the place of the other, and words 1 and 3
    even, odd = counters[:, 2::-2].T.astype(np.uint64), counters[:, 1::2].T.astype(np.uint64)
    low, shift = np.uint64(_MASK), np.uint64(32)
    keys = np.array(key, np.uint64)[:, None]
    for _ in range(10):
        products = even * _FACTORS
        even = ((products >> shift) ^ odd ^ keys)[::-1]
        odd = products & low
        keys = (keys + _STEPS) & low
    words = np.empty((len(counters), 4), np.uint32)
    words[:, 2::-2], words[:, 1::2] = even.T, odd.T
    return words


@cache
def stream_key(seed: int, name: str) -> tuple[int, int]:
    """Two key words from a seed of up to 53 bits and a name: FNV-1a of the name, mixed by Philox itself."""
    low, high = 0x811C9DC5, 0xCBF29CE4
    for forward, backward in zip(name, reversed(name), strict=True):
        low = ((low ^ ord(forward)) * 0x01000193) & _MASK
        high = ((high ^ ord(backward)) * 0x01000193) & _MASK
    counter = np.array([[low, high, len(name), 0]], np.uint32)
    words = philox(counter, (seed & _MASK, seed >> 32))
    return int(words[0, 0]), int(words[0, 1])


def _normal_pairs(words: Words) -> Reals:
    """Two standard normals of each block, by Box and Muller."""
    parts = words.astype(np.float64)
    first = (np.floor(parts[:, 0::2] / 32) * 2.0**26 + np.floor(parts[:, 1::2] / 64)) / 2.0**53
    radius, angle = np.sqrt(-2 * np.log(1 - first[:, 0])), 2 * np.pi * first[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def stream_rows(seed: int, name: str, index: int, shape: tuple[int, int, int]) -> Reals:
    """Standard normals of many streams, of this shape [places, rows, count].

    Each row is `Stream(seed, name, index, place, row).normals(count)`.
    """
    places, rows, count = shape
    blocks = -(-count // 2)
    key = stream_key(seed, name)
    counters = np.empty((rows, blocks, 4), np.uint32)
    counters[..., 0] = np.arange(blocks)
    counters[..., 1] = index
    counters[..., 3] = np.arange(rows)[:, None]
    drawn = np.empty(shape)
    for place in range(places):
        counters[..., 2] = place
        pairs = _normal_pairs(philox(counters.reshape(-1, 4), key))
        drawn[place] = pairs.reshape(rows, 2 * blocks)[:, :count]
    return drawn


class Stream:
    """A named stream: the same seed, name and indices give the same numbers, whatever was drawn before."""

    def __init__(self, seed: int, name: str, *indices: int) -> None:
        self._key = stream_key(seed, name)
        self._upper = [*indices, 0, 0, 0][:3]
        self._block = 0
        self._words: list[int] = []
        self._spare: list[float] = []

    def _blocks(self, count: int) -> Words:
        counters = np.empty((count, 4), np.uint32)
        counters[:, 0] = np.arange(self._block, self._block + count)
        counters[:, 1:] = self._upper
        self._block += count
        return philox(counters, self._key)

    def normals(self, count: int) -> Reals:
        """Standard normals by Box and Muller, two of each block; words must not have been taken one by one before."""
        wanted = max(0, count - len(self._spare))
        drawn = np.concatenate([self._spare, _normal_pairs(self._blocks(-(-wanted // 2))).ravel()])
        self._spare = drawn[count:].tolist()
        return drawn[:count]

    def word(self) -> int:
        """A uniform 32-bit word."""
        if not self._words:
            self._words = self._blocks(64).ravel()[::-1].tolist()
        return self._words.pop()

    def uniform(self) -> float:
        """A uniform double in [0, 1) with 53 random bits."""
        first, second = self.word(), self.word()
        return ((first >> 5) * 2**26 + (second >> 6)) / 2**53

    def integer(self, bound: int) -> int:
        """A uniform integer in [0, bound), without modulo bias."""
        limit = 2**32 - 2**32 % bound
        word = self.word()
        while word >= limit:
            word = self.word()
        return word % bound
