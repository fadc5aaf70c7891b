// The plain tensor operations: cuts a call into items and shares them out.
#include <algorithm>
#include <cstring>

#include "dispatch.h"
#include "pool.h"
#include "rfa.h"

namespace rfa {

namespace {

constexpr Size kItemElements = 16384;    // 64 KiB: well above the cost of taking an item
constexpr Size kPlaneRows = 256;         // rows of a transposed plane per item
constexpr double kTranscendental = 16;   // multiply-adds that one exponential stands for

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

// body(item) for every item.
template <class Body>
void share(Size items, double work, const Body& body) {
  Pool::instance().run(
      items, 0, work,
      [](const void* context, Size item, float*) { (*static_cast<const Body*>(context))(item); },
      &body);
}

// body(first, count) for every stretch of `count` elements, cut at multiples of `step`.
template <class Body>
void share_range(Size count, Size step, double work, const Body& body) {
  share(ceil_div(count, step), work, [&](Size item) {
    const Size first = item * step;
    body(first, std::min(step, count - first));
  });
}

// Rows per item.
Size rows_per_item(Size columns) {
  return std::max<Size>(1, kItemElements / std::max<Size>(1, columns));
}

double product(Size a, Size b) { return static_cast<double>(a) * static_cast<double>(b); }

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

// A transposition as planes: axes of in (size, stride in and out), the last axis of in and the axis
// that becomes the last of out apart.
// A permutation moves data within planes of two axes, in's last and out's last; all others only say
// where a plane starts. Where both last axes are one, whole rows move and a plane is a row.
struct Planes {
  int outer = 0;
  Size size[kMaxRank], in_stride[kMaxRank], out_stride[kMaxRank];
  Size count = 1;
  Size rows = 1, row_stride = 0;         // the axis that is last in out
  Size columns = 1, column_stride = 1;   // the last axis of in: its stride in out
  bool same_last = false;                // rows are copied, columns = the last axis of both
};

Planes planes_of(const Transpose& op) {
  Planes p;
  Size in_stride[kMaxRank], stride = 1;
  for (int axis = op.rank - 1; axis >= 0; axis--) {
    in_stride[axis] = stride;
    stride *= op.shape[axis];
  }
  // strides of out, from its last axis on
  stride = 1;
  const int last_in = op.rank - 1, last_out = op.rank > 0 ? op.perm[op.rank - 1] : 0;
  p.same_last = op.rank == 0 || last_in == last_out;
  for (int place = op.rank - 1; place >= 0; place--) {
    const int axis = op.perm[place];
    if (axis == last_in) {
      p.columns = op.shape[axis];
      p.column_stride = stride;
    } else if (axis == last_out) {
      p.rows = op.shape[axis];
      p.row_stride = in_stride[axis];
    } else {
      p.size[p.outer] = op.shape[axis];
      p.in_stride[p.outer] = in_stride[axis];
      p.out_stride[p.outer] = stride;
      p.outer++;
      p.count *= op.shape[axis];
    }
    stride *= op.shape[axis];
  }
  return p;
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

void norm_rows(const NormRows& op) {
  const Pool::Session session;
  const auto function = kernels().norm_rows;
  // three passes over a row
  share_range(op.rows, rows_per_item(op.columns), 3 * product(op.rows, op.columns),
              [&](Size first, Size n) { function(op, first, n); });
}

void transpose(const Transpose& op) {
  const Pool::Session session;
  const Planes p = planes_of(op);
  const auto function = kernels().transpose_plane;
  const double work = product(p.count, p.rows) * static_cast<double>(p.columns);
  // an axis of 0: nothing to move, and no row to divide by
  if (work == 0) return;
  const Size step = p.same_last ? rows_per_item(p.columns) : kPlaneRows;
  const Size blocks = p.same_last ? 1 : ceil_div(p.rows, step);
  // start of a plane: mixed-radix digits of its number, times the strides of either side
  const auto move = [&](Size plane, Size first_row, Size rows) {
    const float* in = op.in + first_row * p.row_stride;
    float* out = op.out + first_row;
    for (int axis = 0; axis < p.outer; axis++) {
      const Size index = plane % p.size[axis];
      plane /= p.size[axis];
      in += index * p.in_stride[axis];
      out += index * p.out_stride[axis];
    }
    if (p.same_last) {
      std::memcpy(out, in, static_cast<std::size_t>(p.columns) * sizeof(float));
    } else {
      function(in, p.row_stride, out, p.column_stride, rows, p.columns);
    }
  };
  if (p.same_last) {
    share_range(p.count, step, work, [&](Size first, Size n) {
      for (Size plane = first; plane < first + n; plane++) move(plane, 0, 1);
    });
  } else {
    share(p.count * blocks, work, [&](Size item) {
      const Size first = item % blocks * step;
      move(item / blocks, first, std::min(step, p.rows - first));
    });
  }
}

}  // namespace rfa
