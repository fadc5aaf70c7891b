// One token through logarithms of positive features: the largest so far of each scales its row.
#pragma once

#include "kernels/token-state-inl.h"

RFA_KERNELS_BEGIN

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

RFA_KERNELS_END
