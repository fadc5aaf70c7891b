// What every kernel is made of: one register tile of a matrix product, and packing into its layout.
//
// Tile: kRows rows x kVecs vectors of accumulators. With 32 registers 6 x 4 = 24 accumulators leave
// room for 4 vectors of b and 4 spare; with 16 registers 6 x 2 = 12 leave 2 + 1. Both keep two FMA
// ports of latency 4..5 busy (8..10 chains needed) and need fewer loads than FMAs (10 per 24, 8 per
// 12), so that the two load ports are not the limit.
//
// Layouts: the left factor is row-major with any row stride, its elements are broadcast, its rows are
// padded to kRows. The right factor [depth, columns] is either row-major with an odd number of cache
// lines per row (a power of two would crowd the rows into a few cache sets) or cut into panels of
// kVecs vectors of columns; a panel is [depth][width], the last one narrower. Its columns are padded
// to whole vectors.
//
// Rounding: an element of a product is one chain of multiply-adds in the order of the depth,
// starting at the tile's initial value. Its bits depend on its own row and column alone, not on the
// tile that it falls into, nor on how many rows or columns there are; error at most depth 2^-24
// sum|a b|.
#pragma once

#include "simd.h"

RFA_KERNELS_BEGIN

constexpr int kRows = 6;
constexpr int kVecs = kRegisters >= 32 ? 4 : 2;
constexpr int kPanel = kVecs * W;

RFA_INLINE Size Least(Size a, Size b) { return a < b ? a : b; }
RFA_INLINE Size Most(Size a, Size b) { return a > b ? a : b; }
RFA_INLINE Size CeilDiv(Size a, Size b) { return (a + b - 1) / b; }
RFA_INLINE Size RoundUp(Size a, Size b) { return CeilDiv(a, b) * b; }

// Up to W floats: the first n where n < W, all where n >= W. Whole vectors take the plain path, for
// masked stores are slow on some machines (18 operations on Zen 2 and 3).
RFA_INLINE V LoadUpTo(const float* p, Size n) { return n >= W ? Load(p) : LoadN(p, Most(0, n)); }
RFA_INLINE void StoreUpTo(float* p, V x, Size n) {
  if (n >= W) {
    Store(p, x);
  } else {
    StoreN(p, x, Most(0, n));
  }
}

// Whether the parts of rows that tiles read, `width` floats each, spread over the sets of a cache: without
// gaps between them, or an odd number of lines apart.
RFA_INLINE bool SpreadsOverSets(Size stride, Size width) {
  return stride <= width || stride % 32 == 16;
}

// Row stride for at least `columns` floats: an odd number of 64-byte lines.
RFA_INLINE Size OddLines(Size columns) { return (CeilDiv(columns, 16) | 1) * 16; }

// Hands out aligned pieces of a thread's workspace. A null base only counts.
// Both sizes of a workspace come from one constructor, run on a null base to count and on memory to
// take, so that the two cannot differ. 16 floats are a cache line: pieces never share one.
struct Bump {
  float* base;
  Size used = 0;

  float* Take(Size floats) {
    float* piece = base ? base + used : nullptr;
    used += RoundUp(floats, 16);
    return piece;
  }
};

// A number of vectors as a type.
// Narrower last panels have separate code: accumulators stay in registers only if their number
// is known when the code is compiled.
template <int C>
struct Width {
  static constexpr int vecs = C;
};

// Calls body(Width<C>, first vector) for every panel that starts before vector `limit`, of a right
// factor that is `vecs` vectors wide.
template <class Body>
RFA_INLINE void ForEachPanel(Size vecs, Size limit, Body body) {
  Size v = 0;
  for (; v + kVecs <= vecs && v < limit; v += kVecs) body(Width<kVecs>{}, v);
  if (v >= vecs || v >= limit) return;
  if constexpr (kVecs > 3) {
    if (vecs - v == 3) return body(Width<3>{}, v);
  }
  if constexpr (kVecs > 2) {
    if (vecs - v == 2) return body(Width<2>{}, v);
  }
  body(Width<1>{}, v);
}

template <int C>
RFA_INLINE void ClearTile(V (&acc)[kRows][C]) {
  RFA_UNROLL
  for (int r = 0; r < kRows; r++) {
    RFA_UNROLL
    for (int c = 0; c < C; c++) acc[r][c] = Zero();
  }
}

// acc += a b for kRows rows of a and C vectors of columns of b, of floats or doubles; the factors of a row
// stand `step` numbers apart.
template <int C, class Vec, class T>
RFA_INLINE void MultiplyAddRows(Vec (&acc)[kRows][C], const T* const (&rows)[kRows], Size step,
                                const T* b, Size b_stride, Size depth) {
  constexpr Size kLanes = sizeof(Vec) / sizeof(T);
  // six pointers: base + k is an addressing mode, base + r stride + k is not
  const T *a0 = rows[0], *a1 = rows[1], *a2 = rows[2], *a3 = rows[3], *a4 = rows[4], *a5 = rows[5];
  // rank-1 updates, [kRows, 1] times [1, C W]: one load of b serves kRows rows, one of a C vectors
  Size at = 0;
  for (Size k = 0; k < depth; k++) {
    Vec right[C];
    RFA_UNROLL
    for (int c = 0; c < C; c++) right[c] = Load(b + c * kLanes);
    const T* left[kRows] = {a0, a1, a2, a3, a4, a5};
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      const Vec x = Set(left[r][at]);
      RFA_UNROLL
      for (int c = 0; c < C; c++) acc[r][c] = Fma(x, right[c], acc[r][c]);
    }
    at += step;
    b += b_stride;
  }
}

// The same for rows `a_stride` numbers apart, their factors side by side.
template <int C, class Vec, class T>
RFA_INLINE void MultiplyAdd(Vec (&acc)[kRows][C], const T* a, Size a_stride, const T* b,
                            Size b_stride, Size depth) {
  const T* rows[kRows];
  RFA_UNROLL
  for (int r = 0; r < kRows; r++) rows[r] = a + r * a_stride;
  MultiplyAddRows(acc, rows, 1, b, b_stride, depth);
}

// acc += a^T b: as MultiplyAdd, with a stored as [depth][row], so that the kRows factors of a step stand
// side by side.
template <int C>
RFA_INLINE void MultiplyAddTransposed(V (&acc)[kRows][C], const float* a, Size a_stride,
                                      const float* b, Size b_stride, Size depth) {
  // the same updates; a's column of a step is one cache line or two instead of kRows lines
  for (Size k = 0; k < depth; k++) {
    V right[C];
    RFA_UNROLL
    for (int c = 0; c < C; c++) right[c] = Load(b + c * W);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      const V x = Set(a[r]);
      RFA_UNROLL
      for (int c = 0; c < C; c++) acc[r][c] = Fma(x, right[c], acc[r][c]);
    }
    a += a_stride;
    b += b_stride;
  }
}

// One factor for all rows, or one per row.
struct RowScale {
  float uniform = 1;
  const float* per_row = nullptr;

  RFA_INLINE float operator[](Size row) const { return per_row ? per_row[row] : uniform; }
};

// Left factor: [rows, columns] copied to rows of `out_stride` floats (>= columns rounded up to W),
// zero beyond the columns; rows are padded with zeros to kRows. `present` (optional) zeroes rows.
// What is absent is written as zero, not multiplied by zero: infinities and NaN of padding stay out
// of sums (0 x inf is NaN). So do all packing functions here.
RFA_INLINE void PackRows(const float* in, Size stride, Size rows, Size columns, RowScale scale,
                         const std::uint8_t* present, float* out, Size out_stride) {
  const Size padded = RoundUp(rows, kRows);
  for (Size r = 0; r < padded; r++) {
    const bool keep = r < rows && (!present || present[r]);
    // rows beyond the last exist in the tile but in no output: zero, so that nothing overflows in
    // them
    const V factor = Set(keep ? scale[r] : 0);
    for (Size c = 0; c < columns; c += W) {
      const V x = keep ? Mul(LoadUpTo(in + r * stride + c, columns - c), factor) : Zero();
      Store(out + r * out_stride + c, x);
    }
  }
}

// Row-major copy with zeros up to `out_stride` columns. `present` (optional) zeroes rows.
RFA_INLINE void CopyPadded(const float* in, Size stride, Size rows, Size columns,
                           const std::uint8_t* present, float* out, Size out_stride) {
  for (Size r = 0; r < rows; r++) {
    const bool keep = !present || present[r];
    for (Size c = 0; c < out_stride; c += W) {
      const Size n = keep ? columns - c : 0;
      Store(out + r * out_stride + c, LoadUpTo(in + r * stride + c, n));
    }
  }
}

// A right factor, row-major.
struct RightRows {
  const float* data;
  Size stride;
};

// Rows of a right factor as they are stored, where register tiles can read them: all present, whole
// vectors, and strides that do not crowd the rows into a few cache sets. Otherwise a padded copy.
RFA_INLINE RightRows RowsOrCopy(const float* in, Size stride, Size rows, Size columns,
                                const std::uint8_t* present, float* copy, Size copy_stride) {
  if (!present && columns % W == 0 && SpreadsOverSets(stride, kPanel)) return {in, stride};
  CopyPadded(in, stride, rows, columns, present, copy, copy_stride);
  return {copy, copy_stride};
}

// Right factor in panels from [depth, columns] row-major. `present` (optional) zeroes rows.
RFA_INLINE void PackPanels(const float* in, Size stride, Size depth, Size columns,
                           const std::uint8_t* present, float* out) {
  for (Size first = 0; first < columns; first += kPanel) {
    const Size width = Least(kPanel, RoundUp(columns - first, W));
    for (Size k = 0; k < depth; k++) {
      const float* row = in + k * stride + first;
      const bool keep = !present || present[k];
      for (Size c = 0; c < width; c += W) {
        Store(out + c, LoadUpTo(row + c, keep ? columns - first - c : 0));
      }
      out += width;
    }
  }
}

// Transposes [columns, depth] row-major into [depth, width] with any row stride, in W x W blocks;
// width is a multiple of W, columns beyond `columns` are zero. Column j is multiplied by scale[j];
// `present` (optional) zeroes columns.
// Per block W loads, W log2 W shuffles and W stores, where single elements would take W^2 strided
// stores.
RFA_INLINE void TransposeInto(const float* in, Size stride, Size depth, Size columns, Size width,
                              RowScale scale, const std::uint8_t* present, float* out,
                              Size out_stride) {
  for (Size c = 0; c < width; c += W) {
    for (Size k = 0; k < depth; k += W) {
      const Size steps = Least(W, depth - k);
      V block[W];
      RFA_UNROLL
      for (int i = 0; i < W; i++) {
        const Size j = c + i;
        block[i] = Zero();
        if (j < columns && (!present || present[j])) {
          const float* p = in + j * stride + k;
          block[i] = Mul(LoadUpTo(p, steps), Set(scale[j]));
        }
      }
      TransposeSquare(block);
      float* corner = out + k * out_stride + c;
      if (steps == W) {
        RFA_UNROLL
        for (int i = 0; i < W; i++) Store(corner + i * out_stride, block[i]);
      } else {
        for (Size i = 0; i < steps; i++) Store(corner + i * out_stride, block[i]);
      }
    }
  }
}

// Right factor in panels from its transpose, [columns, depth] row-major.
RFA_INLINE void PackPanelsTransposed(const float* in, Size stride, Size depth, Size columns,
                                     RowScale scale, const std::uint8_t* present, float* out) {
  for (Size first = 0; first < columns; first += kPanel) {
    const Size count = Least(kPanel, columns - first);
    const Size width = RoundUp(count, W);
    // per_row is by value here: each panel goes on where the last one ended
    if (scale.per_row && first) scale.per_row += kPanel;
    TransposeInto(in + first * stride, stride, depth, count, width, scale,
                  present ? present + first : nullptr, out, width);
    out += depth * width;
  }
}

// Start of the panel that begins with vector v, in a right factor of `depth` rows.
// Whole panels have one size, and only the last may be narrower.
RFA_INLINE Size PanelOffset(Size v, Size depth) { return v * W * depth; }

// A right factor as tiles read it: packed in panels, or row-major as it is stored.
struct RightPanels {
  const float* data;
  Size step;    // from a panel's start to that of the next, per vector of its columns
  Size stride;  // of the rows of a panel; 0 = its width

  RFA_INLINE const float* at(Size v) const { return data + v * step; }
  RFA_INLINE Size stride_of(Size vecs) const { return stride ? stride : vecs * W; }
};

// Sum of squares of a row.
// |x|^2, [n] to a number. One chain: n is a head dimension, where the latency of n / W steps is small compared with
// the products that follow. NaN and inf pass through.
RFA_INLINE float SquaredNorm(const float* x, Size n) {
  V sum = Zero();
  Size i = 0;
  for (; i + W <= n; i += W) sum = Fma(Load(x + i), Load(x + i), sum);
  if (i < n) {
    const V tail = LoadN(x + i, n - i);
    sum = Fma(tail, tail, sum);
  }
  return ReduceAdd(sum);
}

RFA_KERNELS_END
