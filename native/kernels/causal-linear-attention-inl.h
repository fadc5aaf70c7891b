// Attention with explicit features, past only: chunks of kCausalChunk tokens, inside a chunk the
// masked product, across chunks the state. One item is one head.
//
// Gates and log-weights give every pair (i, j <= i) of a chunk a factor relative to the largest
// weight that row i has seen. The factors of row i are the factors of row i - 1 times one number, plus a new one
// for key i: no exponential per pair, no difference of long sums, and nothing from the future.
//
// Inside a chunk of C tokens, A = tril(phi(Q) phi(K)^T) [C, C]; over its past, S [F, Dv] and z [F]:
//   num_i = c_i phi(q_i)^T S + sum_{j<=i} f_ij A_ij v_j      den_i likewise with z and 1 for v
// with f_ij the factor of a pair and c_i the factor of the state at row i. Without gates and weights all
// are 1.
//   t_i = max(t_{i-1} + g_i, b_i)                 running reference; 0 without log-weights b
//   f_ij = f_{i-1,j} exp(t_{i-1} + g_i - t_i)     f_ii = exp(b_i - t_i)
//   c_i = c_{i-1} exp(t_{i-1} + g_i - t_i)        the same step from row to row
// Gates g are <= 0, so every exponent is: nothing overflows, and what underflows is below every
// row's largest weight. The common factor exp(-t_i) of a row cancels in its quotient. The gate is from RFA-GATE
// (Peng et al. 2021, arXiv:2103.02143); its factor 1 - g_i on the fresh key comes in as a log-weight or with the
// features.
//
// Time O(L (C (F + Dv) + F Dv) + L M D), memory O(F Dv + C F) per thread, whatever L is.
#pragma once

#include "kernels/linear-attention-inl.h"

RFA_KERNELS_BEGIN

// The chunk's own product costs 2 C (F + Dv) flops per token next to 4 F Dv for the state: short
// chunks are cheap, but the state is loaded and stored once per chunk. A multiple of kRows.
constexpr Size kCausalChunk = 48;
// Finite, so that the difference of two of them is 0 and not NaN, and far below any log-weight: exp
// of a difference to a real one is exactly 0.
constexpr float kNoKey = -1e30f;  // log-weight of a masked key, reference before any key

struct CausalScratch {
  RowFeatures queries;
  ColumnFeatures keys;
  State state;
  Size q_stride, c_stride, v_stride;
  float *query_features, *key_features, *values, *weighted, *scale, *pairs, *factors, *row_sums,
      *carried, *step, *fresh, *out;

  CausalScratch(const LinearAttention& op, Bump& bump)
      : queries(op.query, op.head_dim, kCausalChunk, bump),
        keys(op.key, op.head_dim, kCausalChunk, bump),
        state(LinearState(op)),
        q_stride(OddLines(state.features)),
        c_stride(OddLines(kCausalChunk)),
        v_stride(OddLines(op.value_dim)) {
    state.Take(bump);
    query_features = bump.Take(kCausalChunk * q_stride);
    key_features = bump.Take(RoundUp(state.features, kRows) * c_stride);
    values = bump.Take(kCausalChunk * v_stride);
    weighted = bump.Take(kCausalChunk * v_stride);
    scale = bump.Take(kCausalChunk);
    pairs = bump.Take(kCausalChunk * c_stride);
    factors = bump.Take(kCausalChunk * c_stride);
    row_sums = bump.Take(kCausalChunk);
    carried = bump.Take(kCausalChunk);
    step = bump.Take(kCausalChunk);
    fresh = bump.Take(kCausalChunk);
    out = bump.Take(kCausalChunk * v_stride);
  }
};

inline Size CausalLinearItems(const LinearAttention& op) { return op.batch * op.heads; }
inline Size CausalLinearScratch(const LinearAttention& op) {
  Bump bump{nullptr};
  const CausalScratch scratch(op, bump);
  return bump.used;
}

// Where a chunk stands.
struct CausalChunk {
  Size batch, head, first, rows, keys;
};

// Fills factors, carried: see the top of this file. `reference` is the state's, and becomes that
// after the chunk's last key. Returns false where all factors are 1.
template <class Scratch>
inline bool PairFactors(const LinearAttention& op, const Scratch& s, const CausalChunk& chunk,
                        float* reference) {
  if (!op.key_log_weight && !op.log_gate) return false;
  const float* gates = op.log_gate ? op.log_gate.at(chunk.batch, chunk.head) + chunk.first : nullptr;
  const float* weights =
      op.key_log_weight ? op.key_log_weight.at(chunk.batch, chunk.head) + chunk.first : nullptr;
  const std::uint8_t* mask =
      op.key_mask ? op.key_mask + chunk.batch * op.key_len + chunk.first : nullptr;
  // rows beyond the last key are filled, too: there may be more queries than keys
  float top = *reference;
  for (Size i = 0; i < kCausalChunk; i++) {
    const float decayed = top + (gates && i < chunk.keys ? gates[i] : 0.0f);
    float weight = 0;
    if (weights) {
      // a masked key may get the factor exp(0) = 1 here: its features and values are zero
      const bool present = i < chunk.keys && (!mask || mask[i]);
      weight = present && weights[i] > kNoKey ? weights[i] : kNoKey;
      top = decayed > weight ? decayed : weight;
    }
    s.step[i] = decayed - top;
    s.fresh[i] = weight - top;
    if (i + 1 == chunk.keys) *reference = top;
  }
  // 2 C exponentials per chunk instead of C^2 / 2
  for (Size i = 0; i < kCausalChunk; i += W) {
    Store(s.step + i, Exp(Load(s.step + i)));
    Store(s.fresh + i, Exp(Load(s.fresh + i)));
  }
  float carried = 1;
  for (Size i = 0; i < kCausalChunk; i++) {
    float* row = s.factors + i * s.c_stride;
    // O(C^2) products, few compared with the C^2 F of the masked product that they scale
    const V step = Set(s.step[i]);
    for (Size c = 0; c < s.c_stride; c += W) {
      Store(row + c, i > 0 ? Mul(Load(row - s.c_stride + c), step) : Zero());
    }
    row[i] = s.fresh[i];
    carried *= s.step[i];
    s.carried[i] = carried;
  }
  return true;
}

// Takes the chunk's keys into the state, each with the factor that it has at the chunk's last key.
// S <- c S + phi(K)^T diag(f) V, z <- c z + phi(K)^T f, with c and f of the chunk's last key: the
// state then stands relative to the reference after that key.
inline void Advance(const CausalScratch& s, const CausalChunk& chunk, RightRows values,
                    bool weighted) {
  const Size width = RoundUp(chunk.keys, W);
  if (!weighted) {
    AddTotals(s.state, s.key_features, s.c_stride, width, nullptr, 1);
    AddKeys(s.state, s.key_features, s.c_stride, values.data, values.stride, chunk.keys, 1);
    return;
  }
  const float* factors = s.factors + (chunk.keys - 1) * s.c_stride;
  const float keep = s.carried[chunk.keys - 1];
  for (Size j = 0; j < chunk.keys; j++) {
    for (Size c = 0; c < s.state.v_vecs * W; c += W) {
      Store(s.weighted + j * s.v_stride + c,
            Mul(Load(values.data + j * values.stride + c), Set(factors[j])));
    }
  }
  AddTotals(s.state, s.key_features, s.c_stride, width, factors, keep);
  AddKeys(s.state, s.key_features, s.c_stride, s.weighted, s.v_stride, chunk.keys, keep);
}

inline void CausalChunkStep(const LinearAttention& op, const CausalScratch& s,
                            const CausalChunk& chunk, float* reference) {
  const Size b = chunk.batch, h = chunk.head, first = chunk.first;
  s.queries.Compute(b, h, first, chunk.rows, 1, true, s.query_features, s.q_stride);
  bool weighted = false;
  RightRows values{s.values, s.v_stride};
  if (chunk.keys > 0) {
    const std::uint8_t* present = op.key_mask ? op.key_mask + b * op.key_len + first : nullptr;
    // log-weights are left to PairFactors: here masked keys get 0, others the scale of their
    // features
    KeyWeights(FeatureScale(op.key), present, nullptr, 0, chunk.keys, s.scale);
    s.keys.Compute(b, h, first, chunk.keys, 1, s.scale, present, s.key_features, s.c_stride);
    values = RowsOrCopy(op.value.at(b, h, first), op.value.row_stride, chunk.keys, op.value_dim, present,
                        s.values, s.v_stride);
    weighted = PairFactors(op, s, chunk, reference);
    ChunkWeights(s.query_features, s.q_stride, chunk.rows, s.key_features, s.c_stride, chunk.keys,
                 s.state.features, weighted ? s.factors : nullptr, s.pairs, s.c_stride, s.row_sums);
  }
  // the state is read before the chunk's keys enter it: keys j <= i of the chunk come from the
  // pairs
  const ChunkPart part{s.pairs,       s.c_stride, values.data,
                       values.stride, chunk.keys, weighted ? s.carried : nullptr};
  ReadSums(s.state, s.query_features, s.q_stride, chunk.rows, chunk.keys > 0 ? &part : nullptr,
           s.out, s.v_stride);
  for (Size r = 0; r < chunk.rows; r++) {
    float den = Dot(s.query_features + r * s.q_stride, s.state.totals, RoundUp(s.state.features, W));
    if (weighted) den *= s.carried[r];
    if (chunk.keys > 0) den += s.row_sums[r];
    FinishLinearRow(op, s.out + r * s.v_stride, den, b, h, first + r);
  }
  if (chunk.keys > 0) Advance(s, chunk, values, weighted);
}

inline void LoadInitialState(const LinearAttention& op, const State& state, Size batch, Size head) {
  state.Clear();
  // of an earlier call: its sums go on as they are, which is why key_log_weight excludes it (their
  // reference would be unknown)
  if (!op.initial_state) return;
  CopyPadded(op.initial_state.at(batch, head), op.initial_state.row_stride, state.features,
             op.value_dim, nullptr, state.sums, state.stride);
  const float* totals = op.initial_normalizer.at(batch, head);
  for (Size s = 0; s < state.features; s++) state.totals[s] = totals[s];
}

inline void CausalLinearItem(const LinearAttention& op, Size item, float* workspace) {
  Bump bump{workspace};
  const CausalScratch s(op, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  s.queries.Prepare(batch, head, 1);
  s.keys.Prepare(batch, head);
  LoadInitialState(op, s.state, batch, head);
  // padding of the features is zero and stays so: register tiles and dot products run over it
  for (Size i = 0; i < kCausalChunk * s.q_stride; i++) s.query_features[i] = 0;
  for (Size i = 0; i < RoundUp(s.state.features, kRows) * s.c_stride; i++) s.key_features[i] = 0;
  float reference = op.key_log_weight ? kNoKey : 0;
  for (Size first = 0; first < op.query_len; first += kCausalChunk) {
    const Size rows = Least(kCausalChunk, op.query_len - first);
    const Size keys = Most(0, Least(rows, op.key_len - first));
    CausalChunkStep(op, s, {batch, head, first, rows, keys}, &reference);
  }
}

RFA_KERNELS_END
