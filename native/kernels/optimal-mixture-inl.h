// Reads a few vectors with weights alpha exp(logit), alpha corrected per query (see rfa.h).
//
// One item is a block of queries of one head. Vectors and values are packed once per item; a tile of
// queries is scored against all vectors, its affinities are turned row-major next to the scores, and
// each row becomes weights in place. Alpha multiplies the weight and never goes through a logarithm.
//
// This is the last step of LARA with mis=opt (Zheng, Wang, Kong 2022, arXiv:2204.04667, section 4):
// the weight of sample c for query n is alpha_nc exp(w_c.x_n + bias_c), the bias holding the mass
// of the keys under w_c and the density of w_c; t are the affinities of query and proposal, from
// the caller. As the correction t - mean t sums to zero, so does what it adds to alpha, but for the
// floor.
//
// Only exp(logit) can overflow: logits are shifted by the row's maximum, and alpha is at most 1 +
// |coefficient| for balances and affinities in [0, 1]. Time O(L C' (D + Dv)), memory O(C' (D + Dv))
// and one tile of scores.
//
// Error: logits as in softmax_attention; alpha is off by a few roundings of balance and affinity.
#pragma once

#include "kernels/micro-inl.h"
#include "kernels/softmax-attention-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

// The same cut as exact attention: enough items for threads, by the shape alone.
inline Size MixtureQueryBlock(const OptimalMixture& op) {
  SoftmaxAttention shape;
  shape.batch = op.batch;
  shape.heads = op.heads;
  shape.query_len = op.query_len;
  return SoftmaxQueryBlock(shape);
}

// One item's workspace.
// C' is tens to hundreds: all vectors and values of a head fit in the second-level cache, uncut.
struct MixtureScratch {
  Size block, d_stride, vecs, v_vecs, stride, t_stride;
  float *query, *vectors, *values, *bias, *balance, *scores, *affinity, *sum;

  MixtureScratch(const OptimalMixture& op, Bump& bump) {
    block = MixtureQueryBlock(op);
    d_stride = RoundUp(op.head_dim, W);
    vecs = CeilDiv(op.count, W);
    v_vecs = CeilDiv(op.value_dim, W);
    stride = vecs * W;
    t_stride = RoundUp(op.proposals, W);
    query = bump.Take(block * d_stride);
    vectors = bump.Take(stride * op.head_dim);
    values = bump.Take(op.count * v_vecs * W);
    bias = bump.Take(stride);
    balance = bump.Take(stride);
    scores = bump.Take(kScoreRows * stride);
    affinity = bump.Take(kScoreRows * t_stride);
    sum = bump.Take(kScoreRows);
  }
};

inline Size MixtureItems(const OptimalMixture& op) {
  return op.batch * op.heads * CeilDiv(op.query_len, MixtureQueryBlock(op));
}
inline Size MixtureScratchFloats(const OptimalMixture& op) {
  Bump bump{nullptr};
  MixtureScratch scratch(op, bump);
  return bump.used;
}

// What an item packs once: vectors, values, biases in log2 units (-inf for absent and padding ones).
inline void PackMixture(const OptimalMixture& op, Size batch, Size head, const MixtureScratch& s) {
  PackPanelsTransposed(op.vectors.at(batch, head), op.vectors.row_stride, op.head_dim, op.count, {},
                       nullptr, s.vectors);
  PackPanels(op.values.at(batch, head), op.values.row_stride, op.count, op.value_dim, nullptr,
             s.values);
  const std::uint8_t* present = op.present ? op.present + batch * op.proposals : nullptr;
  for (Size c = 0; c < s.stride; c++) {
    const bool here = c < op.count && (!present || present[c % op.proposals]);
    // -inf: the exponential is exactly 0, and so is alpha times it
    s.bias[c] = here ? op.bias.at(batch, head)[c] * kLog2E : -kInfinity;
    s.balance[c] = here ? op.balance.at(batch, head)[c] : 0.0f;
  }
}

// Logits of one panel of vectors for the rows of a tile.
template <int C>
RFA_INLINE void MixturePanel(const OptimalMixture& op, const MixtureScratch& s, const float* query,
                             Size rows, Size v) {
  for (Size r0 = 0; r0 < rows; r0 += kRows) {
    // logits [kRows, C W] = bias + q w^T, the product starting from the bias
    V acc[kRows][C];
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const V bias = Load(s.bias + (v + c) * W);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) acc[r][c] = bias;
    }
    MultiplyAdd(acc, query + r0 * s.d_stride, s.d_stride, s.vectors + PanelOffset(v, op.head_dim),
                C * W, op.head_dim);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) Store(s.scores + (r0 + r) * s.stride + (v + c) * W, acc[r][c]);
    }
  }
}

// Turns a row of logits into weights; `mean` is the mean of its affinities. [C'] in place, proposal by proposal:
// with two vectors per proposal (antithetic or doubled) the second run over the affinities starts at column C.
inline void WeighMixture(const OptimalMixture& op, const MixtureScratch& s, Size r, float mean) {
  float* row = s.scores + r * s.stride;
  const float* t = s.affinity + r * s.t_stride;
  V top = Set(-kInfinity);
  for (Size v = 0; v < s.vecs; v++) top = Max(top, Load(row + v * W));
  const float highest = ReduceMax(top);
  // no proposal at all: 2^(-inf - 0) = 0 for each, where -inf - (-inf) would be NaN
  const V shift = Set(highest == -kInfinity ? 0.0f : highest);
  const V a = Set(op.coefficient), floor = Set(op.floor), centre = Set(mean);
  V total = Zero();
  for (Size first = 0; first < op.count; first += op.proposals) {
    for (Size c = 0; c < op.proposals; c += W) {
      const Size n = Least(W, op.proposals - c);
      const V correction = Sub(Load(t + c), centre);
      const V balance = LoadUpTo(s.balance + first + c, n);
      // Max takes its second operand where one is NaN: a NaN of the inputs stays visible
      const V alpha = Max(floor, Fma(a, correction, balance));
      const V logit = LoadUpTo(row + first + c, n);
      V weight = Mul(alpha, Exp2Weight(Sub(logit, shift)));
      // lanes beyond n are not proposals: alpha 2^(0 - shift) must not enter the total
      if (n < W) weight = Select(FirstN(n), weight, Zero());
      StoreUpTo(row + first + c, weight, n);
      total = Add(total, weight);
    }
  }
  s.sum[r] = ReduceAdd(total);
}

// out = weights times values over their sum, for one panel of value columns.
// [rows, C'] x [C', Dv]. The sum is 0 only without proposals: each that is present has alpha >=
// floor > 0, and the one of the largest logit weighs alpha.
template <int C>
RFA_INLINE void MixtureValues(const OptimalMixture& op, const MixtureScratch& s, Size batch, Size head,
                              Size first_row, Size rows, Size v) {
  for (Size r0 = 0; r0 < rows; r0 += kRows) {
    V acc[kRows][C];
    ClearTile(acc);
    MultiplyAdd(acc, s.scores + r0 * s.stride, s.stride, s.values + PanelOffset(v, op.count), C * W,
                op.count);
    for (int r = 0; r < kRows; r++) {
      if (r0 + r >= rows) break;
      const float sum = s.sum[r0 + r];
      const V scale = Set(sum == 0 ? 0.0f : 1.0f / sum);
      float* out = op.out.at(batch, head, first_row + r0 + r) + v * W;
      RFA_UNROLL
      for (int c = 0; c < C; c++) {
        const Size left = op.value_dim - (v + c) * W;
        if (left > 0) StoreUpTo(out + c * W, Mul(acc[r][c], scale), left);
      }
    }
  }
}

inline void MixtureItem(const OptimalMixture& op, Size item, float* workspace) {
  Bump bump{workspace};
  const MixtureScratch s(op, bump);
  const Size blocks = CeilDiv(op.query_len, s.block);
  const Size pair = item / blocks, batch = pair / op.heads, head = pair % op.heads;
  const Size first_row = item % blocks * s.block;
  const Size rows = Least(s.block, op.query_len - first_row);
  PackMixture(op, batch, head, s);
  PackRows(op.query.at(batch, head, first_row), op.query.row_stride, rows, op.head_dim,
           {op.scale * kLog2E}, nullptr, s.query, s.d_stride);
  const std::uint8_t* present = op.present ? op.present + batch * op.proposals : nullptr;
  // the mean is over present proposals: absent ones hold zeros, which would pull it down
  Size exist = op.proposals;
  for (Size c = 0; present && c < op.proposals; c++) exist -= !present[c];
  const float share = 1.0f / static_cast<float>(Most(1, exist));
  for (Size first = 0; first < rows; first += kScoreRows) {
    const Size count = Least(kScoreRows, rows - first);
    const float* query = s.query + first * s.d_stride;
    ForEachPanel(s.vecs, s.vecs, [&](auto width, Size v) {
      MixturePanel<decltype(width)::vecs>(op, s, query, RoundUp(count, kRows), v);
    });
    // affinities come as [C, L], one row per proposal, and are needed per query
    TransposeInto(op.affinity.at(batch, head) + first_row + first, op.affinity.row_stride, count,
                  op.proposals, s.t_stride, {}, present, s.affinity, s.t_stride);
    for (Size r = 0; r < count; r++) {
      V sum = Zero();
      for (Size c = 0; c < s.t_stride; c += W) sum = Add(sum, Load(s.affinity + r * s.t_stride + c));
      WeighMixture(op, s, r, ReduceAdd(sum) * share);
    }
    ForEachPanel(s.v_vecs, s.v_vecs, [&](auto width, Size v) {
      MixtureValues<decltype(width)::vecs>(op, s, batch, head, first_row + first, count, v);
    });
  }
}

RFA_KERNELS_END
