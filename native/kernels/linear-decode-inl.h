// One token through explicit features.
//
//   S <- keep S + fresh phi(k) v^T    z <- keep z + fresh phi(k)    out = phi(q)^T S / guard(phi(q).z)
// with keep = fresh = 1, or a gate g: keep = g, fresh = 1 - g (RFA-GATE, Peng et al. 2021,
// arXiv:2103.02143), or log-weights b with their running maximum t, t' = max(t, b): keep = e^(t -
// t'), fresh = e^(b - t'). The state then is relative to e^t, a factor that the quotient does not
// see.
#pragma once

#include "kernels/token-state-inl.h"

RFA_KERNELS_BEGIN

// e^x of one number, by the same code as everywhere.
// In vectors rather than by libm: the same bits as in whole sequences, and on every system.
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
    // the larger of the two exponents is 0, the other negative: neither overflows, whatever the
    // weights
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
  // fresh goes onto the F features of the key, once for both S and z
  for (Size i = 0; i < s.features; i += W) {
    Store(s.keep + i, Set(keep));
    Store(s.key_features + i, Mul(Load(s.key_features + i), Set(fresh)));
  }
  StepState(s, op.value.at(batch, head), op.value_dim, op.state.at(batch, head), op.state.row_stride);
  const float den = StepTotals(s, op.normalizer.at(batch, head), op.normalizer_epsilon);
  StoreQuotient(s.out, Guarded(den, op.guard, op.guard_bound), op.value_dim,
                op.out.at(batch, head));
}

RFA_KERNELS_END
