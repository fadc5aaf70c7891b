// Gram-Schmidt over the rows of a matrix in double precision.
//
// Four rows at a time are projected off all rows before them, in tiles of products that stay in registers,
// then off each other; and both once more: with the second pass rows are orthogonal to rounding for any
// numerically independent input. O(R^2 D) multiply-adds, 2 R^2 D of them: 10 us for 64 x 64 on AVX-512.
#pragma once

#include "simd.h"

RFA_KERNELS_BEGIN

constexpr int kPanelRows = 4;
// Rows before that a tile of products holds: kPanelRows x kBefore sums, and a vector of each row.
constexpr int kBefore = kRegisters >= 32 ? 4 : 2;
// Vectors of each row of the panel that an update holds.
constexpr int kStrip = kRegisters >= 32 ? 4 : 2;

// Doubles from one row to the next in scratch memory: whole vectors, and not a multiple of a page: rows would
// compete for the same few places of the cache.
RFA_INLINE Size RowStride(Size columns) {
  const Size stride = (columns + WD - 1) / WD * WD;
  return stride % 512 == 0 ? stride + WD : stride;
}
// Rows in scratch memory: whole panels.
RFA_INLINE Size PaddedRows(Size rows) { return (rows + kPanelRows - 1) / kPanelRows * kPanelRows; }

RFA_INLINE double Dot(const double* a, const double* b, Size stride) {
  VD sum[2] = {ZeroD(), ZeroD()};
  Size d = 0;
  for (; d + 2 * WD <= stride; d += 2 * WD) {
    sum[0] = Fma(Load(a + d), Load(b + d), sum[0]);
    sum[1] = Fma(Load(a + d + WD), Load(b + d + WD), sum[1]);
  }
  if (d < stride) sum[0] = Fma(Load(a + d), Load(b + d), sum[0]);
  return ReduceAdd(Add(sum[0], sum[1]));
}

// products[j kPanelRows + i] = panel row i . row j, for the `before` rows in front of the panel.
inline void PanelProducts(const double* rows, const double* panel, Size before, Size stride,
                          double* products) {
  for (Size j = 0; j < before; j += kBefore) {
    VD sum[kBefore][kPanelRows];
    RFA_UNROLL
    for (int k = 0; k < kBefore; k++) {
      RFA_UNROLL
      for (int i = 0; i < kPanelRows; i++) sum[k][i] = ZeroD();
    }
    for (Size d = 0; d < stride; d += WD) {
      VD x[kPanelRows];
      RFA_UNROLL
      for (int i = 0; i < kPanelRows; i++) x[i] = Load(panel + i * stride + d);
      RFA_UNROLL
      for (int k = 0; k < kBefore; k++) {
        const VD y = Load(rows + (j + k) * stride + d);
        RFA_UNROLL
        for (int i = 0; i < kPanelRows; i++) sum[k][i] = Fma(x[i], y, sum[k][i]);
      }
    }
    RFA_UNROLL
    for (int k = 0; k < kBefore; k++) {
      RFA_UNROLL
      for (int i = 0; i < kPanelRows; i++) products[(j + k) * kPanelRows + i] = ReduceAdd(sum[k][i]);
    }
  }
}

// `vectors` vectors of each row of the panel, from column d on, less their products times the rows before.
template <int vectors>
RFA_INLINE void SubtractStrip(const double* rows, double* panel, Size before, Size stride,
                              const double* products, Size d) {
  VD x[kPanelRows][vectors];
  RFA_UNROLL
  for (int i = 0; i < kPanelRows; i++) {
    RFA_UNROLL
    for (int v = 0; v < vectors; v++) x[i][v] = Load(panel + i * stride + d + v * WD);
  }
  for (Size j = 0; j < before; j++) {
    VD y[vectors];
    RFA_UNROLL
    for (int v = 0; v < vectors; v++) y[v] = Load(rows + j * stride + d + v * WD);
    RFA_UNROLL
    for (int i = 0; i < kPanelRows; i++) {
      const VD factor = Set(products[j * kPanelRows + i]);
      RFA_UNROLL
      for (int v = 0; v < vectors; v++) x[i][v] = Fnma(factor, y[v], x[i][v]);
    }
  }
  RFA_UNROLL
  for (int i = 0; i < kPanelRows; i++) {
    RFA_UNROLL
    for (int v = 0; v < vectors; v++) Store(panel + i * stride + d + v * WD, x[i][v]);
  }
}

// The first `count` rows of a panel, projected off each other one after the other, to length 1.
inline void OrthonormalizePanel(double* panel, Size count, Size stride) {
  for (Size i = 0; i < count; i++) {
    double* const row = panel + i * stride;
    for (Size k = 0; k < i; k++) {
      const double* const other = panel + k * stride;
      const VD factor = Set(Dot(row, other, stride));
      for (Size d = 0; d < stride; d += WD) Store(row + d, Fnma(factor, Load(other + d), Load(row + d)));
    }
    const VD length = Set(sqrt(Dot(row, row, stride)));
    for (Size d = 0; d < stride; d += WD) Store(row + d, Div(Load(row + d), length));
  }
}

// Doubles of memory for the products of `rows` rows.
RFA_INLINE Size ProductDoubles(Size rows) { return kPanelRows * PaddedRows(rows); }

// In place. `matrix` has PaddedRows(rows) rows of `stride` doubles, zeros beyond the rows and columns that
// count; rows <= columns.
inline void OrthonormalizeRows(double* matrix, Size rows, Size stride, double* products) {
  for (Size first = 0; first < rows; first += kPanelRows) {
    double* const panel = matrix + first * stride;
    for (int pass = 0; pass < 2; pass++) {
      if (first > 0) {
        PanelProducts(matrix, panel, first, stride, products);
        Size d = 0;
        for (; d + kStrip * WD <= stride; d += kStrip * WD) {
          SubtractStrip<kStrip>(matrix, panel, first, stride, products, d);
        }
        for (; d < stride; d += WD) SubtractStrip<1>(matrix, panel, first, stride, products, d);
      }
      OrthonormalizePanel(panel, rows - first < kPanelRows ? rows - first : kPanelRows, stride);
    }
  }
}

RFA_KERNELS_END
