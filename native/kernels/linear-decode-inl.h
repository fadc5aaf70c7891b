// One token through explicit features.
#pragma once

#include "kernels/token-state-inl.h"

RFA_KERNELS_BEGIN

// e^x of one number, by the same code as everywhere.
RFA_INLINE float ExpOf(float x) {
  float power[W];
  Store(power, Exp(Set(x)));
  return power[0];
}

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

RFA_KERNELS_END
