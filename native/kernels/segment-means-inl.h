// Means of runs of rows: one item is one segment of one plane. Float32 sums of at most a segment's rows.
//
// out_c = sum_{r in segment c} in_r / |segment c|, [rows, columns] to [C, columns]: the landmarks
// of LARA, EVA and Nystroemformer. O(rows columns), every number read once.
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
  // a product with the reciprocal: 1.5 ULP where a quotient has 0.5, and no division per element
  const V scale = Set(1.0f / static_cast<float>(Most(1, end - first)));
  // columns in lanes: no horizontal sums. Two sums for the latency of an addition, rows being few
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
