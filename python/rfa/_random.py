"""Random numbers by seed, the same as those of the program: Philox4x32-10 under a name and up to three indices.

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Reals = npt.NDArray[np.float64]

_MASK = 0xFFFFFFFF


def philox(counters: Words, key: tuple[int, int]) -> Words:
    """Blocks of four random words. Counters are [n, 4]."""
    c0, c1, c2, c3 = (counters[:, i].astype(np.uint64) for i in range(4))
    low = np.uint64(_MASK)
    k0, k1 = key
    for _ in range(10):
        first, second = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        shift = np.uint64(32)
        c0, c1, c2, c3 = (
            (second >> shift) ^ c1 ^ np.uint64(k0),
            second & low,
            (first >> shift) ^ c3 ^ np.uint64(k1),
            first & low,
        )
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return np.stack([c0, c1, c2, c3], 1).astype(np.uint32)


def stream_key(seed: int, name: str) -> tuple[int, int]:
    """Two key words from a seed of up to 53 bits and a name: FNV-1a of the name, mixed by Philox itself."""
    low, high = 0x811C9DC5, 0xCBF29CE4
    for forward, backward in zip(name, reversed(name), strict=True):
        low = ((low ^ ord(forward)) * 0x01000193) & _MASK
        high = ((high ^ ord(backward)) * 0x01000193) & _MASK
    counter = np.array([[low, high, len(name), 0]], np.uint32)
    words = philox(counter, (seed & _MASK, seed >> 32))
    return int(words[0, 0]), int(words[0, 1])


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
        words = self._blocks(-(-wanted // 2)).astype(np.float64)
        first = (np.floor(words[:, 0::2] / 32) * 2.0**26 + np.floor(words[:, 1::2] / 64)) / 2.0**53
        radius, angle = np.sqrt(-2 * np.log(1 - first[:, 0])), 2 * np.pi * first[:, 1]
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()
        drawn = np.concatenate([self._spare, pairs])
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
