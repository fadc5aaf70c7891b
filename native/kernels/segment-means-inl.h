// Means of runs of rows: one item is one segment of one plane. Float32 sums of at most a segment's rows.
#pragma once

#include "kernels/micro-inl.h"

RFA_KERNELS_BEGIN

inline Size SegmentMeansItems(const SegmentMeans& op) { return op.planes * op.segments; }
inline Size SegmentMeansScratch(const SegmentMeans&) { return 0; }

inline void SegmentMeansItem(const SegmentMeans& op, Size item, float*) {
  const Size plane = item / op.segments, segment = item % op.segments;
  const Size first = op.starts[segment], end = op.starts[segment + 1];
  const float* in = op.in + (plane * op.rows + first) * op.columns;
  float* out = op.out + item * op.columns;
  const V scale = Set(1.0f / static_cast<float>(Most(1, end - first)));
  for (Size c = 0; c < op.columns; c += W) {
    V even = Zero(), odd = Zero();
    Size row = 0;
    for (; row + 2 <= end - first; row += 2) {
      even = Add(even, LoadUpTo(in + row * op.columns + c, op.columns - c));
      odd = Add(odd, LoadUpTo(in + (row + 1) * op.columns + c, op.columns - c));
    }
    if (row < end - first) even = Add(even, LoadUpTo(in + row * op.columns + c, op.columns - c));
    StoreUpTo(out + c, Mul(Add(even, odd), scale), op.columns - c);
  }
}

RFA_KERNELS_END
