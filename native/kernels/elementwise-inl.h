// Plain tensor operations: functions of each element, of pairs of elements, and of rows.
//
// All of it O(elements); exponentials cost some 16 multiply-adds, the rest waits for memory. NaN
// comes out wherever it goes in, as in TensorFlow.js; empty arrays and rows are fine.
#pragma once

#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

// ---- one argument ---------------------------------------------------------------------------

// Whole vectors, then a masked one. In place is fine: an element is read before it is written.
template <class F>
RFA_INLINE void Apply(const float* in, float* out, Size count, F f) {
  Size i = 0;
  for (; i + W <= count; i += W) Store(out + i, f(Load(in + i)));
  if (i < count) StoreN(out + i, f(LoadN(in + i, count - i)), count - i);
}

inline void UnaryRange(Unary op, const float* in, float* out, Size count) {
  switch (op) {
    case Unary::kExp:
      return Apply(in, out, count, [](V x) { return Exp(x); });
    case Unary::kLog:
      return Apply(in, out, count, [](V x) { return Log(x); });
    case Unary::kSin:
      return Apply(in, out, count, [](V x) { return SinCos(x).sin; });
    case Unary::kCos:
      return Apply(in, out, count, [](V x) { return SinCos(x).cos; });
    // zero first: Max takes its second operand where one is NaN
    case Unary::kRelu:
      return Apply(in, out, count, [](V x) { return Max(Zero(), x); });
    // e^x - 1 by its own function: the difference of e^x and 1 has no correct digit for small x
    case Unary::kElu:
      return Apply(in, out, count, [](V x) {
        return Select(Less(x, Zero()), ExpMinusOne(x), x);
      });
    case Unary::kSquare:
      return Apply(in, out, count, [](V x) { return Mul(x, x); });
    // by the sign bit, zeros and NaN included
    case Unary::kNegate:
      return Apply(in, out, count, [](V x) { return FromBits(XorI(Bits(x), SetI(INT32_MIN))); });
    case Unary::kAbs:
      return Apply(in, out, count, [](V x) { return FromBits(AndI(Bits(x), SetI(INT32_MAX))); });
    case Unary::kSqrt:
      return Apply(in, out, count, [](V x) { return Sqrt(x); });
  }
}

inline void Exp2Weights(const float* in, float* out, Size count) {
  Apply(in, out, count, [](V x) { return Exp2Weight(x); });
}

// ---- two arguments --------------------------------------------------------------------------

// `count` elements; a step is 1, or 0 for one repeated element.
template <class F>
RFA_INLINE void Zip(const float* a, Size a_step, const float* b, Size b_step, float* out, Size count,
                    F f) {
  // allowed, but rare: dense tensors have no such stride along their last axis
  if (a_step > 1 || b_step > 1) {
    for (Size i = 0; i < count; i++) {
      float x[W];
      Store(x, f(Set(a[i * a_step]), Set(b[i * b_step])));
      out[i] = x[0];
    }
    return;
  }
  Size i = 0;
  // both dense: four vectors at a time, so that short rows are few steps
  for (; a_step && b_step && i + 4 * W <= count; i += 4 * W) {
    RFA_UNROLL
    for (int k = 0; k < 4; k++) {
      Store(out + i + k * W, f(Load(a + i + k * W), Load(b + i + k * W)));
    }
  }
  for (; i < count; i += W) {
    const Size n = count - i;
    const V x = a_step ? LoadUpTo(a + i, n) : Set(*a);
    const V y = b_step ? LoadUpTo(b + i, n) : Set(*b);
    StoreUpTo(out + i, f(x, y), n);
  }
}

inline void BinaryRow(Binary op, const float* a, Size a_step, const float* b, Size b_step, float* out,
                      Size count) {
  switch (op) {
    case Binary::kAdd:
      return Zip(a, a_step, b, b_step, out, count, [](V x, V y) { return Add(x, y); });
    case Binary::kSubtract:
      return Zip(a, a_step, b, b_step, out, count, [](V x, V y) { return Sub(x, y); });
    case Binary::kMultiply:
      return Zip(a, a_step, b, b_step, out, count, [](V x, V y) { return Mul(x, y); });
    case Binary::kDivide:
      return Zip(a, a_step, b, b_step, out, count, [](V x, V y) { return Div(x, y); });
    // Max alone gives the second operand for a NaN in the first: x is asked besides
    case Binary::kMaximum:  // NaN wherever either one is
      return Zip(a, a_step, b, b_step, out, count,
                 [](V x, V y) { return Select(Equal(x, x), Max(x, y), x); });
    case Binary::kMinimum:
      return Zip(a, a_step, b, b_step, out, count,
                 [](V x, V y) { return Select(Equal(x, x), Min(x, y), x); });
  }
}

// Elements first .. first + count - 1 of the (flattened) output, row segment by row segment.
// O(rank) divisions for the first segment; from row to row its digits count on.
inline void BinaryRange(const BinaryOp& op, Size first, Size count) {
  const Size inner = op.rank > 0 ? op.shape[op.rank - 1] : 1;
  const Size a_step = op.rank > 0 ? op.a_strides[op.rank - 1] : 0;
  const Size b_step = op.rank > 0 ? op.b_strides[op.rank - 1] : 0;
  if (count <= 0) return;
  // place of the segment in a and b: the mixed-radix digits of its row number, times the strides
  Size digits[kMaxRank], rest = first / inner, a_at = 0, b_at = 0, column = first % inner;
  for (int axis = op.rank - 2; axis >= 0; axis--) {
    digits[axis] = rest % op.shape[axis];
    rest /= op.shape[axis];
    a_at += digits[axis] * op.a_strides[axis];
    b_at += digits[axis] * op.b_strides[axis];
  }
  for (;;) {
    const Size n = Least(count, inner - column);
    BinaryRow(op.op, op.a + a_at + column * a_step, a_step, op.b + b_at + column * b_step, b_step,
              op.out + first, n);
    first += n;
    count -= n;
    if (count == 0) return;
    column = 0;
    for (int axis = op.rank - 2; axis >= 0; axis--) {
      a_at += op.a_strides[axis];
      b_at += op.b_strides[axis];
      if (++digits[axis] < op.shape[axis]) break;
      a_at -= digits[axis] * op.a_strides[axis];
      b_at -= digits[axis] * op.b_strides[axis];
      digits[axis] = 0;
    }
  }
}

// ---- rows -----------------------------------------------------------------------------------

// Largest element; NaN where there is one, -inf of none.
inline float RowMax(const float* x, Size n) {
  V top = Set(-kInfinity);
  for (Size i = 0; i < n; i += W) {
    V y = LoadUpTo(x + i, n - i);
    // lanes beyond the end repeat the maximum so far: zeros would beat negative rows
    if (n - i < W) y = Select(FirstN(n - i), y, top);
    // NaN in y is taken by the selection, NaN in top by Max as its second operand: none is lost
    top = Select(Equal(y, y), Max(y, top), y);
  }
  // inf - inf is NaN: ReduceMax keeps to the rule of Max and could lose one
  return AllTrue(Equal(top, top)) ? ReduceMax(top) : kInfinity - kInfinity;
}

// Sum of f(x) over a row: float32 within blocks of 1024 elements, double across, so that the rounding
// does not grow with the length of the row.
template <class F>
RFA_INLINE double SumOf(const float* x, Size n, F f) {
  // 1024 elements in 4 W lanes are chains of 64 additions (W = 4): an error of some 64 2^-24 at
  // most
  constexpr Size kBlock = 1024;
  double total = 0;
  for (Size first = 0; first < n; first += kBlock) {
    const Size end = Least(n, first + kBlock);
    // four chains: one addition per cycle at a latency of 4, which is what loads can feed
    V sum[4] = {Zero(), Zero(), Zero(), Zero()};
    Size i = first;
    for (; i + 4 * W <= end; i += 4 * W) {
      RFA_UNROLL
      for (int k = 0; k < 4; k++) sum[k] = Add(sum[k], f(Load(x + i + k * W), i + k * W));
    }
    for (; i < end; i += W) {
      V y = f(LoadUpTo(x + i, end - i), i);
      // f of what lies beyond the end is not 0: e^(0 - max), say
      if (end - i < W) y = Select(FirstN(end - i), y, Zero());
      sum[0] = Add(sum[0], y);
    }
    total += static_cast<double>(ReduceAdd(Add(Add(sum[0], sum[1]), Add(sum[2], sum[3]))));
  }
  return total;
}

inline void ReduceRows(Reduction op, const float* in, float* out, Size rows, Size columns) {
  for (Size r = 0; r < rows; r++) {
    const float* x = in + r * columns;
    if (op == Reduction::kSum) {
      out[r] = static_cast<float>(SumOf(x, columns, [](V y, Size) { return y; }));
      continue;
    }
    // log sum e^x = max + log sum e^(x - max): no term exceeds 1, the largest is 1, so the sum is
    // in [1, columns]
    const float top = RowMax(x, columns);
    if (op == Reduction::kMax || !(top - top == 0)) {  // infinite or NaN: it is the log-sum too
      out[r] = top;
      continue;
    }
    const double sum = SumOf(x, columns, [&](V y, Size) { return Exp(Sub(y, Set(top))); });
    out[r] = static_cast<float>(static_cast<double>(top) + log(sum));
  }
}

// x over the first n columns, y likewise; y may be x.
// y = e^(x - max) / sum, two passes over y. The sum is at least 1: its reciprocal never overflows.
inline void SoftmaxRow(const float* x, float* y, Size n, float row_max) {
  const V top = Set(row_max);
  const double sum = SumOf(x, n, [&](V z, Size i) {
    const V p = Exp(Sub(z, top));
    StoreUpTo(y + i, p, n - i);
    return p;
  });
  const V scale = Set(static_cast<float>(1 / sum));
  Apply(y, y, n, [&](V p) { return Mul(p, scale); });
}

// y = x where present, else -inf.
inline void HideAbsent(const float* x, const float* present, float* y, Size n) {
  const V hidden = Set(-kInfinity);
  for (Size i = 0; i < n; i += W) {
    const M absent = Equal(LoadUpTo(present + i, n - i), Zero());
    StoreUpTo(y + i, Select(absent, hidden, LoadUpTo(x + i, n - i)), n - i);
  }
}

// Rows first .. first + count - 1.
inline void SoftmaxRows(const float* in, float* out, Size first, Size count, Size columns,
                        const RowVisibility& mask) {
  const bool masked = mask.causal_rows > 0 || mask.present;
  for (Size r = first; r < first + count; r++) {
    const float* x = in + r * columns;
    float* y = out + r * columns;
    // row i of a matrix sees columns 0 .. i: what lies beyond is not even looked at
    Size seen = mask.causal_rows > 0 ? Least(columns, r % mask.causal_rows + 1) : columns;
    if (mask.present) {
      HideAbsent(x, mask.present + r / mask.shared_rows * columns, y, seen);
      // the masked copy stands in the output row itself: no memory besides
      x = y;
    }
    const float top = RowMax(x, seen);
    // nothing is seen: zeros, where an unmasked row of -inf is NaN as in TensorFlow.js
    if (masked && top == -kInfinity) seen = 0;
    SoftmaxRow(x, y, seen, top);
    for (Size c = seen; c < columns; c++) y[c] = 0;
  }
}

// Rows first .. first + count - 1. Two passes for the variance: a difference of squares would lose it
// where the mean is large.
inline void NormalizeRows(const NormRows& op, Size first, Size count) {
  const Size n = op.columns;
  const double each = 1 / static_cast<double>(n);
  for (Size r = first; r < first + count; r++) {
    const float* x = op.in + r * n;
    float* y = op.out + r * n;
    const double mean = op.centred ? each * SumOf(x, n, [](V z, Size) { return z; }) : 0;
    const V middle = Set(static_cast<float>(mean));
    const double squares = SumOf(x, n, [&](V z, Size) {
      const V d = Sub(z, middle);
      return Mul(d, d);
    });
    const V scale = Set(static_cast<float>(1 / sqrt(each * squares + static_cast<double>(op.epsilon))));
    for (Size i = 0; i < n; i += W) {
      const V d = Mul(Sub(LoadUpTo(x + i, n - i), middle), scale);
      const V w = LoadUpTo(op.weight + i, n - i);
      StoreUpTo(y + i, op.bias ? Fma(d, w, LoadUpTo(op.bias + i, n - i)) : Mul(d, w), n - i);
    }
  }
}

// ---- transposition --------------------------------------------------------------------------

// One plane: rows x columns with row stride in_stride, to columns x rows with row stride out_stride.
// In W x W blocks through registers: both sides are touched a vector at a time.
inline void TransposePlane(const float* in, Size in_stride, float* out, Size out_stride, Size rows,
                           Size columns) {
  for (Size r = 0; r < rows; r += W) {
    for (Size c = 0; c < columns; c += W) {
      V block[W];
      RFA_UNROLL
      for (int i = 0; i < W; i++) {
        block[i] = r + i < rows ? LoadUpTo(in + (r + i) * in_stride + c, columns - c) : Zero();
      }
      TransposeSquare(block);
      for (Size i = 0; i < Least(W, columns - c); i++) {
        StoreUpTo(out + (c + i) * out_stride + r, block[i], rows - r);
      }
    }
  }
}

RFA_KERNELS_END
