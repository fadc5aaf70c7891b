// Batched matrix product. One item is a block of rows x columns of one matrix; the inner axis is cut into blocks;
// their sums are formed from zero and then added.
//
// C = activation(A B + bias), [rows, inner] x [inner, columns], O(rows columns inner). Three levels
// of blocking: the register tile (micro-inl.h); a panel of B, kProductDepth x kPanel, 64 KiB at
// most and 16 KiB with 16 registers, met by all rows of A's block in turn; A's and B's blocks in
// the second level. Packing touches each number once per block and makes the inner loop's loads
// contiguous; factors that can be read as they are stored, or are read once only, are not packed.
//
// Rounding: chains of at most kProductDepth terms, then one addition per depth block: an error of
// about (kProductDepth + inner / kProductDepth) 2^-24 sum|a b|, which grows 256 times slower with
// `inner`.
#pragma once

#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

constexpr Size kProductRows = 32 * kRows;  // rows per item: packing b costs 2-4 % of them
constexpr Size kDirectRows = 64 * kRows;   // where a is not packed and takes no room
constexpr Size kProductColumns = 256;      // a multiple of kPanel
constexpr Size kProductDepth = 256;        // a block of b is 256 KiB: the second-level cache
constexpr Size kThinRows = 3;              // up to this number of rows packing costs more than it saves

// Whether tiles read a where it is stored. Packing pays where a is met by several panels of b, and its
// rows crowd into a few cache sets or it is stored transposed.
inline bool ReadsLeft(const MatMul& op) {
  const bool once = op.columns <= kPanel, spread = SpreadsOverSets(op.a_row_stride, 64);
  return op.transpose_a ? once && spread : once || spread;
}
inline bool ReadsRight(const MatMul& op) {
  return !op.transpose_b && op.columns % W == 0 && SpreadsOverSets(op.b_row_stride, kPanel);
}
inline Size ProductRows(const MatMul& op) { return ReadsLeft(op) ? kDirectRows : kProductRows; }

// Sized for the block or the matrix, whichever is smaller: small products take little memory.
struct ProductScratch {
  Size sum_stride, a_stride;
  float *a, *b, *sums;

  ProductScratch(const MatMul& op, Bump& bump)
      : sum_stride(RoundUp(Least(op.columns, kProductColumns), W)),
        a_stride(OddLines(Least(op.inner, kProductDepth))) {
    const Size rows = RoundUp(Least(op.rows, ProductRows(op)), kRows);
    a = bump.Take(ReadsLeft(op) ? 0 : RoundUp(rows, W) * a_stride);
    b = bump.Take(ReadsRight(op) ? 0 : kProductDepth * sum_stride);
    sums = bump.Take(rows * sum_stride);
  }
};

inline Size ProductItems(const MatMul& op) {
  return op.batch * CeilDiv(op.rows, ProductRows(op)) * CeilDiv(op.columns, kProductColumns);
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
    // NaN stays NaN: it is the second operand both times
    case Activation::kRelu6:
      return Min(Set(6.0f), Max(Zero(), x));
    case Activation::kElu:
      return Select(Less(x, Zero()), Sub(Exp(x), Set(1.0f)), x);
    case Activation::kGelu:
      return Gelu(x);
    case Activation::kGeluTanh:
      return GeluTanh(x);
    case Activation::kSilu:
      return Silu(x);
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

// The left factor of a depth block as tiles read it.
struct LeftRows {
  const float* data;
  Size stride, step;  // from row to row, from factor to factor of a row
  Size last;          // rows beyond repeat it: their products go nowhere
};

// Left factor of a depth block, rows padded to kRows.
// [block rows, depth], O(rows depth), used columns / kPanel times.
inline LeftRows PackLeft(const MatMul& op, const ProductBlock& block, Size k, Size depth,
                         const ProductScratch& s) {
  const Size stride = op.transpose_a ? 1 : op.a_row_stride, step = op.transpose_a ? op.a_row_stride : 1;
  const float* corner = block.a + block.first_row * stride + k * step;
  if (ReadsLeft(op)) return {corner, stride, step, block.rows - 1};
  const LeftRows packed{s.a, s.a_stride, 1, RoundUp(block.rows, kRows) - 1};
  // row-major already: a copy, to pad rows and columns and to fix the stride
  if (!op.transpose_a) {
    PackRows(corner, stride, block.rows, depth, {}, nullptr, s.a, s.a_stride);
    return packed;
  }
  for (Size r = block.rows; r < RoundUp(block.rows, kRows); r++) {
    for (Size i = 0; i < depth; i++) s.a[r * s.a_stride + i] = 0;
  }
  TransposeInto(corner, op.a_row_stride, block.rows, depth, RoundUp(depth, W), {}, nullptr, s.a,
                s.a_stride);
  return packed;
}

// [depth, block columns] in panels, O(depth columns), used rows / kRows times.
inline RightPanels PackRight(const MatMul& op, const ProductBlock& block, Size k, Size depth,
                             const ProductScratch& s) {
  if (ReadsRight(op)) {
    return {block.b + k * op.b_row_stride + block.first_column, W, op.b_row_stride};
  }
  if (op.transpose_b) {
    PackPanelsTransposed(block.b + block.first_column * op.b_row_stride + k, op.b_row_stride, depth,
                         block.columns, {}, nullptr, s.b);
  } else {
    PackPanels(block.b + k * op.b_row_stride + block.first_column, op.b_row_stride, depth,
               block.columns, nullptr, s.b);
  }
  return {s.b, W * depth, 0};
}

// Where the product of one depth block goes: sums collect it until the last block; its product goes with them, bias
// and activation to the output.
struct ProductStage {
  bool first, last;
};

// Bias, activation, output: up to W columns.
RFA_INLINE void StoreProduct(const MatMul& op, V x, const float* bias, float* out, Size columns) {
  if (bias) x = Add(x, LoadUpTo(bias, columns));
  StoreUpTo(out, Activate(x, op.activation), columns);
}

// One register tile of the last depth block, with what the earlier ones gave.
// The tile goes to the output from registers: a product with a single depth block never stores
// sums.
template <int C>
RFA_INLINE void FinishTile(const MatMul& op, const ProductBlock& block, V (&acc)[kRows][C],
                           const float* sums, Size sum_stride, Size row, Size column) {
  const Size rows = Least(kRows, block.rows - row);
  const Size columns = block.columns - column;
  if (sums) {
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) acc[r][c] = Add(Load(sums + r * sum_stride + c * W), acc[r][c]);
    }
  }
  float* out = block.out + (block.first_row + row) * op.out_row_stride + block.first_column + column;
  const float* bias = op.bias ? op.bias + block.first_column + column : nullptr;
  // inside the matrix and plain: no bounds, no activation per vector
  if (rows == kRows && columns >= C * W && !bias && op.activation == Activation::kNone) {
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) Store(out + r * op.out_row_stride + c * W, acc[r][c]);
    }
    return;
  }
  RFA_UNROLL
  for (int r = 0; r < kRows; r++) {
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      if (r >= rows) continue;
      StoreProduct(op, acc[r][c], bias ? bias + c * W : nullptr, out + r * op.out_row_stride + c * W,
                   columns - c * W);
    }
  }
}

// sums = [sums +] the tile.
template <int C>
RFA_INLINE void AddTile(V (&acc)[kRows][C], bool first, float* sums, Size stride) {
  RFA_UNROLL
  for (int r = 0; r < kRows; r++) {
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      float* sum = sums + r * stride + c * W;
      Store(sum, first ? acc[r][c] : Add(Load(sum), acc[r][c]));
    }
  }
}

// Asks for the rows of a later tile, where a comes straight from memory: the processor's own
// prefetching starts anew with every row.
RFA_INLINE void PrefetchRows(const LeftRows& left, Size first, Size depth) {
  if (left.step != 1) return;
  for (Size r = first; r < first + kRows; r++) {
    const float* row = left.data + Least(r, left.last) * left.stride;
    for (Size k = 0; k < depth; k += 16) __builtin_prefetch(row + k, 0, 2);
  }
}

// One depth block.
inline void MultiplyBlock(const MatMul& op, const ProductBlock& block, const LeftRows& left,
                          const RightPanels& right, Size depth, ProductStage stage,
                          const ProductScratch& s) {
  const Size vecs = CeilDiv(block.columns, W);
  // panels outside, rows inside: a panel stays close while rows of A stream past it
  ForEachPanel(vecs, vecs, [&](auto width, Size v) {
    constexpr int C = decltype(width)::vecs;
    const float* panel = right.at(v);
    const Size stride = right.stride_of(C);
    for (Size r0 = 0; r0 < block.rows; r0 += kRows) {
      V acc[kRows][C];
      ClearTile(acc);
      const float* rows[kRows];
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) rows[r] = left.data + Least(r0 + r, left.last) * left.stride;
      // two tiles ahead, to the second level; once, with the first panel
      if (ReadsLeft(op) && v == 0) PrefetchRows(left, r0 + 2 * kRows, depth);
      MultiplyAddRows(acc, rows, left.step, panel, stride, depth);
      float* sums = s.sums + r0 * s.sum_stride + v * W;
      if (stage.last) {
        FinishTile(op, block, acc, stage.first ? nullptr : sums, s.sum_stride, r0, v * W);
      } else {
        AddTile(acc, stage.first, sums, s.sum_stride);
      }
    }
  });
}

// Bias, activation, output of rows of sums.
inline void FinishProduct(const MatMul& op, const ProductBlock& block, const float* sums,
                          Size sum_stride) {
  for (Size r = 0; r < block.rows; r++) {
    float* out = block.out + (block.first_row + r) * op.out_row_stride + block.first_column;
    for (Size c = 0; c < block.columns; c += W) {
      const V x = op.inner > 0 ? Load(sums + r * sum_stride + c) : Zero();
      const float* bias = op.bias ? op.bias + block.first_column + c : nullptr;
      StoreProduct(op, x, bias, out + c, block.columns - c);
    }
  }
}

// One row of a against all of b's columns of the block, without packing.
// Each number of b serves 1 to kThinRows rows: reading it, not multiplying, is the cost.
inline void ThinProduct(const MatMul& op, const ProductBlock& block, Size row, float* sums) {
  const float* a = block.a + (op.transpose_a ? row : row * op.a_row_stride);
  const Size step = op.transpose_a ? op.a_row_stride : 1;
  // rows of b are columns of the product: a dot product each, 2 chains of W lanes, the rest one by
  // one
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
  // columns in lanes, 4 chains; W = 16 makes that 64 columns per pass over a
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
  const Size rows = ProductRows(op), row_blocks = CeilDiv(op.rows, rows);
  const Size column_blocks = CeilDiv(op.columns, kProductColumns);
  const Size n = item / (row_blocks * column_blocks);
  ProductBlock block;
  block.a = op.a + n * op.a_batch_stride;
  block.b = op.b + n * op.b_batch_stride;
  block.out = op.out + n * op.out_batch_stride;
  block.first_row = item / column_blocks % row_blocks * rows;
  block.first_column = item % column_blocks * kProductColumns;
  block.rows = Least(rows, op.rows - block.first_row);
  block.columns = Least(kProductColumns, op.columns - block.first_column);
  // an empty inner axis gives zeros, with bias and activation: FinishProduct sees to it
  if (op.rows <= kThinRows || op.inner == 0) {
    for (Size r = 0; r < block.rows; r++) ThinProduct(op, block, r, s.sums + r * s.sum_stride);
    return FinishProduct(op, block, s.sums, s.sum_stride);
  }
  for (Size k = 0; k < op.inner; k += kProductDepth) {
    const Size depth = Least(kProductDepth, op.inner - k);
    const LeftRows left = PackLeft(op, block, k, depth, s);
    const RightPanels right = PackRight(op, block, k, depth, s);
    MultiplyBlock(op, block, left, right, depth, {k == 0, k + depth == op.inner}, s);
  }
}

RFA_KERNELS_END
