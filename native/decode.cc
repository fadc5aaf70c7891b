// The decoding operations: one item per head.
#include "dispatch.h"
#include "pool.h"
#include "rfa.h"

namespace rfa {

namespace {

// Multiply-adds of one token.
// Below kWorthSharing of pool.cc, as for few heads, a token runs on the calling thread alone.
template <class Op>
double step_work(const Op& op) {
  const Size features = feature_dim(op.query, op.head_dim);
  const Size per_head = 2 * features * op.value_dim + 2 * op.query.num_features * op.head_dim;
  return static_cast<double>(op.batch * op.heads * per_head);
}

}  // namespace

void linear_decode(const LinearDecode& op) {
  const Pool::Session session;
  run_items(kernels().linear_decode, op, step_work(op));
}

void log_feature_decode(const LogFeatureDecode& op) {
  const Pool::Session session;
  run_items(kernels().log_feature_decode, op, step_work(op));
}

void cache_decode(const CacheDecode& op) {
  const Pool::Session session;
  const Size per_head = (op.length + 1) * (op.head_dim + op.value_dim);
  run_items(kernels().cache_decode, op, static_cast<double>(op.batch * op.heads * per_head));
}

}  // namespace rfa
