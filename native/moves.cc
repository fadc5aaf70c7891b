// Operations that move numbers: strided copies, rows by their index, and sums of rows by index.
#include <algorithm>
#include <cstring>

#include "dispatch.h"
#include "rfa.h"
#include "share.h"

namespace rfa {

namespace {

constexpr Size kPlaneRows = 256;   // rows of a transposed plane per item
constexpr Size kSumColumns = 64;   // columns of sums per item: eight cache lines of doubles

// The same copy with as few axes as it can have, at least one: those of one element go, neighbours that one
// stride covers on both sides join.
StridedCopy simplified(const StridedCopy& op) {
  StridedCopy out = op;
  out.rank = 0;
  for (int axis = 0; axis < op.rank; axis++) {
    const Size n = op.shape[axis], from = op.in_strides[axis], to = op.out_strides[axis];
    if (n == 1) continue;
    const int last = out.rank - 1;
    const bool joins = last >= 0 && out.in_strides[last] == from * n && out.out_strides[last] == to * n;
    const int at = joins ? last : out.rank++;
    out.shape[at] = joins ? out.shape[at] * n : n;
    out.in_strides[at] = from;
    out.out_strides[at] = to;
  }
  if (out.rank > 0) return out;
  out.rank = 1;
  out.shape[0] = out.in_strides[0] = out.out_strides[0] = 1;
  return out;
}

Size elements(const StridedCopy& op) {
  Size count = 1;
  for (int axis = 0; axis < op.rank; axis++) count *= op.shape[axis];
  return count;
}

// Where a row starts on either side: the mixed-radix digits of its number times the strides, counted on from row to
// row.
class Places {
 public:
  Places(const StridedCopy& op, int axes, Size row) : op_(op), axes_(axes) {
    for (int axis = axes - 1; axis >= 0; axis--) {
      digits_[axis] = row % op.shape[axis];
      row /= op.shape[axis];
      in += digits_[axis] * op.in_strides[axis];
      out += digits_[axis] * op.out_strides[axis];
    }
  }
  void next() {
    for (int axis = axes_ - 1; axis >= 0; axis--) {
      in += op_.in_strides[axis];
      out += op_.out_strides[axis];
      if (++digits_[axis] < op_.shape[axis]) return;
      in -= digits_[axis] * op_.in_strides[axis];
      out -= digits_[axis] * op_.out_strides[axis];
      digits_[axis] = 0;
    }
  }

  Size in = 0, out = 0;

 private:
  const StridedCopy& op_;
  int axes_;
  Size digits_[kMaxRank] = {};
};

template <class T>
void copy_row(const T* in, Size from, T* out, Size to, Size count) {
  if (from == 1 && to == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(T));
  } else if (from == 0 && to == 1) {
    std::fill_n(out, count, *in);
  } else {
    for (Size i = 0; i < count; i++) out[i * to] = in[i * from];
  }
}

// Row by row along the last axis; long rows in pieces.
template <class T>
void copy_rows(const StridedCopy& op) {
  const int last = op.rank - 1;
  const Size columns = op.shape[last], from = op.in_strides[last], to = op.out_strides[last];
  const Size count = elements(op), rows = count / columns;
  const Size piece = std::min(columns, kItemElements), pieces = ceil_div(columns, piece);
  const auto copy = [&](const Places& at, Size first, Size n) {
    copy_row(static_cast<const T*>(op.in) + at.in + first * from, from,
             static_cast<T*>(op.out) + at.out + first * to, to, n);
  };
  if (pieces > 1) {
    share(rows * pieces, static_cast<double>(count), [&](Size item) {
      const Size first = item % pieces * piece;
      copy(Places(op, last, item / pieces), first, std::min(piece, columns - first));
    });
    return;
  }
  share_range(rows, rows_per_item(columns), static_cast<double>(count), [&](Size first, Size n) {
    Places at(op, last, first);
    for (Size row = 0; row < n; row++, at.next()) copy(at, 0, columns);
  });
}

// The axis along which the input is dense where another one is for the output: the two make planes that are
// transposed in vectors. -1 where rows are copied as they are.
int dense_axis(const StridedCopy& op) {
  const int last = op.rank - 1;
  if (op.element != 4 || op.out_strides[last] != 1 || op.in_strides[last] == 1) return -1;
  for (int axis = 0; axis < last; axis++) {
    if (op.in_strides[axis] == 1) return axis;
  }
  return -1;
}

void transpose_planes(const StridedCopy& op, int dense) {
  const int last = op.rank - 1;
  const Size rows = op.shape[last], row_stride = op.in_strides[last];
  const Size columns = op.shape[dense], column_stride = op.out_strides[dense];
  // all other axes only say where a plane starts
  StridedCopy planes;
  for (int axis = 0; axis < last; axis++) {
    if (axis == dense) continue;
    planes.shape[planes.rank] = op.shape[axis];
    planes.in_strides[planes.rank] = op.in_strides[axis];
    planes.out_strides[planes.rank++] = op.out_strides[axis];
  }
  const Size blocks = ceil_div(rows, kPlaneRows);
  const auto function = kernels().transpose_plane;
  share(elements(planes) * blocks, static_cast<double>(elements(op)), [&](Size item) {
    const Places at(planes, planes.rank, item / blocks);
    const Size first = item % blocks * kPlaneRows;
    function(static_cast<const float*>(op.in) + at.in + first * row_stride, row_stride,
             static_cast<float*>(op.out) + at.out + first, column_stride, std::min(kPlaneRows, rows - first),
             columns);
  });
}

}  // namespace

void strided_copy(const StridedCopy& op) {
  const Pool::Session session;
  const StridedCopy simple = simplified(op);
  if (elements(simple) == 0) return;
  const int dense = dense_axis(simple);
  if (dense >= 0) {
    transpose_planes(simple, dense);
  } else if (op.element == 4) {
    copy_rows<std::uint32_t>(simple);
  } else {
    copy_rows<std::uint8_t>(simple);
  }
}

void gather_rows(const GatherRows& op) {
  const Pool::Session session;
  const Size rows = op.batch * op.outer * op.count;
  const std::size_t bytes = static_cast<std::size_t>(op.columns) * sizeof(float);
  share_range(rows, rows_per_item(op.columns), product(rows, op.columns), [&](Size first, Size n) {
    for (Size row = first; row < first + n; row++) {
      const Size plane = row / op.count;
      const Size index = op.index[plane / op.outer * op.count + row % op.count];
      std::memcpy(op.out + row * op.columns, op.in + (plane * op.length + index) * op.columns, bytes);
    }
  });
}

void segment_sums(const SegmentSums& op) {
  const Pool::Session session;
  const Size count = op.segments * op.columns;
  // doubles, two floats each: no rounding grows with the rows of a segment
  auto* sums = reinterpret_cast<double*>(Pool::instance().shared().reserve(2 * count));
  share_range(op.columns, kSumColumns, product(op.rows, op.columns), [&](Size first, Size n) {
    for (Size s = 0; s < op.segments; s++) std::fill_n(sums + s * op.columns + first, n, 0.0);
    for (Size row = 0; row < op.rows; row++) {
      const Size segment = op.index[row];
      if (segment < 0 || segment >= op.segments) continue;
      const float* in = op.in + row * op.columns + first;
      double* sum = sums + segment * op.columns + first;
      for (Size c = 0; c < n; c++) sum[c] += static_cast<double>(in[c]);
    }
    for (Size s = 0; s < op.segments; s++) {
      const Size at = s * op.columns + first;
      for (Size c = at; c < at + n; c++) op.out[c] = static_cast<float>(sums[c]);
    }
  });
}

}  // namespace rfa
