// What estimates are judged by, in double precision: cuts a call into items and shares them out.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch.h"
#include "pool.h"
#include "rfa.h"

namespace rfa {

namespace {

// Multiply-adds that reading and judging one entry takes as long as.
constexpr double kEntryWork = 16;
// The same of two logits of one token: two exponentials.
constexpr double kTokenWork = 40;

double* doubles_of(Workspace& workspace, Size count) {
  return reinterpret_cast<double*>(workspace.reserve(2 * count));
}

// One head's sums from those of its items, in their order.
void merge_errors(const double* parts, Size count, double* out) {
  std::fill(out, out + kErrorSums, 0.0);
  for (Size i = 0; i < count; i++) {
    for (int field = 0; field < kErrorSums; field++) {
      const double part = parts[i * kErrorSums + field];
      out[field] = field == kLargest ? std::max(out[field], part) : out[field] + part;
    }
  }
  if (out[kNotFinite] > 0) out[kLargest] = std::numeric_limits<double>::quiet_NaN();
}

// Columns of one head, summed over its items in their order.
void merge_columns(const double* parts, Size count, Size columns, double* out) {
  std::fill(out, out + columns, 0.0);
  for (Size i = 0; i < count * columns; i++) out[i % columns] += parts[i];
}

}  // namespace

void error_sums(const ErrorSums& op) {
  const Pool::Session session;
  const KernelTable& table = kernels();
  ErrorSumsPlan plan{&op, table.error_blocks(op), nullptr, nullptr};
  const Size items = op.heads * plan.blocks;
  plan.parts = doubles_of(Pool::instance().shared(), items * (kErrorSums + op.value_dim));
  plan.rows_sums = plan.parts + items * kErrorSums;
  const double entries = static_cast<double>(op.heads * op.rows) * static_cast<double>(op.value_dim);
  run_items(table.error_sums, plan, kEntryWork * entries);
  for (Size head = 0; head < op.heads; head++) {
    merge_errors(plan.parts + head * plan.blocks * kErrorSums, plan.blocks,
                 op.out + head * kErrorSums);
    merge_columns(plan.rows_sums + head * plan.blocks * op.value_dim, plan.blocks, op.value_dim,
                  op.rows_sum + head * op.value_dim);
  }
}

void pair_products(const PairProducts& op) {
  const Pool::Session session;
  const KernelTable& table = kernels();
  const Size pairs = op.count * (op.count - 1) / 2;
  PairProductsPlan plan{&op, pairs, nullptr};
  const Size items = table.pair_products.items(plan);
  plan.parts = doubles_of(Pool::instance().shared(), items * pairs);
  run_items(table.pair_products, plan, static_cast<double>(pairs) * static_cast<double>(op.length));
  std::fill(op.out, op.out + pairs, 0.0);
  for (Size part = 0; part < items * pairs; part++) op.out[part % pairs] += plan.parts[part];
}

void next_tokens(const NextTokens& op) {
  const Pool::Session session;
  const double tokens = static_cast<double>(op.places) * static_cast<double>(op.vocabulary);
  run_items(kernels().next_tokens, op, kTokenWork * tokens);
}

void exact_softmax(const ExactSoftmax& op) {
  const Pool::Session session;
  const KernelTable& table = kernels();
  // given back at the end: keys and values of a long head are larger than all that other calls keep
  Workspace packed;
  const ExactPlan plan{&op, doubles_of(packed, table.exact_packed_doubles(op))};
  const double packing = static_cast<double>(op.key_len * (op.head_dim + op.value_dim));
  run_items(table.exact_pack, plan, packing);
  run_items(table.exact_softmax, plan, static_cast<double>(op.query_len) * packing);
}

}  // namespace rfa
