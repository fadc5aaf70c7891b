// From slopes of features to slopes of the tokens and the projection that they were made of, a tile of tokens at a
// time; and the operation for features that were written out.
//
// With p = W x' and x' as in feature-map-inl.h, u the slopes of the features phi:
//   trigonometric   dp = u_sin phi_cos - u_cos phi_sin
//   relu            dp = scale u where phi is not 0
//   log-positive    dp = u                 log-hyperbolic  dp = u_plus - u_minus
//   dx' = W^T dp, [tokens, M] x [M, D], log kinds less x' sum u      dW = sum dp x'^T, [M, tokens] x [tokens, D]
// elu + 1 has no projection: dx' = u above zero, u e^x' below. Of unit vectors x' = s x / (n + epsilon), n = |x|:
//   dx = s / (n + epsilon) (dx' - x (x.dx') / (n (n + epsilon)))
// Time O(n D M) for each of the two products, memory O(M D + tile F).
#pragma once

#include "kernels/feature-map-inl.h"
#include "kernels/state-inl.h"
#include "kernels/table.h"

RFA_KERNELS_BEGIN

// Inner product of rows of n floats.
RFA_INLINE float DotUpTo(const float* a, const float* b, Size n) {
  V sum = Zero();
  for (Size i = 0; i < n; i += W) sum = Fma(LoadUpTo(a + i, n - i), LoadUpTo(b + i, n - i), sum);
  return ReduceAdd(sum);
}

RFA_INLINE float SumUpTo(const float* a, Size n) {
  V sum = Zero();
  for (Size i = 0; i < n; i += W) sum = Add(sum, LoadUpTo(a + i, n - i));
  return ReduceAdd(sum);
}

// Workspace, projection and slopes of the projection of one head's queries or keys.
struct FeatureSlopes {
  const Features* f;
  Size columns, stride;
  State weights;  // dW, [M, D]
  float *projection, *tokens, *mapped, *factor, *half_norm, *totals;

  // Room for tiles of up to `rows` tokens.
  FeatureSlopes(const Features& features, Size token_columns, Size rows, Bump& bump)
      : f(&features),
        columns(token_columns),
        stride(OddLines(token_columns)),
        weights(features.num_features, token_columns) {
    const bool projected = HasProjection(features.kind);
    projection = bump.Take(projected ? features.num_features * stride : 0);
    tokens = bump.Take(projected ? RoundUp(rows, kRows) * stride : 0);
    mapped = bump.Take(projected ? RoundUp(rows, kRows) * stride : 0);
    factor = bump.Take(RoundUp(rows, W));
    half_norm = bump.Take(RoundUp(rows, W));
    totals = bump.Take(RoundUp(rows, W));
    if (projected) weights.Take(bump);
  }

  // Once per head.
  void Prepare(Size batch, Size head) const {
    if (!HasProjection(f->kind)) return;
    CopyPadded(f->projection.at(batch, head), f->projection.row_stride, f->num_features, columns, nullptr,
               projection, stride);
    weights.Clear();
  }

  // Of `rows` tokens from `first` with these features: `slopes` of the features become those of the projections in
  // place; slopes of the tokens go to `out`, rows of D floats. Both arrays have `row_stride` floats a row, at least M
  // rounded up to kRows, and rows up to a multiple of kRows. `present` (optional): absent tokens get zeros.
  void ToTokens(Size batch, Size head, Size first, Size rows, const float* features, float* slopes,
                Size row_stride, const std::uint8_t* present, float* out) const {
    const float* x = f->x.at(batch, head, first);
    const Size x_stride = f->x.row_stride;
    ScaleTokens(*f, x, x_stride, rows, columns, 1, false, factor, half_norm);
    if (!HasProjection(f->kind)) {
      if (f->kind == FeatureKind::kEluPlusOne) BendRows(x, x_stride, rows, features, slopes, row_stride);
      const float scale = f->kind == FeatureKind::kEluPlusOne ? 1.0f : f->feature_scale;
      for (Size r = 0; r < rows; r++) {
        const float* slope = slopes + r * row_stride;
        StoreRow(x + r * x_stride, factor[r] * scale, slope, 0, !present || present[r], out + r * columns);
      }
      return;
    }
    for (Size r = 0; r < rows; r++) {
      if (present && !present[r]) {
        for (Size c = 0; c < f->num_features; c += W) StoreUpTo(slopes + r * row_stride + c, Zero(), f->num_features - c);
        totals[r] = 0;
      } else {
        totals[r] = ToProjections(features + r * row_stride, slopes + r * row_stride);
      }
    }
    PackRows(x, x_stride, rows, columns, {1, factor}, present, tokens, stride);
    AddKeys<true>(weights, slopes, row_stride, tokens, stride, rows, 1);
    MapBack(slopes, row_stride, rows);
    for (Size r = 0; r < rows; r++) {
      StoreRow(x + r * x_stride, factor[r], mapped + r * stride, totals[r], !present || present[r],
               out + r * columns);
    }
  }

  // dW to M rows of D floats.
  void Finish(float* out) const {
    for (Size m = 0; m < f->num_features; m++) {
      for (Size c = 0; c < columns; c += W) {
        StoreUpTo(out + m * columns + c, Load(weights.sums + m * weights.stride + c), columns - c);
      }
    }
  }

 private:
  // Slopes of one token's features to those of its projections, in place; returns the sum of slopes of logarithms.
  RFA_INLINE float ToProjections(const float* features, float* slopes) const {
    const Size m = f->num_features;
    if (f->kind == FeatureKind::kLogPositive) return SumUpTo(slopes, m);
    const float total = f->kind == FeatureKind::kLogHyperbolic ? SumUpTo(slopes, 2 * m) : 0;
    const V scale = Set(FeatureScale(*f));
    for (Size c = 0; c < m; c += W) {
      const Size n = m - c;
      const V first = LoadUpTo(slopes + c, n);
      V x;
      if (f->kind == FeatureKind::kRelu) {
        x = Select(Equal(LoadUpTo(features + c, n), Zero()), Zero(), Mul(first, scale));
      } else {
        const V second = LoadUpTo(slopes + m + c, n);
        x = f->kind == FeatureKind::kLogHyperbolic
                ? Sub(first, second)
                : Fnma(second, LoadUpTo(features + c, n), Mul(first, LoadUpTo(features + m + c, n)));
      }
      StoreUpTo(slopes + c, x, n);
    }
    return total;
  }

  // dp W, [rows, M] x [M, D].
  void MapBack(const float* slopes, Size row_stride, Size rows) const {
    const Size vecs = CeilDiv(columns, W);
    ForEachPanel(vecs, vecs, [&](auto width, Size v) {
      constexpr int C = decltype(width)::vecs;
      for (Size r = 0; r < rows; r += kRows) {
        V acc[kRows][C];
        ClearTile(acc);
        MultiplyAdd(acc, slopes + r * row_stride, row_stride, projection + v * W, stride, f->num_features);
        RFA_UNROLL
        for (int i = 0; i < kRows; i++) {
          RFA_UNROLL
          for (int c = 0; c < C; c++) Store(mapped + (r + i) * stride + (v + c) * W, acc[i][c]);
        }
      }
    });
  }

  // Slopes of elu(x') + 1, in place: the feature itself is e^x' below zero.
  void BendRows(const float* x, Size x_stride, Size rows, const float* features, float* slopes,
                Size row_stride) const {
    const V scale = Set(f->feature_scale);
    for (Size r = 0; r < rows; r++) {
      const V by = Set(factor[r]);
      for (Size c = 0; c < columns; c += W) {
        const Size n = columns - c;
        const M above = Less(Zero(), Mul(LoadUpTo(x + r * x_stride + c, n), by));
        const V bend = Select(above, scale, LoadUpTo(features + r * row_stride + c, n));
        StoreUpTo(slopes + r * row_stride + c, Mul(LoadUpTo(slopes + r * row_stride + c, n), bend), n);
      }
    }
  }

  // Slopes of one token x from those of x' = factor x; `total` of log-features, which have the term -|x'|^2 / 2.
  RFA_INLINE void StoreRow(const float* x, float by, const float* slopes, float total, bool present,
                           float* out) const {
    float along = by * total;
    if (present && f->unit_norm) {
      const float square = SquaredNorm(x, columns), length = sqrtf(square), dot = DotUpTo(x, slopes, columns);
      if (kLeastSquare < square && square < kMostSquare) {
        along += (dot - along * square) / (length * (length + f->norm_epsilon));
      } else {
        // without squares of x, which leave the range: |x'| = scale - factor epsilon. A zero token has no direction: its
        // factor is 0, and nothing turns it
        const float scale = f->input_scale, reach = scale - by * f->norm_epsilon;
        if (scale * reach > 0) along += by * (by * dot / (scale * reach)) - along * reach / scale;
      }
    }
    for (Size c = 0; c < columns; c += W) {
      const Size n = columns - c;
      const V slope = Fnma(Set(along), LoadUpTo(x + c, n), LoadUpTo(slopes + c, n));
      StoreUpTo(out + c, present ? Mul(slope, Set(by)) : Zero(), n);
    }
  }
};

// ---- the operation --------------------------------------------------------------------------

// Slopes of the features of a tile, [tile, F], and the features themselves where their slopes follow from them.
struct FeatureGradientTile {
  RowFeatures features;
  FeatureSlopes slopes;
  Size stride;
  float *formed, *given;

  FeatureGradientTile(const FeatureMapGradient& op, Bump& bump)
      : features(op.input, op.head_dim, kFeatureTile, bump),
        slopes(op.input, op.head_dim, kFeatureTile, bump),
        stride(OddLines(RoundUp(feature_dim(op.input, op.head_dim), kRows))) {
    formed = bump.Take(kFeatureTile * stride);
    given = bump.Take(kFeatureTile * stride);
  }
};

inline Size FeatureMapGradientItems(const FeatureMapGradient& op) { return op.batch * op.heads; }
inline Size FeatureMapGradientScratch(const FeatureMapGradient& op) {
  Bump bump{nullptr};
  const FeatureGradientTile tile(op, bump);
  return bump.used;
}
// Items are heads, so that sums over tokens have one order.
inline void FeatureMapGradientItem(const FeatureMapGradient& op, Size item, float* workspace) {
  Bump bump{workspace};
  const FeatureGradientTile s(op, bump);
  const Size batch = item / op.heads, head = item % op.heads;
  const Size features = feature_dim(op.input, op.head_dim);
  const bool formed = !IsLog(op.input.kind);
  if (formed) s.features.Prepare(batch, head, 1);
  s.slopes.Prepare(batch, head);
  for (Size first = 0; first < op.length; first += kFeatureTile) {
    const Size rows = Least(kFeatureTile, op.length - first), at = item * op.length + first;
    if (formed) s.features.Compute(batch, head, first, rows, 1, true, s.formed, s.stride);
    CopyPadded(op.slopes + at * features, features, rows, features, nullptr, s.given, s.stride);
    s.slopes.ToTokens(batch, head, first, rows, s.formed, s.given, s.stride, nullptr, op.to_x + at * op.head_dim);
  }
  s.slopes.Finish(op.to_projection + item * op.input.num_features * op.head_dim);
}

RFA_KERNELS_END
