// The vector wrapper on AVX-512 F + VL + DQ: 16 lanes, 32 registers. See simd.h for the contract.
#pragma once

#include <immintrin.h>

#define RFA_ISA_NAMESPACE avx512
#define RFA_ISA_NAME "avx512"

namespace rfa::avx512 {
namespace {

using V = __m512;
using I = __m512i;
// Skylake-X and later, Zen 4 and later. Truth values are bits of a mask register.
using M = __mmask16;
constexpr int W = 16;
constexpr int kRegisters = 32;

RFA_INLINE V Zero() { return _mm512_setzero_ps(); }
RFA_INLINE V Set(float x) { return _mm512_set1_ps(x); }
RFA_INLINE V Load(const float* p) { return _mm512_loadu_ps(p); }
RFA_INLINE void Store(float* p, V x) { _mm512_storeu_ps(p, x); }

// n = W shifts a 32-bit one by 16: still defined, and all 16 bits remain
RFA_INLINE M FirstN(Size n) { return static_cast<M>((1u << n) - 1u); }
// masked lanes are not touched: no fault where the array ends at the end of a page
RFA_INLINE V LoadN(const float* p, Size n) { return _mm512_maskz_loadu_ps(FirstN(n), p); }
RFA_INLINE void StoreN(float* p, V x, Size n) { _mm512_mask_storeu_ps(p, FirstN(n), x); }

RFA_INLINE V Add(V a, V b) { return _mm512_add_ps(a, b); }
RFA_INLINE V Sub(V a, V b) { return _mm512_sub_ps(a, b); }
RFA_INLINE V Mul(V a, V b) { return _mm512_mul_ps(a, b); }
RFA_INLINE V Div(V a, V b) { return _mm512_div_ps(a, b); }
RFA_INLINE V Sqrt(V a) { return _mm512_sqrt_ps(a); }
// maxps itself has the contract's rule for NaN: its second operand
RFA_INLINE V Max(V a, V b) { return _mm512_max_ps(a, b); }
RFA_INLINE V Min(V a, V b) { return _mm512_min_ps(a, b); }
RFA_INLINE V Fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
RFA_INLINE V Fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
RFA_INLINE V FnmaExact(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }

// ordered and quiet: false where either one is NaN
RFA_INLINE M Less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
RFA_INLINE M Equal(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
RFA_INLINE V Select(M m, V yes, V no) { return _mm512_mask_blend_ps(m, no, yes); }
RFA_INLINE bool AllTrue(M m) { return m == 0xFFFF; }

RFA_INLINE I Bits(V a) { return _mm512_castps_si512(a); }
RFA_INLINE V FromBits(I a) { return _mm512_castsi512_ps(a); }
RFA_INLINE I SetI(std::int32_t x) { return _mm512_set1_epi32(x); }
RFA_INLINE I AddI(I a, I b) { return _mm512_add_epi32(a, b); }
RFA_INLINE I SubI(I a, I b) { return _mm512_sub_epi32(a, b); }
RFA_INLINE I AndI(I a, I b) { return _mm512_and_si512(a, b); }
RFA_INLINE I OrI(I a, I b) { return _mm512_or_si512(a, b); }
RFA_INLINE I XorI(I a, I b) { return _mm512_xor_si512(a, b); }
template <int n>
RFA_INLINE I ShlI(I a) { return _mm512_slli_epi32(a, n); }
template <int n>
RFA_INLINE I SarI(I a) { return _mm512_srai_epi32(a, n); }
RFA_INLINE V ToFloat(I a) { return _mm512_cvtepi32_ps(a); }
// DQ: the sign bits of 16 lanes as a mask, in one instruction
RFA_INLINE M NegativeI(I a) { return _mm512_movepi32_mask(a); }

// Halves down to one lane, in a fixed order; the library's own reduction may choose another.
RFA_INLINE float ReduceAdd(V a) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
RFA_INLINE float ReduceMax(V a) {
  const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

// x[i][j] <- x[j][i]: unpack pairs, then quadruples, then 128-bit quarters twice.
RFA_INLINE void TransposeSquare(V (&x)[16]) {
  V t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    const __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
    const __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
    x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    x[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    x[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    x[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
  }
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; i++) {
    x[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    x[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    x[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// ---- doubles ----------------------------------------------------------------------------------

using VD = __m512d;
using L = __m512i;
using MD = __mmask8;
constexpr int WD = 8;

RFA_INLINE VD ZeroD() { return _mm512_setzero_pd(); }
RFA_INLINE VD Set(double x) { return _mm512_set1_pd(x); }
RFA_INLINE VD Load(const double* p) { return _mm512_loadu_pd(p); }
RFA_INLINE void Store(double* p, VD x) { _mm512_storeu_pd(p, x); }
RFA_INLINE MD FirstND(Size n) { return static_cast<MD>((1u << n) - 1u); }
RFA_INLINE VD LoadN(const double* p, Size n) { return _mm512_maskz_loadu_pd(FirstND(n), p); }
RFA_INLINE void StoreN(double* p, VD x, Size n) { _mm512_mask_storeu_pd(p, FirstND(n), x); }
RFA_INLINE VD LoadWide(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
RFA_INLINE VD LoadWideN(const float* p, Size n) {
  return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(FirstND(n), p));
}
RFA_INLINE void StoreNarrow(float* p, VD x) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(x)); }
RFA_INLINE void StoreNarrowN(float* p, VD x, Size n) {
  _mm256_mask_storeu_ps(p, FirstND(n), _mm512_cvtpd_ps(x));
}

RFA_INLINE VD Add(VD a, VD b) { return _mm512_add_pd(a, b); }
RFA_INLINE VD Sub(VD a, VD b) { return _mm512_sub_pd(a, b); }
RFA_INLINE VD Mul(VD a, VD b) { return _mm512_mul_pd(a, b); }
RFA_INLINE VD Div(VD a, VD b) { return _mm512_div_pd(a, b); }
RFA_INLINE VD Sqrt(VD a) { return _mm512_sqrt_pd(a); }
RFA_INLINE VD Max(VD a, VD b) { return _mm512_max_pd(a, b); }
RFA_INLINE VD Min(VD a, VD b) { return _mm512_min_pd(a, b); }
RFA_INLINE VD Fma(VD a, VD b, VD c) { return _mm512_fmadd_pd(a, b, c); }
RFA_INLINE VD Fnma(VD a, VD b, VD c) { return _mm512_fnmadd_pd(a, b, c); }

RFA_INLINE MD Less(VD a, VD b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
RFA_INLINE MD Equal(VD a, VD b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
RFA_INLINE VD Select(MD m, VD yes, VD no) { return _mm512_mask_blend_pd(m, no, yes); }

RFA_INLINE L Bits(VD a) { return _mm512_castpd_si512(a); }
RFA_INLINE VD FromBitsD(L a) { return _mm512_castsi512_pd(a); }
RFA_INLINE L SetL(std::int64_t x) { return _mm512_set1_epi64(x); }
RFA_INLINE L AddL(L a, L b) { return _mm512_add_epi64(a, b); }
RFA_INLINE L SubL(L a, L b) { return _mm512_sub_epi64(a, b); }
RFA_INLINE L AndL(L a, L b) { return _mm512_and_si512(a, b); }
RFA_INLINE L OrL(L a, L b) { return _mm512_or_si512(a, b); }
RFA_INLINE L XorL(L a, L b) { return _mm512_xor_si512(a, b); }
template <int n>
RFA_INLINE L ShlL(L a) { return _mm512_slli_epi64(a, n); }
template <int n>
RFA_INLINE L ShrL(L a) { return _mm512_srli_epi64(a, n); }
RFA_INLINE L LanesL() { return _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7); }
RFA_INLINE L MulWords(L a, L b) { return _mm512_mul_epu32(a, b); }
RFA_INLINE MD NegativeL(L a) { return _mm512_movepi64_mask(a); }

RFA_INLINE double ReduceAdd(VD a) {
  const __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
  const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
  return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}
RFA_INLINE double ReduceMax(VD a) {
  const __m256d h = _mm256_max_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
  const __m128d s = _mm_max_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
  return _mm_cvtsd_f64(_mm_max_sd(s, _mm_unpackhi_pd(s, s)));
}

RFA_INLINE void Interleave(VD& a, VD& b) {
  const VD first = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
  b = _mm512_permutex2var_pd(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
  a = first;
}

}  // namespace
}  // namespace rfa::avx512
