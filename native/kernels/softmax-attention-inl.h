// Exact softmax attention, tiled, with a running maximum per row.
//
// One item is a block of queries of one head. Keys and values are packed block by block and reused
// by every tile of kScoreRows queries: scores of a tile against a block stay in the first- or
// second-level cache. Logits are kept in units of log2 (log2 e is folded into the packed queries), so
// that weights need 2^x only. The reference of a row is replaced only when its maximum has grown by
// kSlack, and old sums are rescaled while they are added to anyway.
//
// The recurrence per row and block, with m the reference and p = 2^(s - m'):
//   m' = max(m, max s)   l' = 2^(m - m') l + sum p   acc' = 2^(m - m') acc + p V     [L, Dv]
//   out = acc / l, lse = ln 2 (m + log2 l)
// (Milakov & Gimelshein 2018, arXiv:1805.02867; in tiles: Rabe & Staats 2021, arXiv:2112.05682).
// Time O(L S (D + Dv)), half of it under a causal mask; memory O(L Dv) and one tile, never O(L S).
// What would overflow is 2^s. Relative to m the largest weight of a row lies between 1 and
// 2^kSlack, so a sum over S keys is at most S 2^kSlack and at least 1, and what underflows (2^-126)
// is lost below rounding. NaN in a query or key makes its rows NaN; an absent key's numbers are
// never read.
//
// Error: a logit is one float32 dot product of D terms; a sum over n keys is rounded within a block
// and once per block, below the bound n 2^-24 sum|p v|.
#pragma once

#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

// queries per score tile: scores of 12 x 256 keys leave room for panels in 32 KiB, 24 x 256 in 48 KiB
constexpr Size kScoreRows = (kVecs > 2 ? 4 : 2) * kRows;
constexpr Size kKeyBlock = 256;         // keys per block: a multiple of kPanel
constexpr Size kQueryBlock = 384;         // queries per item at most, a multiple of kScoreRows
constexpr float kSlack = 8;             // weights stay below 2^8: no precision is lost
constexpr float kRemoved = -1e30f;      // a bias at or below this removes its key

// Queries per item: enough to reuse packed keys well, but at least 16 items if rows allow it.
// Depends on the shape alone, so that results do not depend on the number of threads.
inline Size SoftmaxQueryBlock(const SoftmaxAttention& op) {
  const Size per_item = CeilDiv(op.query_len * Most(1, op.batch * op.heads), 16);
  return Most(kScoreRows, Least(kQueryBlock, RoundUp(per_item, kScoreRows)));
}

// One item's workspace.
// For D = Dv = 64 a packed block of keys and values is 128 KiB: it stays in the second-level cache
// while all tiles of the item pass over it.
struct SoftmaxScratch {
  Size d_stride, v_vecs, block;
  float *query, *key, *value, *bias, *scores, *row_max, *out, *reference, *sum, *rescale;
  std::uint8_t* present;

  SoftmaxScratch(const SoftmaxAttention& op, Bump& bump) {
    d_stride = RoundUp(op.head_dim, W);
    v_vecs = CeilDiv(op.value_dim, W);
    block = SoftmaxQueryBlock(op);
    query = bump.Take(block * d_stride);
    key = bump.Take(kKeyBlock * op.head_dim);
    value = bump.Take(kKeyBlock * v_vecs * W);
    bias = bump.Take(kKeyBlock);
    scores = bump.Take(kScoreRows * kKeyBlock);
    row_max = bump.Take(kScoreRows * W);
    out = bump.Take(block * v_vecs * W);
    reference = bump.Take(block);
    sum = bump.Take(block);
    rescale = bump.Take(kScoreRows);
    present = reinterpret_cast<std::uint8_t*>(bump.Take(kKeyBlock / 4));
  }
};

inline Size SoftmaxItems(const SoftmaxAttention& op) {
  return op.batch * op.heads * CeilDiv(op.query_len, SoftmaxQueryBlock(op));
}
inline Size SoftmaxScratchFloats(const SoftmaxAttention& op) {
  Bump bump{nullptr};
  SoftmaxScratch scratch(op, bump);
  return bump.used;
}

// Biases of `count` keys, padded to a block, in log2 units; -inf for masked, removed and padding keys. Returns whether all
// `count` keys are there.
// -inf rather than a large negative number: 2^-inf is exactly 0 whatever the reference, so an
// absent key leaves no trace even in a row of very small logits.
inline bool PackBias(const SoftmaxAttention& op, Size batch, Size head, Size first, Size count, Size block,
                     float* out, std::uint8_t* there) {
  bool all = true;
  const std::uint8_t* mask = op.key_mask ? op.key_mask + batch * op.key_len + first : nullptr;
  const float* bias = op.key_bias ? op.key_bias.at(batch, head) + first : nullptr;
  for (Size j = 0; j < block; j++) {
    const bool present =
        j < count && (!mask || mask[j]) && (!bias || !(bias[j] <= kRemoved));
    there[j] = present;
    out[j] = present ? (bias ? bias[j] * kLog2E : 0.0f) : -kInfinity;
    all = all && (present || j >= count);
  }
  return all;
}

// The values of one key block: where they are stored, if all are there, else packed with zeros.
inline RightPanels PackValues(const SoftmaxAttention& op, Size batch, Size head, Size first, Size count,
                              bool all, const SoftmaxScratch& s) {
  const float* values = op.value.at(batch, head, first);
  if (all && op.value_dim % W == 0 && SpreadsOverSets(op.value.row_stride, kPanel)) {
    return {values, W, op.value.row_stride};
  }
  PackPanels(values, op.value.row_stride, count, op.value_dim, s.present, s.value);
  return {s.value, W * count, 0};
}

// Where a score tile stands: rows first_row.. of the sequence against keys first_key.. of a block.
struct ScoreTile {
  Size first_row, rows, first_key, vecs, limit;  // vecs in the block, limit = vecs in use
  bool diagonal;                                 // some keys lie after some rows
};

// scores = q k^T + bias for one panel of keys, masked above the diagonal, and the maxima per lane.
template <int C>
RFA_INLINE void ScorePanel(const SoftmaxScratch& s, const ScoreTile& tile, const float* query,
                           Size depth, Size v) {
  const float* panel = s.key + PanelOffset(v, depth);
  // panels that end at or before the first row's own key need no mask, which is all but those on
  // the diagonal
  const bool masked = tile.diagonal && tile.first_key + (v + C) * W > tile.first_row + 1;
  for (Size r0 = 0; r0 < tile.rows; r0 += kRows) {
    V acc[kRows][C];
    // [kRows, C W]: the product starts from the bias, which saves adding it afterwards
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const V bias = Load(s.bias + (v + c) * W);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) acc[r][c] = bias;
    }
    MultiplyAdd(acc, query + r0 * s.d_stride, s.d_stride, panel, C * W, depth);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      float* row = s.scores + (r0 + r) * kKeyBlock + v * W;
      // W maxima per row: one horizontal maximum per block, in WeighRow, instead of one per vector
      V top = Load(s.row_max + (r0 + r) * W);
      RFA_UNROLL
      for (int c = 0; c < C; c++) {
        V x = acc[r][c];
        if (masked) {
          // keys j <= i of this vector; none or all beyond its ends
          const Size seen = tile.first_row + r0 + r + 1 - tile.first_key - (v + c) * W;
          x = Select(FirstN(Most(0, Least(W, seen))), x, Set(-kInfinity));
        }
        Store(row + c * W, x);
        top = Max(top, x);
      }
      Store(s.row_max + (r0 + r) * W, top);
    }
  }
}

// Turns a row of scores into weights relative to the row's reference, updates reference and sum.
// scores [keys] to p = 2^(s - m), in place. The one pass of exponentials: O(keys), each read once.
RFA_INLINE void WeighRow(const SoftmaxScratch& s, Size r, Size vecs, float* reference, float* sum) {
  const float top = ReduceMax(Load(s.row_max + r * W));
  float scale = 1;
  // decided per row: a row's bits must not depend on what other rows see
  // written so that a NaN moves the reference, too: the row is NaN then, as it must be
  if (!(top <= *reference + kSlack)) {
    float shrunk[W];
    Store(shrunk, Exp2Weight(Set(*reference - top)));
    scale = *reference == -kInfinity ? 0.0f : shrunk[0];
    *reference = top;
  }
  s.rescale[r] = scale;
  // a row that has seen no key: -inf - (-inf) would be NaN, -inf - 0 weighs 0
  const V shift = Set(*reference == -kInfinity ? 0.0f : *reference);
  float* row = s.scores + r * kKeyBlock;
  V total = Zero();
  for (Size v = 0; v < vecs; v++) {
    const V p = Exp2Weight(Sub(Load(row + v * W), shift));
    Store(row + v * W, p);
    total = Add(total, p);
  }
  *sum = *sum * scale + ReduceAdd(total);
}

// out = rescale out + p v for one panel of value columns.
// acc' = 2^(m - m') acc + p V for a tile: [rows, keys] x [keys, C W]. The rescaling costs one
// multiply-add per element of the output, which has to be loaded and stored anyway.
template <int C>
RFA_INLINE void ValuePanel(const SoftmaxScratch& s, const ScoreTile& tile, const RightPanels& values,
                           float* out, Size keys, Size v) {
  const Size out_stride = s.v_vecs * W;
  for (Size r0 = 0; r0 < tile.rows; r0 += kRows) {
    // rows of the tile see no key beyond their last one
    const Size seen = tile.diagonal
                          ? Most(0, Least(keys, tile.first_row + r0 + kRows - tile.first_key))
                          : keys;
    V acc[kRows][C];
    ClearTile(acc);
    MultiplyAdd(acc, s.scores + r0 * kKeyBlock, kKeyBlock, values.at(v), values.stride_of(C), seen);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      float* row = out + (r0 + r) * out_stride + v * W;
      const V scale = Set(s.rescale[r0 + r]);
      RFA_UNROLL
      for (int c = 0; c < C; c++) {
        Store(row + c * W, Fma(Load(row + c * W), scale, acc[r][c]));
      }
    }
  }
}

// The tile of `rows` rows from `first_row` on, against `keys` keys from `first_key` on.
inline ScoreTile TileAt(const SoftmaxAttention& op, Size first_row, Size rows, Size first_key,
                        Size keys) {
  const Size vecs = CeilDiv(keys, W);
  ScoreTile tile{first_row, rows, first_key, vecs, vecs, false};
  // the first row sees first_row + 1 keys: a block that goes beyond has some to hide
  tile.diagonal = op.causal && first_key + keys > first_row + 1;
  if (tile.diagonal) tile.limit = CeilDiv(first_row + rows - first_key, W);
  return tile;
}

// Scores of a tile and their maxima per lane. Returns how many vectors of each row were scored.
inline Size ScoreRows(const SoftmaxScratch& s, const ScoreTile& tile, const float* query, Size depth) {
  for (Size r = 0; r < tile.rows; r++) Store(s.row_max + r * W, Set(-kInfinity));
  ForEachPanel(tile.vecs, tile.limit, [&](auto width, Size v) {
    ScorePanel<decltype(width)::vecs>(s, tile, query, depth, v);
  });
  return Least(tile.vecs, RoundUp(tile.limit, kVecs));  // whole panels
}

// One tile of queries against one packed block of `keys` keys.
// The three steps of flash attention on [rows, D] x [D, keys] and [rows, keys] x [keys, Dv].
inline void SoftmaxTile(const SoftmaxAttention& op, const SoftmaxScratch& s, const ScoreTile& tile,
                        const RightPanels& values, Size local_row, Size keys) {
  const Size scored = ScoreRows(s, tile, s.query + local_row * s.d_stride, op.head_dim);
  for (Size r = 0; r < tile.rows; r++) {
    WeighRow(s, r, scored, s.reference + local_row + r, s.sum + local_row + r);
  }
  float* out = s.out + local_row * s.v_vecs * W;
  ForEachPanel(s.v_vecs, s.v_vecs, [&](auto width, Size v) {
    ValuePanel<decltype(width)::vecs>(s, tile, values, out, keys, v);
  });
}

// Divides by the sums and stores output and log-sum-exp of the item's rows.
// out = acc / l; a row without keys has l = 0, the output 0 and the log-sum -inf. l is at least 1 otherwise, so
// that its reciprocal is finite.
inline void FinishRows(const SoftmaxAttention& op, const SoftmaxScratch& s, Size batch, Size head,
                       Size first_row, Size rows) {
  for (Size r = 0; r < rows; r++) {
    const float sum = s.sum[r];
    const V scale = Set(sum == 0 ? 0.0f : 1.0f / sum);
    const float* in = s.out + r * s.v_vecs * W;
    float* out = op.out.at(batch, head, first_row + r);
    for (Size c = 0; c < op.value_dim; c += W) {
      StoreUpTo(out + c, Mul(Load(in + c), scale), op.value_dim - c);
    }
    if (op.lse) {
      // in double: the logarithm is added to a reference of any size, and one rounding remains
      const double log2_sum = s.reference[r] + log2(static_cast<double>(sum));
      op.lse.at(batch, head)[first_row + r] =
          sum == 0 ? -kInfinity : static_cast<float>(log2_sum * 0.69314718055994531);
    }
  }
}

inline void SoftmaxItem(const SoftmaxAttention& op, Size item, float* workspace) {
  Bump bump{workspace};
  const SoftmaxScratch s(op, bump);
  const Size blocks = CeilDiv(op.query_len, s.block);
  const Size pair = item / blocks, batch = pair / op.heads, head = pair % op.heads;
  // late rows first: under a causal mask they are the longest items
  const Size first_row = (blocks - 1 - item % blocks) * s.block;
  const Size rows = Least(s.block, op.query_len - first_row);
  PackRows(op.query.at(batch, head, first_row), op.query.row_stride, rows, op.head_dim,
           {op.scale * kLog2E}, nullptr, s.query, s.d_stride);
  const Size padded = RoundUp(rows, kRows);
  for (Size i = 0; i < padded * s.v_vecs * W; i += W) Store(s.out + i, Zero());
  for (Size r = 0; r < padded; r++) {
    s.reference[r] = -kInfinity;
    s.sum[r] = 0;
  }
  // causal: keys after the item's last row are not even packed
  const Size end = op.causal ? Least(op.key_len, first_row + rows) : op.key_len;
  for (Size first_key = 0; first_key < end; first_key += kKeyBlock) {
    const Size keys = Least(kKeyBlock, end - first_key);
    const bool all = PackBias(op, batch, head, first_key, keys, kKeyBlock, s.bias, s.present);
    PackPanelsTransposed(op.key.at(batch, head, first_key), op.key.row_stride, op.head_dim, keys,
                         {}, s.present, s.key);
    const RightPanels values = PackValues(op, batch, head, first_key, keys, all, s);
    // causal: tiles of rows that lie wholly before the block see none of it
    const Size start = op.causal ? Most(0, first_key - first_row) / kScoreRows * kScoreRows : 0;
    for (Size r = start; r < padded; r += kScoreRows) {
      const Size count = Least(kScoreRows, padded - r);
      SoftmaxTile(op, s, TileAt(op, first_row + r, count, first_key, keys), values, r, keys);
    }
  }
  FinishRows(op, s, batch, head, first_row, rows);
}

RFA_KERNELS_END
