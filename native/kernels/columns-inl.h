// Reductions over the first axis of dense [length, columns] arrays, columns in lanes: no horizontal sums.
//
// O(length columns), every number read once, in strips of four vectors: four chains hide the latency of an addition.
#pragma once

#include "kernels/elementwise-inl.h"

RFA_KERNELS_BEGIN

// Calls body(Width<C>, first column, columns) for strips of four vectors, and for single ones at the end.
template <class Body>
RFA_INLINE void ForEachStrip(Size columns, Body body) {
  Size c = 0;
  for (; c + 4 * W <= columns; c += 4 * W) body(Width<4>{}, c, Size{4 * W});
  for (; c < columns; c += W) body(Width<1>{}, c, Least(W, columns - c));
}

// Sums of `n` columns over `divisor`: float32 within blocks of 64 rows, double across, so that the rounding does not
// grow with the number of rows.
template <int C>
RFA_INLINE void SumStrip(const float* in, Size length, Size stride, Size n, double divisor, float* out) {
  constexpr Size kBlock = 64;  // a chain of 64 additions: an error of 64 2^-24 of the magnitudes at most
  double total[C * W] = {};
  for (Size first = 0; first < length; first += kBlock) {
    const Size end = Least(length, first + kBlock);
    V sum[C];
    RFA_UNROLL
    for (int c = 0; c < C; c++) sum[c] = Zero();
    for (Size r = first; r < end; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) sum[c] = Add(sum[c], LoadUpTo(in + r * stride + c * W, n - c * W));
    }
    float part[C * W];
    RFA_UNROLL
    for (int c = 0; c < C; c++) Store(part + c * W, sum[c]);
    for (int i = 0; i < C * W; i++) total[i] += static_cast<double>(part[i]);
  }
  for (Size i = 0; i < n; i++) out[i] = static_cast<float>(total[i] / divisor);
}

// out = f(f(f(start, row 0), row 1), ..) in each column.
template <int C, class F>
RFA_INLINE void FoldStrip(const float* in, Size length, Size stride, Size n, float start, F f, float* out) {
  V acc[C];
  RFA_UNROLL
  for (int c = 0; c < C; c++) acc[c] = Set(start);
  for (Size r = 0; r < length; r++) {
    RFA_UNROLL
    for (int c = 0; c < C; c++) acc[c] = f(acc[c], LoadUpTo(in + r * stride + c * W, n - c * W));
  }
  RFA_UNROLL
  for (int c = 0; c < C; c++) StoreUpTo(out + c * W, acc[c], n - c * W);
}

// In double: a float32 product would overflow on its way to a result that is none.
inline void MultiplyColumns(const float* in, Size length, Size stride, Size columns, float* out) {
  for (Size c = 0; c < columns; c++) {
    double total = 1;
    for (Size r = 0; r < length; r++) total *= static_cast<double>(in[r * stride + c]);
    out[c] = static_cast<float>(total);
  }
}

// `columns` columns of a [length, stride] array. Of no rows: sum and mean 0, product 1, maximum -inf, minimum inf.
inline void ReduceColumns(Reduction op, const float* in, float* out, Size length, Size stride, Size columns) {
  switch (op) {
    case Reduction::kSum:
    case Reduction::kMean: {
      const double divisor = op == Reduction::kMean ? static_cast<double>(Most(1, length)) : 1;
      return ForEachStrip(columns, [&](auto width, Size c, Size n) {
        SumStrip<decltype(width)::vecs>(in + c, length, stride, n, divisor, out + c);
      });
    }
    // Max and Min give their second operand for a NaN: that of `top` stays, that of y is taken by the selection
    case Reduction::kMax:
      return ForEachStrip(columns, [&](auto width, Size c, Size n) {
        FoldStrip<decltype(width)::vecs>(in + c, length, stride, n, -kInfinity,
                              [](V top, V y) { return Select(Equal(y, y), Max(y, top), y); }, out + c);
      });
    case Reduction::kMin:
      return ForEachStrip(columns, [&](auto width, Size c, Size n) {
        FoldStrip<decltype(width)::vecs>(in + c, length, stride, n, kInfinity,
                              [](V low, V y) { return Select(Equal(y, y), Min(y, low), y); }, out + c);
      });
    case Reduction::kProduct:
      return MultiplyColumns(in, length, stride, columns, out);
    case Reduction::kLogSumExp:  // of rows only
    case Reduction::kSquareSum:
      return;
  }
}

RFA_KERNELS_END
