// Gradients of linear attention. One item is one head; features are formed again, chunk by chunk, and nothing of length
// L x F is kept: the sums over keys, and those over queries, of F (Dv + 1) numbers each.
//
// With v~ = [v, 1] and n~_i the slopes of numerator and denominator of query i, [Dv + 1]:
//   dphi(q_i) = sum_j w_ij (n~_i.v~_j) phi(k_j)    = c_i n~_i^T T + ..    T = sum_j v~_j phi(k_j)^T      [Dv + 1, F]
//   dphi(k_j) = sum_i w_ij (n~_i.v~_j) phi(q_i)    = f_j v~_j^T U + ..    U = sum_i c_i n~_i phi(q_i)^T  [Dv + 1, F]
//   dv_j      = sum_i w_ij (phi(q_i).phi(k_j)) n_i = f_j U phi(k_j) + ..
// Causal: T runs forward over chunks and U backward, and ".." are the chunk's own pairs, with the factors f_ij, c_i of
// causal-linear-attention-inl.h; f_j is f_ij of the chunk's last key. References at the chunks' starts, L / 48 numbers,
// make the same factors again. A row's reference scales its numerator and denominator, and is a constant here.
//   log w_ij = b_j + g_(j+1) + .. + g_i:  db_j = phi(k_j).dphi(k_j)
//   dg_m = sum_(i >= m) (phi(q_i).dphi(q_i) - phi(k_i).dphi(k_i)), from the last token on, in double
// Time 5 F Dv a token where the forward pass has 2, five times the work of projections; causal 5 F Dv + 3 C (F + Dv) / 2.
//
// Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 13-15; gates: Yang et al. 2024, arXiv:2312.06635, section 4.
#pragma once

#include "kernels/causal-linear-attention-inl.h"
#include "kernels/elementwise-inl.h"
#include "kernels/feature-gradient-inl.h"

RFA_KERNELS_BEGIN

struct GradientScratch {
  RowFeatures queries, keys;
  FeatureSlopes to_queries, to_keys;
  State sums, later;  // T and U
  Size features, f_stride, c_stride, v_stride, chunks;
  float *query_features, *key_features, *key_columns, *feature_slopes;
  float *values, *value_columns, *slopes, *weighted, *value_slopes;
  float *pairs, *products, *factors, *row_sums, *scale, *carried, *step, *fresh;
  float *references, *gate_slopes;  // at the start of each chunk; of each token

  GradientScratch(const LinearAttentionGradient& gradient, Bump& bump)
      : GradientScratch(gradient.forward, feature_dim(gradient.forward.query, gradient.forward.head_dim), bump) {}

 private:
  GradientScratch(const LinearAttention& op, Size feature_count, Bump& bump)
      : queries(op.query, op.head_dim, kCausalChunk, bump),
        keys(op.key, op.head_dim, kCausalChunk, bump),
        to_queries(op.query, op.head_dim, kCausalChunk, bump),
        to_keys(op.key, op.head_dim, kCausalChunk, bump),
        sums(op.value_dim + 1, feature_count),
        later(op.value_dim + 1, feature_count),
        features(feature_count),
        f_stride(OddLines(RoundUp(features, kRows))),
        c_stride(OddLines(kCausalChunk)),
        v_stride(OddLines(RoundUp(op.value_dim + 1, kRows))),
        chunks(CeilDiv(op.query_len, kCausalChunk)) {
    sums.Take(bump);
    later.Take(bump);
    float** const of_features[] = {&query_features, &key_features, &feature_slopes};
    for (float** piece : of_features) *piece = bump.Take(kCausalChunk * f_stride);
    float** const of_values[] = {&values, &slopes, &weighted};
    for (float** piece : of_values) *piece = bump.Take(kCausalChunk * v_stride);
    float** const of_pairs[] = {&pairs, &products, &factors};
    for (float** piece : of_pairs) *piece = bump.Take(kCausalChunk * c_stride);
    float** const of_rows[] = {&row_sums, &scale, &carried, &step, &fresh};
    for (float** piece : of_rows) *piece = bump.Take(kCausalChunk);
    key_columns = bump.Take(features * c_stride);
    value_columns = bump.Take((op.value_dim + 1) * c_stride);
    value_slopes = bump.Take(RoundUp(op.value_dim, kRows) * c_stride);
    references = bump.Take(chunks);
    gate_slopes = bump.Take(op.log_gate ? Most(op.query_len, op.key_len) : 0);
  }
};

// How the guarded denominator moves with the denominator. Composite functions go by the same sides at a bound.
RFA_INLINE float GuardSlope(float den, Guard guard, float bound) {
  switch (guard) {
    case Guard::kClamp:
      return den < bound ? 0.0f : 1.0f;
    case Guard::kAbsClamp:
      return fabsf(den) < bound ? 0.0f : den > 0 ? 1.0f : den < 0 ? -1.0f : 0.0f;
    default:
      return 1;
  }
}

// n~ of `rows` queries from `first`: slopes of the quotient become those of numerator and denominator.
inline void NumeratorSlopes(const LinearAttentionGradient& gradient, const GradientScratch& s, Size batch, Size head,
                            Size first, Size rows) {
  const LinearAttention& op = gradient.forward;
  const Size columns = op.value_dim, at = (batch * op.heads + head) * op.query_len + first;
  for (Size r = 0; r < rows; r++) {
    const float* slope = gradient.slopes + (at + r) * columns;
    float by = 1, den_slope = gradient.denominator_slopes[at + r];
    if (op.normalize) {
      const float den = op.denominator.at(batch, head)[first + r];
      const float guarded = Guarded(den, op.guard, op.guard_bound);
      by = guarded == 0 ? 0 : 1 / guarded;
      const float along = DotUpTo(slope, op.out.at(batch, head, first + r), columns);
      den_slope -= GuardSlope(den, op.guard, op.guard_bound) * by * along;
    }
    float* row = s.slopes + r * s.v_stride;
    for (Size c = 0; c < s.v_stride; c += W) Store(row + c, Mul(LoadUpTo(slope + c, columns - c), Set(by)));
    row[columns] = den_slope;
  }
}

// Features and v~ of `count` keys from `first`, those of absent keys zero.
inline void FormKeys(const LinearAttention& op, const GradientScratch& s, Size batch, Size head, Size first,
                     Size count) {
  const std::uint8_t* present = op.key_mask ? op.key_mask + batch * op.key_len + first : nullptr;
  s.keys.Compute(batch, head, first, count, 1, true, s.key_features, s.f_stride);
  if (present) {
    KeyWeights(1, present, nullptr, 0, count, s.scale);
    WeighRows(s.key_features, s.f_stride, count, s.features, s.scale, present);
  }
  CopyPadded(op.value.at(batch, head, first), op.value.row_stride, count, op.value_dim, present, s.values, s.v_stride);
  for (Size j = 0; j < count; j++) s.values[j * s.v_stride + op.value_dim] = 1;
}

// out = rows times their weights.
inline void WeighInto(const float* in, Size rows, Size stride, const float* weights, float* out) {
  for (Size r = 0; r < rows; r++) {
    const V weight = Set(weights[r]);
    for (Size c = 0; c < stride; c += W) Store(out + r * stride + c, Mul(Load(in + r * stride + c), weight));
  }
}

// Slopes of the features of a chunk's keys, and of their values as columns: what later queries give, times `last` of each
// key (null: 1), and what the chunk's own `rows` queries do, through `pairs` = w_ij n~_i.v~_j and `products` = w_ij A_ij.
inline void ReadLater(const GradientScratch& s, Size rows, Size keys, Size value_dim, const float* last) {
  ForEachPanel(s.later.v_vecs, s.later.v_vecs, [&](auto width, Size v) {
    constexpr int C = decltype(width)::vecs;
    for (Size r0 = 0; r0 < keys; r0 += kRows) {
      V acc[kRows][C];
      ClearTile(acc);
      MultiplyAdd(acc, s.values + r0 * s.v_stride, s.v_stride, s.later.sums + v * W, s.later.stride, s.later.features);
      if (last) {
        RFA_UNROLL
        for (int r = 0; r < kRows; r++) {
          RFA_UNROLL
          for (int c = 0; c < C; c++) acc[r][c] = Mul(acc[r][c], Set(last[r0 + r]));
        }
      }
      // a key is seen from its own query on
      MultiplyAddTransposed(acc, s.pairs + r0 * s.c_stride + r0, s.c_stride, s.query_features + r0 * s.f_stride + v * W,
                            s.f_stride, rows - r0);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        RFA_UNROLL
        for (int c = 0; c < C; c++) Store(s.feature_slopes + (r0 + r) * s.f_stride + (v + c) * W, acc[r][c]);
      }
    }
  });
  const Size vecs = CeilDiv(keys, W);
  ForEachPanel(vecs, vecs, [&](auto width, Size v) {
    constexpr int C = decltype(width)::vecs;
    for (Size d = 0; d < value_dim; d += kRows) {
      V acc[kRows][C];
      ClearTile(acc);
      MultiplyAdd(acc, s.later.sums + d * s.later.stride, s.later.stride, s.key_columns + v * W, s.c_stride,
                  s.features);
      if (last) {
        RFA_UNROLL
        for (int c = 0; c < C; c++) {
          const V factor = Load(last + (v + c) * W);
          RFA_UNROLL
          for (int r = 0; r < kRows; r++) acc[r][c] = Mul(acc[r][c], factor);
        }
      }
      const Size i = v * W;
      MultiplyAddTransposed(acc, s.slopes + i * s.v_stride + d, s.v_stride, s.products + i * s.c_stride + v * W,
                            s.c_stride, rows - i);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        RFA_UNROLL
        for (int c = 0; c < C; c++) Store(s.value_slopes + (d + r) * s.c_stride + (v + c) * W, acc[r][c]);
      }
    }
  });
}

// Features and n~ of a chunk's queries, features and v~ of its keys, pairs w_ij n~_i.v~_j. Returns whether pairs have
// factors; `reference` moves on as in PairFactors.
inline bool FormChunk(const LinearAttentionGradient& gradient, const GradientScratch& s, const CausalChunk& chunk,
                      float* reference) {
  const LinearAttention& op = gradient.forward;
  const Size b = chunk.batch, h = chunk.head, first = chunk.first, width = op.value_dim + 1;
  s.queries.Compute(b, h, first, chunk.rows, 1, true, s.query_features, s.f_stride);
  NumeratorSlopes(gradient, s, b, h, first, chunk.rows);
  if (chunk.keys == 0) return false;
  FormKeys(op, s, b, h, first, chunk.keys);
  const bool weighted = PairFactors(op, s, chunk, reference);
  TransposeInto(s.values, s.v_stride, width, chunk.keys, RoundUp(chunk.keys, W), {}, nullptr, s.value_columns,
                s.c_stride);
  ChunkWeights(s.slopes, s.v_stride, chunk.rows, s.value_columns, s.c_stride, chunk.keys, width,
               weighted ? s.factors : nullptr, s.pairs, s.c_stride, s.row_sums);
  return weighted;
}

// From the slopes of the features of queries to what is asked for.
inline void FinishQueries(const LinearAttentionGradient& gradient, const GradientScratch& s, Size batch, Size head,
                          Size first, Size rows) {
  const LinearAttention& op = gradient.forward;
  const Size at = (batch * op.heads + head) * op.query_len + first;
  for (Size r = 0; op.log_gate && r < rows; r++) {
    s.gate_slopes[first + r] += DotUpTo(s.query_features + r * s.f_stride, s.feature_slopes + r * s.f_stride, s.features);
  }
  s.to_queries.ToTokens(batch, head, first, rows, s.query_features, s.feature_slopes, s.f_stride, nullptr,
                        gradient.to_query + at * op.head_dim);
}

inline void FinishKeys(const LinearAttentionGradient& gradient, const GradientScratch& s, Size batch, Size head,
                       Size first, Size count) {
  const LinearAttention& op = gradient.forward;
  const Size at = (batch * op.heads + head) * op.key_len + first;
  for (Size j = 0; (op.log_gate || op.key_log_weight) && j < count; j++) {
    const float part = DotUpTo(s.key_features + j * s.f_stride, s.feature_slopes + j * s.f_stride, s.features);
    if (op.log_gate) s.gate_slopes[first + j] -= part;
    if (op.key_log_weight) gradient.to_key_log_weight[at + j] = part;
  }
  const std::uint8_t* present = op.key_mask ? op.key_mask + batch * op.key_len + first : nullptr;
  s.to_keys.ToTokens(batch, head, first, count, s.key_features, s.feature_slopes, s.f_stride, present,
                     gradient.to_key + at * op.head_dim);
  TransposePlane(s.value_slopes, s.c_stride, gradient.to_value + at * op.value_dim, op.value_dim, op.value_dim, count);
}

// Keys j <= i: T forward over chunks.
inline void EarlierKeys(const LinearAttentionGradient& gradient, const GradientScratch& s, const CausalChunk& chunk,
                        float* reference) {
  const bool weighted = FormChunk(gradient, s, chunk, reference);
  const ChunkPart part{s.pairs,       s.c_stride, s.key_features,
                       s.f_stride, chunk.keys, weighted ? s.carried : nullptr};
  ReadSums(s.sums, s.slopes, s.v_stride, chunk.rows, chunk.keys > 0 ? &part : nullptr, s.feature_slopes, s.f_stride);
  FinishQueries(gradient, s, chunk.batch, chunk.head, chunk.first, chunk.rows);
  if (chunk.keys == 0) return;
  if (weighted) WeighInto(s.values, chunk.keys, s.v_stride, s.factors + (chunk.keys - 1) * s.c_stride, s.weighted);
  AddKeys<true>(s.sums, weighted ? s.weighted : s.values, s.v_stride, s.key_features, s.f_stride, chunk.keys,
                weighted ? s.carried[chunk.keys - 1] : 1);
}

// Queries i >= j: U backward over chunks.
inline void LaterQueries(const LinearAttentionGradient& gradient, const GradientScratch& s, const CausalChunk& chunk,
                         float reference) {
  const bool weighted = FormChunk(gradient, s, chunk, &reference);
  if (chunk.keys > 0) {
    TransposeInto(s.key_features, s.f_stride, s.features, chunk.keys, RoundUp(chunk.keys, W), {}, nullptr,
                  s.key_columns, s.c_stride);
    ChunkWeights(s.query_features, s.f_stride, chunk.rows, s.key_columns, s.c_stride, chunk.keys, s.features,
                 weighted ? s.factors : nullptr, s.products, s.c_stride, s.row_sums);
    ReadLater(s, chunk.rows, chunk.keys, gradient.forward.value_dim,
              weighted ? s.factors + (chunk.keys - 1) * s.c_stride : nullptr);
    FinishKeys(gradient, s, chunk.batch, chunk.head, chunk.first, chunk.keys);
  }
  if (weighted) WeighInto(s.slopes, chunk.rows, s.v_stride, s.carried, s.weighted);
  AddKeys<true>(s.later, weighted ? s.weighted : s.slopes, s.v_stride, s.query_features, s.f_stride, chunk.rows,
                weighted ? s.carried[chunk.keys - 1] : 1);
}

// The carried sums and their slopes lie transposed here.
inline void LoadCarried(const LinearAttention& op, const GradientScratch& s, Size batch, Size head) {
  if (!op.initial_state) return;
  TransposeInto(op.initial_state.at(batch, head), op.initial_state.row_stride, op.value_dim, s.features,
                RoundUp(s.features, W), {}, nullptr, s.sums.sums, s.sums.stride);
  const float* totals = op.initial_normalizer.at(batch, head);
  for (Size f = 0; f < s.features; f++) s.sums.sums[op.value_dim * s.sums.stride + f] = totals[f];
}

inline void StoreCarried(const LinearAttentionGradient& gradient, const GradientScratch& s, Size item) {
  const LinearAttention& op = gradient.forward;
  if (!op.initial_state) return;
  TransposePlane(s.later.sums, s.later.stride, gradient.to_initial_state + item * s.features * op.value_dim,
                 op.value_dim, op.value_dim, s.features);
  const float* totals = s.later.sums + op.value_dim * s.later.stride;
  for (Size f = 0; f < s.features; f++) gradient.to_initial_normalizer[item * s.features + f] = totals[f];
}

// Slopes of gates from those of tokens, and zeros for keys that no query sees.
inline void FinishCausal(const LinearAttentionGradient& gradient, const GradientScratch& s, Size item) {
  const LinearAttention& op = gradient.forward;
  const Size keys = op.key_len, first = item * keys + Least(op.query_len, keys), end = (item + 1) * keys;
  for (Size i = first * op.head_dim; i < end * op.head_dim; i++) gradient.to_key[i] = 0;
  for (Size i = first * op.value_dim; i < end * op.value_dim; i++) gradient.to_value[i] = 0;
  for (Size i = first; op.key_log_weight && i < end; i++) gradient.to_key_log_weight[i] = 0;
  double total = 0;
  for (Size i = Most(op.query_len, keys) - 1; op.log_gate && i >= 0; i--) {
    total += static_cast<double>(s.gate_slopes[i]);
    if (i < keys) gradient.to_log_gate[item * keys + i] = static_cast<float>(total);
  }
}

inline void CausalGradient(const LinearAttentionGradient& gradient, const GradientScratch& s, Size item) {
  const LinearAttention& op = gradient.forward;
  const Size batch = item / op.heads, head = item % op.heads;
  const auto chunk_at = [&](Size index) {
    const Size first = index * kCausalChunk, rows = Least(kCausalChunk, op.query_len - first);
    return CausalChunk{batch, head, first, rows, Most(0, Least(rows, op.key_len - first))};
  };
  for (Size i = 0; op.log_gate && i < Most(op.query_len, op.key_len); i++) s.gate_slopes[i] = 0;
  LoadCarried(op, s, batch, head);
  float reference = op.key_log_weight ? kNoKey : 0;
  for (Size index = 0; index < s.chunks; index++) {
    s.references[index] = reference;
    EarlierKeys(gradient, s, chunk_at(index), &reference);
  }
  for (Size index = s.chunks - 1; index >= 0; index--) {
    LaterQueries(gradient, s, chunk_at(index), s.references[index]);
  }
  StoreCarried(gradient, s, item);
  FinishCausal(gradient, s, item);
}

// Factors of keys by their log-weights; whether there are any.
inline bool WeighKeys(const LinearAttention& op, const GradientScratch& s, Size batch, Size head, Size first, Size count,
                      float top) {
  if (!op.key_log_weight) return false;
  const std::uint8_t* present = op.key_mask ? op.key_mask + batch * op.key_len + first : nullptr;
  KeyWeights(1, present, op.key_log_weight.at(batch, head) + first, top, count, s.scale);
  return true;
}

// Every query sees every key: T of all keys, U of all queries.
inline void BidirectionalGradient(const LinearAttentionGradient& gradient, const GradientScratch& s, Size item) {
  const LinearAttention& op = gradient.forward;
  const Size batch = item / op.heads, head = item % op.heads;
  const float top = LargestLogWeight(op, batch, head);
  for (Size first = 0; first < op.key_len; first += kCausalChunk) {
    const Size count = Least(kCausalChunk, op.key_len - first);
    FormKeys(op, s, batch, head, first, count);
    const bool weighted = WeighKeys(op, s, batch, head, first, count, top);
    if (weighted) WeighInto(s.values, count, s.v_stride, s.scale, s.weighted);
    AddKeys<true>(s.sums, weighted ? s.weighted : s.values, s.v_stride, s.key_features, s.f_stride, count, 1);
  }
  for (Size first = 0; first < op.query_len; first += kCausalChunk) {
    const Size rows = Least(kCausalChunk, op.query_len - first);
    s.queries.Compute(batch, head, first, rows, 1, true, s.query_features, s.f_stride);
    NumeratorSlopes(gradient, s, batch, head, first, rows);
    ReadSums(s.sums, s.slopes, s.v_stride, rows, nullptr, s.feature_slopes, s.f_stride);
    AddKeys<true>(s.later, s.slopes, s.v_stride, s.query_features, s.f_stride, rows, 1);
    FinishQueries(gradient, s, batch, head, first, rows);
  }
  for (Size first = 0; first < op.key_len; first += kCausalChunk) {
    const Size count = Least(kCausalChunk, op.key_len - first);
    FormKeys(op, s, batch, head, first, count);
    const bool weighted = WeighKeys(op, s, batch, head, first, count, top);
    TransposeInto(s.key_features, s.f_stride, s.features, count, RoundUp(count, W), {}, nullptr, s.key_columns,
                  s.c_stride);
    ReadLater(s, 0, count, op.value_dim, weighted ? s.scale : nullptr);
    FinishKeys(gradient, s, batch, head, first, count);
  }
}

inline Size LinearGradientItems(const LinearAttentionGradient& gradient) {
  return gradient.forward.batch * gradient.forward.heads;
}
inline Size LinearGradientScratch(const LinearAttentionGradient& gradient) {
  Bump bump{nullptr};
  const GradientScratch scratch(gradient, bump);
  return bump.used;
}
inline void LinearGradientItem(const LinearAttentionGradient& gradient, Size item, float* workspace) {
  const LinearAttention& op = gradient.forward;
  Bump bump{workspace};
  const GradientScratch s(gradient, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  s.queries.Prepare(batch, head, 1);
  s.keys.Prepare(batch, head, 1);
  s.to_queries.Prepare(batch, head);
  s.to_keys.Prepare(batch, head);
  s.sums.Clear();
  s.later.Clear();
  // padding of features is zero and stays so; pairs above the diagonal, too
  for (Size i = 0; i < kCausalChunk * s.f_stride; i++) s.query_features[i] = s.key_features[i] = 0;
  for (Size i = 0; i < kCausalChunk * s.c_stride; i++) s.pairs[i] = s.products[i] = 0;
  op.causal ? CausalGradient(gradient, s, item) : BidirectionalGradient(gradient, s, item);
  if (!HasProjection(op.query.kind)) return;
  s.to_queries.Finish(gradient.to_query_projection + item * op.query.num_features * op.head_dim);
  s.to_keys.Finish(gradient.to_key_projection + item * op.key.num_features * op.head_dim);
}

RFA_KERNELS_END
