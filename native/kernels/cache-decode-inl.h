// One token of exact attention over a cache of keys and values. One item is one head.
//
// Online softmax over blocks of the cache (arXiv:1805.02867), for one query, with p = 2^(s - m'):
//   m' = max(m, max s)   l' = 2^(m - m') l + sum p   acc' = 2^(m - m') acc + p V     [Dv]
// O(t (D + Dv)) per token at length t, and each cached number is read once: 4 t (D + Dv) bytes,
// which is what it costs.
//
// Tokens of finite numbers give finite scores, for there is no mask and no bias: unlike in
// softmax-attention-inl.h no row can be without keys.
#pragma once

#include "kernels/state-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

// Its scores, 1 KiB, stay in the first-level cache between being made and being used.
constexpr Size kCacheBlock = 256;  // keys per block of the cache

struct CacheScratch {
  float *query, *scores, *out;

  CacheScratch(const CacheDecode& op, Bump& bump) {
    query = bump.Take(RoundUp(op.head_dim, W));
    scores = bump.Take(kCacheBlock);
    out = bump.Take(RoundUp(op.value_dim, W));
  }
};

inline Size CacheDecodeItems(const CacheDecode& op) { return op.batch * op.heads; }
inline Size CacheDecodeScratch(const CacheDecode& op) {
  Bump bump{nullptr};
  const CacheScratch scratch(op, bump);
  return bump.used;
}

// scores[j] = query . keys_j in units of log2, W keys at a time; -inf from `count` to a whole vector.
// A dot product per key would end in a horizontal sum each. Instead W partial sums are transposed,
// W x W, and added as vectors: log2 W additions give W scores.
inline V CacheScores(const float* query, const float* keys, Size stride, Size count, Size dim,
                     float* scores) {
  V top = Set(-kInfinity);
  const Size whole = dim / W * W;
  for (Size j = 0; j < count; j += W) {
    V sums[W];
    RFA_UNROLL
    for (int i = 0; i < W; i++) {
      // beyond the end the last key is scored again: the result is dropped below
      const float* key = keys + Least(j + i, count - 1) * stride;
      V sum = Zero();
      for (Size d = 0; d < whole; d += W) sum = Fma(Load(key + d), Load(query + d), sum);
      if (whole < dim) sum = Fma(LoadN(key + whole, dim - whole), Load(query + whole), sum);
      sums[i] = sum;
    }
    TransposeSquare(sums);
    // pairwise, so that additions are not one chain; lane j then holds the score of key j
    for (int step = 1; step < W; step *= 2) {
      for (int i = 0; i + step < W; i += 2 * step) sums[i] = Add(sums[i], sums[i + step]);
    }
    const V x = Select(FirstN(Least(W, count - j)), sums[0], Set(-kInfinity));
    Store(scores + j, x);
    top = Max(top, x);
  }
  return top;
}

// out = rescale out + sum_j weights_j values_j for C vectors of columns.
template <int C, bool kWhole>
RFA_INLINE void CacheColumns(const float* weights, const float* values, Size stride, Size count,
                             Size columns, float rescale, float* out) {
  // two sums per vector: 8 chains with C = 4, enough for two ports of latency 4
  V even[C], odd[C];
  RFA_UNROLL
  for (int c = 0; c < C; c++) even[c] = odd[c] = Zero();
  const auto take = [&](Size j, V(&sum)[C]) {
    const V weight = Set(weights[j]);
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const float* p = values + j * stride + c * W;
      sum[c] = Fma(kWhole ? Load(p) : LoadUpTo(p, columns - c * W), weight, sum[c]);
    }
  };
  Size j = 0;
  for (; j + 2 <= count; j += 2) {
    take(j, even);
    take(j + 1, odd);
  }
  if (j < count) take(j, even);
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    Store(out + c * W, Fma(Load(out + c * W), Set(rescale), Add(even[c], odd[c])));
  }
}

inline void CacheValues(const float* weights, const float* values, Size stride, Size count,
                        Size columns, float rescale, float* out) {
  Size c = 0;
  for (; c + 4 * W <= columns; c += 4 * W) {
    CacheColumns<4, true>(weights, values + c, stride, count, columns - c, rescale, out + c);
  }
  for (; c < columns; c += W) {
    CacheColumns<1, false>(weights, values + c, stride, count, columns - c, rescale, out + c);
  }
}

// Copies one token into its row of a cache.
// Exactly `columns` floats: what follows in the cache is not this decoder's to write.
inline void AppendRow(const float* in, Size columns, float* out) {
  for (Size c = 0; c < columns; c += W) StoreUpTo(out + c, LoadUpTo(in + c, columns - c), columns - c);
}

inline void CacheDecodeItem(const CacheDecode& op, Size item, float* workspace) {
  Bump bump{workspace};
  const CacheScratch s(op, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  AppendRow(op.key.at(batch, head), op.head_dim, op.key_cache.at(batch, head, op.length));
  AppendRow(op.value.at(batch, head), op.value_dim, op.value_cache.at(batch, head, op.length));
  for (Size d = 0; d < op.head_dim; d += W) {
    const V x = LoadUpTo(op.query.at(batch, head) + d, op.head_dim - d);
    Store(s.query + d, Mul(x, Set(op.scale * kLog2E)));
  }
  for (Size c = 0; c < op.value_dim; c += W) Store(s.out + c, Zero());
  float reference = -kInfinity, sum = 0;
  for (Size first = 0; first <= op.length; first += kCacheBlock) {
    const Size count = Least(kCacheBlock, op.length + 1 - first);
    const float top = ReduceMax(CacheScores(s.query, op.key_cache.at(batch, head, first),
                                            op.key_cache.row_stride, count, op.head_dim, s.scores));
    float rescale = 1;
    // without slack: rescaling costs Dv multiplications per block, and there is one row alone
    if (!(top <= reference)) {
      float power[W];
      Store(power, Exp2Weight(Set(reference - top)));
      rescale = reference == -kInfinity ? 0.0f : power[0];
      reference = top;
    }
    V total = Zero();
    for (Size j = 0; j < count; j += W) {
      const V p = Exp2Weight(Sub(Load(s.scores + j), Set(reference)));
      Store(s.scores + j, p);
      total = Add(total, p);
    }
    sum = sum * rescale + ReduceAdd(total);
    const float* values = op.value_cache.at(batch, head, first);
    CacheValues(s.scores, values, op.value_cache.row_stride, count, op.value_dim, rescale, s.out);
  }
  StoreQuotient(s.out, sum, op.value_dim, op.out.at(batch, head));
}

RFA_KERNELS_END
