// linear_attention against plain quadratic loops in double precision.
#include "features.h"

using namespace rfa;
using namespace rfa::test;

namespace {

struct Case {
  FeatureKind kind;
  Size batch, heads, queries, keys, dim, value_dim, features;
  bool causal = false, mask = false, weight = false, gate = false, state = false;
  bool normalize = false;
  Guard guard = Guard::kNone;

  std::string name() const {
    return text(kind_name(kind), " B", batch, "-H", heads, "-L", queries, "-S", keys, "-D", dim, "-Dv",
                value_dim, "-M", features, causal ? " causal" : "", mask ? " mask" : "",
                weight ? " weight" : "", gate ? " gate" : "", state ? " state" : "",
                normalize ? " normalize" : "");
  }
};

struct Data {
  Buffer query, key, value, projection, weight, gate, state, normalizer;
  std::vector<std::uint8_t> mask;
  LinearAttention op;
  Size count;  // F

  explicit Data(const Case& c)
      : query(Buffer::normals(c.batch * c.heads * c.queries * c.dim, 1, 1, 1)),
        key(Buffer::normals(c.batch * c.heads * c.keys * c.dim, 2, 1, 3)),
        value(Buffer::normals(c.batch * c.heads * c.keys * c.value_dim, 3, 1, 5)),
        projection(Buffer::normals(c.heads * c.features * c.dim, 4, 0.6, 7)),
        weight(Buffer::normals(c.batch * c.heads * c.keys, 5, 40)),
        gate(c.batch * c.heads * c.keys),
        state(0),
        normalizer(0),
        mask(static_cast<std::size_t>(c.batch * c.keys)) {
    Random random(6);
    for (auto& m : mask) m = random.uniform() < 0.7 ? 1 : 0;
    for (Size j = 0; j < c.keys && c.batch > 1; j++) mask[static_cast<std::size_t>(c.keys + j)] = 0;
    for (Size i = 0; i < gate.size(); i++) gate[i] = static_cast<float>(-0.4 * random.uniform());
    // strong forgetting in places
    for (Size i = 5; i < gate.size(); i += 19) gate[i] = -60;
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
    op.key.feature_scale = 0.7f;
    op.value = dense4<const float>(value.data(), c.heads, c.keys, c.value_dim);
    if (c.mask) op.key_mask = mask.data();
    if (c.weight) op.key_log_weight = dense3<const float>(weight.data(), c.heads, c.keys);
    if (c.gate) op.log_gate = dense3<const float>(gate.data(), c.heads, c.keys);
    op.causal = c.causal;
    op.normalize = c.normalize;
    op.guard = c.guard;
    op.guard_bound = 0.5f;
    count = feature_dim(op.query, c.dim);
    if (c.state) {
      state = Buffer::normals(c.batch * c.heads * count * c.value_dim, 7);
      normalizer = Buffer::normals(c.batch * c.heads * count, 8);
      op.initial_state = dense4<const float>(state.data(), c.heads, count, c.value_dim);
      op.initial_normalizer = dense3<const float>(normalizer.data(), c.heads, count);
    }
  }
};

double guarded(double den, Guard guard, double bound) {
  switch (guard) {
    case Guard::kAdd:
      return den + bound;
    case Guard::kClamp:
      return std::max(den, bound);
    case Guard::kAbsClamp:
      return std::max(std::fabs(den), bound);
    case Guard::kNudge:
      return std::fabs(den) <= bound ? den + 2 * bound : den;
    default:
      return den;
  }
}

// Log-weight of key j at query i, without the common factor of the query.
double pair_log_weight(const Case& c, const Data& d, Size pair, Size i, Size j) {
  double sum = c.weight ? d.weight[pair * c.keys + j] : 0;
  if (c.gate) {
    for (Size t = j + 1; t <= std::min(i, c.keys - 1); t++) sum += d.gate[pair * c.keys + t];
  }
  return sum;
}

// Numerator columns, then the denominator, of one row, each with a bound: every product of features
// carries the errors of both, the sum of n products of F terms rounds at most (n + F + 8) u of the
// summed magnitudes, and a factor that is a product of up to 48 steps (gates) 3 u per step.
std::vector<Feature> row_sums(const Case& c, const Data& d, Size b, Size h, Size i, double top,
                              const std::vector<std::vector<Feature>>& keys,
                              const std::vector<Feature>& query) {
  const Size pair = b * c.heads + h;
  std::vector<Feature> sums(static_cast<std::size_t>(c.value_dim + 1), {0, 0});
  const double rounding =
      static_cast<double>(c.keys + d.count + 8 + (c.gate || c.weight ? 3 * 48 + 200 : 0)) * kUnit;
  const auto add = [&](double product, double error, double factor, const float* row, double one) {
    for (Size x = 0; x <= c.value_dim; x++) {
      const double v = x < c.value_dim ? row[x] : one;
      Feature& sum = sums[static_cast<std::size_t>(x)];
      sum.value += factor * product * v;
      sum.error += factor * error * std::fabs(v);
    }
  };
  for (Size j = 0; j < c.keys; j++) {
    if (c.causal && j > i) continue;
    if (c.mask && !d.mask[static_cast<std::size_t>(b * c.keys + j)]) continue;
    double product = 0, error = 0;
    for (std::size_t s = 0; s < query.size(); s++) {
      const Feature &p = query[s], &k = keys[static_cast<std::size_t>(j)][s];
      product += p.value * k.value;
      error += p.error * std::fabs(k.value) + std::fabs(p.value) * k.error +
               (rounding + 2 * kUnit) * std::fabs(p.value * k.value);
    }
    const double factor = std::exp(pair_log_weight(c, d, pair, i, j) - top);
    add(product, error, factor, d.value.data() + (pair * c.keys + j) * c.value_dim, 1);
  }
  if (c.state) {
    double factor = 1;
    for (Size t = 0; c.gate && t <= std::min(i, c.keys - 1); t++) {
      factor *= std::exp(static_cast<double>(d.gate[pair * c.keys + t]));
    }
    for (Size s = 0; s < d.count; s++) {
      const Feature& p = query[static_cast<std::size_t>(s)];
      add(p.value, p.error + rounding * std::fabs(p.value), factor,
          d.state.data() + (pair * d.count + s) * c.value_dim, d.normalizer[pair * d.count + s]);
    }
  }
  return sums;
}

void check_row(const Case& c, const Data& d, const std::vector<Feature>& sums, const float* out,
               float denominator) {
  // an unknown common factor: compare quotients, and the sign of the denominator
  const Feature den = sums.back();
  double factor = 1;
  if (c.weight) {
    factor = den.value == 0 ? 0 : denominator / den.value;
    expect(factor > 0 || std::fabs(den.value) <= den.error, "sign of the denominator");
  } else {
    expect_near(denominator, den.value, den.error + 1e-36, "denominator");
  }
  for (Size x = 0; x < c.value_dim; x++) {
    const Feature& sum = sums[static_cast<std::size_t>(x)];
    if (c.normalize) {
      const double by = guarded(den.value, c.guard, d.op.guard_bound);
      const double want = by == 0 ? 0 : sum.value / by;
      const double room = std::fabs(by) - den.error - 4 * kUnit * std::fabs(by);
      // where rounding can flip the guard or the sign nothing can be said
      const bool unsure = room <= 0 || std::fabs(std::fabs(den.value) - 0.5) <= den.error;
      if (!unsure) {
        expect_near(out[x], want, (sum.error + std::fabs(want) * den.error) / room + 4 * kUnit * std::fabs(want),
                    text("out[", x, "]"));
      }
    } else if (c.weight) {
      const double room = std::fabs(den.value) - den.error;
      if (room <= 0) continue;
      const double want = sum.value / den.value;
      expect_near(static_cast<float>(out[x] / (factor * den.value)), want,
                  (sum.error + std::fabs(want) * den.error) / room + 4 * kUnit * std::fabs(want),
                  text("quotient[", x, "]"));
    } else {
      expect_near(out[x], sum.value, sum.error + 1e-36, text("numerator[", x, "]"));
    }
  }
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    Data d(c);
    Buffer out(c.batch * c.heads * c.queries * c.value_dim, 3), den(c.batch * c.heads * c.queries, 5);
    d.op.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
    d.op.denominator = dense3(den.data(), c.heads, c.queries);
    linear_attention(d.op);
    expect(out.guards_hold() && den.guards_hold(), "wrote outside the output");
    for (Size b = 0; b < c.batch; b++) {
      for (Size h = 0; h < c.heads; h++) {
        const Size pair = b * c.heads + h;
        std::vector<std::vector<Feature>> keys;
        for (Size j = 0; j < c.keys; j++) {
          keys.push_back(features_of(d.op.key, d.op.key.x.at(b, h, j), c.dim, b, h));
        }
        for (Size i = 0; i < c.queries; i++) {
          double top = c.weight ? -kInf : 0;
          for (Size j = 0; c.weight && j < c.keys; j++) {
            if (c.causal && j > i) continue;
            if (c.mask && !d.mask[static_cast<std::size_t>(b * c.keys + j)]) continue;
            top = std::max(top, pair_log_weight(c, d, pair, i, j));
          }
          const auto query = features_of(d.op.query, d.op.query.x.at(b, h, i), c.dim, b, h);
          const auto sums = row_sums(c, d, b, h, i, top, keys, query);
          check_row(c, d, sums, out.data() + (pair * c.queries + i) * c.value_dim,
                    den[pair * c.queries + i]);
        }
      }
    }
  });
}

const FeatureKind kKinds[] = {FeatureKind::kExplicit, FeatureKind::kEluPlusOne,
                              FeatureKind::kTrigonometric, FeatureKind::kRelu};

void shapes() {
  for (const FeatureKind kind : kKinds) {
    for (const bool causal : {false, true}) {
      for (const Size dim : {1, 7, 16, 17, 63, 65}) check({kind, 1, 1, 13, 19, dim, 5, 3, causal});
      for (const Size dv : {1, 3, 16, 17, 64, 65, 129}) check({kind, 1, 1, 13, 19, 3, dv, 5, causal});
      for (const Size n : {1, 5, 6, 7, 47, 48, 49, 95, 96, 97}) {
        check({kind, 1, 1, n, n, 3, 5, 7, causal});
        check({kind, 1, 1, 7, n, 3, 5, 7, causal});
        check({kind, 1, 1, n, 7, 3, 5, 7, causal});
      }
      check({kind, 2, 3, 59, 101, 7, 11, 13, causal, true});
      check({kind, 1, 2, 101, 59, 7, 11, 13, causal, true, true});
      check({kind, 1, 2, 101, 131, 7, 11, 13, causal, false, true});
      check({kind, 0, 2, 3, 5, 7, 11, 13, causal});
      check({kind, 1, 2, 0, 5, 7, 11, 13, causal});
      check({kind, 1, 2, 3, 0, 7, 11, 13, causal});
      check({kind, 1, 2, 3, 5, 7, 0, 13, causal});
      check({kind, 1, 2, 3, 5, 0, 11, 0, causal});
    }
    check({kind, 1, 2, 131, 131, 7, 11, 13, true, false, false, true});
    check({kind, 1, 2, 131, 97, 7, 11, 13, true, true, false, true, true});
    check({kind, 1, 2, 131, 97, 7, 11, 13, true, true, true, true});
    check({kind, 1, 2, 67, 97, 7, 11, 13, true, false, false, false, true});
    for (const Guard guard :
         {Guard::kNone, Guard::kAdd, Guard::kClamp, Guard::kAbsClamp, Guard::kNudge}) {
      check({kind, 1, 1, 29, 31, 7, 11, 13, false, false, false, false, false, true, guard});
      check({kind, 1, 1, 31, 29, 7, 11, 13, true, false, false, false, false, true, guard});
    }
  }
  check({FeatureKind::kTrigonometric, 1, 1, 31, 29, 7, 11, 1000});
  check({FeatureKind::kTrigonometric, 1, 1, 61, 59, 7, 11, 1000, true});
  check({FeatureKind::kEluPlusOne, 1, 1, 11, 8209, 5, 3, 0});  // keys in four parts
}

void laws() {
  run_case("a causal row keeps its bits when later tokens, weights and gates change", [] {
    for (const bool extras : {false, true}) {
      const Case c{FeatureKind::kTrigonometric, 1, 2, 151, 151, 7, 11, 13, true, false, extras, extras};
      const auto run = [&](Size from, Buffer& out, Buffer& den) {
        Data d(c);
        for (Size h = 0; h < c.heads; h++) {
          for (Size j = from; j < c.keys; j++) {
            for (Size x = 0; x < c.dim; x++) d.key[(h * c.keys + j) * c.dim + x] *= -7;
            for (Size x = 0; x < c.value_dim; x++) d.value[(h * c.keys + j) * c.value_dim + x] += 9;
            d.weight[h * c.keys + j] += 500;
            d.gate[h * c.keys + j] -= 30;
          }
        }
        d.op.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
        d.op.denominator = dense3(den.data(), c.heads, c.queries);
        linear_attention(d.op);
      };
      Buffer out(2 * c.queries * c.value_dim), den(2 * c.queries), out2(out.size()), den2(den.size());
      run(c.keys, out, den);
      for (const Size t : {1, 47, 48, 100, 150}) {
        run(t, out2, den2);
        for (Size h = 0; h < c.heads; h++) {
          for (Size i = 0; i < t; i++) {
            expect(den[h * c.queries + i] == den2[h * c.queries + i], text("den ", i, " from ", t));
            for (Size x = 0; x < c.value_dim; x++) {
              const Size at = (h * c.queries + i) * c.value_dim + x;
              expect(out[at] == out2[at], text("row ", i, " from ", t));
            }
          }
        }
      }
    }
  });
  run_case("a gate of zero forgets everything before it", [] {
    const Case c{FeatureKind::kEluPlusOne, 1, 1, 61, 61, 7, 11, 0, true, false, false, true};
    Data d(c);
    d.gate[50] = -std::numeric_limits<float>::infinity();
    Buffer out(c.queries * c.value_dim), den(c.queries);
    d.op.normalize = true;
    d.op.out = dense4(out.data(), 1, c.queries, c.value_dim);
    d.op.denominator = dense3(den.data(), 1, c.queries);
    linear_attention(d.op);
    for (Size x = 0; x < c.value_dim; x++) {
      const float v = d.value[50 * c.value_dim + x];
      expect_near(out[50 * c.value_dim + x], v, 32 * kUnit * std::fabs(v), "its own value alone");
    }
    for (Size i = 0; i < out.size(); i++) expect(std::isfinite(out[i]), "not finite");
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    shapes();
    laws();
  });
  return finish("linear attention");
}
