// Random matrices: normals block by block, and blocks of orthogonal rows.
//
// A block comes from one stream and one item: its bits do not depend on other draws or on the number of threads.
#pragma once

#include <cstring>

#include "kernels/normals-inl.h"
#include "kernels/orthonormalize-inl.h"

RFA_KERNELS_BEGIN

// The stream of a block of one (replicate, head) pair.
RFA_INLINE RandomStream BlockStream(const std::uint32_t* key, const BlockPlace& first, Size heads, Size pair,
                                    Size block) {
  RandomStream stream;
  stream.key[0] = key[0];
  stream.key[1] = key[1];
  stream.counter[1] = first.replicate + static_cast<std::uint32_t>(pair / heads);
  stream.counter[2] = first.head + static_cast<std::uint32_t>(pair % heads);
  stream.counter[3] = first.block + static_cast<std::uint32_t>(block);
  return stream;
}

// ---- independent normals --------------------------------------------------------------------

// Blocks per item: some thousands of normals.
RFA_INLINE Size BlocksPerItem(const NormalBlocks& op) {
  constexpr Size kItemNormals = 8192;
  return op.block_length < kItemNormals ? kItemNormals / op.block_length : 1;
}
RFA_INLINE Size BlocksPerPair(const NormalBlocks& op) {
  return (op.length + op.block_length - 1) / op.block_length;
}
RFA_INLINE Size ItemsPerPair(const NormalBlocks& op) {
  return (BlocksPerPair(op) + BlocksPerItem(op) - 1) / BlocksPerItem(op);
}
inline Size NormalBlocksItems(const NormalBlocks& op) {
  return op.replicates * op.heads * ItemsPerPair(op);
}
inline Size NormalBlocksScratch(const NormalBlocks&) { return 0; }

template <class T>
RFA_INLINE void NormalBlocksInto(const NormalBlocks& op, Size item, T* out) {
  const Size pair = item / ItemsPerPair(op);
  const Size from = item % ItemsPerPair(op) * BlocksPerItem(op);
  const Size all = BlocksPerPair(op);
  for (Size block = from; block < all && block < from + BlocksPerItem(op); block++) {
    const Size first = block * op.block_length, left = op.length - first;
    NormalsOf(BlockStream(op.key, op.first, op.heads, pair, block), 0,
              left < op.block_length ? left : op.block_length, out + pair * op.length + first);
  }
}
inline void NormalBlocksItem(const NormalBlocks& op, Size item, float*) {
  if (op.floats) {
    NormalBlocksInto(op, item, op.floats);
  } else {
    NormalBlocksInto(op, item, op.doubles);
  }
}

// ---- blocks of orthogonal rows --------------------------------------------------------------

// Rows with lengths that are drawn together: an even number, so that the normals of the first one begin a
// block of words; few columns make vectors of several rows.
RFA_INLINE Size LengthRows(Size columns) { return columns < 32 ? 32 : 4; }

// out[i] = |row i of a matrix of normals|, [rows, columns] from the start of a stream.
inline void ChiLengths(const RandomStream& stream, Size rows, Size columns, double* out, double* memory) {
  const Size step = LengthRows(columns);
  for (Size first = 0; first < rows; first += step) {
    const Size count = rows - first < step ? rows - first : step;
    NormalsOf(stream, first * columns / 2, count * columns, memory);
    for (Size i = 0; i < count; i++) {
      const double* const row = memory + i * columns;
      VD sum = ZeroD();
      Size d = 0;
      for (; d + WD <= columns; d += WD) sum = Fma(Load(row + d), Load(row + d), sum);
      if (d < columns) {
        const VD tail = LoadN(row + d, columns - d);
        sum = Fma(tail, tail, sum);
      }
      out[first + i] = sqrt(ReduceAdd(sum));
    }
  }
}

// Rows as they lie, [rows, columns], at the start of `matrix`, moved `stride` apart with zeros between and
// after them.
inline void SpreadRows(double* matrix, Size rows, Size columns, Size stride) {
  for (Size i = PaddedRows(rows) - 1; i >= 0; i--) {
    double* const row = matrix + i * stride;
    const Size kept = i < rows ? columns : 0;
    std::memmove(row, matrix + i * columns, static_cast<std::size_t>(kept) * sizeof(double));
    for (Size d = kept; d < stride; d++) row[d] = 0;
  }
}

RFA_INLINE void PutN(double* p, VD x, Size n) { StoreN(p, x, n); }
RFA_INLINE void PutN(float* p, VD x, Size n) { StoreNarrowN(p, x, n); }

// out = length row, [columns].
template <class T>
RFA_INLINE void PutScaled(const double* row, double length, Size columns, T* out) {
  Size d = 0;
  for (; d + WD <= columns; d += WD) Put(out + d, Mul(Load(row + d), Set(length)));
  if (d < columns) PutN(out + d, Mul(Load(row + d), Set(length)), columns - d);
}

RFA_INLINE Size OrthogonalBlocks(const OrthogonalRows& op) {
  return (op.num_features + op.head_dim - 1) / op.head_dim;
}
inline Size OrthogonalItems(const OrthogonalRows& op) {
  return op.replicates * op.heads * OrthogonalBlocks(op);
}

// Doubles of one item: the matrix, then products, lengths, and the normals that those are made of.
struct OrthogonalMemory {
  Size matrix, products, lengths, normals;
};
RFA_INLINE OrthogonalMemory OrthogonalSizes(const OrthogonalRows& op) {
  const Size rows = op.num_features < op.head_dim ? op.num_features : op.head_dim;
  return {PaddedRows(rows) * RowStride(op.head_dim), ProductDoubles(rows), rows,
          op.chi ? LengthRows(op.head_dim) * op.head_dim : 0};
}
inline Size OrthogonalScratch(const OrthogonalRows& op) {
  const OrthogonalMemory sizes = OrthogonalSizes(op);
  // in floats
  return 2 * (sizes.matrix + sizes.products + sizes.lengths + sizes.normals);
}

inline void OrthogonalItem(const OrthogonalRows& op, Size item, float* workspace) {
  const OrthogonalMemory sizes = OrthogonalSizes(op);
  double* const matrix = reinterpret_cast<double*>(workspace);
  double* const products = matrix + sizes.matrix;
  double* const lengths = products + sizes.products;
  const Size pair = item / OrthogonalBlocks(op), block = item % OrthogonalBlocks(op);
  const Size columns = op.head_dim, stride = RowStride(columns), first = block * columns;
  const Size rows = op.num_features - first < columns ? op.num_features - first : columns;
  NormalsOf(BlockStream(op.direction_key, op.first, op.heads, pair, block), 0, rows * columns, matrix);
  SpreadRows(matrix, rows, columns, stride);
  OrthonormalizeRows(matrix, rows, stride, products);
  if (op.chi) {
    ChiLengths(BlockStream(op.length_key, op.first, op.heads, pair, block), rows, columns, lengths,
               lengths + sizes.lengths);
  }
  const double same = sqrt(static_cast<double>(columns));
  const Size place = (pair * op.num_features + first) * columns;
  for (Size i = 0; i < rows; i++) {
    const double length = op.chi ? lengths[i] : same;
    if (op.floats) {
      PutScaled(matrix + i * stride, length, columns, op.floats + place + i * columns);
    } else {
      PutScaled(matrix + i * stride, length, columns, op.doubles + place + i * columns);
    }
  }
}

// ---- a matrix that is there -----------------------------------------------------------------

inline Size OrthonormalizeItems(const Orthonormalize&) { return 1; }
inline Size OrthonormalizeScratch(const Orthonormalize& op) {
  return 2 * (PaddedRows(op.rows) * RowStride(op.columns) + ProductDoubles(op.rows));
}
inline void OrthonormalizeItem(const Orthonormalize& op, Size, float* workspace) {
  const Size stride = RowStride(op.columns);
  const std::size_t bytes = static_cast<std::size_t>(op.columns) * sizeof(double);
  double* const matrix = reinterpret_cast<double*>(workspace);
  std::memcpy(matrix, op.matrix, static_cast<std::size_t>(op.rows) * bytes);
  SpreadRows(matrix, op.rows, op.columns, stride);
  OrthonormalizeRows(matrix, op.rows, stride, matrix + PaddedRows(op.rows) * stride);
  for (Size i = 0; i < op.rows; i++) std::memcpy(op.matrix + i * op.columns, matrix + i * stride, bytes);
}

RFA_KERNELS_END
