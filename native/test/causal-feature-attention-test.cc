// causal_feature_attention against plain loops over log-features in double precision.
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

  std::string name() const {
    return text(kind_name(kind), " B", batch, "-H", heads, "-L", queries, "-S", keys, "-D", dim, "-Dv",
                value_dim, "-M", features, mask ? " mask" : "",
                spread == 1 ? "" : text(" spread ", spread),
                growth == 0 ? "" : text(" growth ", growth));
  }
};

struct Data {
  Buffer query, key, value, projection;
  std::vector<std::uint8_t> mask;
  CausalFeatureAttention op;
  Size count;

  explicit Data(const Case& c)
      : query(Buffer::normals(c.batch * c.heads * c.queries * c.dim, 1, c.spread, 1)),
        key(Buffer::normals(c.batch * c.heads * c.keys * c.dim, 2, c.spread, 3)),
        value(Buffer::normals(c.batch * c.heads * c.keys * c.value_dim, 3, 1, 5)),
        projection(Buffer::normals(c.heads * c.features * c.dim, 4, 1, 7)),
        mask(static_cast<std::size_t>(c.batch * c.keys)) {
    for (Size i = 0; i < key.size(); i++) {
      key[i] += static_cast<float>(c.growth * static_cast<double>(i / c.dim % std::max<Size>(1, c.keys)));
    }
    Random random(6);
    for (Size j = 0; j < static_cast<Size>(mask.size()); j++) {
      mask[static_cast<std::size_t>(j)] = j % c.keys > 3 && random.uniform() < 0.7 ? 1 : 0;
    }
    for (Size j = 0; j < c.keys && c.batch > 1; j++) mask[static_cast<std::size_t>(c.keys + j)] = 0;
    op.batch = c.batch;
    op.heads = c.heads;
    op.query_len = c.queries;
    op.key_len = c.keys;
    op.head_dim = c.dim;
    op.value_dim = c.value_dim;
    op.query.kind = op.key.kind = c.kind;
    op.query.num_features = op.key.num_features = c.features;
    op.query.projection = op.key.projection = {projection.data(), 0, c.features * c.dim, c.dim};
    op.query.x = dense4<const float>(query.data(), c.heads, c.queries, c.dim);
    op.key.x = dense4<const float>(key.data(), c.heads, c.keys, c.dim);
    op.value = dense4<const float>(value.data(), c.heads, c.keys, c.value_dim);
    if (c.mask) op.key_mask = mask.data();
    count = feature_dim(op.query, c.dim);
  }
};

// One row. A term exp(a + b) is relatively wrong by the errors of a and b and 4 u of every number that
// is added to form its exponent (a, b, the reference, the row's maximum), plus 8 u for two powers;
// sums of n F terms round by (n + F) u of the summed magnitudes.
void check_row(const Case& c, const Data& d, Size b, Size h, Size i,
               const std::vector<std::vector<Feature>>& keys, const float* out) {
  const Size pair = b * c.heads + h;
  const auto query = features_of(d.op.query, d.op.query.x.at(b, h, i), c.dim, b, h);
  double top = -kInf, largest = 0;
  std::vector<Size> seen;
  for (Size j = 0; j <= i && j < c.keys; j++) {
    if (c.mask && !d.mask[static_cast<std::size_t>(b * c.keys + j)]) continue;
    seen.push_back(j);
    for (std::size_t s = 0; s < query.size(); s++) {
      top = std::max(top, query[s].value + keys[static_cast<std::size_t>(j)][s].value);
      largest = std::max(largest, std::fabs(keys[static_cast<std::size_t>(j)][s].value));
    }
  }
  for (const Feature& a : query) largest = std::max(largest, std::fabs(a.value));
  double den = 0, den_error = 0;
  std::vector<double> num(static_cast<std::size_t>(c.value_dim)), num_error(num.size());
  const double rounding = static_cast<double>(c.keys + d.count + 8) * kUnit;
  for (const Size j : seen) {
    double weight = 0, error = 0;
    for (std::size_t s = 0; s < query.size(); s++) {
      const Feature &a = query[s], &k = keys[static_cast<std::size_t>(j)][s];
      const double term = std::exp(a.value + k.value - top);
      const double relative = a.error + k.error + 16 * kUnit * (1 + largest) + rounding;
      weight += term;
      error += term * std::expm1(relative);
    }
    den += weight;
    den_error += error;
    for (Size x = 0; x < c.value_dim; x++) {
      const double v = d.value[(pair * c.keys + j) * c.value_dim + x];
      num[static_cast<std::size_t>(x)] += weight * v;
      num_error[static_cast<std::size_t>(x)] += error * std::fabs(v);
    }
  }
  for (Size x = 0; x < c.value_dim; x++) {
    const double want = seen.empty() || den == 0 ? 0 : num[static_cast<std::size_t>(x)] / den;
    const double room = den - den_error;
    const double bound =
        seen.empty() || den == 0
            ? 0
            : (num_error[static_cast<std::size_t>(x)] + std::fabs(want) * den_error) / room +
                  4 * kUnit * std::fabs(want);
    if (room < 0) continue;
    expect_near(out[x], want, bound, text("row ", i, " column ", x));
  }
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    Data d(c);
    Buffer out(c.batch * c.heads * c.queries * c.value_dim, 3);
    d.op.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
    causal_feature_attention(d.op);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size b = 0; b < c.batch; b++) {
      for (Size h = 0; h < c.heads; h++) {
        std::vector<std::vector<Feature>> keys;
        for (Size j = 0; j < c.keys; j++) {
          keys.push_back(features_of(d.op.key, d.op.key.x.at(b, h, j), c.dim, b, h));
        }
        for (Size i = 0; i < c.queries; i++) {
          check_row(c, d, b, h, i, keys,
                    out.data() + ((b * c.heads + h) * c.queries + i) * c.value_dim);
        }
      }
    }
  });
}

void shapes(FeatureKind kind) {
  for (const Size dim : {1, 7, 16, 17, 63, 65}) check({kind, 1, 1, 29, 19, dim, 5, 3});
  for (const Size dv : {1, 3, 16, 17, 64, 65}) check({kind, 1, 1, 19, 29, 3, dv, 5});
  for (const Size m : {1, 2, 8, 17, 63, 64, 65, 1000}) check({kind, 1, 1, 61, 61, 3, 5, m});
  for (const Size n : {1, 5, 6, 7, 47, 48, 49, 95, 96, 97}) {
    check({kind, 1, 1, n, n, 3, 5, 7});
    check({kind, 1, 1, 7, n, 3, 5, 7});
    check({kind, 1, 1, n, 7, 3, 5, 7});
  }
  check({kind, 2, 3, 59, 101, 7, 11, 13, true});
  check({kind, 2, 3, 101, 59, 7, 11, 13, true});
  for (const double spread : {0.0, 0.05, 6.0, 20.0}) {
    check({kind, 1, 2, 131, 127, 7, 11, 13, false, spread});
    check({kind, 1, 2, 131, 127, 7, 11, 13, true, spread});
  }
  check({kind, 0, 2, 3, 5, 7, 11, 13});
  check({kind, 1, 2, 0, 5, 7, 11, 13});
  check({kind, 1, 2, 3, 0, 7, 11, 13});
  check({kind, 1, 2, 3, 5, 7, 0, 13});
  check({kind, 1, 2, 3, 5, 7, 11, 0});
}

// One chunk spans far more than float32's exponents, in either direction.
void spreads() {
  for (const double growth : {0.3, 5.0, -5.0, 30.0, -30.0, 100.0, -100.0}) {
    check({FeatureKind::kExplicit, 1, 2, 101, 101, 7, 11, 0, false, 1, growth});
    check({FeatureKind::kExplicit, 1, 2, 101, 101, 7, 11, 0, true, 3, growth});
  }
}

void laws() {
  for (const FeatureKind kind : {FeatureKind::kExplicit, FeatureKind::kLogPositive}) {
    run_case(text("a row keeps its bits when later tokens change: ", kind_name(kind)), [&] {
      const Case c{kind, 1, 2, 151, 151, 7, 11, 13, false, 2};
      const auto run = [&](Size from, Buffer& out) {
        Data d(c);
        for (Size h = 0; h < c.heads; h++) {
          for (Size j = from; j < c.keys; j++) {
            for (Size x = 0; x < c.dim; x++) d.key[(h * c.keys + j) * c.dim + x] *= -20;
            for (Size x = 0; x < c.value_dim; x++) d.value[(h * c.keys + j) * c.value_dim + x] += 9;
          }
        }
        d.op.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
        causal_feature_attention(d.op);
      };
      Buffer out(2 * c.queries * c.value_dim), changed(out.size());
      run(c.keys, out);
      for (const Size t : {1, 2, 30, 47, 48, 100, 150}) {
        run(t, changed);
        for (Size h = 0; h < c.heads; h++) {
          for (Size i = 0; i < t * c.value_dim; i++) {
            const Size at = h * c.queries * c.value_dim + i;
            expect(out[at] == changed[at], text("row ", i / c.value_dim, " from ", t));
          }
        }
      }
    });
  }
  run_case("constant values come back unchanged, within rounding", [] {
    const Case c{FeatureKind::kLogHyperbolic, 1, 1, 101, 101, 7, 5, 13, false, 3};
    Data d(c);
    for (Size i = 0; i < d.value.size(); i++) d.value[i] = 3;
    Buffer out(c.queries * c.value_dim);
    d.op.out = dense4(out.data(), 1, c.queries, c.value_dim);
    causal_feature_attention(d.op);
    // numerator and denominator are sums of the same positive terms in two orders
    const double bound = 3 * 2 * static_cast<double>(c.keys + 2 * c.features + 8) * kUnit;
    for (Size i = 0; i < out.size(); i++) expect_near(out[i], 3, bound, "constant");
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    for (const FeatureKind kind :
         {FeatureKind::kExplicit, FeatureKind::kLogPositive, FeatureKind::kLogHyperbolic}) {
      shapes(kind);
    }
    spreads();
    laws();
  });
  return finish("causal feature attention");
}
