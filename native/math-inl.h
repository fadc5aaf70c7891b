// Vector exp, exp - 1, log, sin, cos. Errors are in ULP of float32 against the exact value: bounds that
// test/math-test.cc checks on a sample of all floats (every 61st was looked at), with and without fused
// multiply-add.
// Polynomials: minimax (Remez exchange), coefficients rounded to float32 one after the other.
#pragma once

#include "simd.h"

RFA_KERNELS_BEGIN

constexpr float kLog2E = 1.44269504f;
constexpr float kLn2 = 0.693147181f;
constexpr float kInfinity = __builtin_huge_valf();
// 1.5 * 2^23: adding it rounds |x| < 2^22 to an integer, which then stands in the low mantissa bits.
constexpr float kRounder = 12582912.0f;

// 2^f for |f| <= 1/2; relative error of the polynomial 2^-25.2.
RFA_INLINE V Exp2Fraction(V f) {
  V p = Set(0x1.4c99dep-13f);
  p = Fma(p, f, Set(0x1.5fa818p-10f));
  p = Fma(p, f, Set(0x1.3b21aap-7f));
  p = Fma(p, f, Set(0x1.c6ada4p-5f));
  p = Fma(p, f, Set(0x1.ebfbe6p-3f));
  p = Fma(p, f, Set(0x1.62e432p-1f));
  return Fma(p, f, Set(1.0f));
}

// 2^(x - shift), for weights: x - shift <= 126, a whole `shift`. Exactly 0 below -126.5 (-inf and -1e30 included), NaN stays
// NaN. Error 1.4 ULP for -126 <= x - shift <= 126 (1.1 with fused multiply-add).
RFA_INLINE V Exp2Weight(V x, float shift = 0) {
  x = Max(Set(shift - 127.0f), x);
  // leaves n - shift + 127 in the low bits: the exponent of the result, and all bits zero for -127
  const V rounder = Set(kRounder + 127.0f - shift);
  const V shifted = Add(x, rounder);
  const V f = Sub(x, Sub(shifted, rounder));
  return Mul(Exp2Fraction(f), FromBits(ShlI<23>(Bits(shifted))));
}

// x = n ln 2 + r, |r| <= ln(2) / 2: n as `shifted` - kRounder and in the low bits of `shifted`.
struct ExpReduced {
  V shifted, r;
};
RFA_INLINE ExpReduced ReduceExp(V x) {
  const V shifted = Fma(x, Set(kLog2E), Set(kRounder));
  const V n = Sub(shifted, Set(kRounder));
  V r = FnmaExact(n, Set(0x1.62e430p-1f), x);
  r = FnmaExact(n, Set(-0x1.05c610p-29f), r);
  return {shifted, r};
}

// e^r - 1 for |r| <= ln(2) / 2.
RFA_INLINE V ExpFraction(V r) {
  V p = Set(0x1.6ff252p-10f);
  p = Fma(p, r, Set(0x1.1257d2p-7f));
  p = Fma(p, r, Set(0x1.5552fep-5f));
  p = Fma(p, r, Set(0x1.555466p-3f));
  p = Fma(p, r, Set(0.5f));
  return Fma(Mul(r, r), p, r);
}

// e^x on the whole line: overflows to +inf above 88.72, gradual underflow, 0 below -103.98, NaN kept.
// Error 1.1 ULP.
RFA_INLINE V Exp(V x) {
  // both ends already give 0 and +inf
  const ExpReduced reduced = ReduceExp(Max(Set(-105.0f), Min(Set(89.0f), x)));
  const V p = Add(ExpFraction(reduced.r), Set(1.0f));
  // 2^n in two factors, each a normal number: the second product rounds once, into inf or denormals
  const I exponent = SubI(Bits(reduced.shifted), SetI(0x4B400000));
  const I half = SarI<1>(exponent);
  const V first = FromBits(ShlI<23>(AddI(half, SetI(127))));
  const V second = FromBits(ShlI<23>(AddI(SubI(exponent, half), SetI(127))));
  return Mul(Mul(p, first), second);
}

// e^x - 1 for x <= 0, NaN kept: 2^n (e^r - 1) + (2^n - 1), the second part exact where it
// is not -1 within half an ULP. Error 1.1 ULP.
RFA_INLINE V ExpMinusOne(V x) {
  const ExpReduced reduced = ReduceExp(Max(Set(-87.0f), x));  // 2^n stays a normal number
  const V power = FromBits(ShlI<23>(AddI(Bits(reduced.shifted), SetI(127 - 0x4B400000))));
  return Fma(power, ExpFraction(reduced.r), Sub(power, Set(1.0f)));
}

// ln x: -inf at 0, NaN below, +inf at +inf, denormals included. Error 0.9 ULP.
// With x = 2^e m, sqrt(1/2) <= m < sqrt(2), s = f / (2 + f), f = m - 1: ln m = 2 atanh s.
RFA_INLINE V Log(V x) {
  const M tiny = Less(x, Set(0x1p-126f));
  const V scaled = Select(tiny, Mul(x, Set(0x1p24f)), x);
  // exponent such that the mantissa falls into [sqrt(1/2), sqrt(2))
  const I offset = SubI(Bits(scaled), SetI(0x3F3504F3));
  const I exponent = SarI<23>(offset);
  const V m = FromBits(SubI(Bits(scaled), ShlI<23>(exponent)));
  const V e = Add(ToFloat(exponent), Select(tiny, Set(-24.0f), Zero()));
  const V f = Sub(m, Set(1.0f));
  const V s = Div(f, Add(f, Set(2.0f)));
  const V z = Mul(s, s);
  V r = Set(0x1.f13b22p-3f);
  r = Fma(r, z, Set(0x1.23d3e0p-2f));
  r = Fma(r, z, Set(0x1.999c26p-2f));
  r = Fma(r, z, Set(0x1.555554p-1f));
  r = Mul(r, z);
  const V half_square = Mul(Set(0.5f), Mul(f, f));
  // f - (f^2/2 - s (f^2/2 + r)), ln 2 in two parts so that e ln2_high is exact
  const V low = Fma(e, Set(0x1.2fefa2p-17f), Mul(s, Add(half_square, r)));
  V y = Fma(e, Set(0x1.62e300p-1f), Sub(f, Sub(half_square, low)));
  y = Select(Equal(x, Set(kInfinity)), x, y);
  y = Select(Equal(x, Zero()), Set(-kInfinity), y);
  const V invalid = Sub(x, x);  // NaN for NaN and infinities
  const V nan = Div(Zero(), Zero());
  y = Select(Less(x, Zero()), nan, y);
  return Select(Equal(x, x), y, invalid);
}

struct SinCosPair {
  V sin, cos;
};

// Largest |x| of the vector reduction: n = x 2/pi stays below 2^17, and n times each of the three
// parts of pi/2 is formed without a rounding that matters.
constexpr float kSinCosRange = 131072.0f;

// Beyond the range, in double, lane by lane: the argument is exact, so libm's reduction is too. Out of
// line: its calls would keep the registers of the loops around SinCos in memory.
RFA_COLD inline SinCosPair SinCosFar(V x) {
  float in[W], sines[W], cosines[W];
  Store(in, x);
  for (int i = 0; i < W; i++) {
    sines[i] = static_cast<float>(sin(static_cast<double>(in[i])));
    cosines[i] = static_cast<float>(cos(static_cast<double>(in[i])));
  }
  return {Load(sines), Load(cosines)};
}

// sin x and cos x. Error 1.6 ULP each up to |x| = 2^17 (beyond, double precision decides: 0.5 ULP);
// infinities and NaN give NaN.
RFA_INLINE SinCosPair SinCos(V x) {
  const V shifted = Fma(x, Set(0x1.45f306p-1f), Set(kRounder));
  const V n = Sub(shifted, Set(kRounder));
  V r = FnmaExact(n, Set(0x1.921fb6p+0f), x);
  r = FnmaExact(n, Set(-0x1.777a5cp-25f), r);
  r = FnmaExact(n, Set(-0x1.ee59dap-50f), r);
  const V z = Mul(r, r);
  V s = Fma(Set(-0x1.9953fep-13f), z, Set(0x1.110778p-7f));
  s = Fma(s, z, Set(-0x1.555546p-3f));
  s = Fma(Mul(s, z), r, r);
  V c = Fma(Set(0x1.99e0eep-16f), z, Set(-0x1.6c0c1ap-10f));
  c = Fma(c, z, Set(0x1.55554ap-5f));
  c = Fma(Mul(c, z), z, Fma(Set(-0.5f), z, Set(1.0f)));
  // quarter turns: bit 0 swaps, bit 1 negates the sine, bit 0 xor bit 1 the cosine
  const I quarter = Bits(shifted);
  const I bit0 = ShlI<31>(quarter), bit1 = ShlI<30>(quarter);
  const I sign = SetI(INT32_MIN);
  const M swap = NegativeI(bit0);
  const V sine = FromBits(XorI(Bits(Select(swap, c, s)), AndI(bit1, sign)));
  const V cosine = FromBits(XorI(Bits(Select(swap, s, c)), AndI(XorI(bit0, bit1), sign)));
  const M near = Less(FromBits(AndI(Bits(x), SetI(INT32_MAX))), Set(kSinCosRange));
  if (AllTrue(near)) return {sine, cosine};
  // lane by lane: the result of a token does not depend on its neighbours
  const SinCosPair far = SinCosFar(x);
  return {Select(near, sine, far.sin), Select(near, cosine, far.cos)};
}

// sin and cos times a scale, for features, where an absolute error counts: 5 2^-24 of the scale for
// |x| < kSinCosRange (polynomial 0.9, r and r^2 1.3, steps and result 2; 2.9 seen, 3.5 where multiply-adds
// round twice). With x = n pi + r both take the sign (-1)^n: no swap of the two, and half the operations of SinCos,
// which has a relative error. The scale is part of the coefficients.
struct ScaledWaves {
  V s[5], c[5];

  RFA_INLINE explicit ScaledWaves(float scale) {
    // sin r = r s(r^2), cos r = c(r^2) for |r| <= pi / 2, within 2^-27.5 and 2^-24.1
    constexpr float kSine[5] = {1.0f, -0x1.555548p-3f, 0x1.110e58p-7f, -0x1.9f5cecp-13f,
                                0x1.5cd2a6p-19f};
    constexpr float kCosine[5] = {1.0f, -0x1.ffffd2p-2f, 0x1.554faap-5f, -0x1.6b3816p-10f,
                                  0x1.850c24p-16f};
    for (int i = 0; i < 5; i++) {
      s[i] = Set(scale * kSine[i]);
      c[i] = Set(scale * kCosine[i]);
    }
  }

  RFA_INLINE SinCosPair operator()(V x) const {
    const V shifted = Fma(x, Set(0x1.45f306p-2f), Set(kRounder));
    const V n = Sub(shifted, Set(kRounder));
    const V r = FnmaExact(n, Set(-0x1.777a5cp-24f), FnmaExact(n, Set(0x1.921fb6p+1f), x));
    const V z = Mul(r, r);
    V sine = Fma(s[4], z, s[3]), cosine = Fma(c[4], z, c[3]);
    for (int i = 2; i >= 0; i--) {
      sine = Fma(sine, z, s[i]);
      cosine = Fma(cosine, z, c[i]);
    }
    const I sign = ShlI<31>(Bits(shifted));
    return {FromBits(XorI(Bits(Mul(sine, r)), sign)), FromBits(XorI(Bits(cosine), sign))};
  }
};

RFA_INLINE V Magnitude(V x) { return FromBits(AndI(Bits(x), SetI(INT32_MAX))); }

// elu(x) + 1 = max(x, 0) + e^min(x, 0). Error 1 ULP above 0, (2 + |x|) ULP below: x log2 e is rounded
// before the power, which is as good as any x that has been computed.
RFA_INLINE V EluPlusOne(V x) {
  return Add(Max(Zero(), x), Exp2Weight(Mul(Min(Zero(), x), Set(kLog2E))));
}

// x Phi(x), Phi the normal distribution function. Error 8 2^-24 |x|: Phi(-|x|) is e^(-x^2 / 2) / 2 times a
// polynomial in 1 / (1 + p |x| / sqrt 2), within 1.3 2^-24 (Abramowitz and Stegun 1964, 7.1.26).
RFA_INLINE V Gelu(V x) {
  const V size = Magnitude(x);
  const V t = Div(Set(1.0f), Fma(size, Set(0.3275911f * 0.70710678f), Set(1.0f)));
  V p = Set(0.5f * 1.061405429f);
  p = Fma(p, t, Set(0.5f * -1.453152027f));
  p = Fma(p, t, Set(0.5f * 1.421413741f));
  p = Fma(p, t, Set(0.5f * -0.284496736f));
  p = Fma(p, t, Set(0.5f * 0.254829592f));
  const V tail = Mul(Mul(p, t), Exp(Mul(Mul(x, x), Set(-0.5f))));
  return Mul(x, Select(Less(x, Zero()), tail, Sub(Set(1.0f), tail)));
}

// x / (1 + e^-x). Error 4 ULP.
RFA_INLINE V Silu(V x) {
  return Div(x, Add(Set(1.0f), Exp(Sub(Zero(), x))));
}

// x (1 + tanh(u)) / 2 = x / (1 + e^(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3). Error 8 2^-24 |x|.
RFA_INLINE V GeluTanh(V x) {
  const V inner = Fma(Mul(x, x), Set(0.044715f), Set(1.0f));
  const V twice = Mul(Mul(x, Set(-1.59576912f)), inner);
  return Div(x, Add(Set(1.0f), Exp(twice)));
}

RFA_KERNELS_END
