// Gradients of causal attention with positive features given by logarithms; one item is one head. Features are formed
// again, chunk by chunk, and nothing of length L x F is kept.
//
// w_ij = sum_s e_ijs, e_ijs = exp(a_is + b_js), out_i = sum_{j <= i} w_ij v_j / W_i. With slopes g_i of out_i,
// g~_i = [g_i, -g_i.out_i] and v~_j = [v_j, 1]:
//   da_is = sum_{j <= i} e_ijs / W_i (g~_i.v~_j)    db_js = sum_{i >= j} e_ijs / W_i (g~_i.v~_j)    dv_j = sum_{i >= j} w_ij / W_i g_i
// Two passes, alike: tokens that are read (keys, then queries) go into sums [Dv + 1, F] of their vectors times their
// weights, and what reads them (queries, then keys) multiplies its vector with these, chunk by chunk:
//   forward   T = sum_j v~_j exp(b_j)^T             da_i = exp(a_i) / W_i (g~_i^T T)
//   backward  R = sum_i g~_i (exp(a_i) / W_i)^T     db_j = exp(b_j) (v~_j^T R)    dv_j = R exp(b_j)
//
// References, as in causal-feature-attention-inl.h: every feature s has one, r_s, a logarithm of a token in the sums, which
// the others exceed by at most kHeadroom; a token that exceeds it by more ends its chunk. Weights in the sums are 2^(b - r),
// those of readers 2^(a + r - ..). Forward, each row's sum W_i is at least 1 relative to its largest, as there. Backward,
// what is summed is a_is - log W_i: e_ijs / W_i is at most 1 for every query that sees key j, so that b_js + r_s is at most 0
// whatever the spread of the keys, and what underflows is a weight w_ij / W_i below 2^-(126 - kHeadroom).
// Time 5 F Dv a token where the forward pass has 2, and five times the work of projections; memory O(L + F (D + Dv)).
#pragma once

#include "kernels/causal-feature-attention-inl.h"
#include "kernels/feature-gradient-inl.h"

RFA_KERNELS_BEGIN

// Rows stand in the order in which a pass comes by them.
struct FeatureGradientSpace {
  RowFeatures queries, keys;
  FeatureSlopes to_queries, to_keys;
  Size features, columns;         // F, Dv + 1
  State sums, turned;             // [Dv + 1, F], and its transpose without the last row
  Size f_stride, e_stride, c_stride;
  float *weights, *weight_columns;  // of what is read: [C, F] and [F, C]
  float *vectors, *vector_columns;  // the same: [C, Dv + 1] and [Dv + 1, C]
  float *readers, *reader_vectors;  // of what reads: [C, F] and [C, Dv + 1]
  float *pairs, *pair_sums, *slopes, *to_value;
  float *reference, *top, *totals, *log_totals;  // log_totals: log2 W_i of all queries, +inf where it is 0
  Size used;

  FeatureGradientSpace(const CausalFeatureAttention& op, float* memory)
      : FeatureGradientSpace(op, feature_dim(op.query, op.head_dim), Bump{memory}) {}

 private:
  FeatureGradientSpace(const CausalFeatureAttention& op, Size count, Bump bump)
      : queries(op.query, op.head_dim, kCausalChunk, bump),
        keys(op.key, op.head_dim, kCausalChunk, bump),
        to_queries(op.query, op.head_dim, kCausalChunk, bump),
        to_keys(op.key, op.head_dim, kCausalChunk, bump),
        features(count),
        columns(op.value_dim + 1),
        sums(columns, count),
        turned(count, op.value_dim),
        f_stride(OddLines(RoundUp(count, kRows))),
        e_stride(OddLines(columns)),
        c_stride(OddLines(kCausalChunk)) {
    sums.Take(bump);
    turned.Take(bump);
    weights = bump.Take(kCausalChunk * f_stride);
    weight_columns = bump.Take(RoundUp(features, kRows) * c_stride);
    vectors = bump.Take(kCausalChunk * e_stride);
    vector_columns = bump.Take(RoundUp(columns, kRows) * c_stride);
    readers = bump.Take(kCausalChunk * f_stride);
    reader_vectors = bump.Take(kCausalChunk * e_stride);
    pairs = bump.Take(kCausalChunk * c_stride);
    pair_sums = bump.Take(kCausalChunk);
    // register tiles of rows that run backwards begin before their first one
    slopes = bump.Take((kCausalChunk + kRows) * f_stride);
    if (bump.base) slopes += kRows * f_stride;
    to_value = bump.Take(kCausalChunk * e_stride);
    reference = bump.Take(f_stride);
    top = bump.Take(f_stride);
    totals = bump.Take(f_stride);
    log_totals = bump.Take(op.query_len);
    used = bump.used;
  }
};

inline Size FeatureGradientItems(const CausalFeatureGradient& op) { return op.forward.batch * op.forward.heads; }
inline Size FeatureGradientScratch(const CausalFeatureGradient& op) {
  return FeatureGradientSpace(op.forward, nullptr).used;
}

// Tokens first .. first + rows - 1 of a head, in this order or backwards.
struct TokenRun {
  Size batch, head, first, rows;
  bool backwards;

  RFA_INLINE Size token(Size row) const { return backwards ? first + rows - 1 - row : first + row; }
  // where the row of token `first` lies, and the way from there to the next token
  RFA_INLINE float* start(float* base, Size stride) const { return backwards ? base + (rows - 1) * stride : base; }
  RFA_INLINE Size step(Size stride) const { return backwards ? -stride : stride; }
};

// Lanes beyond F have the reference 0, no logarithms and no weight.
inline void ClearReferences(const FeatureGradientSpace& s) {
  s.sums.Clear();
  for (Size f = 0; f < s.f_stride; f++) s.reference[f] = s.top[f] = f < s.features ? kNoKey : 0;
}

// Raises references that what is read has left behind, its next row included, and rescales their sums.
inline void RaiseReferences(const FeatureGradientSpace& s, bool first_present) {
  for (Size f = 0; f < s.features; f += W) {
    V top = Load(s.top + f);
    if (first_present) top = Max(Load(s.weights + f), top);
    Store(s.top + f, top);
    const V reference = Load(s.reference + f);
    const M stays = Less(top, Add(reference, Set(kMoveFrom)));
    if (AllTrue(stays)) continue;
    // before any token the reference is kNoKey, and what it scales is 0
    const V keep = Select(stays, Set(1.0f), Exp2Weight(Sub(reference, top)));
    Store(s.reference + f, Select(stays, reference, top));
    for (Size e = 0; e < s.columns; e++) {
      float* sum = s.sums.sums + e * s.sums.stride + f;
      Store(sum, Mul(Load(sum), keep));
    }
  }
}

// Logarithms of rows to be read to weights, up to the first row that exceeds a reference by more than kHeadroom: returns
// how many. Absent rows weigh 0.
template <class Present>
inline Size WeighRead(const FeatureGradientSpace& s, Size rows, Present present) {
  for (Size r = 0; r < rows; r++) {
    float* row = s.weights + r * s.f_stride;
    const bool there = present(r);
    V most = Set(-kInfinity);
    for (Size f = 0; f < s.features; f += W) most = Max(Sub(Load(row + f), Load(s.reference + f)), most);
    // the first row never ends its own chunk: RaiseReferences has taken it in
    if (r > 0 && there && ReduceMax(most) > kHeadroom) return r;
    for (Size f = 0; f < s.features; f += W) {
      const V x = Load(row + f);
      const M keep = FirstN(there ? Least(W, s.features - f) : 0);
      Store(s.top + f, Select(keep, Max(x, Load(s.top + f)), Load(s.top + f)));
      Store(row + f, Select(keep, Exp2Weight(Sub(x, Load(s.reference + f))), Zero()));
    }
  }
  return rows;
}

// Logarithms of queries to 2^a / W, of which `seen` rows of keys stand in the chunk; takes down log2 W.
inline void WeighQueryReaders(const FeatureGradientSpace& s, const TokenRun& run, Size seen) {
  const float* carried = s.sums.sums + (s.columns - 1) * s.sums.stride;
  for (Size f = 0; f < s.features; f += W) Store(s.totals + f, Load(carried + f));
  for (Size r = 0; r < run.rows; r++) {
    float* row = s.readers + r * s.f_stride;
    V top = Set(2 * kNoKey);
    for (Size f = 0; f < s.features; f += W) {
      // a logarithm of -inf becomes finite: in a row of nothing else -inf - (-inf) is NaN
      const V sum = Add(Max(Set(kNoKey), Load(row + f)), Load(s.reference + f));
      const V x = Select(FirstN(Least(W, s.features - f)), sum, Set(2 * kNoKey));
      Store(row + f, x);
      top = Max(top, x);
    }
    const float shift = ReduceMax(top);
    V part = Zero();
    for (Size f = 0; f < s.features; f += W) {
      const V weight = Select(FirstN(Least(W, s.features - f)), Exp2Weight(Sub(Load(row + f), Set(shift))), Zero());
      V total = Load(s.totals + f);
      if (r < seen) Store(s.totals + f, total = Add(total, Load(s.weights + r * s.f_stride + f)));
      part = Fma(weight, total, part);
      Store(row + f, weight);
    }
    const float sum = ReduceAdd(part);
    const V share = Set(sum == 0 ? 0.0f : 1 / sum);
    for (Size f = 0; f < s.features; f += W) Store(row + f, Mul(Load(row + f), share));
    s.log_totals[run.token(r)] = sum == 0 ? kInfinity : shift + log2f(sum);
  }
}

// Logarithms of keys to 2^(b + r); absent keys weigh 0.
template <class Present>
inline void WeighKeyReaders(const FeatureGradientSpace& s, Size rows, Present present) {
  for (Size r = 0; r < rows; r++) {
    float* row = s.readers + r * s.f_stride;
    const bool there = present(r);
    for (Size f = 0; f < s.features; f += W) {
      const M keep = FirstN(there ? Least(W, s.features - f) : 0);
      Store(row + f, Select(keep, Exp2Weight(Add(Load(row + f), Load(s.reference + f))), Zero()));
    }
  }
}

// Rows [v, 1] of keys, zero where absent.
template <class Present>
inline void LoadValues(const FeatureGradientSpace& s, const CausalFeatureAttention& op, const TokenRun& run, Size rows,
                       Present present, float* out) {
  for (Size r = 0; r < rows; r++) {
    const bool there = present(r);
    const float* value = op.value.at(run.batch, run.head, run.token(r));
    for (Size c = 0; c < s.e_stride; c += W) {
      Store(out + r * s.e_stride + c, LoadUpTo(value + c, there ? op.value_dim - c : 0));
    }
    out[r * s.e_stride + op.value_dim] = there ? 1.0f : 0.0f;
  }
}

// Rows [g, -g.out] of queries, zero where they see no key.
template <class Present>
inline void LoadSlopes(const FeatureGradientSpace& s, const CausalFeatureGradient& op, const TokenRun& run,
                       Present present, float* out) {
  const Size columns = op.forward.value_dim;
  for (Size r = 0; r < run.rows; r++) {
    const Size row = (run.batch * op.forward.heads + run.head) * op.forward.query_len + run.token(r);
    const bool there = present(r);
    V along = Zero();
    for (Size c = 0; c < s.e_stride; c += W) {
      const Size n = there ? columns - c : 0;
      const V slope = LoadUpTo(op.slopes + row * columns + c, n);
      along = Fma(slope, LoadUpTo(op.out + row * columns + c, n), along);
      Store(out + r * s.e_stride + c, slope);
    }
    out[r * s.e_stride + columns] = -ReduceAdd(along);
  }
}

// Slopes of the readers' logarithms: their weights times what their vectors read.
inline void SlopesOfReaders(const FeatureGradientSpace& s, Size rows, Size read) {
  TransposeInto(s.vectors, s.e_stride, s.columns, read, RoundUp(read, W), {}, nullptr, s.vector_columns, s.c_stride);
  if (rows == 0) return;
  ChunkPart part{s.pairs, s.c_stride, s.weights, s.f_stride, read, nullptr};
  if (read > 0) {
    ChunkWeights(s.reader_vectors, s.e_stride, rows, s.vector_columns, s.c_stride, read, s.columns, nullptr, s.pairs,
                 s.c_stride, s.pair_sums);
  }
  ReadSums(s.sums, s.reader_vectors, s.e_stride, rows, read > 0 ? &part : nullptr, s.slopes, s.f_stride);
  for (Size r = 0; r < rows; r++) {
    for (Size f = 0; f < s.features; f += W) {
      float* slope = s.slopes + r * s.f_stride + f;
      Store(slope, Mul(Load(slope), Load(s.readers + r * s.f_stride + f)));
    }
  }
}

// Slopes of the values of keys that read.
inline void SlopesOfValues(const FeatureGradientSpace& s, const CausalFeatureGradient& op, const TokenRun& run) {
  const Size columns = op.forward.value_dim;
  TransposeInto(s.weights, s.f_stride, s.features, run.rows, RoundUp(run.rows, W), {}, nullptr, s.weight_columns,
                s.c_stride);
  TransposeInto(s.sums.sums, s.sums.stride, s.features, columns, RoundUp(columns, W), {}, nullptr, s.turned.sums,
                s.turned.stride);
  ChunkWeights(s.readers, s.f_stride, run.rows, s.weight_columns, s.c_stride, run.rows, s.features, nullptr, s.pairs,
               s.c_stride, s.pair_sums);
  const ChunkPart part{s.pairs, s.c_stride, s.vectors, s.e_stride, run.rows, nullptr};
  ReadSums(s.turned, s.readers, s.f_stride, run.rows, &part, s.to_value, s.e_stride);
  for (Size r = 0; r < run.rows; r++) {
    const Size key = (run.batch * op.forward.heads + run.head) * op.forward.key_len + run.token(r);
    for (Size c = 0; c < columns; c += W) {
      StoreUpTo(op.to_value + key * columns + c, Load(s.to_value + r * s.e_stride + c), columns - c);
    }
  }
}

// Keys are read by queries. One chunk from run.first on; returns how many tokens it took.
inline Size ForwardChunk(const CausalFeatureGradient& op, const FeatureGradientSpace& s, TokenRun run) {
  const CausalFeatureAttention& forward = op.forward;
  Size keys = Most(0, Least(run.rows, forward.key_len - run.first));
  const std::uint8_t* mask = forward.key_mask ? forward.key_mask + run.batch * forward.key_len + run.first : nullptr;
  const auto present = [&](Size r) { return !mask || mask[r] != 0; };
  if (keys > 0) {
    s.keys.Compute(run.batch, run.head, run.first, keys, kLog2E, false, s.weights, s.f_stride);
    RaiseReferences(s, present(0));
    const Size within = WeighRead(s, keys, present);
    if (within < keys) run.rows = keys = within;
  }
  s.queries.Compute(run.batch, run.head, run.first, run.rows, kLog2E, true, s.readers, s.f_stride);
  WeighQueryReaders(s, run, keys);
  LoadValues(s, forward, run, keys, present, s.vectors);
  LoadSlopes(s, op, run, [&](Size r) { return s.log_totals[run.token(r)] != kInfinity; }, s.reader_vectors);
  SlopesOfReaders(s, run.rows, keys);
  const Size query = (run.batch * forward.heads + run.head) * forward.query_len + run.first;
  // features are not looked at where they are logarithms
  s.to_queries.ToTokens(run.batch, run.head, run.first, run.rows, s.readers, s.slopes, s.f_stride, nullptr,
                        op.to_query + query * forward.head_dim);
  AddKeys(s.sums, s.vector_columns, s.c_stride, s.weights, s.f_stride, keys, 1);
  return run.rows;
}

// Queries are read by keys, from the last ones on. One chunk that ends before token `end`; returns where it began.
inline Size BackwardChunk(const CausalFeatureGradient& op, const FeatureGradientSpace& s, Size batch, Size head,
                          Size end) {
  const CausalFeatureAttention& forward = op.forward;
  // a chunk has a key for each query, or none
  const Size least = end > forward.key_len ? forward.key_len : 0;
  TokenRun run{batch, head, Most(least, end - kCausalChunk), 0, true};
  run.rows = end - run.first;
  const auto sees = [&](Size r) { return s.log_totals[run.token(r)] != kInfinity; };
  s.queries.Compute(batch, head, run.first, run.rows, kLog2E, true, run.start(s.weights, s.f_stride),
                    run.step(s.f_stride));
  for (Size r = 0; r < run.rows; r++) {
    const V total = Set(s.log_totals[run.token(r)]);
    float* row = s.weights + r * s.f_stride;
    for (Size f = 0; f < s.features; f += W) Store(row + f, Sub(Load(row + f), total));
  }
  RaiseReferences(s, sees(0));
  run.rows = WeighRead(s, run.rows, sees);
  run.first = end - run.rows;
  LoadSlopes(s, op, run, sees, s.vectors);
  const bool keys = run.first < forward.key_len;
  if (keys) {
    const std::uint8_t* mask = forward.key_mask ? forward.key_mask + batch * forward.key_len : nullptr;
    const auto present = [&](Size r) { return !mask || mask[run.token(r)] != 0; };
    s.keys.Compute(batch, head, run.first, run.rows, kLog2E, false, run.start(s.readers, s.f_stride),
                   run.step(s.f_stride));
    WeighKeyReaders(s, run.rows, present);
    LoadValues(s, forward, run, run.rows, present, s.reader_vectors);
    SlopesOfReaders(s, run.rows, run.rows);
    const Size key = (batch * forward.heads + head) * forward.key_len + run.first;
    s.to_keys.ToTokens(batch, head, run.first, run.rows, run.start(s.readers, s.f_stride),
                       run.start(s.slopes, s.f_stride), run.step(s.f_stride), mask ? mask + run.first : nullptr,
                       op.to_key + key * forward.head_dim);
    SlopesOfValues(s, op, run);
  } else {
    SlopesOfReaders(s, 0, run.rows);
  }
  AddKeys(s.sums, s.vector_columns, s.c_stride, s.weights, s.f_stride, run.rows, 1);
  return run.first;
}

inline void FeatureGradientItem(const CausalFeatureGradient& op, Size item, float* memory) {
  const CausalFeatureAttention& forward = op.forward;
  const FeatureGradientSpace s(forward, memory);
  const Size batch = item / forward.heads, head = item % forward.heads;
  // padding of rows and columns is zero and stays finite
  for (Size i = 0; i < s.used; i++) memory[i] = 0;
  s.queries.Prepare(batch, head, kLog2E);
  s.keys.Prepare(batch, head, kLog2E);
  s.to_queries.Prepare(batch, head);
  s.to_keys.Prepare(batch, head);
  ClearReferences(s);
  for (Size first = 0; first < forward.query_len;) {
    first += ForwardChunk(op, s, {batch, head, first, Least(kCausalChunk, forward.query_len - first), false});
  }
  ClearReferences(s);
  for (Size end = forward.query_len; end > 0;) end = BackwardChunk(op, s, batch, head, end);
  // keys after the last query
  const Size first = Least(forward.query_len, forward.key_len), left = forward.key_len - first;
  const Size key = item * forward.key_len + first;
  for (Size i = 0; i < left * forward.head_dim; i++) op.to_key[key * forward.head_dim + i] = 0;
  for (Size i = 0; i < left * forward.value_dim; i++) op.to_value[key * forward.value_dim + i] = 0;
  const Size rows = item * forward.query.num_features, key_rows = item * forward.key.num_features;
  if (op.to_query_projection) s.to_queries.Finish(op.to_query_projection + rows * forward.head_dim);
  if (op.to_key_projection) s.to_keys.Finish(op.to_key_projection + key_rows * forward.head_dim);
}

RFA_KERNELS_END
