// Logarithms of running sums of exponentials, columns in lanes: one exponential and one logarithm a number.
//
// total_i = sum_{j <= i} exp(x_j - top_i) in two parts, of which `recent` goes over to `before` every 64 rows: numbers far
// below the largest still count after many rows. O(length columns), every number read once.
#pragma once

#include "kernels/columns-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

template <int C>
RFA_INLINE void RunningLogSumStrip(const float* in, Size length, Size stride, Size n, float* out) {
  constexpr Size kBlock = 64;
  V top[C], before[C], recent[C];
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    top[c] = Set(-kInfinity);
    before[c] = recent[c] = Zero();
  }
  for (Size r = 0; r < length; r++) {
    const bool starts = r % kBlock == 0;
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const Size place = r * stride + c * W, rest = n - c * W;
      const V x = LoadUpTo(in + place, rest);
      if (starts) {
        before[c] = Add(before[c], recent[c]);
        recent[c] = Zero();
      }
      // either the sum so far shrinks or the new term is below one; a NaN is neither, and stays in `e`
      const M rises = Less(top[c], x);
      const V e = Exp(Sub(Min(top[c], x), Max(top[c], x)));
      const V shrink = Select(rises, e, Set(1.0f));
      recent[c] = Fma(recent[c], shrink, Select(rises, Set(1.0f), e));
      before[c] = Mul(before[c], shrink);
      top[c] = Select(rises, x, top[c]);
      StoreUpTo(out + place, Add(top[c], Log(Add(before[c], recent[c]))), rest);
    }
  }
}

inline void RunningLogSumStrips(const RunningLogSums& op, Size first, Size count) {
  const Size width = 4 * W, strips = CeilDiv(op.inner, width);
  for (Size strip = first; strip < first + count; strip++) {
    const Size column = strip % strips * width;
    const Size at = strip / strips * op.length * op.inner + column;
    ForEachStrip(Least(width, op.inner - column), [&](auto vectors, Size c, Size n) {
      RunningLogSumStrip<decltype(vectors)::vecs>(op.in + at + c, op.length, op.inner, n, op.out + at + c);
    });
  }
}

RFA_KERNELS_END
