// Cross entropy of the softmax of each row at one of its columns, and its gradient: no one-hot row is formed.
//
//   loss = log sum_c e^(x_c - max) + (max - x_label)      dx_c = slope (p_c - [c = label])
// The logarithm of the sum by itself: a log-sum of large logits would lose a small loss in rounding.
#pragma once

#include "kernels/elementwise-inl.h"
#include "kernels/table.h"

RFA_KERNELS_BEGIN

inline void CrossEntropyRows(const CrossEntropy& op, Size first, Size count) {
  for (Size r = first; r < first + count; r++) {
    const float* x = op.in + r * op.columns;
    const float top = RowMax(x, op.columns);
    const double sum = SumOf(x, op.columns, [&](V y, Size) { return Exp(Sub(y, Set(top))); });
    op.out[r] = static_cast<float>(log(sum) + (static_cast<double>(top) - static_cast<double>(x[op.labels[r]])));
  }
}

inline void CrossEntropySlopes(const CrossEntropyGradient& op, Size first, Size count) {
  SoftmaxRows(op.in, op.out, first, count, op.columns, {});
  for (Size r = first; r < first + count; r++) {
    float* y = op.out + r * op.columns;
    y[op.labels[r]] -= 1;
    Apply(y, y, op.columns, [&](V p) { return Mul(p, Set(op.slope)); });
  }
}

RFA_KERNELS_END
