// causal_feature_gradient against plain loops over log-features in double precision.
#include "features.h"

using namespace rfa;
using namespace rfa::test;

namespace {

struct Case {
  FeatureKind kind;
  Size batch, heads, queries, keys, dim, value_dim, features;
  bool mask = false;
  double spread = 1;
  double growth = 0;  // added to every explicit log-feature of key j: growth * j
  bool unit_norm = false;

  std::string name() const {
    return text(kind_name(kind), " B", batch, "-H", heads, "-L", queries, "-S", keys, "-D", dim, "-Dv", value_dim, "-M",
                features, mask ? " mask" : "", spread == 1 ? "" : text(" spread ", spread),
                growth == 0 ? "" : text(" growth ", growth), unit_norm ? " unit" : "");
  }
};

struct Data {
  Case c;
  Size pairs;
  Buffer query, key, value, projection, out, slopes, to_query, to_key, to_value, to_query_projection, to_key_projection;
  std::vector<std::uint8_t> mask;
  CausalFeatureGradient op;

  explicit Data(const Case& given)
      : c(given),
        pairs(c.batch * c.heads),
        query(Buffer::normals(pairs * c.queries * c.dim, 1, c.spread, 1)),
        key(Buffer::normals(pairs * c.keys * c.dim, 2, c.spread, 3)),
        value(Buffer::normals(pairs * c.keys * c.value_dim, 3, 1, 5)),
        projection(Buffer::normals(c.heads * c.features * c.dim, 4, 1, 7)),
        out(pairs * c.queries * c.value_dim),
        slopes(Buffer::normals(out.size(), 5, 1, 2)),
        to_query(query.size(), 5),
        to_key(key.size(), 7),
        to_value(value.size(), 2),
        to_query_projection(pairs * c.features * c.dim, 4),
        to_key_projection(pairs * c.features * c.dim, 6),
        mask(static_cast<std::size_t>(c.batch * c.keys)) {
    for (Size i = 0; i < key.size(); i++) {
      key[i] += static_cast<float>(c.growth * static_cast<double>(i / c.dim % std::max<Size>(1, c.keys)));
    }
    Random random(6);
    for (Size j = 0; j < static_cast<Size>(mask.size()); j++) {
      mask[static_cast<std::size_t>(j)] = j % c.keys > 3 && random.uniform() < 0.7 ? 1 : 0;
    }
    for (Size j = 0; j < c.keys && c.batch > 1; j++) mask[static_cast<std::size_t>(c.keys + j)] = 0;
    CausalFeatureAttention& forward = op.forward;
    forward.batch = c.batch;
    forward.heads = c.heads;
    forward.query_len = c.queries;
    forward.key_len = c.keys;
    forward.head_dim = c.dim;
    forward.value_dim = c.value_dim;
    forward.query.kind = forward.key.kind = c.kind;
    forward.query.unit_norm = forward.key.unit_norm = c.unit_norm;
    if (projected(c.kind)) {
      forward.query.input_scale = forward.key.input_scale = 0.75f;
      forward.query.num_features = forward.key.num_features = c.features;
      forward.query.projection = forward.key.projection = {projection.data(), 0, c.features * c.dim, c.dim};
      op.to_query_projection = to_query_projection.data();
      op.to_key_projection = to_key_projection.data();
    }
    forward.query.x = dense4<const float>(query.data(), c.heads, c.queries, c.dim);
    forward.key.x = dense4<const float>(key.data(), c.heads, c.keys, c.dim);
    forward.value = dense4<const float>(value.data(), c.heads, c.keys, c.value_dim);
    if (c.mask) forward.key_mask = mask.data();
    CausalFeatureAttention run = forward;
    run.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
    causal_feature_attention(run);
    op.out = out.data();
    op.slopes = slopes.data();
    op.to_query = to_query.data();
    op.to_key = to_key.data();
    op.to_value = to_value.data();
  }
};

struct Bounded {
  double value = 0, error = 0;
  void add(double term, double wrong) {
    value += term;
    error += wrong;
  }
};
using Row = std::vector<Bounded>;

std::size_t at(Size i) { return static_cast<std::size_t>(i); }

// Slopes of tokens and projection from those of log-features: x' = f x with f = scale / (1 or |x|), dx' = W^T dp - x' sum,
// dx = f (dx' - (x.dx') x / |x|^2) of unit vectors. Sums over M and over D round by as many u and 8 more of magnitudes; so
// does each of the three steps.
void add_tokens(const Case& c, const Features& f, Size b, Size h, const float* x, const Row& slopes, double* token,
                double* token_error, Row& rows) {
  double square = 0;
  for (Size d = 0; d < c.dim; d++) square += static_cast<double>(x[d]) * x[d];
  if (!projected(c.kind)) {
    for (Size d = 0; d < c.dim; d++) token[d] = slopes[at(d)].value, token_error[d] = slopes[at(d)].error;
    return;
  }
  const double by = f.input_scale / (c.unit_norm ? std::sqrt(square) : 1);
  const double rounding = static_cast<double>(c.features + 2 * c.dim + 24) * kUnit;
  double total = 0, total_error = 0;
  for (const Bounded& s : slopes) total += s.value, total_error += s.error + rounding * std::fabs(s.value);
  std::vector<double> mapped(at(c.dim)), error(at(c.dim));
  for (Size d = 0; d < c.dim; d++) {
    mapped[at(d)] = -by * x[d] * total;
    error[at(d)] = std::fabs(by * x[d]) * (total_error + rounding * std::fabs(total));
  }
  for (Size m = 0; m < c.features; m++) {
    Bounded slope = slopes[at(m)];
    double magnitude = std::fabs(slope.value);
    if (c.kind == FeatureKind::kLogHyperbolic) {
      const Bounded& minus = slopes[at(m + c.features)];
      magnitude += std::fabs(minus.value);
      slope = {slope.value - minus.value, slope.error + minus.error};
    }
    const float* w = f.projection.at(b, h, m);
    for (Size d = 0; d < c.dim; d++) {
      mapped[at(d)] += slope.value * w[d];
      error[at(d)] += std::fabs(w[d]) * (slope.error + rounding * magnitude);
      const double xd = by * x[d];
      rows[at(m * c.dim + d)].add(slope.value * xd,
                                  std::fabs(xd) * (slope.error + (rounding + kUnit * static_cast<double>(c.queries + c.keys)) * magnitude));
    }
  }
  double along = 0, along_error = 0;
  for (Size d = 0; d < c.dim && c.unit_norm; d++) {
    along += x[d] * mapped[at(d)] / square;
    along_error += std::fabs(x[d]) * (error[at(d)] + rounding * std::fabs(mapped[at(d)])) / square;
  }
  for (Size d = 0; d < c.dim; d++) {
    token[d] = by * (mapped[at(d)] - along * x[d]);
    token_error[d] = by * (error[at(d)] + rounding * std::fabs(mapped[at(d)]) +
                           std::fabs(x[d]) * (along_error + rounding * std::fabs(along)));
  }
}

// One head. A term e_ijs / W_i is relatively wrong by the errors of a and b and 4 u of each number in its exponent
// (a, b, two references, log W), by those of W, and by sums of n F terms, as in causal-feature-attention-test.cc: twice, for
// the term and for W. What it multiplies, g.(v - out), has the size T = |g|.(|v| + sum p |v|), and is wrong by (2 Dv + 16) u
// of it and by the error of out, a share of T again. Each gradient is a sum of at most L + S + F of those, twice.
void check_head(const Data& d, Size b, Size h) {
  const Case& c = d.c;
  const Size pair = b * c.heads + h, count = feature_dim(d.op.forward.query, c.dim);
  std::vector<std::vector<Feature>> queries, keys;
  for (Size i = 0; i < c.queries; i++) {
    queries.push_back(features_of(d.op.forward.query, d.op.forward.query.x.at(b, h, i), c.dim, b, h));
  }
  for (Size j = 0; j < c.keys; j++) {
    keys.push_back(features_of(d.op.forward.key, d.op.forward.key.x.at(b, h, j), c.dim, b, h));
  }
  std::vector<Row> to_query(at(c.queries), Row(at(count))), to_key(at(c.keys), Row(at(count))),
      to_value(at(c.keys), Row(at(c.value_dim)));
  const double terms = static_cast<double>(2 * (c.queries + c.keys + count) + 32) * kUnit;
  for (Size i = 0; i < c.queries; i++) {
    const float* g = d.slopes.data() + (pair * c.queries + i) * c.value_dim;
    std::vector<double> weights(at(c.keys)), out(at(c.value_dim)), size(out.size());
    double top = -kInf, largest = 0, error = 0, total = 0;
    const Size seen = std::min(i + 1, c.keys);
    const auto present = [&](Size j) { return !c.mask || d.mask[at(b * c.keys + j)] != 0; };
    for (Size j = 0; j < seen; j++) {
      if (!present(j)) continue;
      for (Size s = 0; s < count; s++) {
        const Feature &a = queries[at(i)][at(s)], &k = keys[at(j)][at(s)];
        top = std::max(top, a.value + k.value);
        largest = std::max({largest, std::fabs(a.value), std::fabs(k.value)});
        error = std::max(error, a.error + k.error);
      }
    }
    if (top == -kInf) continue;
    // references and log W are sums of two such numbers and a logarithm of at most S F
    const double relative = 2 * (error + 32 * kUnit * (largest + 16) + terms);
    for (Size j = 0; j < seen; j++) {
      if (!present(j)) continue;
      for (Size s = 0; s < count; s++) {
        weights[at(j)] += std::exp(queries[at(i)][at(s)].value + keys[at(j)][at(s)].value - top);
      }
      total += weights[at(j)];
    }
    for (Size j = 0; j < seen; j++) {
      for (Size x = 0; x < c.value_dim; x++) {
        const double v = d.value[(pair * c.keys + j) * c.value_dim + x];
        out[at(x)] += weights[at(j)] / total * v;
        size[at(x)] += weights[at(j)] / total * std::fabs(v);
      }
    }
    for (Size j = 0; j < seen; j++) {
      if (!present(j)) continue;
      double rise = 0, most = 0;
      for (Size x = 0; x < c.value_dim; x++) {
        const double v = d.value[(pair * c.keys + j) * c.value_dim + x];
        rise += g[x] * (v - out[at(x)]);
        most += std::fabs(g[x]) * (std::fabs(v) + size[at(x)]);
        const double p = weights[at(j)] / total;
        to_value[at(j)][at(x)].add(p * g[x], std::fabs(p * g[x]) * relative);
      }
      for (Size s = 0; s < count; s++) {
        const double p = std::exp(queries[at(i)][at(s)].value + keys[at(j)][at(s)].value - top) / total;
        const double wrong = p * most * (2 * relative + static_cast<double>(2 * c.value_dim + 16) * kUnit);
        to_query[at(i)][at(s)].add(p * rise, wrong);
        to_key[at(j)][at(s)].add(p * rise, wrong);
      }
    }
  }
  Row query_rows(at(c.features * c.dim)), key_rows(query_rows.size());
  std::vector<double> token(at(c.dim)), error(at(c.dim));
  // what underflows: weights below 2^-94 of numbers of some tens
  const double lost = 1e-24;
  const auto side = [&](const char* what, const Features& f, const std::vector<Row>& slopes, const Buffer& got, Row& rows) {
    for (Size i = 0; i < static_cast<Size>(slopes.size()); i++) {
      add_tokens(c, f, b, h, f.x.at(b, h, i), slopes[at(i)], token.data(), error.data(), rows);
      for (Size x = 0; x < c.dim; x++) {
        const Size place = (pair * static_cast<Size>(slopes.size()) + i) * c.dim + x;
        expect_near(got[place], token[at(x)], error[at(x)] + lost, text(what, " ", i, ", ", x));
      }
    }
  };
  side("query", d.op.forward.query, to_query, d.to_query, query_rows);
  side("key", d.op.forward.key, to_key, d.to_key, key_rows);
  for (Size j = 0; j < c.keys; j++) {
    for (Size x = 0; x < c.value_dim; x++) {
      const Bounded& want = to_value[at(j)][at(x)];
      expect_near(d.to_value[(pair * c.keys + j) * c.value_dim + x], want.value, want.error + lost, text("value ", j));
    }
  }
  if (!projected(c.kind)) return;
  for (std::size_t x = 0; x < query_rows.size(); x++) {
    const Size place = pair * c.features * c.dim + static_cast<Size>(x);
    expect_near(d.to_query_projection[place], query_rows[x].value, query_rows[x].error + lost, text("query rows ", x));
    expect_near(d.to_key_projection[place], key_rows[x].value, key_rows[x].error + lost, text("key rows ", x));
  }
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    Data d(c);
    causal_feature_gradient(d.op);
    for (const Buffer* written : {&d.to_query, &d.to_key, &d.to_value, &d.to_query_projection, &d.to_key_projection}) {
      expect(written->guards_hold(), "wrote outside an output");
    }
    for (Size b = 0; b < c.batch; b++) {
      for (Size h = 0; h < c.heads; h++) check_head(d, b, h);
    }
  });
}

void shapes(FeatureKind kind) {
  for (const Size dim : {1, 7, 16, 17, 65}) check({kind, 1, 1, 29, 19, dim, 5, 3});
  for (const Size dv : {1, 15, 16, 17, 65}) check({kind, 1, 1, 19, 29, 3, dv, 5});
  for (const Size m : {1, 2, 8, 17, 65}) check({kind, 1, 1, 31, 31, 3, 5, m});
  for (const Size n : {1, 5, 6, 7, 47, 48, 49, 95, 97}) {
    check({kind, 1, 1, n, n, 3, 5, 7});
    check({kind, 1, 1, 7, n, 3, 5, 7});
    check({kind, 1, 1, n, 7, 3, 5, 7});
  }
  check({kind, 2, 3, 59, 101, 7, 11, 13, true});
  check({kind, 2, 3, 101, 59, 7, 11, 13, true});
  for (const double spread : {0.0, 0.05, 4.0}) check({kind, 1, 2, 131, 127, 7, 11, 13, true, spread});
  check({kind, 0, 2, 3, 5, 7, 11, 13});
  check({kind, 1, 2, 0, 5, 7, 11, 13});
  check({kind, 1, 2, 3, 0, 7, 11, 13});
  check({kind, 1, 2, 3, 5, 7, 0, 13});
  if (projected(kind)) check({kind, 1, 2, 61, 61, 7, 5, 13, false, 1, 0, true});
}

// Keys span far more than float32's exponents, in either direction.
void spreads() {
  for (const double growth : {0.3, 5.0, -5.0, 30.0, -30.0}) {
    check({FeatureKind::kExplicit, 1, 2, 101, 101, 7, 11, 0, false, 1, growth});
    check({FeatureKind::kExplicit, 1, 2, 101, 101, 7, 11, 0, true, 3, growth});
  }
}

}  // namespace

int main() {
  for_each_isa([] {
    for (const FeatureKind kind :
         {FeatureKind::kExplicit, FeatureKind::kLogPositive, FeatureKind::kLogHyperbolic}) {
      shapes(kind);
    }
    spreads();
  });
  return finish("causal feature gradient");
}
