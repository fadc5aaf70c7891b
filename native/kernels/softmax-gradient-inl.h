// Gradients of exact softmax attention from its log-sums, in tiles; one item is a share of one head's key blocks.
//
//   p_ij = exp(scale q_i.k_j + bias_j - lse_i)          ds_ij = p_ij (g_i.v_j - (g_i.o_i - dlse_i))
//   dv_j = sum_i p_ij g_i      dk_j = scale sum_i ds_ij q_i      dq_i = scale sum_j ds_ij k_j      dbias_j = sum_i ds_ij
// with g the slopes of the output and dlse those of the log-sums (Dao et al. 2022, arXiv:2205.14135, algorithm 4).
//
// A block of keys is packed once and stands against tiles of kGradientRows queries: five products where the forward pass
// has two, and one exponential. Tiles above the diagonal of a causal mask are not formed. What a block gives to its keys is
// complete within its item. What it gives to queries is added in the order of blocks; where a head's blocks are shared
// out, each share has its own array, and these are added in their order.
// Time O(L S (D + Dv)), half of it under a causal mask; memory O(L) and a tile for an item, O(L D) for a share.
// Logits are the forward pass's own bits, so that no weight exceeds 1 by more than roundings of its log-sum; rows that
// see no key have lse = -inf, and no part in anything.
#pragma once

#include "kernels/softmax-attention-inl.h"
#include "kernels/state-inl.h"
#include "kernels/table.h"

RFA_KERNELS_BEGIN

constexpr Size kGradientRows = 8 * kRows;  // queries of a tile: sums over them are loaded and stored once
constexpr Size kGradientKeys = 128;        // of a block: two tiles of numbers and two of vectors stay in 256 KiB
constexpr Size kGradientItems = 8;         // at least, where there are that many blocks

// Shares of the key blocks of a head, by the shape alone.
inline Size SoftmaxGradientParts(const SoftmaxGradient& op) {
  const Size pairs = Most(1, op.forward.batch * op.forward.heads);
  return Most(1, Least(CeilDiv(kGradientItems, pairs), CeilDiv(op.forward.key_len, kGradientKeys)));
}

struct SoftmaxGradientScratch {
  Size d_stride, v_stride, stride;
  float *key_columns, *value_columns, *keys, *bias, *query, *slopes, *weights, *steep, *to_key, *to_value, *to_bias,
      *reference, *offset;
  std::uint8_t* present;

  SoftmaxGradientScratch(const SoftmaxAttention& op, Bump& bump)
      : d_stride(OddLines(op.head_dim)), v_stride(OddLines(op.value_dim)), stride(OddLines(RoundUp(kGradientKeys, kRows))) {
    key_columns = bump.Take(kGradientKeys * op.head_dim);
    value_columns = bump.Take(kGradientKeys * op.value_dim);
    keys = bump.Take(kGradientKeys * d_stride);
    bias = bump.Take(kGradientKeys);
    query = bump.Take(kGradientRows * d_stride);
    slopes = bump.Take(kGradientRows * v_stride);
    weights = bump.Take(kGradientRows * stride);
    steep = bump.Take(kGradientRows * stride);
    to_key = bump.Take(RoundUp(kGradientKeys, kRows) * d_stride);
    to_value = bump.Take(RoundUp(kGradientKeys, kRows) * v_stride);
    to_bias = bump.Take(stride);
    reference = bump.Take(RoundUp(op.query_len, kRows));
    offset = bump.Take(RoundUp(op.query_len, kRows));
    present = reinterpret_cast<std::uint8_t*>(bump.Take(kGradientKeys / 4));
  }
};

inline Size SoftmaxGradientItems(const SoftmaxGradientPlan& plan) {
  return plan.op->forward.batch * plan.op->forward.heads * plan.parts;
}
inline Size SoftmaxGradientScratchFloats(const SoftmaxGradientPlan& plan) {
  Bump bump{nullptr};
  const SoftmaxGradientScratch scratch(plan.op->forward, bump);
  return bump.used;
}

// A tile: rows from first_row against keys from first_key, of which the last row sees `seen`; their weights are
// `width` floats a row.
struct GradientTile {
  Size first_row, rows, first_key, keys, seen, width;
  bool diagonal;  // some of the keys lie after some rows
};

inline GradientTile GradientTileAt(const SoftmaxAttention& op, Size first_row, Size first_key, Size keys) {
  GradientTile tile{first_row, Least(kGradientRows, op.query_len - first_row), first_key, keys, keys, 0, false};
  tile.diagonal = op.causal && first_key + keys > first_row + 1;
  if (tile.diagonal) tile.seen = Most(0, Least(keys, first_row + tile.rows - first_key));
  tile.width = RoundUp(RoundUp(tile.seen, kRows), W);
  return tile;
}

// Logits of rows in log2 units and their g.v - offset, for one panel of keys.
template <int C>
RFA_INLINE void GradientPanel(const SoftmaxAttention& op, const SoftmaxGradientScratch& s, const GradientTile& tile,
                              Size v) {
  const float* keys = s.key_columns + PanelOffset(v, op.head_dim);
  const float* values = s.value_columns + PanelOffset(v, op.value_dim);
  for (Size r0 = 0; r0 < tile.rows; r0 += kRows) {
    V acc[kRows][C];
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) acc[r][c] = Load(s.bias + (v + c) * W);
    }
    MultiplyAdd(acc, s.query + r0 * s.d_stride, s.d_stride, keys, C * W, op.head_dim);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) Store(s.weights + (r0 + r) * s.stride + (v + c) * W, acc[r][c]);
    }
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      const V offset = Set(-s.offset[tile.first_row + r0 + r]);
      RFA_UNROLL
      for (int c = 0; c < C; c++) acc[r][c] = offset;
    }
    MultiplyAdd(acc, s.slopes + r0 * s.v_stride, s.v_stride, values, C * W, op.value_dim);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) Store(s.steep + (r0 + r) * s.stride + (v + c) * W, acc[r][c]);
    }
  }
}

// p and ds of row r of a tile in place of its logits and g.v - offset; zeros at keys that it does not see.
RFA_INLINE void SteepRow(const SoftmaxGradientScratch& s, const GradientTile& tile, Size r) {
  float* weights = s.weights + r * s.stride;
  float* steep = s.steep + r * s.stride;
  const V reference = Set(s.reference[tile.first_row + r]);
  const Size seen = tile.diagonal ? Most(0, Least(tile.keys, tile.first_row + r + 1 - tile.first_key)) : tile.keys;
  Size c = 0;
  for (; c + W <= seen; c += W) {
    const V p = Exp2Weight(Sub(Load(weights + c), reference));
    Store(weights + c, p);
    Store(steep + c, Mul(p, Load(steep + c)));
  }
  for (; c < tile.width; c += W) {
    V p = Zero(), slope = Zero();
    if (c < seen) {
      const M there = FirstN(seen - c);
      p = Select(there, Exp2Weight(Sub(Load(weights + c), reference)), p);
      slope = Select(there, Mul(p, Load(steep + c)), slope);
    }
    Store(weights + c, p);
    Store(steep + c, slope);
  }
}

// to_query += scale ds k for one panel of columns.
template <int C>
RFA_INLINE void AddToQueries(const SoftmaxAttention& op, const SoftmaxGradientScratch& s, const GradientTile& tile,
                             float* to_query, Size v) {
  const V scale = Set(op.scale);
  for (Size r0 = 0; r0 < tile.rows; r0 += kRows) {
    // rows of a register tile see no key beyond their last one
    const Size seen = tile.diagonal ? Most(0, Least(tile.seen, tile.first_row + r0 + kRows - tile.first_key)) : tile.keys;
    V acc[kRows][C];
    ClearTile(acc);
    MultiplyAdd(acc, s.steep + r0 * s.stride, s.stride, s.keys + v * W, s.d_stride, seen);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      if (r0 + r >= tile.rows) continue;
      float* row = to_query + (r0 + r) * op.head_dim + v * W;
      RFA_UNROLL
      for (int c = 0; c < C; c++) {
        const Size n = op.head_dim - (v + c) * W;
        StoreUpTo(row + c * W, Fma(acc[r][c], scale, LoadUpTo(row + c * W, n)), n);
      }
    }
  }
}

// sums [keys][stride] += a^T b over the rows of a tile: a [rows][s.stride] by key, b [rows][stride].
inline void AddToKeys(const SoftmaxGradientScratch& s, const GradientTile& tile, const float* a, const float* b,
                      Size stride, Size vecs, float* sums) {
  for (Size j = 0; j < tile.seen; j += kRows) {
    // rows before these keys see none of them
    const Size first = tile.diagonal ? Most(0, tile.first_key + j - tile.first_row) : 0;
    ForEachPanel(vecs, vecs, [&](auto width, Size v) {
      constexpr int C = decltype(width)::vecs;
      V acc[kRows][C];
      ClearTile(acc);
      MultiplyAddTransposed(acc, a + first * s.stride + j, s.stride, b + first * stride + v * W, stride,
                            tile.rows - first);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        float* row = sums + (j + r) * stride + v * W;
        RFA_UNROLL
        for (int c = 0; c < C; c++) Store(row + c * W, Add(Load(row + c * W), acc[r][c]));
      }
    });
  }
}

// One tile against the packed block.
inline void SoftmaxGradientTile(const SoftmaxGradient& op, const SoftmaxGradientScratch& s, const GradientTile& tile,
                                Size batch, Size head, float* to_query) {
  const SoftmaxAttention& forward = op.forward;
  const Size row = (batch * forward.heads + head) * forward.query_len + tile.first_row;
  PackRows(forward.query.at(batch, head, tile.first_row), forward.query.row_stride, tile.rows, forward.head_dim,
           {forward.scale * kLog2E}, nullptr, s.query, s.d_stride);
  PackRows(op.slopes + row * forward.value_dim, forward.value_dim, tile.rows, forward.value_dim, {}, nullptr, s.slopes,
           s.v_stride);
  for (Size r = 0; r < tile.rows; r++) {
    // a row that has seen no key takes part in nothing, whatever its slopes are
    if (s.reference[tile.first_row + r] != kInfinity) continue;
    for (Size c = 0; c < s.v_stride; c += W) Store(s.slopes + r * s.v_stride + c, Zero());
  }
  ForEachPanel(CeilDiv(tile.keys, W), CeilDiv(tile.seen, W), [&](auto width, Size v) {
    GradientPanel<decltype(width)::vecs>(forward, s, tile, v);
  });
  for (Size r = 0; r < tile.rows; r++) SteepRow(s, tile, r);
  const Size d_vecs = CeilDiv(forward.head_dim, W), v_vecs = CeilDiv(forward.value_dim, W);
  ForEachPanel(d_vecs, d_vecs, [&](auto width, Size v) {
    AddToQueries<decltype(width)::vecs>(forward, s, tile, to_query + tile.first_row * forward.head_dim, v);
  });
  AddToKeys(s, tile, s.steep, s.query, s.d_stride, d_vecs, s.to_key);
  AddToKeys(s, tile, s.weights, s.slopes, s.v_stride, v_vecs, s.to_value);
  if (!op.to_bias) return;
  for (Size c = 0; c < tile.width; c += W) {
    V sum = Zero();
    for (Size r = 0; r < tile.rows; r++) sum = Add(sum, Load(s.steep + r * s.stride + c));
    Store(s.to_bias + c, Add(Load(s.to_bias + c), sum));
  }
}

// Packs a block of keys and clears what is summed for it.
inline void PackGradientBlock(const SoftmaxGradient& op, const SoftmaxGradientScratch& s, Size batch, Size head,
                              Size first, Size keys) {
  const SoftmaxAttention& forward = op.forward;
  PackBias(forward, batch, head, first, keys, kGradientKeys, s.bias, s.present);
  PackPanelsTransposed(forward.key.at(batch, head, first), forward.key.row_stride, forward.head_dim, keys, {}, s.present,
                       s.key_columns);
  PackPanelsTransposed(forward.value.at(batch, head, first), forward.value.row_stride, forward.value_dim, keys, {},
                       s.present, s.value_columns);
  CopyPadded(forward.key.at(batch, head, first), forward.key.row_stride, keys, forward.head_dim, s.present, s.keys,
             s.d_stride);
  const Size padded = RoundUp(kGradientKeys, kRows);
  for (Size i = 0; i < padded * s.d_stride; i += W) Store(s.to_key + i, Zero());
  for (Size i = 0; i < padded * s.v_stride; i += W) Store(s.to_value + i, Zero());
  for (Size i = 0; i < s.stride; i += W) Store(s.to_bias + i, Zero());
}

// Sums of a block, times a factor, to dense rows.
inline void StoreBlock(const float* sums, Size stride, Size rows, Size columns, float factor, float* out) {
  for (Size r = 0; r < rows; r++) {
    for (Size c = 0; c < columns; c += W) {
      StoreUpTo(out + r * columns + c, Mul(Load(sums + r * stride + c), Set(factor)), columns - c);
    }
  }
}

// Per row the log-sum in log2 units, and g.o - dlse.
inline void PrepareRows(const SoftmaxGradient& op, const SoftmaxGradientScratch& s, Size pair) {
  const Size columns = op.forward.value_dim;
  for (Size i = 0; i < RoundUp(op.forward.query_len, kRows); i++) s.reference[i] = s.offset[i] = 0;
  for (Size i = 0; i < op.forward.query_len; i++) {
    const Size row = pair * op.forward.query_len + i;
    const bool seen = op.lse[row] != -kInfinity;
    s.reference[i] = seen ? op.lse[row] * kLog2E : kInfinity;
    V along = Zero();
    for (Size c = 0; c < columns; c += W) {
      along = Fma(LoadUpTo(op.slopes + row * columns + c, columns - c), LoadUpTo(op.out + row * columns + c, columns - c),
                  along);
    }
    s.offset[i] = seen ? ReduceAdd(along) - (op.lse_slopes ? op.lse_slopes[row] : 0) : 0;
  }
}

inline void SoftmaxGradientItem(const SoftmaxGradientPlan& plan, Size item, float* workspace) {
  Bump bump{workspace};
  const SoftmaxGradient& op = *plan.op;
  const SoftmaxAttention& forward = op.forward;
  const SoftmaxGradientScratch s(forward, bump);
  const Size pair = item / plan.parts, part = item % plan.parts;
  const Size batch = pair / forward.heads, head = pair % forward.heads;
  const Size heads = forward.batch * forward.heads, head_floats = forward.query_len * forward.head_dim;
  float* to_query = plan.to_query + (part * heads + pair) * head_floats;
  for (Size i = 0; i < head_floats; i++) to_query[i] = 0;
  // columns between a tile's keys and its padding are multiplied, for no key that is stored
  for (Size i = 0; i < kGradientRows * s.stride; i += W) {
    Store(s.weights + i, Zero());
    Store(s.steep + i, Zero());
  }
  PrepareRows(op, s, pair);
  // blocks in turn: under a causal mask the first ones are the longest
  for (Size first = part * kGradientKeys; first < forward.key_len; first += plan.parts * kGradientKeys) {
    const Size keys = Least(kGradientKeys, forward.key_len - first);
    PackGradientBlock(op, s, batch, head, first, keys);
    const Size start = forward.causal ? first / kGradientRows * kGradientRows : 0;
    for (Size row = start; row < forward.query_len; row += kGradientRows) {
      const GradientTile tile = GradientTileAt(forward, row, first, keys);
      if (tile.seen > 0) SoftmaxGradientTile(op, s, tile, batch, head, to_query);
    }
    // queries were packed times scale log2 e
    const Size key = pair * forward.key_len + first;
    StoreBlock(s.to_key, s.d_stride, keys, forward.head_dim, kLn2, op.to_key + key * forward.head_dim);
    StoreBlock(s.to_value, s.v_stride, keys, forward.value_dim, 1, op.to_value + key * forward.value_dim);
    if (op.to_bias) StoreBlock(s.to_bias, s.stride, 1, keys, 1, op.to_bias + key);
  }
}

RFA_KERNELS_END
