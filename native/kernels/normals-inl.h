// Random words (Philox4x32-10) and the standard normals made of them (Box-Muller in double precision).
//
// One block of four words per lane: some 70 integer operations for WD blocks, and about 70 for the logarithm, sine
// and cosine that make two normals of each. A normal depends on its block alone, not on its lane or on how a call
// is cut.
#pragma once

#include "math64-inl.h"
#include "random.h"

RFA_KERNELS_BEGIN

// Words in the lower half of each lane; the upper half is whatever the rounds left there.
struct WordLanes {
  L w0, w1, w2, w3;
};

// Ten rounds over blocks first, first + 1, .. of a stream: 32-bit words in 64-bit lanes, as products
// look at the lower halves alone.
RFA_INLINE WordLanes Philox(const RandomStream& stream, Size first) {
  const L multiplier0 = SetL(0xD2511F53), multiplier1 = SetL(0xCD9E8D57);
  L c0 = AddL(SetL(stream.counter[0] + first), LanesL());
  L c1 = SetL(stream.counter[1]), c2 = SetL(stream.counter[2]), c3 = SetL(stream.counter[3]);
  std::uint32_t k0 = stream.key[0], k1 = stream.key[1];
  RFA_UNROLL
  for (int round = 0; round < 10; round++) {
    const L p0 = MulWords(multiplier0, c0), p1 = MulWords(multiplier1, c2);
    c0 = XorL(XorL(ShrL<32>(p1), c1), SetL(k0));
    c1 = p1;
    c2 = XorL(XorL(ShrL<32>(p0), c3), SetL(k1));
    c3 = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// Two words as the numbers H 2^-27 and L 2^-53 that add up to a uniform one: the upper 27 bits of the
// first, the upper 26 of the second, each in the mantissa of a power of two, which is taken off.
RFA_INLINE VD UpperBits(L word) {
  const L bits = ShrL<37>(ShlL<32>(word));
  return FromBitsD(OrL(bits, SetL(0x4180000000000000)));  // 2^25 + H 2^-27
}
RFA_INLINE VD LowerBits(L word) {
  const L bits = ShrL<38>(ShlL<32>(word));
  return Sub(FromBitsD(OrL(bits, SetL(0x3FE0000000000000))), Set(0.5));  // L 2^-53
}

// The two normals of each block, those of the first lane first: r cos t, r sin t, with r = sqrt(-2 ln
// (1 - u)), t = 2 pi v rounded. All but the functions themselves is as in TypeScript; 1 - u is exact.
RFA_INLINE void BoxMuller(const WordLanes& words, VD& first, VD& second) {
  const VD left = Sub(Sub(Set(0x1p25 + 1), UpperBits(words.w0)), LowerBits(words.w1));
  const VD v = Add(Sub(UpperBits(words.w2), Set(0x1p25)), LowerBits(words.w3));
  const VD radius = Sqrt(Mul(Set(-2.0), LogNormal(left)));
  const SinCosPairD turn = SinCosTurn(Mul(Set(0x1.921fb54442d18p+2), v));
  first = Mul(radius, turn.cos);
  second = Mul(radius, turn.sin);
  Interleave(first, second);
}

// A vector of normals into doubles or floats.
RFA_INLINE void Put(double* p, VD x) { Store(p, x); }
RFA_INLINE void Put(float* p, VD x) { StoreNarrow(p, x); }

// Vectors of blocks that are made together: one alone waits for its own results most of the time, four take
// two thirds of its time.
constexpr int kTogether = 4;

// Normals 2 first_block .. 2 first_block + 2 WD kTogether - 1.
template <class T>
RFA_INLINE void WholeNormals(const RandomStream& stream, Size first_block, T* out) {
  WordLanes words[kTogether];
  VD x[kTogether], y[kTogether];
  RFA_UNROLL
  for (int k = 0; k < kTogether; k++) words[k] = Philox(stream, first_block + k * WD);
  RFA_UNROLL
  for (int k = 0; k < kTogether; k++) BoxMuller(words[k], x[k], y[k]);
  RFA_UNROLL
  for (int k = 0; k < kTogether; k++) {
    Put(out + 2 * k * WD, x[k]);
    Put(out + (2 * k + 1) * WD, y[k]);
  }
}

// Normals 2 first_block .. 2 first_block + count - 1.
template <class T>
RFA_INLINE void NormalsOf(const RandomStream& stream, Size first_block, Size count, T* out) {
  constexpr Size kStep = 2 * WD * kTogether;
  Size i = 0;
  for (; i + kStep <= count; i += kStep) WholeNormals(stream, first_block + i / 2, out + i);
  if (i == count) return;
  T rest[kStep];
  WholeNormals(stream, first_block + i / 2, rest);
  for (Size k = 0; i + k < count; k++) out[i + k] = rest[k];
}

inline void NormalDoubles(const RandomStream& stream, Size first_block, Size count, double* out) {
  NormalsOf(stream, first_block, count, out);
}
inline void NormalFloats(const RandomStream& stream, Size first_block, Size count, float* out) {
  NormalsOf(stream, first_block, count, out);
}

inline void NormalsOfWords(const std::uint32_t* words, Size blocks, double* out) {
  for (Size block = 0; block < blocks; block++) {
    const std::uint32_t* w = words + 4 * block;
    VD a, b;
    BoxMuller({SetL(w[0]), SetL(w[1]), SetL(w[2]), SetL(w[3])}, a, b);
    StoreN(out + 2 * block, a, 2);
  }
}

// The words of blocks 0 .. blocks - 1.
inline void RandomWords(const RandomStream& stream, Size blocks, std::uint32_t* out) {
  for (Size first = 0; first < blocks; first += WD) {
    const WordLanes words = Philox(stream, first);
    const L rows[4] = {words.w0, words.w1, words.w2, words.w3};
    for (int k = 0; k < 4; k++) {
      std::uint64_t lanes[WD];
      std::memcpy(lanes, &rows[k], sizeof lanes);
      for (int i = 0; i < WD && first + i < blocks; i++) {
        out[4 * (first + i) + k] = static_cast<std::uint32_t>(lanes[i]);
      }
    }
  }
}

RFA_KERNELS_END
