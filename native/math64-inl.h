// Double precision: logarithm, sine and cosine for the arguments that draws have, 2^x for weights. Errors
// are in ULP of double against the exact value; test/normals-test.cc checks what is made of the former,
// test/exact-softmax-test.cc the latter.
// Polynomials: minimax (Remez exchange, or reweighted least squares where that fails), coefficients
// rounded to double one after the other.
#pragma once

#include "simd.h"

RFA_KERNELS_BEGIN

// ln x for normal numbers x > 0. Error 1 ULP: half of one in the last operation, and the rounding of
// s (f^2/2 + R), which is at most 0.06 of the result.
// With x = 2^e m, sqrt(1/2) <= m < sqrt(2), s = f / (2 + f), f = m - 1: ln m = 2 atanh s.
RFA_INLINE VD LogNormal(VD x) {
  // exponent such that the mantissa falls into [sqrt(1/2), sqrt(2)), as an integer from 0 up
  const L offset = AddL(Bits(x), SetL(0x3FF0000000000000 - 0x3FE6A09E667F3BCD));
  const L exponent = ShrL<52>(offset);
  const VD m = FromBitsD(SubL(Bits(x), ShlL<52>(SubL(exponent, SetL(1023)))));
  // integers below 2^52 stand in the mantissa of 2^52 + themselves
  const VD e = Sub(FromBitsD(OrL(exponent, SetL(0x4330000000000000))), Set(0x1p52 + 1023.0));
  const VD f = Sub(m, Set(1.0));
  const VD s = Div(f, Add(f, Set(2.0)));
  const VD z = Mul(s, s);
  VD r = Set(0x1.2f025558ce0bap-3);
  r = Fma(r, z, Set(0x1.39a20b4211140p-3));
  r = Fma(r, z, Set(0x1.74663ba71adb6p-3));
  r = Fma(r, z, Set(0x1.c71c521a07878p-3));
  r = Fma(r, z, Set(0x1.24924941db5c8p-2));
  r = Fma(r, z, Set(0x1.999999997ff62p-2));
  r = Fma(r, z, Set(0x1.5555555555592p-1));
  r = Mul(r, z);
  const VD half_square = Mul(Set(0.5), Mul(f, f));
  // f - (f^2/2 - s (f^2/2 + r)), ln 2 in two parts so that e ln2_high is exact
  const VD low = Fma(e, Set(0x1.3de6af278ece6p-42), Mul(s, Add(half_square, r)));
  return Fma(e, Set(0x1.62e42fefa3000p-1), Sub(f, Sub(half_square, low)));
}

struct SinCosPairD {
  VD sin, cos;
};

// sin x and cos x for 0 <= x <= 2 pi. Error 1.2 ULP each, or 2^-104 near their zeros: the reduced
// argument is rounded once, and pi/2 is taken to 2^-107.
RFA_INLINE SinCosPairD SinCosTurn(VD x) {
  const VD rounder = Set(0x1.8p52);  // adding it rounds to an integer, which the low bits then hold
  const VD shifted = Fma(x, Set(0x1.45f306dc9c883p-1), rounder);
  const VD n = Sub(shifted, rounder);
  // the first part of pi/2 ends in three zeros: its product is exact, and so is the difference
  VD r = Fnma(n, Set(0x1.921fb54442d18p+0), x);
  r = Fnma(n, Set(0x1.1a62633145c07p-54), r);
  const VD z = Mul(r, r);
  VD s = Set(0x1.5d8b55202904ep-33);
  s = Fma(s, z, Set(-0x1.ae5e4b82becb5p-26));
  s = Fma(s, z, Set(0x1.71de35552a6a6p-19));
  s = Fma(s, z, Set(-0x1.a01a019be9210p-13));
  s = Fma(s, z, Set(0x1.111111110f730p-7));
  s = Fma(s, z, Set(-0x1.5555555555548p-3));
  s = Fma(Mul(s, z), r, r);
  VD c = Set(-0x1.8fa68464b1f09p-37);
  c = Fma(c, z, Set(0x1.1ee9dbced03f1p-29));
  c = Fma(c, z, Set(-0x1.27e4f7f191267p-22));
  c = Fma(c, z, Set(0x1.a01a019c8f253p-16));
  c = Fma(c, z, Set(-0x1.6c16c16c15015p-10));
  c = Fma(c, z, Set(0x1.555555555554bp-5));
  // 1 - z/2 rounded, and what the rounding lost
  const VD half = Mul(Set(0.5), z);
  const VD top = Sub(Set(1.0), half);
  c = Add(top, Fma(Mul(z, z), c, Sub(Sub(Set(1.0), top), half)));
  // quarter turns: bit 0 swaps, bit 1 negates the sine, bit 0 xor bit 1 the cosine
  const L bit0 = ShlL<63>(Bits(shifted)), bit1 = ShlL<62>(Bits(shifted));
  const L sign = SetL(INT64_MIN);
  const MD swap = NegativeL(bit0);
  const VD sine = FromBitsD(XorL(Bits(Select(swap, c, s)), AndL(bit1, sign)));
  const VD cosine = FromBitsD(XorL(Bits(Select(swap, s, c)), AndL(XorL(bit0, bit1), sign)));
  return {sine, cosine};
}

constexpr double kLog2ED = 0x1.71547652b82fep+0;
constexpr double kLn2D = 0x1.62e42fefa39efp-1;
constexpr double kInfinityD = __builtin_huge_val();
// 1.5 * 2^52: adding it rounds |x| < 2^51 to an integer, which then stands in the low mantissa bits.
constexpr double kRounderD = 0x1.8p52;

// 2^f for |f| <= 1/2; relative error of the polynomial 2^-57.7.
RFA_INLINE VD Exp2Fraction(VD f) {
  VD p = Set(0x1.e80b562946a71p-32);
  p = Fma(p, f, Set(0x1.e611a384986e7p-28));
  p = Fma(p, f, Set(0x1.b52610078240bp-24));
  p = Fma(p, f, Set(0x1.62bfcddc7fa4dp-20));
  p = Fma(p, f, Set(0x1.ffcbfbf79f9dep-17));
  p = Fma(p, f, Set(0x1.4309130c01e67p-13));
  p = Fma(p, f, Set(0x1.5d87fe78b3f4bp-10));
  p = Fma(p, f, Set(0x1.3b2ab6fba11f2p-7));
  p = Fma(p, f, Set(0x1.c6b08d704a0d3p-5));
  p = Fma(p, f, Set(0x1.ebfbdff82c59cp-3));
  p = Fma(p, f, Set(0x1.62e42fefa39efp-1));
  return Fma(p, f, Set(1.0));
}

// 2^x, for weights: x <= 1022. Exactly 0 below -1022.5 (-inf included), NaN stays NaN.
// Error 1.1 ULP for -1022 <= x <= 1022 (0.8 with fused multiply-add).
RFA_INLINE VD Exp2Weight(VD x) {
  x = Max(Set(-1023.0), x);
  // leaves n + 1023 in the low bits: the exponent of 2^n, and all bits zero for n = -1023
  const VD rounder = Set(kRounderD + 1023.0);
  const VD shifted = Add(x, rounder);
  const VD f = Sub(x, Sub(shifted, rounder));
  return Mul(Exp2Fraction(f), FromBitsD(ShlL<52>(Bits(shifted))));
}

// The arc-cosine kernel of unit vectors, f(c) = sin t + (pi - t) c with t = acos c, for -1 <= c <= 1: f rises from
// 0 to pi. Error 10 u absolutely, u = 2^-53 (12 u without fused multiply-add); NaN stays NaN.
// asin x = x + x z P(z), z = x^2 <= 1/4, relative error 2^-59.8; beyond |c| = 1/2 the arc of the half angle.
RFA_INLINE VD ArcCosine(VD c) {
  const VD one = Set(1.0), a = Max(c, Sub(ZeroD(), c)), rest = Sub(one, a);
  const MD near = Less(a, Set(0.5));
  const VD z = Select(near, Mul(a, a), Mul(Set(0.5), rest));
  const VD x = Select(near, a, Sqrt(z));
  VD p = Set(0x1.0b93fcdc1a302p-5);
  p = Fma(p, z, Set(-0x1.58fadbba46e1fp-6));
  p = Fma(p, z, Set(0x1.645472854bdfcp-6));
  p = Fma(p, z, Set(0x1.e3864bcceca2ap-9));
  p = Fma(p, z, Set(0x1.616729b6d6bc3p-7));
  p = Fma(p, z, Set(0x1.757da7e554aa4p-7));
  p = Fma(p, z, Set(0x1.ca208e34ad278p-7));
  p = Fma(p, z, Set(0x1.1c49e5262079bp-6));
  p = Fma(p, z, Set(0x1.6e8bdf88e42e0p-6));
  p = Fma(p, z, Set(0x1.f1c71a8e8f70ap-6));
  p = Fma(p, z, Set(0x1.6db6db7224f06p-5));
  p = Fma(p, z, Set(0x1.333333332df71p-4));
  p = Fma(p, z, Set(0x1.5555555555578p-3));
  const VD arc = Fma(Mul(x, z), p, x);
  // acos |c|, then pi - acos c
  const VD turned = Select(near, Sub(Set(0x1.921fb54442d18p+0), arc), Add(arc, arc));
  const VD opening = Select(Less(c, ZeroD()), turned, Sub(Set(0x1.921fb54442d18p+1), turned));
  return Fma(opening, c, Sqrt(Mul(rest, Add(one, a))));
}

RFA_KERNELS_END
