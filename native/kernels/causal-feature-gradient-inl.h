// Gradients of causal attention with positive features given by logarithms; one item is one head.
//
// w_ij = sum_s e_ijs, e_ijs = exp(a_is + b_js), out_i = sum_{j <= i} w_ij v_j / W_i. With slopes g_i of out_i and
// c_ij = g_i.(v_j - out_i) / W_i:  da_is = sum_j c_ij e_ijs,  db_js = sum_i c_ij e_ijs,  dv_j = sum_i w_ij g_i / W_i.
// Every term is formed relative to the largest of its row, so that nothing overflows whatever the spread of the keys.
// O(L S (F + Dv)) work with one exponential for each e_ijs, O(S (F + Dv)) memory. Keys are in lanes: sums over features
// and values go down the vectors, none goes across but those of da.
#pragma once

#include "kernels/elementwise-inl.h"

RFA_KERNELS_BEGIN

// Sums of logarithms at or below this belong to masked keys, which have -1e30.
constexpr float kMaskedSum = -5e29f;

// Keys, values and their gradients transposed; of the row in hand its terms, and per key w and c.
struct FeatureGradientSpace {
  Size stride, used;
  float *key, *value, *to_key, *to_value, *terms, *weights, *slopes, *top;

  FeatureGradientSpace(const CausalFeatureGradient& op, float* memory) {
    Bump bump{memory};
    stride = OddLines(RoundUp(op.key_len, W));
    key = bump.Take(op.features * stride);
    value = bump.Take(op.value_dim * stride);
    to_key = bump.Take(op.features * stride);
    to_value = bump.Take(op.value_dim * stride);
    terms = bump.Take(op.features * stride);
    weights = bump.Take(stride);
    slopes = bump.Take(stride);
    top = bump.Take(op.features);
    used = bump.used;
  }
};

inline Size FeatureGradientItems(const CausalFeatureGradient& op) { return op.batch * op.heads; }
inline Size FeatureGradientScratch(const CausalFeatureGradient& op) {
  return FeatureGradientSpace(op, nullptr).used;
}

// Terms e_ijs, weights w_ij and g_i.(v_j - out_i) of one row; returns W_i.
RFA_INLINE float FormRow(const CausalFeatureGradient& op, const FeatureGradientSpace& s, const float* a,
                         const float* slope, float along, float row_top, Size seen) {
  V total = Zero();
  for (Size j = 0; j < seen; j += W) {
    const M there = FirstN(Least(W, seen - j));
    V weight = Zero(), rise = Set(-along);
    for (Size f = 0; f < op.features; f++) {
      const V x = Sub(Add(Set(a[f]), Load(s.key + f * s.stride + j)), Set(row_top));
      const V term = Select(there, Exp2Weight(Mul(x, Set(kLog2E))), Zero());
      Store(s.terms + f * s.stride + j, term);
      weight = Add(weight, term);
    }
    for (Size d = 0; d < op.value_dim; d++) rise = Fma(Set(slope[d]), Load(s.value + d * s.stride + j), rise);
    Store(s.weights + j, weight);
    Store(s.slopes + j, rise);
    total = Add(total, weight);
  }
  return ReduceAdd(total);
}

// Adds what the row in hand gives to the gradients.
RFA_INLINE void SpreadRow(const CausalFeatureGradient& op, const FeatureGradientSpace& s, const float* slope,
                          float total, Size seen, float* to_query) {
  const V share = Set(1 / total);
  for (Size j = 0; j < seen; j += W) {
    Store(s.weights + j, Mul(Load(s.weights + j), share));
    Store(s.slopes + j, Mul(Load(s.slopes + j), share));
  }
  for (Size f = 0; f < op.features; f++) {
    float* to_key = s.to_key + f * s.stride;
    V sum = Zero();
    for (Size j = 0; j < seen; j += W) {
      const V part = Mul(Load(s.terms + f * s.stride + j), Load(s.slopes + j));
      sum = Add(sum, part);
      Store(to_key + j, Add(Load(to_key + j), part));
    }
    to_query[f] = ReduceAdd(sum);
  }
  for (Size d = 0; d < op.value_dim; d++) {
    float* to_value = s.to_value + d * s.stride;
    const V x = Set(slope[d]);
    for (Size j = 0; j < seen; j += W) Store(to_value + j, Fma(x, Load(s.weights + j), Load(to_value + j)));
  }
}

inline void FeatureGradientItem(const CausalFeatureGradient& op, Size item, float* memory) {
  const FeatureGradientSpace s(op, memory);
  const Size features = op.features, columns = op.value_dim, keys = op.key_len;
  const float* key = op.key + item * keys * features;
  TransposeInto(key, features, features, keys, s.stride, {}, nullptr, s.key, s.stride);
  TransposeInto(op.value + item * keys * columns, columns, columns, keys, s.stride, {}, nullptr, s.value, s.stride);
  for (Size i = 0; i < features * s.stride; i++) s.to_key[i] = 0;
  for (Size i = 0; i < columns * s.stride; i++) s.to_value[i] = 0;
  for (Size f = 0; f < features; f++) s.top[f] = -kInfinity;
  for (Size i = 0; i < op.query_len; i++) {
    const Size row = item * op.query_len + i, seen = Least(i + 1, keys);
    const float* a = op.query + row * features;
    float row_top = -kInfinity, along = 0;
    for (Size f = 0; f < features; f++) {
      if (i < keys) s.top[f] = s.top[f] > key[i * features + f] ? s.top[f] : key[i * features + f];
      row_top = row_top > a[f] + s.top[f] ? row_top : a[f] + s.top[f];
    }
    float* to_query = op.to_query + row * features;
    // all keys in view are masked: the output is 0, whatever the inputs
    if (row_top <= kMaskedSum) {
      for (Size f = 0; f < features; f++) to_query[f] = 0;
      continue;
    }
    const float* slope = op.slopes + row * columns;
    for (Size d = 0; d < columns; d++) along += slope[d] * op.out[row * columns + d];
    const float total = FormRow(op, s, a, slope, along, row_top, seen);
    SpreadRow(op, s, slope, total, seen, to_query);
  }
  TransposePlane(s.to_key, s.stride, op.to_key + item * keys * features, features, features, keys);
  TransposePlane(s.to_value, s.stride, op.to_value + item * keys * columns, columns, columns, keys);
}

RFA_KERNELS_END
