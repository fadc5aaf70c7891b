// Draws keys from the softmax of each query by inverting cumulated weights.
//
// One item is a block of queries of one head. Scores come block of keys by block of keys, as in
// softmax-attention-inl.h; of their weights only sums over groups of kGroup keys are kept, relative to
// the row's reference. A draw walks over those sums to the group in which it falls and weighs the keys
// of that group once more. Memory: one float per row of a block and group.
//
// Inversion: with c_j = sum_{i<=j} p_i the key is the first j with c_j > u c_S, which has
// probability p_j for a uniform u. It is the draw m* ~ softmax(x.y_m) of randomized attention
// (Zheng, Wang, Kong 2022, arXiv:2204.04667, section 3), without its matrix of L x S weights. Time
// O(L S D) for the sums and O(S / kGroup + kGroup D) per draw; memory O(block S / kGroup).
//
// Error: weights as in softmax_attention; sums over groups are cumulated in double.
#pragma once

#include "kernels/softmax-attention-inl.h"

RFA_KERNELS_BEGIN

constexpr Size kGroup = 32;  // divides kKeyBlock, a multiple of every W
// a draw walks over S / kGroup sums and weighs kGroup keys: 32 balances the two around some
// thousands of keys
constexpr Size kBlockGroups = kKeyBlock / kGroup;
// the largest float below 1: times a sum, it stays below that sum
constexpr float kBelowOne = 1 - 0x1p-24f;

// The part of the operation that scores are made from.
inline SoftmaxAttention ScoresOf(const SampleKeys& op) {
  SoftmaxAttention scores;
  scores.batch = op.batch;
  scores.heads = op.heads;
  scores.query_len = op.query_len;
  scores.key_len = op.key_len;
  scores.head_dim = op.head_dim;
  scores.query = op.query;
  scores.key = op.key;
  scores.key_mask = op.key_mask;
  scores.scale = op.scale;
  scores.causal = op.causal;
  return scores;
}

// One item's workspace.
struct SampleScratch {
  SoftmaxScratch scores;
  Size groups;  // per row
  float* sums;  // [rows of the block, groups]

  SampleScratch(const SoftmaxAttention& op, Bump& bump) : scores(op, bump) {
    groups = CeilDiv(op.key_len, kKeyBlock) * kBlockGroups;
    sums = bump.Take(scores.block * groups);
  }
};

inline Size SampleKeysItems(const SampleKeys& op) { return SoftmaxItems(ScoresOf(op)); }
inline Size SampleKeysScratch(const SampleKeys& op) {
  Bump bump{nullptr};
  SampleScratch scratch(ScoresOf(op), bump);
  return bump.used;
}

// Sums of weights of one row over the groups of a block, relative to the row's reference; where that
// rises, earlier sums shrink.
RFA_INLINE void SumGroups(const SoftmaxScratch& s, Size r, Size vecs, float* reference, float* sums,
                          Size earlier) {
  constexpr Size kGroupVecs = kGroup / W;
  const float top = ReduceMax(Load(s.row_max + r * W));
  // the reference moves rarely (a row's maximum must grow by 2^kSlack), so shrinking S / kGroup
  // sums is cheap
  if (!(top <= *reference + kSlack)) {
    float shrunk[W];
    Store(shrunk, Exp2Weight(Set(*reference - top)));
    for (Size g = 0; g < earlier; g++) sums[g] *= shrunk[0];
    *reference = top;
  }
  const V shift = Set(*reference == -kInfinity ? 0.0f : *reference);
  const float* row = s.scores + r * kKeyBlock;
  for (Size v = 0; v < vecs; v += kGroupVecs) {
    V total = Zero();
    for (Size i = v; i < Least(vecs, v + kGroupVecs); i++) {
      total = Add(total, Exp2Weight(Sub(Load(row + i * W), shift)));
    }
    sums[earlier + v / kGroupVecs] = ReduceAdd(total);
  }
}

// One row of the operation.
struct SampleRow {
  Size batch, head, row;
  const float* query;  // scaled to log2 units
  float reference;
};

// The key of group g at which weights, cumulated from `sum`, pass `threshold`; where rounding lets none
// do so, the last one with any weight.
inline Size PickKey(const SampleKeys& op, const SampleRow& at, Size g, double sum, double threshold) {
  const std::uint8_t* mask = op.key_mask ? op.key_mask + at.batch * op.key_len : nullptr;
  const Size first = g * kGroup;
  // keys after the query have no weight: their group sums left them out, and so must this
  const Size seen = op.causal ? Least(op.key_len, at.row + 1) : op.key_len;
  const Size end = Least(seen, first + kGroup);
  float weights[kGroup];
  // weights of at most kGroup keys again, unpacked: the order of additions within a product may
  // differ from that of the sums, so that the last threshold may be missed by a rounding (see
  // `picked`)
  for (Size j = first; j < end; j++) {
    const float* key = op.key.at(at.batch, at.head, j);
    V product = Zero();
    for (Size d = 0; d < op.head_dim; d += W) {
      product = Fma(Load(at.query + d), LoadUpTo(key + d, op.head_dim - d), product);
    }
    const bool present = !mask || mask[j];
    weights[j - first] = present ? ReduceAdd(product) - at.reference : -kInfinity;
  }
  for (Size j = end; j < first + kGroup; j++) weights[j - first] = -kInfinity;
  for (Size i = 0; i < kGroup; i += W) Store(weights + i, Exp2Weight(Load(weights + i)));
  Size picked = first;
  for (Size j = first; j < end; j++) {
    // a key without weight is never drawn, even by a threshold of 0
    if (weights[j - first] == 0) continue;
    picked = j;
    sum += static_cast<double>(weights[j - first]);
    if (sum > threshold) break;
  }
  return picked;
}

// Draws of one row from its group sums.
inline void DrawRow(const SampleKeys& op, const SampleRow& at, const float* sums, Size groups) {
  // in double: a float sum over many groups would lose keys of small weight
  double total = 0;
  for (Size g = 0; g < groups; g++) total += static_cast<double>(sums[g]);
  const float* uniform = op.uniform.at(at.batch, at.head, at.row);
  for (Size n = 0; n < op.draws; n++) {
    Size picked = 0;
    // else no key was seen (or a NaN came in): key 0, as promised in rfa.h
    if (total > 0) {
      const float u = uniform[n] < kBelowOne ? uniform[n] : kBelowOne;
      const double threshold = static_cast<double>(u) * total;
      double sum = 0;
      Size g = 0;
      // in the order of the total: the last sum exceeds the threshold
      while (g + 1 < groups && sum + static_cast<double>(sums[g]) <= threshold) {
        sum += static_cast<double>(sums[g++]);
      }
      picked = PickKey(op, at, g, sum, threshold);
    }
    // the drawn key itself, [D], with its index: the caller adds it to the query without a gather
    const Size row = at.row * op.draws + n;
    op.index[(at.batch * op.heads + at.head) * op.query_len * op.draws + row] =
        static_cast<std::int32_t>(picked);
    const float* key = op.key.at(at.batch, at.head, picked);
    float* out = op.keys.at(at.batch, at.head, row);
    for (Size d = 0; d < op.head_dim; d += W) {
      StoreUpTo(out + d, LoadUpTo(key + d, op.head_dim - d), op.head_dim - d);
    }
  }
}

inline void SampleKeysItem(const SampleKeys& op, Size item, float* workspace) {
  Bump bump{workspace};
  const SoftmaxAttention scores = ScoresOf(op);
  const SampleScratch scratch(scores, bump);
  const SoftmaxScratch& s = scratch.scores;
  const Size blocks = CeilDiv(op.query_len, s.block);
  const Size pair = item / blocks, batch = pair / op.heads, head = pair % op.heads;
  const Size first_row = (blocks - 1 - item % blocks) * s.block;  // late rows first
  const Size rows = Least(s.block, op.query_len - first_row);
  const Size padded = RoundUp(rows, kRows);
  PackRows(op.query.at(batch, head, first_row), op.query.row_stride, rows, op.head_dim,
           {op.scale * kLog2E}, nullptr, s.query, s.d_stride);
  for (Size i = 0; i < padded * scratch.groups; i++) scratch.sums[i] = 0;
  for (Size r = 0; r < padded; r++) s.reference[r] = -kInfinity;
  const Size end = op.causal ? Least(op.key_len, first_row + rows) : op.key_len;
  for (Size first_key = 0; first_key < end; first_key += kKeyBlock) {
    const Size keys = Least(kKeyBlock, end - first_key);
    PackBias(scores, batch, head, first_key, keys, kKeyBlock, s.bias, s.present);
    PackPanelsTransposed(op.key.at(batch, head, first_key), op.key.row_stride, op.head_dim, keys,
                         {}, s.present, s.key);
    const Size start = op.causal ? Most(0, first_key - first_row) / kScoreRows * kScoreRows : 0;
    for (Size first = start; first < padded; first += kScoreRows) {
      const ScoreTile tile = TileAt(scores, first_row + first, Least(kScoreRows, padded - first),
                                    first_key, keys);
      const Size scored = ScoreRows(s, tile, s.query + first * s.d_stride, op.head_dim);
      for (Size r = 0; r < tile.rows; r++) {
        SumGroups(s, r, scored, s.reference + first + r,
                  scratch.sums + (first + r) * scratch.groups, first_key / kGroup);
      }
    }
  }
  for (Size r = 0; r < rows; r++) {
    const SampleRow at{batch, head, first_row + r, s.query + r * s.d_stride, s.reference[r]};
    DrawRow(op, at, scratch.sums + r * scratch.groups, scratch.groups);
  }
}

RFA_KERNELS_END
