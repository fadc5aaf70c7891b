// The vector wrapper on AVX2 + FMA: 8 lanes, 16 registers. See simd.h for the contract.
#pragma once

#include <immintrin.h>

#define RFA_ISA_NAMESPACE avx2
#define RFA_ISA_NAME "avx2"

namespace rfa::avx2 {
namespace {

using V = __m256;
using I = __m256i;
// Haswell and later, Zen and later. Selections look at the sign bit of each lane alone (blendv).
using M = __m256;  // all bits of a lane set = true
constexpr int W = 8;
constexpr int kRegisters = 16;

RFA_INLINE V Zero() { return _mm256_setzero_ps(); }
RFA_INLINE V Set(float x) { return _mm256_set1_ps(x); }
RFA_INLINE V Load(const float* p) { return _mm256_loadu_ps(p); }
RFA_INLINE void Store(float* p, V x) { _mm256_storeu_ps(p, x); }

// No mask registers: a lane mask is a comparison with the lane numbers.
RFA_INLINE I LaneBefore(Size n) {
  const I lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
}
RFA_INLINE M FirstN(Size n) { return _mm256_castsi256_ps(LaneBefore(n)); }
// masked lanes are not touched: no fault where the array ends at the end of a page
RFA_INLINE V LoadN(const float* p, Size n) { return _mm256_maskload_ps(p, LaneBefore(n)); }
RFA_INLINE void StoreN(float* p, V x, Size n) { _mm256_maskstore_ps(p, LaneBefore(n), x); }

RFA_INLINE V Add(V a, V b) { return _mm256_add_ps(a, b); }
RFA_INLINE V Sub(V a, V b) { return _mm256_sub_ps(a, b); }
RFA_INLINE V Mul(V a, V b) { return _mm256_mul_ps(a, b); }
RFA_INLINE V Div(V a, V b) { return _mm256_div_ps(a, b); }
RFA_INLINE V Sqrt(V a) { return _mm256_sqrt_ps(a); }
// maxps itself has the contract's rule for NaN: its second operand
RFA_INLINE V Max(V a, V b) { return _mm256_max_ps(a, b); }
RFA_INLINE V Min(V a, V b) { return _mm256_min_ps(a, b); }
RFA_INLINE V Fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
RFA_INLINE V Fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
RFA_INLINE V FnmaExact(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }

// ordered and quiet: false where either one is NaN
RFA_INLINE M Less(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
RFA_INLINE M Equal(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
RFA_INLINE V Select(M m, V yes, V no) { return _mm256_blendv_ps(no, yes, m); }
RFA_INLINE bool AllTrue(M m) { return _mm256_movemask_ps(m) == 0xFF; }

RFA_INLINE I Bits(V a) { return _mm256_castps_si256(a); }
RFA_INLINE V FromBits(I a) { return _mm256_castsi256_ps(a); }
RFA_INLINE I SetI(std::int32_t x) { return _mm256_set1_epi32(x); }
RFA_INLINE I AddI(I a, I b) { return _mm256_add_epi32(a, b); }
RFA_INLINE I SubI(I a, I b) { return _mm256_sub_epi32(a, b); }
RFA_INLINE I AndI(I a, I b) { return _mm256_and_si256(a, b); }
RFA_INLINE I OrI(I a, I b) { return _mm256_or_si256(a, b); }
RFA_INLINE I XorI(I a, I b) { return _mm256_xor_si256(a, b); }
template <int n>
RFA_INLINE I ShlI(I a) { return _mm256_slli_epi32(a, n); }
template <int n>
RFA_INLINE I SarI(I a) { return _mm256_srai_epi32(a, n); }
RFA_INLINE V ToFloat(I a) { return _mm256_cvtepi32_ps(a); }
// selections and tests look at the highest bit of a lane alone
RFA_INLINE M NegativeI(I a) { return _mm256_castsi256_ps(a); }

// Halves, quarters, pairs: log2 W additions in a fixed order, the same as in avx512.h from 8 lanes
// on.
RFA_INLINE float ReduceAdd(V a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
RFA_INLINE float ReduceMax(V a) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

// x[i][j] <- x[j][i]: unpack pairs, shuffle quadruples, swap 128-bit halves.
RFA_INLINE void TransposeSquare(V (&x)[8]) {
  V t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    x[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    x[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    x[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    x[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    t[i] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x31);
  }
  for (int i = 0; i < 8; i++) x[i] = t[i];
}

// ---- doubles ----------------------------------------------------------------------------------

using VD = __m256d;
using L = __m256i;
using MD = __m256d;
constexpr int WD = 4;

RFA_INLINE VD ZeroD() { return _mm256_setzero_pd(); }
RFA_INLINE VD Set(double x) { return _mm256_set1_pd(x); }
RFA_INLINE VD Load(const double* p) { return _mm256_loadu_pd(p); }
RFA_INLINE void Store(double* p, VD x) { _mm256_storeu_pd(p, x); }
RFA_INLINE L LaneBeforeD(Size n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
// the same for floats
RFA_INLINE __m128i LaneBeforeWide(Size n) {
  return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(n)), _mm_setr_epi32(0, 1, 2, 3));
}
RFA_INLINE MD FirstND(Size n) { return _mm256_castsi256_pd(LaneBeforeD(n)); }
RFA_INLINE VD LoadN(const double* p, Size n) { return _mm256_maskload_pd(p, LaneBeforeD(n)); }
RFA_INLINE void StoreN(double* p, VD x, Size n) { _mm256_maskstore_pd(p, LaneBeforeD(n), x); }
RFA_INLINE VD LoadWide(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
RFA_INLINE VD LoadWideN(const float* p, Size n) {
  return _mm256_cvtps_pd(_mm_maskload_ps(p, LaneBeforeWide(n)));
}
RFA_INLINE void StoreNarrow(float* p, VD x) { _mm_storeu_ps(p, _mm256_cvtpd_ps(x)); }
RFA_INLINE void StoreNarrowN(float* p, VD x, Size n) {
  _mm_maskstore_ps(p, LaneBeforeWide(n), _mm256_cvtpd_ps(x));
}

RFA_INLINE VD Add(VD a, VD b) { return _mm256_add_pd(a, b); }
RFA_INLINE VD Sub(VD a, VD b) { return _mm256_sub_pd(a, b); }
RFA_INLINE VD Mul(VD a, VD b) { return _mm256_mul_pd(a, b); }
RFA_INLINE VD Div(VD a, VD b) { return _mm256_div_pd(a, b); }
RFA_INLINE VD Sqrt(VD a) { return _mm256_sqrt_pd(a); }
RFA_INLINE VD Max(VD a, VD b) { return _mm256_max_pd(a, b); }
RFA_INLINE VD Min(VD a, VD b) { return _mm256_min_pd(a, b); }
RFA_INLINE VD Fma(VD a, VD b, VD c) { return _mm256_fmadd_pd(a, b, c); }
RFA_INLINE VD Fnma(VD a, VD b, VD c) { return _mm256_fnmadd_pd(a, b, c); }

RFA_INLINE MD Less(VD a, VD b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
RFA_INLINE MD Equal(VD a, VD b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
// VD and MD are one type here, as V and M are
RFA_INLINE VD Select(MD m, VD yes, VD no) { return _mm256_blendv_pd(no, yes, m); }

RFA_INLINE L Bits(VD a) { return _mm256_castpd_si256(a); }
RFA_INLINE VD FromBitsD(L a) { return _mm256_castsi256_pd(a); }
RFA_INLINE L SetL(std::int64_t x) { return _mm256_set1_epi64x(x); }
RFA_INLINE L AddL(L a, L b) { return _mm256_add_epi64(a, b); }
RFA_INLINE L SubL(L a, L b) { return _mm256_sub_epi64(a, b); }
RFA_INLINE L AndL(L a, L b) { return _mm256_and_si256(a, b); }
RFA_INLINE L OrL(L a, L b) { return _mm256_or_si256(a, b); }
RFA_INLINE L XorL(L a, L b) { return _mm256_xor_si256(a, b); }
template <int n>
RFA_INLINE L ShlL(L a) { return _mm256_slli_epi64(a, n); }
template <int n>
RFA_INLINE L ShrL(L a) { return _mm256_srli_epi64(a, n); }
RFA_INLINE L LanesL() { return _mm256_setr_epi64x(0, 1, 2, 3); }
RFA_INLINE L MulWords(L a, L b) { return _mm256_mul_epu32(a, b); }
RFA_INLINE MD NegativeL(L a) { return _mm256_castsi256_pd(a); }

RFA_INLINE double ReduceAdd(VD a) {
  const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
  return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}
RFA_INLINE double ReduceMax(VD a) {
  const __m128d s = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
  return _mm_cvtsd_f64(_mm_max_sd(s, _mm_unpackhi_pd(s, s)));
}

RFA_INLINE void Interleave(VD& a, VD& b) {
  const VD even = _mm256_unpacklo_pd(a, b), odd = _mm256_unpackhi_pd(a, b);
  a = _mm256_permute2f128_pd(even, odd, 0x20);
  b = _mm256_permute2f128_pd(even, odd, 0x31);
}

}  // namespace
}  // namespace rfa::avx2
