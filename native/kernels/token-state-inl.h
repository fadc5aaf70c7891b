// One token at a time through a state that is updated in place: features of the token, and the step of
// the state. One item is one head. The state is read and written once per token: each row is decayed,
// takes in the key and is read by the query while it is in registers. Nothing is allocated.
//
//   S_s <- keep_s S_s + fresh_s v   [F, Dv]     z_s <- keep_s z_s + fresh_s   [F]
//   out = sum_s read_s S_s / guard(sum_s read_s (z_s + epsilon))
// Per head O(M D + F Dv) multiply-adds for 8 F Dv bytes of state moved: where states leave the
// cache, memory decides, and everything here serves to touch it once.
#pragma once

#include "kernels/feature-map-inl.h"
#include "kernels/state-inl.h"

RFA_KERNELS_BEGIN

constexpr int kDecodeVecs = 8;  // vectors of columns of the state at a time at most

// ---- features of one token ------------------------------------------------------------------

// C vectors of projections of query and key: out[m] = sum_d w[d][m] x[d] for both.
// kWhole: all C vectors lie within M, and loads need no bound. The last ones go vector by vector.
template <int C, bool kWhole>
RFA_INLINE void ProjectColumns(const float* w, Size stride, Size dim, Size count, const float* query,
                               const float* key, float* query_out, float* key_out) {
  V a[C], b[C];
  RFA_UNROLL
  for (int c = 0; c < C; c++) a[c] = b[c] = Zero();
  for (Size d = 0; d < dim; d++) {
    const V q = Set(query[d]), k = Set(key[d]);
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const float* p = w + d * stride + c * W;
      const V x = kWhole ? Load(p) : LoadUpTo(p, count - c * W);
      a[c] = Fma(x, q, a[c]);
      b[c] = Fma(x, k, b[c]);
    }
  }
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    Store(query_out + c * W, a[c]);
    Store(key_out + c * W, b[c]);
  }
}

// Query and key projected together, so that the transposed projection [D, M] is read once. Outputs are
// written up to whole vectors. Eight chains of multiply-adds where M allows it.
inline void ProjectPair(const float* w, Size stride, Size dim, Size count, const float* query,
                        const float* key, float* query_out, float* key_out) {
  // 4 vectors for each of two sides: 8 accumulators, for two multiply-add ports of latency 4
  Size m = 0;
  for (; m + 4 * W <= count; m += 4 * W) {
    ProjectColumns<4, true>(w + m, stride, dim, count - m, query, key, query_out + m, key_out + m);
  }
  for (; m < count; m += W) {
    ProjectColumns<1, false>(w + m, stride, dim, count - m, query, key, query_out + m, key_out + m);
  }
}

// Features of one token from its projections (or, without a projection, from the token), to exactly
// F floats. `half_norm` is subtracted from log kinds.
inline void FinishFeatures(const Features& f, const float* in, Size columns, float factor,
                           float half_norm, float* out) {
  // explicit features and elu + 1, F = D
  if (f.kind == FeatureKind::kEluPlusOne) return EluRow(in, factor, columns, f.feature_scale, out);
  if (!HasProjection(f.kind)) {
    return ElementwiseRows(f, in, 0, &factor, 1, columns, 1, out, 0);
  }
  // log kinds stay logarithms: p - |x'|^2/2 and, hyperbolic, -p - |x'|^2/2; their exponential is
  // the caller's
  const V scale = Set(FeatureScale(f)), half = Set(half_norm);
  for (Size m = 0; m < f.num_features; m += W) {
    const Size n = f.num_features - m;
    const V p = Load(in + m);
    float* second = out + f.num_features + m;
    if (f.kind == FeatureKind::kTrigonometric) {
      const SinCosPair pair = SinCos(p);
      StoreUpTo(out + m, Mul(pair.sin, scale), n);
      StoreUpTo(second, Mul(pair.cos, scale), n);
    } else if (f.kind == FeatureKind::kRelu) {
      StoreUpTo(out + m, Mul(Max(Zero(), p), scale), n);
    } else {
      StoreUpTo(out + m, Sub(p, half), n);
      if (f.kind == FeatureKind::kLogHyperbolic) StoreUpTo(second, Sub(Sub(Zero(), p), half), n);
    }
  }
}

// Everything a token needs between its arrival and the state, all of it small: first-level cache.
struct TokenScratch {
  Size features;  // F
  float *query, *key, *query_projected, *key_projected, *query_features, *key_features, *keep, *value,
      *out;

  TokenScratch(const Features& f, Size columns, Size value_dim, Bump& bump)
      : features(feature_dim(f, columns)) {
    query = bump.Take(RoundUp(columns, W));
    key = bump.Take(RoundUp(columns, W));
    query_projected = bump.Take(RoundUp(f.num_features, W));
    key_projected = bump.Take(RoundUp(f.num_features, W));
    query_features = bump.Take(RoundUp(features, W));
    key_features = bump.Take(RoundUp(features, W));
    keep = bump.Take(RoundUp(features, W));
    value = bump.Take(RoundUp(value_dim, W));
    out = bump.Take(RoundUp(value_dim, W));
  }
};

// Features of the new query and key of a head. Query and key share kind and projection; their scales
// may differ.
inline void TokenFeatures(const Features& query, const Features& key, Size batch, Size head,
                          Size columns, const TokenScratch& s) {
  const float *q = query.x.at(batch, head), *k = key.x.at(batch, head);
  float q_factor, k_factor, q_half, k_half;
  // a stride of 0 and one token: the function for whole sequences, so that factor and norm have the
  // same bits in both forms
  ScaleTokens(query, q, 0, 1, columns, 1, true, &q_factor, &q_half);
  ScaleTokens(key, k, 0, 1, columns, 1, true, &k_factor, &k_half);
  if (HasProjection(query.kind)) {
    for (Size d = 0; d < columns; d += W) {
      Store(s.query + d, Mul(LoadUpTo(q + d, columns - d), Set(q_factor)));
      Store(s.key + d, Mul(LoadUpTo(k + d, columns - d), Set(k_factor)));
    }
    ProjectPair(query.projection.at(batch, head), query.projection.row_stride, columns,
                query.num_features, s.query, s.key, s.query_projected, s.key_projected);
    q = s.query_projected;
    k = s.key_projected;
  }
  // padding of the features must stay finite: it meets zeros
  for (Size i = s.features / W * W; i < s.features; i += W) {
    Store(s.query_features + i, Zero());
    Store(s.key_features + i, Zero());
  }
  // the query's -|x'|^2/2 is a factor on its whole row, which cancels in the quotient
  FinishFeatures(query, q, columns, q_factor, 0, s.query_features);
  FinishFeatures(key, k, columns, k_factor, k_half, s.key_features);
}

// ---- state ----------------------------------------------------------------------------------

// For C vectors of columns: S_s = keep_s S_s + fresh_s v, out = sum_s read_s S_s. Whole rows of up to
// kDecodeVecs vectors are taken, so that the state streams through the caches once and in order; two
// at a time, so that a value is loaded once for both.
template <int C, bool kWhole>
RFA_INLINE void StepColumns(const TokenScratch& s, const float* value, Size columns, float* state,
                            Size stride, float* out) {
  // F steps of a loop-carried sum: 8 vectors are 8 chains already, fewer take two each
  constexpr int kSums = C > 4 ? 1 : 2;  // sums in flight: 8 or more where C allows it
  V sum[kSums][C];
  RFA_UNROLL
  for (int k = 0; k < kSums; k++) {
    RFA_UNROLL
    for (int c = 0; c < C; c++) sum[k][c] = Zero();
  }
  // [count, C W] of the state: decayed, extended by fresh v and read, between one load and one
  // store
  const auto rows = [&](Size i, auto count) {
    constexpr int kCount = decltype(count)::vecs;
    V keep[kCount], fresh[kCount], read[kCount];
    RFA_UNROLL
    for (int r = 0; r < kCount; r++) {
      keep[r] = Set(s.keep[i + r]);
      fresh[r] = Set(s.key_features[i + r]);
      read[r] = Set(s.query_features[i + r]);
    }
    float* row = state + i * stride;
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const Size n = kWhole ? W : columns - c * W;
      const V v = Load(value + c * W);
      RFA_UNROLL
      for (int r = 0; r < kCount; r++) {
        float* p = row + r * stride + c * W;
        const V x = Fma(LoadUpTo(p, n), keep[r], Mul(v, fresh[r]));
        StoreUpTo(p, x, n);
        sum[r % kSums][c] = Fma(x, read[r], sum[r % kSums][c]);
      }
    }
  };
  Size i = 0;
  for (; i + 2 <= s.features; i += 2) rows(i, Width<2>{});
  if (i < s.features) rows(i, Width<1>{});
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    Store(out + c * W, kSums > 1 ? Add(sum[0][c], sum[kSums - 1][c]) : sum[0][c]);
  }
}

// Updates S and reads it into s.out: keep, key_features and query_features are per row.
inline void StepState(const TokenScratch& s, const float* value, Size value_dim, float* state,
                      Size stride) {
  for (Size c = 0; c < value_dim; c += W) {
    Store(s.value + c, LoadUpTo(value + c, value_dim - c));
  }
  Size c = 0;
  const auto step = [&](auto width, auto whole) {
    constexpr int C = decltype(width)::vecs;
    StepColumns<C, decltype(whole)::vecs != 0>(s, s.value + c, value_dim - c, state + c, stride,
                                               s.out + c);
    c += C * W;
  };
  // Strips of 8 vectors: with two rows' factors and a value they fill 16 registers, and streams of
  // whole lines suit the prefetcher.
  while (value_dim - c >= kDecodeVecs * W) step(Width<kDecodeVecs>{}, Width<1>{});
  if (value_dim - c >= 4 * W) step(Width<4>{}, Width<1>{});
  while (value_dim - c >= W) step(Width<1>{}, Width<1>{});
  if (value_dim > c) step(Width<1>{}, Width<0>{});
}

// z_s = keep_s z_s + fresh_s; returns sum_s read_s (z_s + epsilon).
// [F], O(F). epsilon is added to what is read, never to what is stored (peers add it to cumulated
// key features), so that it does not grow with the number of tokens.
inline float StepTotals(const TokenScratch& s, float* totals, float epsilon) {
  V part = Zero();
  Size i = 0;
  for (; i + W <= s.features; i += W) {
    const V z = Fma(Load(totals + i), Load(s.keep + i), Load(s.key_features + i));
    Store(totals + i, z);
    part = Fma(Add(z, Set(epsilon)), Load(s.query_features + i), part);
  }
  float sum = ReduceAdd(part);
  // the rest one by one: z is the caller's array and ends here
  for (; i < s.features; i++) {
    float& z = totals[i];
    z = z * s.keep[i] + s.key_features[i];
    sum += (z + epsilon) * s.query_features[i];
  }
  return sum;
}

RFA_KERNELS_END
