// Inner products of all pairs of some vectors: one item is a part of their length.
//
// O(count^2 length) multiply-adds on count length floats; an item reads each from memory once: a
// part of ten vectors stays in the caches. Floats are widened as they are read, and sums are in double precision.
#pragma once

#include "kernels/micro-inl.h"

RFA_KERNELS_BEGIN

constexpr Size kPairLength = 1024;  // floats of each vector per item
constexpr int kPairRows = 2, kPairColumns = 4;  // products at once: enough sums to hide an addition

inline Size PairItems(const PairProductsPlan& plan) { return CeilDiv(plan.op->length, kPairLength); }
inline Size PairScratch(const PairProductsPlan&) { return 0; }

// Products of rows j, j + 1 with columns i to i + 3, those that are pairs i < j; rows and columns beyond
// the last vector read the last one.
RFA_INLINE void PairTile(const PairProducts& op, Size first, Size n, Size j, Size i, double* out) {
  const auto vector = [&](Size index) {
    return op.vectors + Least(index, op.count - 1) * op.length + first;
  };
  VD sums[kPairRows][kPairColumns];
  for (auto& row : sums) {
    for (VD& sum : row) sum = ZeroD();
  }
  const auto add = [&](Size d, auto load) {
    VD rows[kPairRows];
    for (int r = 0; r < kPairRows; r++) rows[r] = load(vector(j + r) + d);
    for (int c = 0; c < kPairColumns; c++) {
      const VD column = load(vector(i + c) + d);
      for (int r = 0; r < kPairRows; r++) sums[r][c] = Fma(rows[r], column, sums[r][c]);
    }
  };
  Size d = 0;
  for (; d + WD <= n; d += WD) add(d, [](const float* p) { return LoadWide(p); });
  if (d < n) add(d, [&](const float* p) { return LoadWideN(p, n - d); });
  for (int r = 0; r < kPairRows; r++) {
    for (int c = 0; c < kPairColumns; c++) {
      const Size row = j + r, column = i + c;
      if (row < op.count && column < row) out[row * (row - 1) / 2 + column] = ReduceAdd(sums[r][c]);
    }
  }
}

inline void PairItem(const PairProductsPlan& plan, Size item, float*) {
  const PairProducts& op = *plan.op;
  const Size first = item * kPairLength, n = Least(kPairLength, op.length - first);
  double* out = plan.parts + item * plan.pairs;
  for (Size j = 1; j < op.count; j += kPairRows) {
    for (Size i = 0; i < j + kPairRows - 1; i += kPairColumns) PairTile(op, first, n, j, i, out);
  }
}

RFA_KERNELS_END
