// Plain tensor operations: functions of each element, of pairs of elements, and of rows.
//
// All of it O(elements); exponentials cost some 16 multiply-adds, the rest waits for memory. NaN
// comes out wherever it goes in, as in TensorFlow.js; empty arrays and rows are fine.
#pragma once

#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

RFA_INLINE V Negated(V x) { return FromBits(XorI(Bits(x), SetI(INT32_MIN))); }

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
      return Apply(in, out, count, [](V x) { return Negated(x); });
    case Unary::kAbs:
      return Apply(in, out, count, [](V x) { return FromBits(AndI(Bits(x), SetI(INT32_MAX))); });
    case Unary::kSqrt:
      return Apply(in, out, count, [](V x) { return Sqrt(x); });
    case Unary::kRsqrt:
      return Apply(in, out, count, [](V x) { return Div(Set(1.0f), Sqrt(x)); });
    case Unary::kReciprocal:
      return Apply(in, out, count, [](V x) { return Div(Set(1.0f), x); });
    // no comparison holds for NaN
    case Unary::kSign:
      return Apply(in, out, count, [](V x) {
        return Select(Less(Zero(), x), Set(1.0f), Select(Less(x, Zero()), Set(-1.0f), Zero()));
      });
    case Unary::kStep:
      return Apply(in, out, count, [](V x) {
        return Select(Less(Zero(), x), Set(1.0f), Select(Equal(x, x), Zero(), x));
      });
    case Unary::kSigmoid:
      return Apply(in, out, count, [](V x) {
        return Div(Set(1.0f), Add(Set(1.0f), Exp(Sub(Zero(), x))));
      });
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

// x^y in double. C has 1 where JavaScript has NaN.
inline float Power(float x, float y) {
  const double base = static_cast<double>(x), exponent = static_cast<double>(y);
  const bool none = y != y || (fabs(base) == 1 && fabs(exponent) == static_cast<double>(kInfinity));
  return none ? kInfinity - kInfinity : static_cast<float>(pow(base, exponent));
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
    case Binary::kSquaredDifference:
      return Zip(a, a_step, b, b_step, out, count, [](V x, V y) {
        const V d = Sub(x, y);
        return Mul(d, d);
      });
    case Binary::kPower:
      // a square, as in a norm: the same bits, for the product of two floats is exact in double
      if (b_step == 0 && *b == 2 && a_step == 1) return UnaryRange(Unary::kSquare, a, out, count);
      for (Size i = 0; i < count; i++) out[i] = Power(a[i * a_step], b[i * b_step]);
      return;
    default:  // comparisons
      return;
  }
}

// Steps of 1 and 0 apart: with constants compilers make vectors of the loops.
template <class F>
RFA_INLINE void Compare(const float* a, Size a_step, const float* b, Size b_step, std::uint8_t* out,
                        Size count, F f) {
  if (a_step == 1 && b_step == 1) {
    for (Size i = 0; i < count; i++) out[i] = f(a[i], b[i]);
  } else if (a_step == 1 && b_step == 0) {
    for (Size i = 0; i < count; i++) out[i] = f(a[i], *b);
  } else {
    for (Size i = 0; i < count; i++) out[i] = f(a[i * a_step], b[i * b_step]);
  }
}

inline void CompareRow(Binary op, const float* a, Size a_step, const float* b, Size b_step,
                       std::uint8_t* out, Size count) {
  switch (op) {
    case Binary::kEqual:
      return Compare(a, a_step, b, b_step, out, count, [](float x, float y) { return x == y; });
    case Binary::kNotEqual:
      return Compare(a, a_step, b, b_step, out, count, [](float x, float y) { return x != y; });
    case Binary::kLess:
      return Compare(a, a_step, b, b_step, out, count, [](float x, float y) { return x < y; });
    case Binary::kLessEqual:
      return Compare(a, a_step, b, b_step, out, count, [](float x, float y) { return x <= y; });
    case Binary::kGreater:
      return Compare(a, a_step, b, b_step, out, count, [](float x, float y) { return x > y; });
    case Binary::kGreaterEqual:
      return Compare(a, a_step, b, b_step, out, count, [](float x, float y) { return x >= y; });
    default:  // arithmetic
      return;
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
    const float* a = op.a + a_at + column * a_step;
    const float* b = op.b + b_at + column * b_step;
    if (op.truth) {
      CompareRow(op.op, a, a_step, b, b_step, op.truth + first, n);
    } else {
      BinaryRow(op.op, a, a_step, b, b_step, op.out + first, n);
    }
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

// Plain loops: compilers make vectors of them.
inline void SelectRange(const std::uint8_t* condition, const float* yes, const float* no, float* out,
                        Size count) {
  for (Size i = 0; i < count; i++) out[i] = condition[i] == 1 ? yes[i] : no[i];
}

inline void AdamRange(const AdamStep& op, Size first, Size count) {
  const V scale = Set(op.scale), epsilon = Set(op.epsilon), rate = Set(op.rate);
  for (Size i = first; i < first + count; i += W) {
    const Size n = first + count - i;
    const V g = LoadUpTo(op.gradient + i, n);
    const V m = Fma(Set(op.decay1), LoadUpTo(op.first + i, n), Mul(Set(op.share1), g));
    const V v = Fma(Set(op.decay2), LoadUpTo(op.second + i, n), Mul(Set(op.share2), Mul(g, g)));
    const V step = Div(Mul(rate, m), Add(Sqrt(Mul(scale, v)), epsilon));
    StoreUpTo(op.to_value + i, Sub(LoadUpTo(op.value + i, n), step), n);
    StoreUpTo(op.to_first + i, m, n);
    StoreUpTo(op.to_second + i, v, n);
  }
}

// ---- rows -----------------------------------------------------------------------------------

// Largest element, or largest negated one; NaN where there is one, -inf of none.
template <bool kNegated = false>
inline float RowMax(const float* x, Size n) {
  V top = Set(-kInfinity);
  for (Size i = 0; i < n; i += W) {
    V y = LoadUpTo(x + i, n - i);
    if (kNegated) y = Negated(y);
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

// In double: a float32 product would overflow on its way to a result that is finite.
inline float RowProduct(const float* x, Size n) {
  double product = 1;
  for (Size i = 0; i < n; i++) product *= static_cast<double>(x[i]);
  return static_cast<float>(product);
}

inline void ReduceRows(Reduction op, const float* in, float* out, Size rows, Size columns) {
  for (Size r = 0; r < rows; r++) {
    const float* x = in + r * columns;
    if (op == Reduction::kSum || op == Reduction::kMean) {
      const double sum = SumOf(x, columns, [](V y, Size) { return y; });
      const double divisor = op == Reduction::kMean ? static_cast<double>(Most(1, columns)) : 1;
      out[r] = static_cast<float>(sum / divisor);
      continue;
    }
    if (op == Reduction::kSquareSum) {
      out[r] = static_cast<float>(SumOf(x, columns, [](V y, Size) { return Mul(y, y); }));
      continue;
    }
    if (op == Reduction::kMin) {
      out[r] = -RowMax<true>(x, columns);
      continue;
    }
    if (op == Reduction::kProduct) {
      out[r] = RowProduct(x, columns);
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

// Rows first .. first + count - 1; `sums` [2, columns] becomes their part of the gradients of weight and bias. With unit
// rows n = d / r and g = slopes weight: (g - mean g - n mean(g n)) / r for the rows, sums of slopes n and of slopes.
inline void NormalizeRowsGradient(const NormRowsGradient& op, Size first, Size count, float* sums) {
  const Size n = op.columns;
  const double each = 1 / static_cast<double>(n);
  for (Size i = 0; i < 2 * n; i++) sums[i] = 0;
  for (Size r = first; r < first + count; r++) {
    const float* x = op.in + r * n;
    const float* dy = op.slopes + r * n;
    float* dx = op.to_in + r * n;
    const double mean = op.centred ? each * SumOf(x, n, [](V z, Size) { return z; }) : 0;
    const V middle = Set(static_cast<float>(mean));
    const double squares = SumOf(x, n, [&](V z, Size) {
      const V d = Sub(z, middle);
      return Mul(d, d);
    });
    const V scale = Set(static_cast<float>(1 / sqrt(each * squares + static_cast<double>(op.epsilon))));
    const auto unit = [&](Size i) { return Mul(Sub(LoadUpTo(x + i, n - i), middle), scale); };
    const auto weighted = [&](V y, Size i) { return Mul(y, LoadUpTo(op.weight + i, n - i)); };
    const double along = each * SumOf(dy, n, [&](V y, Size i) { return Mul(weighted(y, i), unit(i)); });
    const V mean_slope = Set(static_cast<float>(op.centred ? each * SumOf(dy, n, weighted) : 0));
    for (Size i = 0; i < n; i += W) {
      const V y = LoadUpTo(dy + i, n - i), u = unit(i);
      const V g = Sub(weighted(y, i), mean_slope);
      StoreUpTo(dx + i, Mul(Fnma(Set(static_cast<float>(along)), u, g), scale), n - i);
      StoreUpTo(sums + i, Fma(y, u, LoadUpTo(sums + i, n - i)), n - i);
      StoreUpTo(sums + n + i, Add(y, LoadUpTo(sums + n + i, n - i)), n - i);
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
