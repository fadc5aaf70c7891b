// The plain tensor operations: cuts a call into items and shares them out.
#include <algorithm>

#include "dispatch.h"
#include "rfa.h"
#include "share.h"

namespace rfa {

namespace {

constexpr double kTranscendental = 16;  // multiply-adds that one exponential stands for
constexpr Size kSummedRows = 64;        // rows of an item that sums over them: chains of as many additions
constexpr Size kTallStrips = 8;        // a matrix of more columns is shared out by them alone
constexpr Size kTallRows = 512;        // of a part of a tall matrix that is reduced over its rows
constexpr Size kStripColumns = 64;      // columns that are reduced per item: a row of them is four cache lines

// Drops axes of one element and joins neighbours that one stride covers, for both arguments.
// A dense product of any rank becomes one row of elements, a broadcast row two axes. Sizes of 0
// stay.
BinaryOp simplified(const BinaryOp& op) {
  BinaryOp out = op;
  out.rank = 0;
  for (int axis = 0; axis < op.rank; axis++) {
    if (op.shape[axis] == 1) continue;
    const int last = out.rank - 1;
    const Size n = op.shape[axis], a = op.a_strides[axis], b = op.b_strides[axis];
    // the outer axis steps over the whole inner one, on both sides: together they are one axis
    if (last >= 0 && out.a_strides[last] == a * n && out.b_strides[last] == b * n) {
      out.shape[last] *= n;
      out.a_strides[last] = a;
      out.b_strides[last] = b;
      continue;
    }
    out.shape[out.rank] = n;
    out.a_strides[out.rank] = a;
    out.b_strides[out.rank] = b;
    out.rank++;
  }
  return out;
}

}  // namespace

void mat_mul(const MatMul& op) {
  const Pool::Session session;
  run_items(kernels().mat_mul, op, product(op.batch, op.rows) * product(op.columns, op.inner));
}

void unary(Unary op, const float* in, float* out, Size count) {
  const Pool::Session session;
  const auto function = kernels().unary;
  share_range(count, kItemElements, kTranscendental * static_cast<double>(count),
              [&](Size first, Size n) { function(op, in + first, out + first, n); });
}

void binary(const BinaryOp& op) {
  const Pool::Session session;
  const BinaryOp simple = simplified(op);
  Size count = 1;
  for (int axis = 0; axis < simple.rank; axis++) count *= simple.shape[axis];
  const auto function = kernels().binary;
  share_range(count, kItemElements, static_cast<double>(count),
              [&](Size first, Size n) { function(simple, first, n); });
}

void reduce_rows(Reduction op, const float* in, float* out, Size rows, Size columns) {
  const Pool::Session session;
  const auto function = kernels().reduce_rows;
  const double each = op == Reduction::kLogSumExp ? kTranscendental : 1;
  share_range(rows, rows_per_item(columns), each * product(rows, columns), [&](Size first, Size n) {
    function(op, in + first * columns, out + first, n, columns);
  });
}

void softmax_rows(const float* in, float* out, Size rows, Size columns, const RowVisibility& seen) {
  const Pool::Session session;
  const auto function = kernels().softmax_rows;
  share_range(rows, rows_per_item(columns), kTranscendental * product(rows, columns),
              [&](Size first, Size n) { function(in, out, first, n, columns, seen); });
}

void cross_entropy(const CrossEntropy& op) {
  const Pool::Session session;
  const auto function = kernels().cross_entropy;
  share_range(op.rows, rows_per_item(op.columns), kTranscendental * product(op.rows, op.columns),
              [&](Size first, Size n) { function(op, first, n); });
}

void cross_entropy_gradient(const CrossEntropyGradient& op) {
  const Pool::Session session;
  const auto function = kernels().cross_entropy_gradient;
  share_range(op.rows, rows_per_item(op.columns), kTranscendental * product(op.rows, op.columns),
              [&](Size first, Size n) { function(op, first, n); });
}

void norm_rows(const NormRows& op) {
  const Pool::Session session;
  const auto function = kernels().norm_rows;
  // three passes over a row
  share_range(op.rows, rows_per_item(op.columns), 3 * product(op.rows, op.columns),
              [&](Size first, Size n) { function(op, first, n); });
}

void norm_rows_gradient(const NormRowsGradient& op) {
  const Pool::Session session;
  const auto function = kernels().norm_rows_gradient;
  const Size items = ceil_div(op.rows, kSummedRows), width = 2 * op.columns;
  // a part for each item, added in their order and in double
  float* parts = Pool::instance().shared().reserve(items * width);
  share_range(op.rows, kSummedRows, 6 * product(op.rows, op.columns), [&](Size first, Size n) {
    function(op, first, n, parts + first / kSummedRows * width);
  });
  for (Size c = 0; c < width; c++) {
    double total = 0;
    for (Size item = 0; item < items; item++) total += static_cast<double>(parts[item * width + c]);
    (c < op.columns ? op.to_weight[c] : op.to_bias[c - op.columns]) = static_cast<float>(total);
  }
}

void adam_step(const AdamStep& op) {
  const Pool::Session session;
  const auto function = kernels().adam;
  share_range(op.count, kItemElements, kTranscendental * static_cast<double>(op.count),
              [&](Size first, Size n) { function(op, first, n); });
}

void select(const std::uint8_t* condition, const float* yes, const float* no, float* out, Size count) {
  const Pool::Session session;
  const auto function = kernels().select;
  share_range(count, kItemElements, static_cast<double>(count), [&](Size first, Size n) {
    function(condition + first, yes + first, no + first, out + first, n);
  });
}

// One tall matrix, whose columns alone would keep few threads busy: parts of its rows, and then their results in order.
static void reduce_tall(Reduction op, const float* in, float* out, Size length, Size inner) {
  const auto function = kernels().reduce_columns;
  const bool mean = op == Reduction::kMean;
  const Size parts = ceil_div(length, kTallRows);
  float* made = Pool::instance().shared().reserve(parts * inner);
  share_range(length, kTallRows, product(length, inner), [&](Size first, Size n) {
    function(mean ? Reduction::kSum : op, in + first * inner, made + first / kTallRows * inner, n, inner, inner);
  });
  if (!mean && op != Reduction::kSum) return function(op, made, out, parts, inner, inner);
  for (Size c = 0; c < inner; c++) {
    double total = 0;
    for (Size part = 0; part < parts; part++) total += static_cast<double>(made[part * inner + c]);
    out[c] = static_cast<float>(mean ? total / static_cast<double>(length) : total);
  }
}

void reduce(Reduction op, const float* in, float* out, Size outer, Size length, Size inner) {
  if (inner == 1) return reduce_rows(op, in, out, outer, length);
  const Pool::Session session;
  const auto function = kernels().reduce_columns;
  const Size strips = ceil_div(inner, kStripColumns);
  // products are formed in double, which results of parts are not
  if (outer == 1 && strips <= kTallStrips && length > kTallRows && op != Reduction::kProduct) {
    return reduce_tall(op, in, out, length, inner);
  }
  const Size step = rows_per_item(length * kStripColumns);
  share_range(outer * strips, step, product(outer, length) * static_cast<double>(inner), [&](Size first, Size n) {
    for (Size item = first; item < first + n; item++) {
      const Size plane = item / strips, column = item % strips * kStripColumns;
      function(op, in + plane * length * inner + column, out + plane * inner + column, length, inner,
               std::min(kStripColumns, inner - column));
    }
  });
}

void cumulative_sums(const CumulativeSums& op) {
  const Pool::Session session;
  const Size plane = op.length * op.inner;
  share_range(op.outer, rows_per_item(plane), product(op.outer, plane), [&](Size first, Size n) {
    for (Size at = first * plane; at < (first + n) * plane; at += plane) {
      for (Size place = 0; place < op.length; place++) {
        const Size row = at + (op.reverse ? op.length - 1 - place : place) * op.inner;
        const Size before = op.reverse ? row + op.inner : row - op.inner;
        const float* term = op.in + (op.exclusive ? before : row);
        for (Size c = 0; c < op.inner; c++) {
          if (place == 0) op.out[row + c] = op.exclusive ? 0 : op.in[row + c];
          else op.out[row + c] = op.out[before + c] + term[c];
        }
      }
    }
  });
}

void running_log_sums(const RunningLogSums& op) {
  const Pool::Session session;
  const auto function = kernels().running_log_sums;
  const Size strips = op.outer * ceil_div(op.inner, Size{4} * kernels().lanes);
  share_range(strips, 1, 2 * kTranscendental * product(op.outer, op.length * op.inner),
              [&](Size first, Size n) { function(op, first, n); });
}

}  // namespace rfa
