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

}  // namespace
}  // namespace rfa::avx512
