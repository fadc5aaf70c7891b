// Features in double precision from Features structs, each with a bound on its float32 rounding.
#pragma once

#include <algorithm>
#include <vector>

#include "harness.h"

namespace rfa::test {

struct Feature {
  double value, error;
};

// phi (or log phi) of the token x with `columns` columns. Bounds: a projection of D terms is wrong by
// (D + 6) u sum|w x'| (dot product, scaling of x, its norm); sine and cosine pass an error on at most
// as it is and add 2 u; log kinds add the rounding of |x'|^2 / 2 and of the difference.
inline std::vector<Feature> features_of(const Features& f, const float* x, Size columns, Size batch,
                                        Size head) {
  double square = 0;
  for (Size i = 0; i < columns; i++) square += static_cast<double>(x[i]) * x[i];
  double scale = f.input_scale;
  if (f.unit_norm) {
    const double length = std::sqrt(square) + f.norm_epsilon;
    scale = length == 0 ? 0 : f.input_scale / length;
  }
  std::vector<Feature> out;
  const double by = f.feature_scale;
  if (f.kind == FeatureKind::kExplicit) {
    for (Size i = 0; i < columns; i++) out.push_back({by * x[i], 2 * kUnit * std::fabs(by * x[i])});
    return out;
  }
  if (f.kind == FeatureKind::kEluPlusOne) {
    const double relative = static_cast<double>(columns + 6) * kUnit;
    for (Size i = 0; i < columns; i++) {
      const double y = scale * x[i];
      const double value = by * (y > 0 ? y + 1 : std::exp(y));
      out.push_back({value, std::fabs(value) * (relative * std::max(1.0, std::fabs(y)) + 5 * kUnit)});
    }
    return out;
  }
  const double half = scale * scale * square / 2;
  std::vector<Feature> second;
  for (Size m = 0; m < f.num_features; m++) {
    const float* w = f.projection.at(batch, head, m);
    double p = 0, magnitude = 0;
    for (Size i = 0; i < columns; i++) {
      p += static_cast<double>(w[i]) * scale * x[i];
      magnitude += std::fabs(static_cast<double>(w[i]) * scale * x[i]);
    }
    const double error = static_cast<double>(columns + 6) * kUnit * magnitude;
    if (f.kind == FeatureKind::kTrigonometric) {
      const double s = by / std::sqrt(static_cast<double>(f.num_features));
      out.push_back({s * std::sin(p), std::fabs(s) * (error + 5 * kUnit)});
      second.push_back({s * std::cos(p), std::fabs(s) * (error + 5 * kUnit)});
    } else if (f.kind == FeatureKind::kRelu) {
      out.push_back({by * std::max(p, 0.0), std::fabs(by) * (error + 2 * kUnit * std::fabs(p))});
    } else {
      const double all = error + static_cast<double>(columns + 8) * kUnit * half +
                         2 * kUnit * std::fabs(p - half);
      out.push_back({p - half, all});
      if (f.kind == FeatureKind::kLogHyperbolic) second.push_back({-p - half, all + 2 * kUnit * half});
    }
  }
  out.insert(out.end(), second.begin(), second.end());
  return out;
}

inline const char* kind_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kExplicit:
      return "explicit";
    case FeatureKind::kEluPlusOne:
      return "elu";
    case FeatureKind::kTrigonometric:
      return "trig";
    case FeatureKind::kRelu:
      return "relu";
    case FeatureKind::kLogPositive:
      return "log-pos";
    default:
      return "log-hyp";
  }
}

inline bool is_log(FeatureKind kind) {
  return kind == FeatureKind::kLogPositive || kind == FeatureKind::kLogHyperbolic;
}
inline bool projected(FeatureKind kind) {
  return kind != FeatureKind::kExplicit && kind != FeatureKind::kEluPlusOne;
}

}  // namespace rfa::test
