// Features of tokens, tile by tile, in the two layouts that matrix products need:
//   by row     [tokens, F]: tokens are the left factor, the projection the right one (queries)
//   by column  [F, tokens]: the projection is the left factor, transposed tokens the right (keys)
//
// With p = W x', [tokens, D] x [D, M], one register tile of p at a time becomes features before it
// leaves the registers (rows w of W are N(0, I) or orthogonal, x' canonical):
//   trigonometric  M^-1/2 [sin p, cos p]      (Peng et al. 2021, arXiv:2103.02143)
//   log-positive   p - |x'|^2/2, the logarithm of FAVOR+'s exp(p - |x'|^2/2)
//   log-hyperbolic +-p - |x'|^2/2             (both: Choromanski et al. 2021, arXiv:2009.14794)
//   relu           max(p, 0)
// Time O(n D M), memory O(M D + tile F).
//
// exp(p - |x'|^2/2) is what would overflow, for p grows with |x'|: it is never formed here. Kernels
// that weigh features take logarithms and shift them first.
#pragma once

#include "kernels/feature-passes-inl.h"
#include "kernels/micro-inl.h"
#include "math-inl.h"

RFA_KERNELS_BEGIN

// A kind of features as a type.
// The nonlinearity is chosen once per tile of tokens: inside the loops it is part of the code.
template <FeatureKind K>
struct KindTag {
  static constexpr FeatureKind kind = K;
};

// Calls body(KindTag<..>) for a kind that has a projection.
template <class Body>
RFA_INLINE void WithProjectedKind(FeatureKind kind, Body body) {
  switch (kind) {
    case FeatureKind::kTrigonometric:
      return body(KindTag<FeatureKind::kTrigonometric>{});
    case FeatureKind::kRelu:
      return body(KindTag<FeatureKind::kRelu>{});
    case FeatureKind::kLogPositive:
      return body(KindTag<FeatureKind::kLogPositive>{});
    case FeatureKind::kLogHyperbolic:
      return body(KindTag<FeatureKind::kLogHyperbolic>{});
    default:
      return;
  }
}

inline bool HasProjection(FeatureKind kind) {
  return kind != FeatureKind::kExplicit && kind != FeatureKind::kEluPlusOne;
}
constexpr bool IsLog(FeatureKind kind) {
  return kind == FeatureKind::kLogPositive || kind == FeatureKind::kLogHyperbolic;
}
// Sines and cosines, or plus and minus: M projections give 2M features.
constexpr bool IsDouble(FeatureKind kind) {
  return kind == FeatureKind::kTrigonometric || kind == FeatureKind::kLogHyperbolic;
}
// The factor on features that belongs to the kind and the caller's, together.
// ReLU and log kinds go without M^-1/2: a common factor of all features, which quotients cancel
inline float FeatureScale(const Features& f) {
  if (f.kind != FeatureKind::kTrigonometric || f.num_features == 0) return f.feature_scale;
  return f.feature_scale / sqrtf(static_cast<float>(f.num_features));
}

// Squares of floats between these bounds have all their digits, and sums of them stay in range.
constexpr float kLeastSquare = 0x1p-100f, kMostSquare = 0x1p126f;

// Factors that make unit vectors of up to W tokens, in double, which holds the squares of all floats. A token shorter
// than the smallest normal float has no direction: it counts as zero.
RFA_COLD inline V UnitFactorsFar(const Features& f, const float* x, Size stride, Size tokens, Size columns) {
  float factor[W] = {};
  for (Size i = 0; i < Least(W, tokens); i++) {
    double square = 0;
    for (Size c = 0; c < columns; c++) {
      const double entry = x[i * stride + c];
      square += entry * entry;
    }
    const double length = sqrt(square);
    if (length < 0x1p-126) continue;
    factor[i] = static_cast<float>(f.input_scale / (length + f.norm_epsilon));
  }
  return Load(factor);
}

// Factor of each token (x' = factor x, times `unit`) and, where `halves` asks for it, |x'|^2 / 2
// (times `unit`), else 0.
// O(n D), skipped where neither lengths nor log kinds ask for norms. `unit` brings logarithms to
// base 2.
inline void ScaleTokens(const Features& f, const float* x, Size stride, Size tokens, Size columns,
                        float unit, bool halves, float* factor, float* half_norm) {
  halves = halves && IsLog(f.kind);
  if (!f.unit_norm && !halves) {
    for (Size i = 0; i < tokens; i++) {
      factor[i] = f.input_scale * unit;
      half_norm[i] = 0;
    }
    return;
  }
  for (Size i = 0; i < tokens; i++) half_norm[i] = SquaredNorm(x + i * stride, columns);
  // roots and quotients of W tokens at a time
  for (Size i = 0; i < tokens; i += W) {
    const Size n = tokens - i;
    const V square = LoadUpTo(half_norm + i, n);
    V scale = Set(f.input_scale);
    if (f.unit_norm) {
      scale = Div(scale, Add(Sqrt(square), Set(f.norm_epsilon)));
      const V seen = Select(FirstN(Least(W, n)), square, Set(1.0f));
      const M large = Less(Set(kLeastSquare), seen), small = Less(seen, Set(kMostSquare));
      if (!(AllTrue(large) && AllTrue(small))) {
        // decided per token: the bits of one must not depend on its neighbours
        const V far = UnitFactorsFar(f, x + i * stride, stride, n, columns);
        scale = Select(large, Select(small, scale, far), far);
      }
    }
    StoreUpTo(factor + i, Mul(scale, Set(unit)), n);
    // from the norm of x and the scale, not from rounded x': one pass over the token serves both
    const V half = Mul(Mul(Mul(Set(0.5f * unit), scale), scale), square);
    StoreUpTo(half_norm + i, halves ? half : Zero(), n);
  }
}

// One register tile of projections as rows of features: row r of `rows`, vectors v..v+C-1 of M.
// acc [kRows, C W] to rows [F]: minus signs stand M floats further on. Of sines and cosines these are
// the angles.
template <FeatureKind K, int C>
RFA_INLINE void StoreFeatureRows(V (&acc)[kRows][C], const Features& f, const float* half_norm,
                                 Size rows, Size v, float* out, Size stride) {
  const V scale = Set(FeatureScale(f));
  for (Size r = 0; r < rows; r++) {
    const V half = Set(half_norm[r]);
    float* row = out + r * stride + v * W;
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      // M need not be whole vectors: the second half begins where the first one ends
      const Size n = f.num_features - (v + c) * W;
      V first = acc[r][c];
      if constexpr (K == FeatureKind::kRelu) first = Mul(Max(Zero(), first), scale);
      if constexpr (K == FeatureKind::kLogHyperbolic) {
        StoreUpTo(row + c * W + f.num_features, Sub(Sub(Zero(), first), half), n);
      }
      if constexpr (IsLog(K)) first = Sub(first, half);
      StoreUpTo(row + c * W, first, n);
    }
  }
}

// Features by row. `tokens` is the left factor x', `projection` the packed right factor of W. Exactly `rows`
// rows of F floats are written, any row stride.
inline void ProjectedRows(const Features& f, const float* tokens, Size token_stride, Size rows,
                          Size columns, const float* projection, const float* half_norm, float* out,
                          Size stride) {
  WithProjectedKind(f.kind, [&](auto tag) {
    const Size vecs = CeilDiv(f.num_features, W);
    ForEachPanel(vecs, vecs, [&](auto width, Size v) {
      constexpr int C = decltype(width)::vecs;
      // a panel of W stays in the first-level cache while all tokens of the tile pass
      const float* panel = projection + PanelOffset(v, columns);
      for (Size r = 0; r < rows; r += kRows) {
        V acc[kRows][C];
        ClearTile(acc);
        // rows beyond the last repeat it: they go nowhere
        const float* left[kRows];
        RFA_UNROLL
        for (int i = 0; i < kRows; i++) left[i] = tokens + Least(r + i, rows - 1) * token_stride;
        MultiplyAddRows(acc, left, 1, panel, C * W, columns);
        StoreFeatureRows<decltype(tag)::kind, C>(acc, f, half_norm + r, Least(kRows, rows - r), v,
                                                 out + r * stride, stride);
      }
      if constexpr (decltype(tag)::kind == FeatureKind::kTrigonometric) {
        // the panel's angles still stand in the first-level cache
        SineCosine(out + v * W, stride, rows, Least(C * W, f.num_features - v * W), f.num_features,
                   FeatureScale(f), nullptr);
      }
    });
  });
}

// Features without projection, by row: elu(x') + 1, or x itself (log-features times `unit`).
// O(n F), no product: for log kinds of explicit features `unit` is the change of base.
inline void ElementwiseRows(const Features& f, const float* x, Size x_stride, const float* factor,
                            Size rows, Size columns, float unit, float* out, Size stride) {
  const float scale = f.feature_scale * unit;
  if (f.kind == FeatureKind::kEluPlusOne) {
    return EluRows(x, x_stride, factor, rows, columns, scale, out, stride);
  }
  for (Size r = 0; r < rows; r++) {
    for (Size c = 0; c < columns; c += W) {
      const Size n = columns - c;
      StoreUpTo(out + r * stride + c, Mul(LoadUpTo(x + r * x_stride + c, n), Set(scale)), n);
    }
  }
}

// ---- by row, a tile of tokens at a time -----------------------------------------------------

// Workspace and packed projection of one head's queries.
struct RowFeatures {
  const Features* f;
  Size columns, d_stride;
  float *projection, *tokens, *factor, *half_norm;

  // Room for tiles of up to `rows` tokens.
  RowFeatures(const Features& features, Size token_columns, Size rows, Bump& bump)
      : f(&features), columns(token_columns), d_stride(RoundUp(token_columns, W)) {
    // explicit features may be wide: no room for a projection that they do not have
    const bool projected = HasProjection(features.kind);
    projection = bump.Take(projected ? columns * RoundUp(features.num_features, W) : 0);
    tokens = bump.Take(projected && features.unit_norm ? RoundUp(rows, kRows) * d_stride : 0);
    factor = bump.Take(RoundUp(rows, kRows));
    half_norm = bump.Take(RoundUp(rows, kRows));
  }

  // Once per head, with the `unit` of what is computed then.
  // O(M D): paid once for all tiles of an item. A factor that all tokens share goes into W, and tokens are
  // multiplied as they are stored.
  void Prepare(Size batch, Size head, float unit) const {
    if (!HasProjection(f->kind)) return;
    PackPanelsTransposed(f->projection.at(batch, head), f->projection.row_stride, columns,
                         f->num_features, {f->unit_norm ? 1 : f->input_scale * unit}, nullptr, projection);
  }

  // Features of `rows` tokens from `first`, to rows of `out`. Logarithms come times `unit`, and
  // without the term -|x'|^2 / 2 (a factor per token) where `up_to_factor`.
  void Compute(Size batch, Size head, Size first, Size rows, float unit, bool up_to_factor,
               float* out, Size stride) const {
    const float* x = f->x.at(batch, head, first);
    // a per-query factor cancels between numerator and denominator: e^(-|x'|^2/2) need not be
    // formed
    ScaleTokens(*f, x, f->x.row_stride, rows, columns, unit, !up_to_factor, factor, half_norm);
    if (!HasProjection(f->kind)) {
      return ElementwiseRows(*f, x, f->x.row_stride, factor, rows, columns, unit, out, stride);
    }
    if (!f->unit_norm) {
      return ProjectedRows(*f, x, f->x.row_stride, rows, columns, projection, half_norm, out, stride);
    }
    PackRows(x, f->x.row_stride, rows, columns, {1, factor}, nullptr, tokens, d_stride);
    ProjectedRows(*f, tokens, d_stride, rows, columns, projection, half_norm, out, stride);
  }
};

// ---- by column, a chunk of tokens at a time -------------------------------------------------

// One register tile of projections as columns: features r.., tokens in lanes, times weights (log
// kinds: minus weights, which then are |x'|^2 / 2).
// Tokens in lanes: a weight or half norm per token is a vector here, where by row it is a
// broadcast.
template <FeatureKind K, int C>
RFA_INLINE void StoreFeatureColumns(V (&acc)[kRows][C], const Features& f, const float* weights,
                                    Size first, float* out, Size stride) {
  const Size rows = Least(kRows, f.num_features - first);
  for (Size r = 0; r < rows; r++) {
    float* row = out + (first + r) * stride;
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const V weight = Load(weights + c * W);
      V x = acc[r][c];
      if constexpr (K == FeatureKind::kRelu) x = Mul(Max(Zero(), x), weight);
      if constexpr (K == FeatureKind::kLogHyperbolic) {
        Store(row + f.num_features * stride + c * W, Sub(Sub(Zero(), x), weight));
      }
      if constexpr (IsLog(K)) x = Sub(x, weight);
      Store(row + c * W, x);
    }
  }
}

// Workspace and packed projection of one head's keys.
// The projection is the left factor here, row-major and padded to kRows; tokens [D, chunk] are the
// right.
struct ColumnFeatures {
  const Features* f;
  Size columns, d_stride, t_stride;
  float *projection, *tokens, *factor, *half_norm;

  // Room for chunks of up to `chunk` tokens.
  ColumnFeatures(const Features& features, Size token_columns, Size chunk, Bump& bump)
      : f(&features),
        columns(token_columns),
        d_stride(RoundUp(token_columns, W)),
        t_stride(OddLines(chunk)) {
    const bool projected = HasProjection(features.kind);
    projection = bump.Take(projected ? RoundUp(features.num_features, kRows) * d_stride : 0);
    tokens = bump.Take(projected ? columns * t_stride : 0);
    factor = bump.Take(RoundUp(chunk, W));
    half_norm = bump.Take(RoundUp(chunk, W));
  }

  void Prepare(Size batch, Size head) const {
    if (!HasProjection(f->kind)) return;
    PackRows(f->projection.at(batch, head), f->projection.row_stride, f->num_features, columns, {},
             nullptr, projection, d_stride);
  }

  // Features of `count` tokens from `first` as columns of `out` [F][stride], token j times weights[j]
  // (projected log kinds: not weighted, times `unit`); columns up to a whole vector are written.
  // `present` (optional): absent tokens count as zero vectors.
  void Compute(Size batch, Size head, Size first, Size count, float unit, const float* weights,
               const std::uint8_t* present, float* out, Size stride) const {
    const float* x = f->x.at(batch, head, first);
    const Size width = RoundUp(count, W);
    ScaleTokens(*f, x, f->x.row_stride, count, columns, unit, true, factor, half_norm);
    // padding tokens are zero vectors: log-feature 0 - 0, finite, and weighed 0 by the caller
    for (Size j = count; j < width; j++) half_norm[j] = 0;
    if (f->kind == FeatureKind::kExplicit) {
      TransposeInto(x, f->x.row_stride, columns, count, width, {1, weights}, present, out, stride);
      return;
    }
    if (f->kind == FeatureKind::kEluPlusOne) {
      // x' first, elu + 1 in place afterwards: absent tokens give elu(0) + 1 = 1, which their
      // weight 0 removes
      TransposeInto(x, f->x.row_stride, columns, count, width, {1, factor}, present, out, stride);
      for (Size r = 0; r < columns; r++) {
        for (Size c = 0; c < width; c += W) {
          float* p = out + r * stride + c;
          Store(p, Mul(EluPlusOne(Load(p)), Load(weights + c)));
        }
      }
      return;
    }
    TransposeInto(x, f->x.row_stride, columns, count, width, {1, factor}, present, tokens, t_stride);
    Project(width, IsLog(f->kind) ? half_norm : weights, out, stride);
  }

 private:
  // W x'^T, [M, D] x [D, width], tile by tile: O(M D) per token.
  void Project(Size width, const float* weights, float* out, Size stride) const {
    WithProjectedKind(f->kind, [&](auto tag) {
      const Size vecs = width / W;
      ForEachPanel(vecs, vecs, [&](auto panel, Size v) {
        constexpr int C = decltype(panel)::vecs;
        for (Size r = 0; r < f->num_features; r += kRows) {
          V acc[kRows][C];
          ClearTile(acc);
          MultiplyAdd(acc, projection + r * d_stride, d_stride, tokens + v * W, t_stride, columns);
          StoreFeatureColumns<decltype(tag)::kind, C>(acc, *f, weights + v * W, r, out + v * W,
                                                      stride);
        }
        if constexpr (decltype(tag)::kind == FeatureKind::kTrigonometric) {
          SineCosine(out + v * W, stride, f->num_features, C * W, f->num_features * stride, 1,
                     weights + v * W);
        }
      });
    });
  }
};

// ---- the operation --------------------------------------------------------------------------

constexpr Size kFeatureTile = 8 * kRows;          // tokens projected at a time
constexpr Size kFeatureBlock = 8 * kFeatureTile;  // tokens per item: W is packed once for them

inline Size FeatureMapItems(const FeatureMap& op) {
  return op.batch * op.heads * CeilDiv(op.length, kFeatureBlock);
}
inline Size FeatureMapScratch(const FeatureMap& op) {
  Bump bump{nullptr};
  RowFeatures features(op.input, op.head_dim, kFeatureTile, bump);
  return bump.used;
}
inline void FeatureMapItem(const FeatureMap& op, Size item, float* workspace) {
  Bump bump{workspace};
  const RowFeatures features(op.input, op.head_dim, kFeatureTile, bump);
  // items are blocks of tokens of one head, independent of each other
  const Size blocks = CeilDiv(op.length, kFeatureBlock);
  const Size batch = item / blocks / op.heads, head = item / blocks % op.heads;
  const Size first = item % blocks * kFeatureBlock;
  const Size end = Least(op.length, first + kFeatureBlock);
  features.Prepare(batch, head, 1);
  for (Size i = first; i < end; i += kFeatureTile) {
    features.Compute(batch, head, i, Least(kFeatureTile, end - i), 1, false, op.out.at(batch, head, i),
                     op.out.row_stride);
  }
}

RFA_KERNELS_END
