// Metrics of one estimate in a single pass over it: one item is a block of rows of one head.
//
// O(heads rows Dv), each number read once: 20 bytes of memory per entry against some 15 operations, so
// that the pass is as fast as memory. Everything is computed in double precision from float32 entries;
// the mean and the group's sums have the bits of the plain loop, sums over entries another order.
#pragma once

#include "kernels/micro-inl.h"

RFA_KERNELS_BEGIN

constexpr Size kErrorEntries = 16384;  // entries per item: 320 KiB of memory traffic

inline Size ErrorRows(const ErrorSums& op) {
  return Most(1, kErrorEntries / Most(1, op.value_dim));
}
inline Size ErrorBlocks(const ErrorSums& op) { return CeilDiv(op.rows, ErrorRows(op)); }
inline Size ErrorItems(const ErrorSumsPlan& plan) { return plan.op->heads * plan.blocks; }
inline Size ErrorScratch(const ErrorSumsPlan&) { return 0; }

// Where a row's numbers stand; `group` is null for rows that are in none.
struct ErrorRow {
  const float* estimate;
  const double* exact;
  float *mean, *group;
  double* rows_sum;  // of the item
};

// Sums in lanes: the upper ones over the rows of an item, the lower ones over one row.
struct ErrorLanes {
  VD squares, absolutes, largest, spread;
  VD inner, estimate_norm, exact_norm;
};

// The first n entries of a vector at column d of a row; lanes beyond read zeros, which add nothing.
RFA_INLINE void AddErrors(const ErrorRow& row, Size d, Size n, VD share, ErrorLanes& s) {
  const bool whole = n == WD;
  const auto wide = [&](const float* p) { return whole ? LoadWide(p + d) : LoadWideN(p + d, n); };
  const auto narrow = [&](float* p, VD x) {
    whole ? StoreNarrow(p + d, x) : StoreNarrowN(p + d, x, n);
  };
  const VD a = wide(row.estimate);
  const VD b = whole ? Load(row.exact + d) : LoadN(row.exact + d, n);
  const VD difference = Sub(a, b);
  const VD old = wide(row.mean);
  const VD before = Sub(difference, old);
  // product and sum round apart, as in the plain loop
  narrow(row.mean, Add(old, Mul(before, share)));
  s.spread = Fma(before, Sub(difference, wide(row.mean)), s.spread);
  if (row.group) narrow(row.group, Add(wide(row.group), difference));
  double* sum = row.rows_sum + d;
  whole ? Store(sum, Add(Load(sum), difference)) : StoreN(sum, Add(LoadN(sum, n), difference), n);
  const VD magnitude = Max(difference, Sub(ZeroD(), difference));
  s.squares = Fma(difference, difference, s.squares);
  s.absolutes = Add(s.absolutes, magnitude);
  s.largest = Max(s.largest, magnitude);
  s.inner = Fma(a, b, s.inner);
  s.estimate_norm = Fma(a, a, s.estimate_norm);
  s.exact_norm = Fma(b, b, s.exact_norm);
}

// Cosine between two rows, from their inner product and squared norms; rows of zeros are alike.
RFA_INLINE double Cosine(double inner, double a, double b) {
  const double lengths = sqrt(a * b);
  return lengths == 0 ? (a == b ? 1.0 : 0.0) : inner / lengths;
}

// Entries of a row that are NaN or infinite. Rare: the row is looked at again.
RFA_COLD inline double CountNotFinite(const float* row, Size count) {
  double found = 0;
  for (Size d = 0; d < count; d++) found += row[d] - row[d] == 0.0f ? 0 : 1;
  return found;
}

inline void ErrorItem(const ErrorSumsPlan& plan, Size item, float*) {
  const ErrorSums& op = *plan.op;
  const Size dim = op.value_dim, block = ErrorRows(op), head = item / plan.blocks;
  const Size first = head * op.rows + item % plan.blocks * block;
  const Size end = Least(first + block, (head + 1) * op.rows);
  const VD share = Set(op.share);
  ErrorLanes s{ZeroD(), ZeroD(), ZeroD(), ZeroD(), ZeroD(), ZeroD(), ZeroD()};
  double cosines = 0, not_finite = 0, deviations = 0;
  double* rows_sum = plan.rows_sums + item * dim;
  for (Size d = 0; d < dim; d++) rows_sum[d] = 0;
  for (Size r = first; r < end; r++) {
    ErrorRow row{op.estimate + r * (dim + 1), op.exact + r * dim, op.mean + r * dim, nullptr,
                 rows_sum};
    if (op.group && r % op.group_step == 0) row.group = op.group + r / op.group_step * dim;
    s.inner = s.estimate_norm = s.exact_norm = ZeroD();
    Size d = 0;
    for (; d + WD <= dim; d += WD) AddErrors(row, d, WD, share, s);
    if (d < dim) AddErrors(row, d, dim - d, share, s);
    const double norm = ReduceAdd(s.estimate_norm);
    cosines += Cosine(ReduceAdd(s.inner), norm, ReduceAdd(s.exact_norm));
    // squares of floats stay in the range of doubles: their sum is finite where all of them are
    if (!(norm - norm == 0)) not_finite += CountNotFinite(row.estimate, dim);
    deviations += fabs(static_cast<double>(row.estimate[dim]) - 1);
  }
  double* out = plan.parts + item * kErrorSums;
  out[kSquares] = ReduceAdd(s.squares);
  out[kAbsolutes] = ReduceAdd(s.absolutes);
  out[kLargest] = ReduceMax(s.largest);
  out[kCosines] = cosines;
  out[kNotFinite] = not_finite;
  out[kRowSumDeviations] = deviations;
  out[kSpread] = ReduceAdd(s.spread);
}

RFA_KERNELS_END
