// One token at a time, the state updated in place. One item is one head. The state is read and written
// once per token: each row is decayed, takes in the key and is read by the query while it is in
// registers. Nothing is allocated.
#pragma once

#include "kernels/feature-map-inl.h"
#include "kernels/state-inl.h"

RFA_KERNELS_BEGIN

constexpr int kDecodeVecs = 8;      // vectors of columns of the state at a time at most
constexpr Size kCacheBlock = 256;   // keys per block of the cache
constexpr float kNothingYet = -1e30f;

// ---- features of one token ------------------------------------------------------------------

// C vectors of projections of query and key: out[m] = sum_d w[d][m] x[d] for both.
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
  if (!HasProjection(f.kind)) {
    return ElementwiseRows(f, in, 0, &factor, 1, columns, 1, nullptr, out, 0);
  }
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
  ScaleTokens(query, q, 0, 1, columns, 1, &q_factor, &q_half);
  ScaleTokens(key, k, 0, 1, columns, 1, &k_factor, &k_half);
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
  constexpr int kSums = C > 4 ? 1 : 2;  // sums in flight: 8 or more where C allows it
  V sum[kSums][C];
  RFA_UNROLL
  for (int k = 0; k < kSums; k++) {
    RFA_UNROLL
    for (int c = 0; c < C; c++) sum[k][c] = Zero();
  }
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
  while (value_dim - c >= kDecodeVecs * W) step(Width<kDecodeVecs>{}, Width<1>{});
  if (value_dim - c >= 4 * W) step(Width<4>{}, Width<1>{});
  while (value_dim - c >= W) step(Width<1>{}, Width<1>{});
  if (value_dim > c) step(Width<1>{}, Width<0>{});
}

// z_s = keep_s z_s + fresh_s; returns sum_s read_s (z_s + epsilon).
inline float StepTotals(const TokenScratch& s, float* totals, Size stride, float epsilon) {
  float sum = 0;
  Size i = 0;
  if (stride == 1) {
    V part = Zero();
    for (; i + W <= s.features; i += W) {
      const V z = Fma(Load(totals + i), Load(s.keep + i), Load(s.key_features + i));
      Store(totals + i, z);
      part = Fma(Add(z, Set(epsilon)), Load(s.query_features + i), part);
    }
    sum = ReduceAdd(part);
  }
  for (; i < s.features; i++) {
    float& z = totals[i * stride];
    z = z * s.keep[i] + s.key_features[i];
    sum += (z + epsilon) * s.query_features[i];
  }
  return sum;
}

// e^x of one number, by the same code as everywhere.
RFA_INLINE float ExpOf(float x) {
  float power[W];
  Store(power, Exp(Set(x)));
  return power[0];
}

// ---- explicit features ----------------------------------------------------------------------

inline Size LinearDecodeItems(const LinearDecode& op) { return op.batch * op.heads; }
inline Size LinearDecodeScratch(const LinearDecode& op) {
  Bump bump{nullptr};
  const TokenScratch scratch(op.query, op.head_dim, op.value_dim, bump);
  return bump.used;
}
inline void LinearDecodeItem(const LinearDecode& op, Size item, float* workspace) {
  Bump bump{workspace};
  const TokenScratch s(op.query, op.head_dim, op.value_dim, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  TokenFeatures(op.query, op.key, batch, head, op.head_dim, s);
  float keep = 1, fresh = 1;
  if (op.key_log_weight) {
    float* scale = op.log_scale.at(batch, head);
    const float weight = *op.key_log_weight.at(batch, head);
    const float top = weight > *scale ? weight : *scale;
    keep = ExpOf(*scale - top);
    fresh = ExpOf(weight - top);
    *scale = top;
  }
  if (op.gate) {
    const float open = *op.gate.at(batch, head);
    keep *= open;
    fresh *= 1 - open;
  }
  for (Size i = 0; i < s.features; i += W) {
    Store(s.keep + i, Set(keep));
    Store(s.key_features + i, Mul(Load(s.key_features + i), Set(fresh)));
  }
  StepState(s, op.value.at(batch, head), op.value_dim, op.state.at(batch, head), op.state.row_stride);
  const float den = StepTotals(s, op.normalizer.at(batch, head), op.normalizer_stride,
                               op.normalizer_epsilon);
  StoreQuotient(s.out, Guarded(den, op.guard, op.guard_bound), op.value_dim,
                op.out.at(batch, head));
}

// ---- logarithms of positive features --------------------------------------------------------

inline Size LogFeatureDecodeItems(const LogFeatureDecode& op) { return op.batch * op.heads; }
inline Size LogFeatureDecodeScratch(const LogFeatureDecode& op) {
  Bump bump{nullptr};
  const TokenScratch scratch(op.query, op.head_dim, op.value_dim, bump);
  return bump.used;
}
inline void LogFeatureDecodeItem(const LogFeatureDecode& op, Size item, float* workspace) {
  Bump bump{workspace};
  const TokenScratch s(op.query, op.head_dim, op.value_dim, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  TokenFeatures(op.query, op.key, batch, head, op.head_dim, s);
  float* tops = op.top.at(batch, head);
  V most = Set(2 * kNothingYet);
  for (Size i = 0; i < s.features; i += W) {
    const Size n = s.features - i;
    const V old = LoadUpTo(tops + i, n), key = Load(s.key_features + i);
    const V top = Max(old, key);
    StoreUpTo(tops + i, top, n);
    Store(s.keep + i, Exp(Sub(old, top)));
    Store(s.key_features + i, Exp(Sub(key, top)));
    V logit = Add(Load(s.query_features + i), top);
    if (n < W) logit = Select(FirstN(n), logit, Set(2 * kNothingYet));
    Store(s.query_features + i, logit);
    most = Max(most, logit);
  }
  const V shift = Set(ReduceMax(most));
  for (Size i = 0; i < s.features; i += W) {
    Store(s.query_features + i, Exp(Sub(Load(s.query_features + i), shift)));
  }
  StepState(s, op.value.at(batch, head), op.value_dim, op.state.at(batch, head), op.state.row_stride);
  const float den = StepTotals(s, op.normalizer.at(batch, head), op.normalizer_stride, 0);
  StoreQuotient(s.out, den, op.value_dim, op.out.at(batch, head));
}

// ---- exact attention over a cache -----------------------------------------------------------

struct CacheScratch {
  float *query, *scores, *out;

  CacheScratch(const CacheDecode& op, Bump& bump) {
    query = bump.Take(RoundUp(op.head_dim, W));
    scores = bump.Take(kCacheBlock);
    out = bump.Take(RoundUp(op.value_dim, W));
  }
};

inline Size CacheDecodeItems(const CacheDecode& op) { return op.batch * op.heads; }
inline Size CacheDecodeScratch(const CacheDecode& op) {
  Bump bump{nullptr};
  const CacheScratch scratch(op, bump);
  return bump.used;
}

// scores[j] = query . keys_j in units of log2, W keys at a time; -inf from `count` to a whole vector.
inline V CacheScores(const float* query, const float* keys, Size stride, Size count, Size dim,
                     float* scores) {
  V top = Set(-kInfinity);
  const Size whole = dim / W * W;
  for (Size j = 0; j < count; j += W) {
    V sums[W];
    RFA_UNROLL
    for (int i = 0; i < W; i++) {
      // beyond the end the last key is scored again: the result is dropped below
      const float* key = keys + Least(j + i, count - 1) * stride;
      V sum = Zero();
      for (Size d = 0; d < whole; d += W) sum = Fma(Load(key + d), Load(query + d), sum);
      if (whole < dim) sum = Fma(LoadN(key + whole, dim - whole), Load(query + whole), sum);
      sums[i] = sum;
    }
    TransposeSquare(sums);
    for (int step = 1; step < W; step *= 2) {
      for (int i = 0; i + step < W; i += 2 * step) sums[i] = Add(sums[i], sums[i + step]);
    }
    const V x = Select(FirstN(Least(W, count - j)), sums[0], Set(-kInfinity));
    Store(scores + j, x);
    top = Max(top, x);
  }
  return top;
}

// out = rescale out + sum_j weights_j values_j for C vectors of columns.
template <int C, bool kWhole>
RFA_INLINE void CacheColumns(const float* weights, const float* values, Size stride, Size count,
                             Size columns, float rescale, float* out) {
  V even[C], odd[C];
  RFA_UNROLL
  for (int c = 0; c < C; c++) even[c] = odd[c] = Zero();
  const auto take = [&](Size j, V(&sum)[C]) {
    const V weight = Set(weights[j]);
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const float* p = values + j * stride + c * W;
      sum[c] = Fma(kWhole ? Load(p) : LoadUpTo(p, columns - c * W), weight, sum[c]);
    }
  };
  Size j = 0;
  for (; j + 2 <= count; j += 2) {
    take(j, even);
    take(j + 1, odd);
  }
  if (j < count) take(j, even);
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    Store(out + c * W, Fma(Load(out + c * W), Set(rescale), Add(even[c], odd[c])));
  }
}

inline void CacheValues(const float* weights, const float* values, Size stride, Size count,
                        Size columns, float rescale, float* out) {
  Size c = 0;
  for (; c + 4 * W <= columns; c += 4 * W) {
    CacheColumns<4, true>(weights, values + c, stride, count, columns - c, rescale, out + c);
  }
  for (; c < columns; c += W) {
    CacheColumns<1, false>(weights, values + c, stride, count, columns - c, rescale, out + c);
  }
}

// Copies one token into its row of a cache.
inline void AppendRow(const float* in, Size columns, float* out) {
  for (Size c = 0; c < columns; c += W) StoreUpTo(out + c, LoadUpTo(in + c, columns - c), columns - c);
}

inline void CacheDecodeItem(const CacheDecode& op, Size item, float* workspace) {
  Bump bump{workspace};
  const CacheScratch s(op, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  AppendRow(op.key.at(batch, head), op.head_dim, op.key_cache.at(batch, head, op.length));
  AppendRow(op.value.at(batch, head), op.value_dim, op.value_cache.at(batch, head, op.length));
  for (Size d = 0; d < op.head_dim; d += W) {
    const V x = LoadUpTo(op.query.at(batch, head) + d, op.head_dim - d);
    Store(s.query + d, Mul(x, Set(op.scale * kLog2E)));
  }
  for (Size c = 0; c < op.value_dim; c += W) Store(s.out + c, Zero());
  float reference = -kInfinity, sum = 0;
  for (Size first = 0; first <= op.length; first += kCacheBlock) {
    const Size count = Least(kCacheBlock, op.length + 1 - first);
    const float top = ReduceMax(CacheScores(s.query, op.key_cache.at(batch, head, first),
                                            op.key_cache.row_stride, count, op.head_dim, s.scores));
    float rescale = 1;
    if (!(top <= reference)) {
      float power[W];
      Store(power, Exp2Weight(Set(reference - top)));
      rescale = reference == -kInfinity ? 0.0f : power[0];
      reference = top;
    }
    V total = Zero();
    for (Size j = 0; j < count; j += W) {
      const V p = Exp2Weight(Sub(Load(s.scores + j), Set(reference)));
      Store(s.scores + j, p);
      total = Add(total, p);
    }
    sum = sum * rescale + ReduceAdd(total);
    const float* values = op.value_cache.at(batch, head, first);
    CacheValues(s.scores, values, op.value_cache.row_stride, count, op.value_dim, rescale, s.out);
  }
  StoreQuotient(s.out, sum, op.value_dim, op.out.at(batch, head));
}

RFA_KERNELS_END
