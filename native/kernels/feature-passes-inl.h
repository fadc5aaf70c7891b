// The nonlinearities of features that need a separate pass over a tile of numbers in the cache: sines and
// cosines of angles, elu + 1 of tokens.
//
// They are functions apart (RFA_APART). As the end of a register tile's code their dozen of constants
// stayed in registers during the product, and a third of its accumulators in memory: the projections of
// rfa took twice the time. One more load and store of a number, from the cache, costs a few percent of that.
#pragma once

#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

// C vectors of a row: sines in place, cosines `second` floats further on. Beyond kSinCosRange, where
// the error would grow with the angle, SinCos decides, lane by lane.
template <int C>
RFA_INLINE void SineCosineVectors(const ScaledWaves& waves, float scale, const float* weights,
                                  float* out, Size second, Size columns) {
  V x[C], largest = Zero();
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    x[c] = LoadUpTo(out + c * W, columns - c * W);
    largest = Max(largest, Magnitude(x[c]));
  }
  const bool near = AllTrue(Less(largest, Set(kSinCosRange)));
  RFA_UNROLL
  for (int c = 0; c < C; c++) {
    SinCosPair pair = waves(x[c]);
    if (!near) {
      const M in_range = Less(Magnitude(x[c]), Set(kSinCosRange));
      const SinCosPair far = SinCosFar(x[c]);
      pair = {Select(in_range, pair.sin, Mul(far.sin, Set(scale))),
              Select(in_range, pair.cos, Mul(far.cos, Set(scale)))};
    }
    if (weights) {
      const V weight = Load(weights + c * W);
      pair = {Mul(pair.sin, weight), Mul(pair.cos, weight)};
    }
    StoreUpTo(out + c * W, pair.sin, columns - c * W);
    StoreUpTo(out + second + c * W, pair.cos, columns - c * W);
  }
}

// scale sin p and scale cos p of projections p, [rows, columns] with a row stride: sines in place,
// cosines `second` floats further on; times weights[column] where given (columns in whole vectors).
RFA_APART inline void SineCosine(float* out, Size stride, Size rows, Size columns, Size second,
                                 float scale, const float* weights) {
  const ScaledWaves waves(scale);
  for (Size r = 0; r < rows; r++) {
    float* row = out + r * stride;
    Size c = 0;
    for (; c + 2 * W <= columns; c += 2 * W) {
      SineCosineVectors<2>(waves, scale, weights ? weights + c : nullptr, row + c, second, 2 * W);
    }
    for (; c < columns; c += W) {
      SineCosineVectors<1>(waves, scale, weights ? weights + c : nullptr, row + c, second, columns - c);
    }
  }
}

// scale (elu(x') + 1) of one token, x' = factor x. Whole vectors four at a time: rows are short, and the
// chain of dependent operations is long.
RFA_INLINE void EluRow(const float* x, float factor, Size columns, float feature_scale, float* out) {
  const V scale = Set(feature_scale), by = Set(factor);
  Size c = 0;
  for (; c + 4 * W <= columns; c += 4 * W) {
    RFA_UNROLL
    for (int i = 0; i < 4; i++) {
      Store(out + c + i * W, Mul(EluPlusOne(Mul(Load(x + c + i * W), by)), scale));
    }
  }
  for (; c < columns; c += W) {
    StoreUpTo(out + c, Mul(EluPlusOne(Mul(LoadUpTo(x + c, columns - c), by)), scale), columns - c);
  }
}

// The same of rows of tokens.
RFA_APART inline void EluRows(const float* x, Size x_stride, const float* factor, Size rows, Size columns,
                              float feature_scale, float* out, Size stride) {
  for (Size r = 0; r < rows; r++) {
    EluRow(x + r * x_stride, factor[r], columns, feature_scale, out + r * stride);
  }
}

RFA_KERNELS_END
