// The attention operations: cuts a call into items and shares them out.
#include <algorithm>
#include <initializer_list>

#include "dispatch.h"
#include "pool.h"
#include "rfa.h"
#include "share.h"

namespace rfa {

namespace {

// States of a wave of heads take at most this many floats (32 MiB), but one head always fits.
constexpr Size kWaveFloats = Size{8} << 20;

double product(std::initializer_list<Size> sizes) {
  double result = 1;
  for (const Size size : sizes) result *= static_cast<double>(size);
  return result;
}

// Multiply-adds of projecting n tokens.
// Only decides whether threads are woken (pool.h): no result depends on it.
double projection_work(const Features& features, Size tokens, Size columns) {
  return product({tokens, columns, features.num_features});
}

// Multiply-adds of linear attention.
double linear_work(const LinearAttention& op) {
  const Size features = feature_dim(op.query, op.head_dim);
  const double per_pair = projection_work(op.query, op.query_len, op.head_dim) +
                          projection_work(op.key, op.key_len, op.head_dim) +
                          product({op.query_len + op.key_len, features, op.value_dim + 1});
  return per_pair * static_cast<double>(op.batch * op.heads);
}

// Three phases with a barrier after each: all sums of a wave, then merges, then reads. States of a
// wave live in the pool's shared memory, from the first phase to the last.
void bidirectional_linear_attention(const LinearAttention& op, double work) {
  const KernelTable& table = kernels();
  LinearPlan plan{&op, 0, 0, table.linear_parts(op), table.linear_state_floats(op), nullptr};
  const Size total = op.batch * op.heads;
  const Size wave = std::max<Size>(1, kWaveFloats / std::max<Size>(1, plan.parts * plan.state_floats));
  plan.states =
      Pool::instance().shared().reserve(std::min(wave, total) * plan.parts * plan.state_floats);
  for (; plan.first_pair < total; plan.first_pair += plan.pairs) {
    plan.pairs = std::min(wave, total - plan.first_pair);
    // whether a phase is worth sharing goes by its part of the call's multiply-adds
    const double share = work * static_cast<double>(plan.pairs) / static_cast<double>(total);
    run_items(table.linear_sum, plan, share / 2);
    run_items(table.linear_merge, plan, share / 2);
    run_items(table.linear_read, plan, share / 2);
  }
}

}  // namespace

Size feature_dim(const Features& features, Size columns) {
  switch (features.kind) {
    case FeatureKind::kExplicit:
    case FeatureKind::kEluPlusOne:
      return columns;
    case FeatureKind::kTrigonometric:
    case FeatureKind::kLogHyperbolic:
      return 2 * features.num_features;
    default:
      return features.num_features;
  }
}

void softmax_attention(const SoftmaxAttention& op) {
  const Pool::Session session;
  const double work = product({op.batch, op.heads, op.query_len, op.key_len, op.head_dim + op.value_dim});
  run_items(kernels().softmax_attention, op, work);
}

void softmax_gradient(const SoftmaxGradient& op) {
  const Pool::Session session;
  const KernelTable& table = kernels();
  const SoftmaxAttention& forward = op.forward;
  const Size floats = forward.batch * forward.heads * forward.query_len * forward.head_dim;
  SoftmaxGradientPlan plan{&op, table.softmax_gradient_parts(op), op.to_query};
  if (plan.parts > 1) plan.to_query = Pool::instance().shared().reserve(plan.parts * floats);
  const Size per_pair = 3 * forward.head_dim + 2 * forward.value_dim;
  run_items(table.softmax_gradient, plan,
            product({forward.batch, forward.heads, forward.query_len, forward.key_len, per_pair}));
  if (plan.parts == 1) return;
  share_range(floats, kItemElements, product({plan.parts, floats}), [&](Size first, Size n) {
    for (Size i = first; i < first + n; i++) {
      float sum = 0;
      for (Size part = 0; part < plan.parts; part++) sum += plan.to_query[part * floats + i];
      op.to_query[i] = sum;
    }
  });
}

void sample_keys(const SampleKeys& op) {
  const Pool::Session session;
  run_items(kernels().sample_keys, op,
            product({op.batch, op.heads, op.query_len, op.key_len, op.head_dim}));
}

void segment_means(const SegmentMeans& op) {
  const Pool::Session session;
  run_items(kernels().segment_means, op, product({op.planes, op.rows, op.columns}));
}

void optimal_mixture(const OptimalMixture& op) {
  const Pool::Session session;
  const Size per_pair = op.head_dim + op.value_dim;
  run_items(kernels().optimal_mixture, op,
            product({op.batch, op.heads, op.query_len, op.count, per_pair}));
}

void feature_map(const FeatureMap& op) {
  const Pool::Session session;
  const double work = static_cast<double>(op.batch * op.heads) *
                      projection_work(op.input, op.length, op.head_dim);
  run_items(kernels().feature_map, op, work);
}

void feature_map_gradient(const FeatureMapGradient& op) {
  const Pool::Session session;
  // features again, and two products with them
  const double work = 3 * static_cast<double>(op.batch * op.heads) *
                      projection_work(op.input, op.length, op.head_dim);
  run_items(kernels().feature_map_gradient, op, work);
}

void linear_attention(const LinearAttention& op) {
  const Pool::Session session;
  const double work = linear_work(op);
  if (op.causal) {
    run_items(kernels().causal_linear_attention, op, work);
  } else {
    bidirectional_linear_attention(op, work);
  }
}

void linear_attention_gradient(const LinearAttentionGradient& op) {
  const Pool::Session session;
  run_items(kernels().linear_attention_gradient, op, 3 * linear_work(op.forward));
}

void causal_feature_attention(const CausalFeatureAttention& op) {
  const Pool::Session session;
  const Size features = feature_dim(op.query, op.head_dim);
  // tokens beyond the shorter side are counted, too: an upper bound does for this purpose
  const double per_pair = 2 * projection_work(op.query, op.query_len, op.head_dim) +
                          product({2 * op.query_len, features, op.value_dim + 1});
  run_items(kernels().causal_feature_attention, op,
            per_pair * static_cast<double>(op.batch * op.heads));
}

void causal_feature_gradient(const CausalFeatureGradient& op) {
  const Pool::Session session;
  const CausalFeatureAttention& forward = op.forward;
  const Size features = feature_dim(forward.query, forward.head_dim);
  const double per_pair = 6 * projection_work(forward.query, forward.query_len, forward.head_dim) +
                          product({5 * forward.query_len, features, forward.value_dim + 1});
  run_items(kernels().causal_feature_gradient, op, per_pair * static_cast<double>(forward.batch * forward.heads));
}

}  // namespace rfa
