// One token through logarithms of positive features: the largest so far of each scales its row.
//
// The causal form of exact positive features, one step, in natural logarithms (b, a: log-features
// of key and query; t_s: running maximum of feature s):
//   t'_s = max(t_s, b_s)    S_s <- e^(t_s - t'_s) S_s + e^(b_s - t'_s) v    z_s likewise with 1 for v
//   out = sum_s r_s S_s / sum_s r_s z_s,    r_s = e^(a_s + t'_s - max_s(a_s + t'_s))
// Every exponent is <= 0, so nothing overflows at any norm; every z_s is at least 1 and the largest
// r_s is 1, so that the denominator is at least 1. O(F (M + Dv)) per token and head.
#pragma once

#include "kernels/token-state-inl.h"

RFA_KERNELS_BEGIN

// Maxima start here: finite, so that differences are never NaN, and e^(kNothingYet - b) is exactly
// 0.
constexpr float kNothingYet = -1e30f;

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
  // below any sum of a log-feature and a maximum, which may itself be kNothingYet
  V most = Set(2 * kNothingYet);
  for (Size i = 0; i < s.features; i += W) {
    const Size n = s.features - i;
    const V old = LoadUpTo(tops + i, n), key = Load(s.key_features + i);
    const V top = Max(old, key);
    StoreUpTo(tops + i, top, n);
    // one of the two exponents is always 0: the state or the key comes in as it is
    Store(s.keep + i, Exp(Sub(old, top)));
    Store(s.key_features + i, Exp(Sub(key, top)));
    V logit = Add(Load(s.query_features + i), top);
    // lanes beyond F hold nothing of meaning: they must not become the maximum
    if (n < W) logit = Select(FirstN(n), logit, Set(2 * kNothingYet));
    Store(s.query_features + i, logit);
    most = Max(most, logit);
  }
  const V shift = Set(ReduceMax(most));
  for (Size i = 0; i < s.features; i += W) {
    Store(s.query_features + i, Exp(Sub(Load(s.query_features + i), shift)));
  }
  // the query's weights read the state after its own key has entered: a token sees itself
  StepState(s, op.value.at(batch, head), op.value_dim, op.state.at(batch, head), op.state.row_stride);
  const float den = StepTotals(s, op.normalizer.at(batch, head), 0);
  StoreQuotient(s.out, den, op.value_dim, op.out.at(batch, head));
}

RFA_KERNELS_END
