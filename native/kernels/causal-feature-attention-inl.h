// Causal attention with positive features given by logarithms: out_i = sum_{j<=i} w_ij v_j / sum w_ij,
// w_ij = sum_s exp(a_is + b_js). One item is one head; logarithms are base 2 inside.
//
// Every feature s has a reference r_s, the largest b_js at some past time. The state holds
// sum_j 2^(b_js - r_s - kCentre) [v_j, 1]; queries use 2^(a_is + r_s - max_s(a_is + r_s)). Keys may exceed the
// reference by up to kHeadroom before it must move, so that within a chunk one masked matrix product
// does. A key that exceeds it by more ends the chunk: a new one starts with that key, after the
// references have moved up to include it. Hence
//   - chunks end, references move and all roundings happen by keys that every affected query sees:
//     no bit of row i depends on keys j > i;
//   - every reference is a key's own b_js, so each row's denominator is at least 2^-kCentre, and what
//     underflows is below 2^-(126 - kHeadroom) of it: exact in float32 for any spread of the keys.
// In ordinary data only the first few chunks are cut short.
//
// This is online softmax per feature (the causal form of exact positive features): a per-feature
// shift r_s is allowed because it is put on keys and taken off queries, a per-query shift because
// it cancels. A per-key shift would re-weight keys.
//
// What would overflow: exp(b_js), by the norm of any one key. Here keys' exponents are at most
// kHeadroom and queries' at most 0. Time O(L F (D + Dv) + L C (F + Dv)); a chunk that is cut short
// costs a load and store of the state, O(F Dv).
#pragma once

#include "kernels/causal-linear-attention-inl.h"

RFA_KERNELS_BEGIN

constexpr float kHeadroom = 32;
// log2: weights are from 2^-16 for the largest key to 2^16 for one beyond it, which leaves values as much room above as below
constexpr float kCentre = kHeadroom / 2;
// Moving at 16 already, at a chunk's start where it costs one pass over a row of S, leaves 16 of
// the 32 for growth within the chunk: fewer chunks are cut.
constexpr float kMoveFrom = 16;  // log2: references that lag by more are moved at the next chunk

struct FeatureScratch {
  RowFeatures queries;
  ColumnFeatures keys;
  State state;
  Size q_stride, c_stride, v_stride;
  float *query_features, *key_features, *values, *unit, *presence, *reference, *top, *excess, *pairs,
      *row_sums, *out;

  FeatureScratch(const CausalFeatureAttention& op, Bump& bump)
      : queries(op.query, op.head_dim, kCausalChunk, bump),
        keys(op.key, op.head_dim, kCausalChunk, bump),
        state(feature_dim(op.query, op.head_dim), op.value_dim),
        q_stride(OddLines(state.features)),
        c_stride(OddLines(kCausalChunk)),
        v_stride(OddLines(op.value_dim)) {
    state.Take(bump);
    query_features = bump.Take(kCausalChunk * q_stride);
    key_features = bump.Take(RoundUp(state.features, kRows) * c_stride);
    values = bump.Take(kCausalChunk * v_stride);
    unit = bump.Take(RoundUp(kCausalChunk, W));
    presence = bump.Take(RoundUp(kCausalChunk, W));
    reference = bump.Take(RoundUp(state.features, W));
    top = bump.Take(state.features);
    excess = bump.Take(RoundUp(kCausalChunk, W));
    pairs = bump.Take(kCausalChunk * c_stride);
    row_sums = bump.Take(kCausalChunk);
    out = bump.Take(kCausalChunk * v_stride);
  }
};

inline Size CausalFeatureItems(const CausalFeatureAttention& op) { return op.batch * op.heads; }
inline Size CausalFeatureScratch(const CausalFeatureAttention& op) {
  Bump bump{nullptr};
  const FeatureScratch scratch(op, bump);
  return bump.used;
}

// Raises references that the past, the chunk's first key included, has left behind, and rescales
// their sums.
inline void MoveReferences(const FeatureScratch& s, bool first_present) {
  for (Size f = 0; f < s.state.features; f++) {
    // the largest b_js of keys <= the chunk's first one: all rows of this chunk see that key
    const float first = s.key_features[f * s.c_stride];
    if (first_present && first > s.top[f]) s.top[f] = first;
    if (!(s.top[f] > s.reference[f] + kMoveFrom)) continue;
    float keep[W];
    // before any key the reference is kNoKey, and 2^(kNoKey - top) is exactly 0: so are the sums it
    // scales
    Store(keep, Exp2Weight(Set(s.reference[f] - s.top[f])));
    s.reference[f] = s.top[f];
    const V factor = Set(keep[0]);
    float* row = s.state.sums + f * s.state.stride;
    for (Size c = 0; c < s.state.stride; c += W) Store(row + c, Mul(Load(row + c), factor));
    s.state.totals[f] *= keep[0];
  }
}

// Number of keys before the first that exceeds a reference by more than kHeadroom, at least 1.
// O(F C): max_s (b_js - r_s) for every key j of the chunk, keys in lanes.
inline Size KeysWithinReach(const FeatureScratch& s, const std::uint8_t* present, Size count) {
  const Size width = RoundUp(count, W);
  for (Size c = 0; c < width; c += W) {
    V most = Set(-kInfinity);
    for (Size f = 0; f < s.state.features; f++) {
      most = Max(most, Sub(Load(s.key_features + f * s.c_stride + c), Set(s.reference[f])));
    }
    Store(s.excess + c, most);
  }
  // the first key never ends its own chunk: MoveReferences has taken it in
  for (Size j = 1; j < count; j++) {
    if ((!present || present[j]) && s.excess[j] > kHeadroom) return j;
  }
  return count;
}

// Turns the logarithms of the first `count` keys into weights relative to the references; absent
// keys and columns beyond weigh 0. Keeps the running maxima.
inline void WeighKeys(const FeatureScratch& s, const std::uint8_t* present, Size count) {
  const Size width = RoundUp(count, W);
  for (Size j = 0; j < width; j++) {
    s.presence[j] = j < count && (!present || present[j]) ? 1.0f : 0.0f;
  }
  for (Size f = 0; f < s.state.features; f++) {
    float* row = s.key_features + f * s.c_stride;
    const V reference = Set(s.reference[f]);
    V top = Set(s.top[f]);
    for (Size c = 0; c < width; c += W) {
      const V x = Load(row + c);
      // an absent key must neither raise the maximum nor weigh anything, whatever its numbers are
      const M keep = Less(Zero(), Load(s.presence + c));
      top = Max(top, Select(keep, x, top));
      Store(row + c, Select(keep, Exp2Weight(Sub(x, reference), kCentre), Zero()));
    }
    s.top[f] = ReduceMax(top);
  }
}

// 2^(a + r - max(a + r)) for every query of the chunk.
// a in units of log2, up to a factor per query; [rows, F] in place. The largest weight of a row is
// 1.
inline void WeighQueries(const FeatureScratch& s, Size rows) {
  const Size count = s.state.features;
  for (Size r = 0; r < rows; r++) {
    float* row = s.query_features + r * s.q_stride;
    V top = Set(2 * kNoKey);
    for (Size f = 0; f < count; f += W) {
      // a log-feature of -inf (phi = 0) becomes finite: in a row of nothing else, -inf - (-inf) is
      // NaN
      const V x = Max(Set(kNoKey), Load(row + f));
      V sum = Add(x, Load(s.reference + f));
      // lanes beyond F: no higher than any real one, and without weight below
      if (f + W > count) sum = Select(FirstN(count - f), sum, Set(2 * kNoKey));
      Store(row + f, sum);
      top = Max(top, sum);
    }
    const V shift = Set(ReduceMax(top));
    for (Size f = 0; f < count; f += W) {
      V weight = Exp2Weight(Sub(Load(row + f), shift));
      if (f + W > count) weight = Select(FirstN(count - f), weight, Zero());
      Store(row + f, weight);
    }
  }
}

// One chunk from `first`; returns how many tokens it took.
inline Size CausalFeatureChunk(const CausalFeatureAttention& op, const FeatureScratch& s, Size batch,
                               Size head, Size first) {
  Size rows = Least(kCausalChunk, op.query_len - first);
  Size keys = Most(0, Least(rows, op.key_len - first));
  const std::uint8_t* present =
      op.key_mask ? op.key_mask + batch * op.key_len + first : nullptr;
  RightRows values{s.values, s.v_stride};
  if (keys > 0) {
    s.keys.Compute(batch, head, first, keys, kLog2E, s.unit, present, s.key_features, s.c_stride);
    MoveReferences(s, !present || present[0]);
    // the rest of the chunk is formed again in the next one: seldom, and bounded by one chunk per
    // key
    const Size within = KeysWithinReach(s, present, keys);
    if (within < keys) rows = keys = within;
    WeighKeys(s, present, keys);
    values = RowsOrCopy(op.value.at(batch, head, first), op.value.row_stride, keys, op.value_dim,
                        present, s.values, s.v_stride);
  }
  s.queries.Compute(batch, head, first, rows, kLog2E, true, s.query_features, s.q_stride);
  WeighQueries(s, rows);
  if (keys > 0) {
    ChunkWeights(s.query_features, s.q_stride, rows, s.key_features, s.c_stride, keys,
                 s.state.features, nullptr, s.pairs, s.c_stride, s.row_sums);
  }
  // num = A V + W S, as in causal-linear-attention-inl.h, with W the query weights of this chunk
  const ChunkPart part{s.pairs, s.c_stride, values.data, values.stride, keys, nullptr};
  ReadSums(s.state, s.query_features, s.q_stride, rows, keys > 0 ? &part : nullptr, s.out,
           s.v_stride);
  for (Size r = 0; r < rows; r++) {
    // 0 only where a row has seen no key, and then the output is 0
    float den = Dot(s.query_features + r * s.q_stride, s.state.totals, RoundUp(s.state.features, W));
    if (keys > 0) den += s.row_sums[r];
    StoreQuotient(s.out + r * s.v_stride, den, op.value_dim, op.out.at(batch, head, first + r));
  }
  if (keys > 0) {
    AddTotals(s.state, s.key_features, s.c_stride, RoundUp(keys, W), nullptr, 1);
    AddKeys(s.state, s.key_features, s.c_stride, values.data, values.stride, keys, 1);
  }
  return rows;
}

inline void CausalFeatureItem(const CausalFeatureAttention& op, Size item, float* workspace) {
  Bump bump{workspace};
  const FeatureScratch s(op, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  s.queries.Prepare(batch, head, kLog2E);
  s.keys.Prepare(batch, head);
  s.state.Clear();
  for (Size f = 0; f < RoundUp(s.state.features, W); f++) s.reference[f] = kNoKey;
  for (Size f = 0; f < s.state.features; f++) s.top[f] = kNoKey;
  for (Size i = 0; i < kCausalChunk * s.q_stride; i++) s.query_features[i] = 0;
  for (Size i = 0; i < RoundUp(s.state.features, kRows) * s.c_stride; i++) s.key_features[i] = 0;
  // explicit log-features are brought to base 2 by a factor per token
  for (Size j = 0; j < RoundUp(kCausalChunk, W); j++) s.unit[j] = kLog2E;
  for (Size first = 0; first < op.query_len;) {
    first += CausalFeatureChunk(op, s, batch, head, first);
  }
}

RFA_KERNELS_END
