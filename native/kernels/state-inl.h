// Running sums over keys, S = sum phi(k) v^T [F, Dv] and z = sum phi(k) [F], and the two things done
// with them: taking in a chunk of keys, and being read by a tile of queries.
//
// Sums over n keys are formed chunk by chunk, chunks of c keys: rounding grows as c + n / c instead
// of n. Rows of S have an odd number of cache lines, so that panels of columns of a register tile's
// rows do not compete for the same cache sets.
#pragma once

#include "kernels/micro-inl.h"

RFA_KERNELS_BEGIN

struct State {
  Size features;  // F
  Size v_vecs;    // vectors of Dv
  Size stride;    // of the rows of sums
  float* sums;    // [F padded to kRows][stride]
  float* totals;  // z, [F padded to W], zero beyond F

  State(Size feature_count, Size value_dim)
      : features(feature_count),
        v_vecs(CeilDiv(value_dim, W)),
        stride(OddLines(value_dim)),
        sums(nullptr),
        totals(nullptr) {}

  Size SumFloats() const { return RoundUp(features, kRows) * stride; }
  Size TotalFloats() const { return RoundUp(features, 16); }
  void Take(Bump& bump) {
    sums = bump.Take(SumFloats());
    totals = bump.Take(TotalFloats());
  }
  void Clear() const {
    for (Size i = 0; i < SumFloats(); i++) sums[i] = 0;
    for (Size i = 0; i < TotalFloats(); i++) totals[i] = 0;
  }
};

// z = keep z + row sums of keys over `width` (whole vectors) columns; times weights where given.
// keys [F, width]: one horizontal sum per feature and chunk. O(F width), a 1 / Dv of AddKeys.
inline void AddTotals(const State& state, const float* keys, Size key_stride, Size width,
                      const float* weights, float keep) {
  for (Size s = 0; s < state.features; s++) {
    const float* row = keys + s * key_stride;
    V total = Zero();
    for (Size c = 0; c < width; c += W) {
      const V x = Load(row + c);
      total = weights ? Fma(x, Load(weights + c), total) : Add(total, x);
    }
    state.totals[s] = state.totals[s] * keep + ReduceAdd(total);
  }
}

// z = z + column sums of keys by row, [count][key_stride].
// keys [count, F]: features in lanes, no horizontal sums. The loads run down a column of vectors;
// the chunk stands in the cache from being formed.
inline void AddTotalsByRow(const State& state, const float* keys, Size key_stride, Size count) {
  for (Size s = 0; s < state.features; s += W) {
    V total = Zero();
    for (Size j = 0; j < count; j++) total = Add(total, Load(keys + j * key_stride + s));
    // entries beyond F in the last vector are unused: the padding of z stays zero for Dot
    if (s + W > state.features) total = Select(FirstN(state.features - s), total, Zero());
    Store(state.totals + s, Add(Load(state.totals + s), total));
  }
}

// S = keep S + keys values for `count` keys: keys [F padded][key_stride], or [count][key_stride] where
// kByRow; values [count][v_stride]. The chunk's sum is formed from zero and added once: rounding grows
// with the chunk's length and the number of chunks, not with their product.
template <bool kByRow = false>
inline void AddKeys(const State& state, const float* keys, Size key_stride, const float* values,
                    Size v_stride, Size count, float keep) {
  const V scale = Set(keep);
  for (Size s = 0; s < state.features; s += kRows) {
    // [kRows, count] x [count, C W] -> a tile of S; S is loaded and stored once per chunk
    ForEachPanel(state.v_vecs, state.v_vecs, [&](auto width, Size v) {
      constexpr int C = decltype(width)::vecs;
      V acc[kRows][C];
      ClearTile(acc);
      if constexpr (kByRow) {
        MultiplyAddTransposed(acc, keys + s, key_stride, values + v * W, v_stride, count);
      } else {
        MultiplyAdd(acc, keys + s * key_stride, key_stride, values + v * W, v_stride, count);
      }
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        float* row = state.sums + (s + r) * state.stride + v * W;
        RFA_UNROLL
        for (int c = 0; c < C; c++) {
          Store(row + c * W, Fma(Load(row + c * W), scale, acc[r][c]));
        }
      }
    });
  }
}

// z . features over the padded length; the padding of z is zero, the padding of features finite. One chain: F / W
// steps, once per query, compared with F Dv multiply-adds.
RFA_INLINE float Dot(const float* a, const float* b, Size padded) {
  V sum = Zero();
  for (Size i = 0; i < padded; i += W) sum = Fma(Load(a + i), Load(b + i), sum);
  return ReduceAdd(sum);
}

// Weights of a chunk's own keys, for the causal forms: row i of weights[..][stride] holds those of
// keys 0..i, and zeros up to the end of its register tile.
struct ChunkPart {
  const float* weights;
  Size stride;
  const float* values;
  Size v_stride;
  Size keys;             // in the chunk
  const float* carried;  // factor on the state per row; null: 1
};

// out [rows padded][out_stride] = queries S, or carried queries S + weights values with a chunk.
// [rows, F] x [F, Dv] and, with a chunk, [rows, C] x [C, Dv] into the same accumulators: the
// numerator never goes through memory in between. O(rows (F + C) Dv).
inline void ReadSums(const State& state, const float* queries, Size q_stride, Size rows,
                     const ChunkPart* chunk, float* out, Size out_stride) {
  ForEachPanel(state.v_vecs, state.v_vecs, [&](auto width, Size v) {
    constexpr int C = decltype(width)::vecs;
    for (Size r0 = 0; r0 < rows; r0 += kRows) {
      V acc[kRows][C];
      ClearTile(acc);
      MultiplyAdd(acc, queries + r0 * q_stride, q_stride, state.sums + v * W, state.stride,
                  state.features);
      if (chunk && chunk->carried) {
        RFA_UNROLL
        for (int r = 0; r < kRows; r++) {
          const V factor = Set(chunk->carried[r0 + r]);
          RFA_UNROLL
          for (int c = 0; c < C; c++) acc[r][c] = Mul(acc[r][c], factor);
        }
      }
      if (chunk) {
        // a row sees keys up to itself: nothing beyond the tile's last row
        MultiplyAdd(acc, chunk->weights + r0 * chunk->stride, chunk->stride, chunk->values + v * W,
                    chunk->v_stride, Least(chunk->keys, r0 + kRows));
      }
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        RFA_UNROLL
        for (int c = 0; c < C; c++) Store(out + (r0 + r) * out_stride + (v + c) * W, acc[r][c]);
      }
    }
  });
}

// weights[i][j] = queries_i . keys_j for j <= i, 0 for i < j < the end of i's register tile, for
// rows i of a chunk against its keys (columns, [F][key_stride]); times factors[i][j] where given.
// Row sums go to sums. Columns from the tile's end on are left alone.
// A = tril(phi(Q) phi(K)^T), [C, C], in tiles: those wholly above the diagonal are not formed.
// O(C^2 F / 2) and the part of tiles on the diagonal that is thrown away.
inline void ChunkWeights(const float* queries, Size q_stride, Size rows, const float* keys,
                         Size key_stride, Size count, Size features, const float* factors,
                         float* weights, Size stride, float* sums) {
  for (Size r0 = 0; r0 < rows; r0 += kRows) {
    V totals[kRows];
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) totals[r] = Zero();
    const Size vecs = CeilDiv(Least(count, r0 + kRows), W);  // that hold keys these rows see
    ForEachPanel(vecs, vecs, [&](auto width, Size v) {
      constexpr int C = decltype(width)::vecs;
      V acc[kRows][C];
      ClearTile(acc);
      MultiplyAdd(acc, queries + r0 * q_stride, q_stride, keys + v * W, key_stride, features);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) {
        RFA_UNROLL
        for (int c = 0; c < C; c++) {
          const Size column = (v + c) * W;
          // keys 0 .. i, and none of the padding beyond the chunk's last key
          const Size seen = Most(0, Least(W, Least(count, r0 + r + 1) - column));
          V x = acc[r][c];
          if (factors) x = Mul(x, Load(factors + (r0 + r) * stride + column));
          // selected, not multiplied by zero: a future key's NaN or inf must not reach this row
          x = Select(FirstN(seen), x, Zero());
          Store(weights + (r0 + r) * stride + column, x);
          totals[r] = Add(totals[r], x);
        }
      }
    });
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) sums[r0 + r] = ReduceAdd(totals[r]);
  }
}

// A denominator after its guard.
// NaN passes every policy as NaN: its comparisons are false.
RFA_INLINE float Guarded(float den, Guard guard, float bound) {
  switch (guard) {
    case Guard::kAdd:
      return den + bound;
    case Guard::kClamp:
      return den < bound ? bound : den;
    case Guard::kAbsClamp: {
      const float magnitude = fabsf(den);
      return magnitude < bound ? bound : magnitude;
    }
    case Guard::kNudge:
      return fabsf(den) <= bound ? den + 2 * bound : den;
    default:
      return den;
  }
}

// out = in / den, 0 where den is 0; exactly `columns` floats. Divides once: 1.5 ULP.
RFA_INLINE void StoreQuotient(const float* in, float den, Size columns, float* out) {
  // also taken by NaN and infinities, which are divided by as they are
  if (!(fabsf(den) >= 1e-37f && fabsf(den) <= 1e37f)) {  // 1 / den could leave the range
    for (Size c = 0; c < columns; c++) out[c] = den == 0 ? 0.0f : in[c] / den;
    return;
  }
  const V by = Set(1 / den);
  for (Size c = 0; c < columns; c += W) StoreUpTo(out + c, Mul(Load(in + c), by), columns - c);
}

RFA_KERNELS_END
