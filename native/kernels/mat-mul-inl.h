// Batched matrix product. One item is a block of rows x columns of one matrix; the inner axis is cut
// into blocks whose sums are formed from zero and then added.
#pragma once

#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

constexpr Size kProductRows = 32 * kRows;  // rows per item: packing b costs 2-4 % of them
constexpr Size kProductColumns = 256;      // a multiple of kPanel
constexpr Size kProductDepth = 256;        // a block of b is 256 KiB: the second-level cache
constexpr Size kThinRows = 3;              // up to so many rows packing would cost more than it saves

struct ProductScratch {
  Size sum_stride, a_stride;
  float *a, *b, *sums;

  ProductScratch(const MatMul& op, Bump& bump)
      : sum_stride(RoundUp(Least(op.columns, kProductColumns), W)),
        a_stride(OddLines(Least(op.inner, kProductDepth))) {
    const Size rows = RoundUp(Least(op.rows, kProductRows), kRows);
    a = bump.Take(RoundUp(rows, W) * a_stride);
    b = bump.Take(kProductDepth * sum_stride);
    sums = bump.Take(rows * sum_stride);
  }
};

inline Size ProductItems(const MatMul& op) {
  return op.batch * CeilDiv(op.rows, kProductRows) * CeilDiv(op.columns, kProductColumns);
}
inline Size ProductScratchFloats(const MatMul& op) {
  Bump bump{nullptr};
  const ProductScratch scratch(op, bump);
  return bump.used;
}

RFA_INLINE V Activate(V x, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return Max(Zero(), x);
    case Activation::kRelu6:
      return Min(Set(6.0f), Max(Zero(), x));
    case Activation::kElu:
      return Select(Less(x, Zero()), Sub(Exp(x), Set(1.0f)), x);
    default:
      return x;
  }
}

// Where an item stands.
struct ProductBlock {
  const float *a, *b;
  float* out;
  Size first_row, rows, first_column, columns;
};

// Left factor of a depth block, rows padded to kRows.
inline void PackLeft(const MatMul& op, const ProductBlock& block, Size k, Size depth,
                     const ProductScratch& s) {
  if (!op.transpose_a) {
    PackRows(block.a + block.first_row * op.a_row_stride + k, op.a_row_stride, block.rows, depth, {},
             nullptr, s.a, s.a_stride);
    return;
  }
  // stored as [inner, rows]
  const float* corner = block.a + k * op.a_row_stride + block.first_row;
  for (Size r = block.rows; r < RoundUp(block.rows, kRows); r++) {
    for (Size i = 0; i < depth; i++) s.a[r * s.a_stride + i] = 0;
  }
  TransposeInto(corner, op.a_row_stride, block.rows, depth, RoundUp(depth, W), {}, nullptr, s.a,
                s.a_stride);
}

inline void PackRight(const MatMul& op, const ProductBlock& block, Size k, Size depth,
                      const ProductScratch& s) {
  if (op.transpose_b) {
    PackPanelsTransposed(block.b + block.first_column * op.b_row_stride + k, op.b_row_stride, depth,
                         block.columns, {}, nullptr, s.b);
  } else {
    PackPanels(block.b + k * op.b_row_stride + block.first_column, op.b_row_stride, depth,
               block.columns, nullptr, s.b);
  }
}

// sums = [sums +] a b for one depth block.
inline void AddProduct(const ProductBlock& block, Size depth, bool first, const ProductScratch& s) {
  const Size vecs = CeilDiv(block.columns, W);
  ForEachPanel(vecs, vecs, [&](auto width, Size v) {
    constexpr int C = decltype(width)::vecs;
    const float* panel = s.b + PanelOffset(v, depth);
    for (Size r0 = 0; r0 < block.rows; r0 += kRows) {
      V acc[kRows][C];
      ClearTile(acc);
      MultiplyAdd(acc, s.a + r0 * s.a_stride, s.a_stride, panel, C * W, depth);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        float* row = s.sums + (r0 + r) * s.sum_stride + v * W;
        RFA_UNROLL
        for (int c = 0; c < C; c++) {
          Store(row + c * W, first ? acc[r][c] : Add(Load(row + c * W), acc[r][c]));
        }
      }
    }
  });
}

// Bias, activation, output.
inline void FinishProduct(const MatMul& op, const ProductBlock& block, const float* sums,
                          Size sum_stride) {
  for (Size r = 0; r < block.rows; r++) {
    float* out = block.out + (block.first_row + r) * op.out_row_stride + block.first_column;
    for (Size c = 0; c < block.columns; c += W) {
      const Size n = block.columns - c;
      V x = op.inner > 0 ? Load(sums + r * sum_stride + c) : Zero();
      if (op.bias) x = Add(x, LoadUpTo(op.bias + block.first_column + c, n));
      StoreUpTo(out + c, Activate(x, op.activation), n);
    }
  }
}

// One row of a against all of b's columns of the block, without packing.
inline void ThinProduct(const MatMul& op, const ProductBlock& block, Size row, float* sums) {
  const float* a = block.a + (op.transpose_a ? row : row * op.a_row_stride);
  const Size step = op.transpose_a ? op.a_row_stride : 1;
  if (op.transpose_b) {
    for (Size j = 0; j < block.columns; j++) {
      const float* b = block.b + (block.first_column + j) * op.b_row_stride;
      V even = Zero(), odd = Zero();
      Size k = 0;
      if (step == 1) {
        for (; k + 2 * W <= op.inner; k += 2 * W) {
          even = Fma(Load(a + k), Load(b + k), even);
          odd = Fma(Load(a + k + W), Load(b + k + W), odd);
        }
      }
      float sum = ReduceAdd(Add(even, odd));
      for (; k < op.inner; k++) sum += a[k * step] * b[k];
      sums[j] = sum;
    }
    return;
  }
  constexpr int kWide = 4;
  for (Size c = 0; c < block.columns; c += kWide * W) {
    V acc[kWide];
    RFA_UNROLL
    for (int i = 0; i < kWide; i++) acc[i] = Zero();
    const Size left = block.columns - c;
    for (Size k = 0; k < op.inner; k++) {
      const V x = Set(a[k * step]);
      const float* b = block.b + k * op.b_row_stride + block.first_column + c;
      RFA_UNROLL
      for (int i = 0; i < kWide; i++) {
        if (left > i * W) acc[i] = Fma(x, LoadUpTo(b + i * W, left - i * W), acc[i]);
      }
    }
    RFA_UNROLL
    for (int i = 0; i < kWide; i++) {
      if (left > i * W) Store(sums + c + i * W, acc[i]);
    }
  }
}

inline void ProductItem(const MatMul& op, Size item, float* workspace) {
  Bump bump{workspace};
  const ProductScratch s(op, bump);
  const Size row_blocks = CeilDiv(op.rows, kProductRows);
  const Size column_blocks = CeilDiv(op.columns, kProductColumns);
  const Size n = item / (row_blocks * column_blocks);
  ProductBlock block;
  block.a = op.a + n * op.a_batch_stride;
  block.b = op.b + n * op.b_batch_stride;
  block.out = op.out + n * op.out_batch_stride;
  block.first_row = item / column_blocks % row_blocks * kProductRows;
  block.first_column = item % column_blocks * kProductColumns;
  block.rows = Least(kProductRows, op.rows - block.first_row);
  block.columns = Least(kProductColumns, op.columns - block.first_column);
  if (op.rows <= kThinRows) {
    for (Size r = 0; r < block.rows; r++) ThinProduct(op, block, r, s.sums + r * s.sum_stride);
  } else {
    for (Size k = 0; k < op.inner; k += kProductDepth) {
      const Size depth = Least(kProductDepth, op.inner - k);
      PackLeft(op, block, k, depth, s);
      PackRight(op, block, k, depth, s);
      AddProduct(block, depth, k == 0, s);
    }
  }
  FinishProduct(op, block, s.sums, s.sum_stride);
}

RFA_KERNELS_END
