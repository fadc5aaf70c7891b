// The vector wrapper on 64-bit NEON: 4 lanes, 32 registers. See simd.h for the contract.
#pragma once

#include <arm_neon.h>

#define RFA_ISA_NAMESPACE neon
#define RFA_ISA_NAME "neon"

namespace rfa::neon {
namespace {

// Armv8-A: 4 lanes, but 32 registers, hence the wide register tile of micro-inl.h.
using V = float32x4_t;
using I = int32x4_t;
using M = uint32x4_t;
constexpr int W = 4;
constexpr int kRegisters = 32;

RFA_INLINE V Zero() { return vdupq_n_f32(0); }
RFA_INLINE V Set(float x) { return vdupq_n_f32(x); }
RFA_INLINE V Load(const float* p) { return vld1q_f32(p); }
RFA_INLINE void Store(float* p, V x) { vst1q_f32(p, x); }

RFA_INLINE M FirstN(Size n) {
  const I lane = {0, 1, 2, 3};
  return vcltq_s32(lane, vdupq_n_s32(static_cast<std::int32_t>(n)));
}
// NEON has no masked memory access: tails go through a buffer.
// (lanes that are not asked for are not read: the array may end at the end of a page)
RFA_INLINE V LoadN(const float* p, Size n) {
  float t[4] = {0, 0, 0, 0};
  for (Size i = 0; i < n; i++) t[i] = p[i];
  return vld1q_f32(t);
}
RFA_INLINE void StoreN(float* p, V x, Size n) {
  float t[4];
  vst1q_f32(t, x);
  for (Size i = 0; i < n; i++) p[i] = t[i];
}

RFA_INLINE V Add(V a, V b) { return vaddq_f32(a, b); }
RFA_INLINE V Sub(V a, V b) { return vsubq_f32(a, b); }
RFA_INLINE V Mul(V a, V b) { return vmulq_f32(a, b); }
RFA_INLINE V Div(V a, V b) { return vdivq_f32(a, b); }
RFA_INLINE V Sqrt(V a) { return vsqrtq_f32(a); }
// Unlike vmaxq, takes the second operand where either is NaN, as the other instruction sets do.
RFA_INLINE V Max(V a, V b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
RFA_INLINE V Min(V a, V b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
// vfma adds to its first operand: the order of arguments differs from the contract's
RFA_INLINE V Fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
RFA_INLINE V Fnma(V a, V b, V c) { return vfmsq_f32(c, a, b); }
RFA_INLINE V FnmaExact(V a, V b, V c) { return vfmsq_f32(c, a, b); }

RFA_INLINE M Less(V a, V b) { return vcltq_f32(a, b); }
RFA_INLINE M Equal(V a, V b) { return vceqq_f32(a, b); }
RFA_INLINE V Select(M m, V yes, V no) { return vbslq_f32(m, yes, no); }
RFA_INLINE bool AllTrue(M m) { return vminvq_u32(m) != 0; }

RFA_INLINE I Bits(V a) { return vreinterpretq_s32_f32(a); }
RFA_INLINE V FromBits(I a) { return vreinterpretq_f32_s32(a); }
RFA_INLINE I SetI(std::int32_t x) { return vdupq_n_s32(x); }
RFA_INLINE I AddI(I a, I b) { return vaddq_s32(a, b); }
RFA_INLINE I SubI(I a, I b) { return vsubq_s32(a, b); }
RFA_INLINE I AndI(I a, I b) { return vandq_s32(a, b); }
RFA_INLINE I OrI(I a, I b) { return vorrq_s32(a, b); }
RFA_INLINE I XorI(I a, I b) { return veorq_s32(a, b); }
template <int n>
RFA_INLINE I ShlI(I a) { return vshlq_n_s32(a, n); }
template <int n>
RFA_INLINE I SarI(I a) { return vshrq_n_s32(a, n); }
RFA_INLINE V ToFloat(I a) { return vcvtq_f32_s32(a); }
RFA_INLINE M NegativeI(I a) { return vcltzq_s32(a); }

// pairs of neighbours, then the two sums: a fixed tree as well
RFA_INLINE float ReduceAdd(V a) { return vaddvq_f32(a); }
RFA_INLINE float ReduceMax(V a) {
  V s = Max(a, vextq_f32(a, a, 2));
  s = Max(s, vextq_f32(s, s, 1));
  return vgetq_lane_f32(s, 0);
}

// x[i][j] <- x[j][i]
RFA_INLINE void TransposeSquare(V (&x)[4]) {
  const V a = vzip1q_f32(x[0], x[2]), b = vzip2q_f32(x[0], x[2]);
  const V c = vzip1q_f32(x[1], x[3]), d = vzip2q_f32(x[1], x[3]);
  x[0] = vzip1q_f32(a, c);
  x[1] = vzip2q_f32(a, c);
  x[2] = vzip1q_f32(b, d);
  x[3] = vzip2q_f32(b, d);
}

// ---- doubles ----------------------------------------------------------------------------------

using VD = float64x2_t;
using L = int64x2_t;
using MD = uint64x2_t;
constexpr int WD = 2;

RFA_INLINE VD ZeroD() { return vdupq_n_f64(0); }
RFA_INLINE VD Set(double x) { return vdupq_n_f64(x); }
RFA_INLINE VD Load(const double* p) { return vld1q_f64(p); }
RFA_INLINE void Store(double* p, VD x) { vst1q_f64(p, x); }
RFA_INLINE MD FirstND(Size n) {
  const L lane = {0, 1};
  return vcltq_s64(lane, vdupq_n_s64(n));
}
RFA_INLINE VD LoadN(const double* p, Size n) {
  double t[2] = {0, 0};
  for (Size i = 0; i < n; i++) t[i] = p[i];
  return vld1q_f64(t);
}
RFA_INLINE void StoreN(double* p, VD x, Size n) {
  double t[2];
  vst1q_f64(t, x);
  for (Size i = 0; i < n; i++) p[i] = t[i];
}
RFA_INLINE VD LoadWide(const float* p) { return vcvt_f64_f32(vld1_f32(p)); }
RFA_INLINE VD LoadWideN(const float* p, Size n) {
  float t[2] = {0, 0};
  for (Size i = 0; i < n; i++) t[i] = p[i];
  return LoadWide(t);
}
RFA_INLINE void StoreNarrow(float* p, VD x) { vst1_f32(p, vcvt_f32_f64(x)); }
RFA_INLINE void StoreNarrowN(float* p, VD x, Size n) {
  float t[2];
  StoreNarrow(t, x);
  for (Size i = 0; i < n; i++) p[i] = t[i];
}

RFA_INLINE VD Add(VD a, VD b) { return vaddq_f64(a, b); }
RFA_INLINE VD Sub(VD a, VD b) { return vsubq_f64(a, b); }
RFA_INLINE VD Mul(VD a, VD b) { return vmulq_f64(a, b); }
RFA_INLINE VD Div(VD a, VD b) { return vdivq_f64(a, b); }
RFA_INLINE VD Sqrt(VD a) { return vsqrtq_f64(a); }
RFA_INLINE VD Max(VD a, VD b) { return vbslq_f64(vcgtq_f64(a, b), a, b); }
RFA_INLINE VD Min(VD a, VD b) { return vbslq_f64(vcltq_f64(a, b), a, b); }
RFA_INLINE VD Fma(VD a, VD b, VD c) { return vfmaq_f64(c, a, b); }
RFA_INLINE VD Fnma(VD a, VD b, VD c) { return vfmsq_f64(c, a, b); }

RFA_INLINE MD Less(VD a, VD b) { return vcltq_f64(a, b); }
RFA_INLINE MD Equal(VD a, VD b) { return vceqq_f64(a, b); }
RFA_INLINE VD Select(MD m, VD yes, VD no) { return vbslq_f64(m, yes, no); }

RFA_INLINE L Bits(VD a) { return vreinterpretq_s64_f64(a); }
RFA_INLINE VD FromBitsD(L a) { return vreinterpretq_f64_s64(a); }
RFA_INLINE L SetL(std::int64_t x) { return vdupq_n_s64(x); }
RFA_INLINE L AddL(L a, L b) { return vaddq_s64(a, b); }
RFA_INLINE L SubL(L a, L b) { return vsubq_s64(a, b); }
RFA_INLINE L AndL(L a, L b) { return vandq_s64(a, b); }
RFA_INLINE L OrL(L a, L b) { return vorrq_s64(a, b); }
RFA_INLINE L XorL(L a, L b) { return veorq_s64(a, b); }
template <int n>
RFA_INLINE L ShlL(L a) { return vshlq_n_s64(a, n); }
template <int n>
RFA_INLINE L ShrL(L a) {
  return vreinterpretq_s64_u64(vshrq_n_u64(vreinterpretq_u64_s64(a), n));
}
RFA_INLINE L LanesL() { return L{0, 1}; }
RFA_INLINE L MulWords(L a, L b) {
  const uint32x2_t x = vmovn_u64(vreinterpretq_u64_s64(a)), y = vmovn_u64(vreinterpretq_u64_s64(b));
  return vreinterpretq_s64_u64(vmull_u32(x, y));
}
RFA_INLINE MD NegativeL(L a) { return vcltzq_s64(a); }

RFA_INLINE double ReduceAdd(VD a) { return vgetq_lane_f64(a, 0) + vgetq_lane_f64(a, 1); }
RFA_INLINE double ReduceMax(VD a) {
  const VD s = Max(a, vextq_f64(a, a, 1));
  return vgetq_lane_f64(s, 0);
}

RFA_INLINE void Interleave(VD& a, VD& b) {
  const VD first = vzip1q_f64(a, b);
  b = vzip2q_f64(a, b);
  a = first;
}

}  // namespace
}  // namespace rfa::neon
