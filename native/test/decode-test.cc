// The decoding steps against sums over all tokens so far, in double precision.
#include "features.h"

using namespace rfa;
using namespace rfa::test;

namespace {

struct Case {
  FeatureKind kind;
  Size batch, heads, tokens, dim, value_dim, features;
  bool weight = false, gate = false;
  double spread = 1;

  std::string name() const {
    return text(kind_name(kind), " B", batch, "-H", heads, "-T", tokens, "-D", dim, "-Dv", value_dim,
                "-M", features, weight ? " weight" : "", gate ? " gate" : "",
                spread == 1 ? "" : text(" spread ", spread));
  }
};

// Tokens in the layout [T, B, H, width]: one step reads one slice.
struct Data {
  Buffer query, key, value, projection, turned, weight, gate;

  explicit Data(const Case& c)
      : query(Buffer::normals(c.tokens * c.batch * c.heads * c.dim, 1, c.spread, 1)),
        key(Buffer::normals(c.tokens * c.batch * c.heads * c.dim, 2, c.spread, 3)),
        value(Buffer::normals(c.tokens * c.batch * c.heads * c.value_dim, 3, 1, 5)),
        projection(Buffer::normals(c.heads * c.features * c.dim, 4, 0.7, 7)),
        turned(c.heads * c.features * c.dim),
        weight(Buffer::normals(c.tokens * c.batch * c.heads, 5, 30)),
        gate(c.tokens * c.batch * c.heads) {
    Random random(6);
    for (Size i = 0; i < gate.size(); i++) gate[i] = static_cast<float>(0.05 + 0.9 * random.uniform());
    for (Size h = 0; h < c.heads; h++) {
      for (Size m = 0; m < c.features; m++) {
        for (Size d = 0; d < c.dim; d++) {
          turned[(h * c.dim + d) * c.features + m] = projection[(h * c.features + m) * c.dim + d];
        }
      }
    }
  }
};

// One token's features as the step sees them, and as the reference does.
Features features(const Case& c, const float* x, const Buffer& projection, bool turned) {
  Features f;
  f.kind = c.kind;
  f.num_features = c.features;
  f.x = dense4(x, c.heads, 1, c.dim);
  f.projection = {projection.data(), 0, c.features * c.dim, turned ? c.features : c.dim};
  f.input_scale = 0.9f;
  f.unit_norm = c.kind == FeatureKind::kTrigonometric;
  return f;
}

// Decays and weights of token j at token t, as logarithms; gates multiply by log g, a fresh token by
// log(1 - g).
double log_factor(const Case& c, const Data& d, Size pairs, Size pair, Size j, Size t) {
  double sum = c.weight ? d.weight[j * pairs + pair] : 0;
  if (c.gate) {
    sum += std::log1p(-static_cast<double>(d.gate[j * pairs + pair]));
    for (Size i = j + 1; i <= t; i++) sum += std::log(static_cast<double>(d.gate[i * pairs + pair]));
  }
  return sum;
}

// The quotient that token t must give, and its bound: products of features carry their errors, every
// decay rounds once per token, sums of t F terms by (t + F) u of the magnitudes, exponents (log kinds)
// by 16 u of their size.
struct Expected {
  std::vector<double> value, bound;
};
Expected expected(const Case& c, const Data& d, Size pair, Size t,
                  const std::vector<std::vector<Feature>>& keys, const std::vector<Feature>& query) {
  const Size pairs = c.batch * c.heads;
  const bool log = is_log(c.kind);
  double top = -kInf, largest = 0;
  for (Size j = 0; j <= t; j++) {
    const double factor = log_factor(c, d, pairs, pair, j, t);
    if (!log) top = std::max(top, factor);
    for (std::size_t s = 0; s < query.size() && log; s++) {
      const double b = keys[static_cast<std::size_t>(j)][s].value;
      top = std::max(top, query[s].value + b);
      largest = std::max({largest, std::fabs(b), std::fabs(query[s].value)});
    }
  }
  Expected out;
  double den = 0, den_error = 0;
  std::vector<double> num(static_cast<std::size_t>(c.value_dim)), num_error(num.size());
  const double rounding = static_cast<double>(8 * t + static_cast<Size>(query.size()) + 32) * kUnit;
  for (Size j = 0; j <= t; j++) {
    double weight = 0, error = 0;
    const double factor = log ? 1 : std::exp(log_factor(c, d, pairs, pair, j, t) - top);
    for (std::size_t s = 0; s < query.size(); s++) {
      const Feature &a = query[s], &b = keys[static_cast<std::size_t>(j)][s];
      if (log) {
        const double term = std::exp(a.value + b.value - top);
        weight += term;
        error += term * std::expm1(a.error + b.error + 16 * kUnit * (1 + largest) + rounding);
      } else {
        const double term = a.value * b.value * factor;
        const double scale_error = c.weight ? 256 * kUnit : 0;
        weight += term;
        error += factor * (a.error * std::fabs(b.value) + std::fabs(a.value) * b.error) +
                 std::fabs(term) * (rounding + scale_error);
      }
    }
    den += weight;
    den_error += error;
    for (Size x = 0; x < c.value_dim; x++) {
      const double v = d.value[(j * pairs + pair) * c.value_dim + x];
      num[static_cast<std::size_t>(x)] += weight * v;
      num_error[static_cast<std::size_t>(x)] += error * std::fabs(v);
    }
  }
  for (std::size_t x = 0; x < num.size(); x++) {
    const double want = den == 0 ? 0 : num[x] / den;
    const double room = std::fabs(den) - den_error;
    out.value.push_back(want);
    out.bound.push_back(
        room <= 0 ? kInf : (num_error[x] + std::fabs(want) * den_error) / room + 4 * kUnit * std::fabs(want));
  }
  return out;
}

void check_features(const Case& c) {
  run_case(c.name(), [&] {
    const Data d(c);
    const Size pairs = c.batch * c.heads;
    const Size count = feature_dim(features(c, d.query.data(), d.projection, false), c.dim);
    Buffer state(pairs * count * c.value_dim, 3, 0), totals(pairs * count, 5, 0), top(pairs * count, 7, -1e30f);
    Buffer scale(pairs, 1, -1e30f), out(pairs * c.value_dim, 3);
    std::vector<std::vector<std::vector<Feature>>> keys(static_cast<std::size_t>(pairs));
    for (Size t = 0; t < c.tokens; t++) {
      const Features query = features(c, d.query.data() + t * pairs * c.dim, d.turned, true);
      const Features key = features(c, d.key.data() + t * pairs * c.dim, d.turned, true);
      const Array4 value = dense4(d.value.data() + t * pairs * c.value_dim, c.heads, 1, c.value_dim);
      const MutableArray4 sums = dense4(state.data(), c.heads, count, c.value_dim);
      const MutableArray3 z = dense3(totals.data(), c.heads, count);
      if (is_log(c.kind)) {
        LogFeatureDecode op;
        op.batch = c.batch;
        op.heads = c.heads;
        op.head_dim = c.dim;
        op.value_dim = c.value_dim;
        op.query = query;
        op.key = key;
        op.value = value;
        op.state = sums;
        op.normalizer = z;
        op.top = dense3(top.data(), c.heads, count);
        op.out = dense4(out.data(), c.heads, 1, c.value_dim);
        log_feature_decode(op);
      } else {
        LinearDecode op;
        op.batch = c.batch;
        op.heads = c.heads;
        op.head_dim = c.dim;
        op.value_dim = c.value_dim;
        op.query = query;
        op.key = key;
        op.value = value;
        if (c.weight) op.key_log_weight = dense3(d.weight.data() + t * pairs, c.heads, 1);
        if (c.gate) op.gate = dense3(d.gate.data() + t * pairs, c.heads, 1);
        op.state = sums;
        op.normalizer = z;
        op.log_scale = dense3(scale.data(), c.heads, 1);
        op.out = dense4(out.data(), c.heads, 1, c.value_dim);
        linear_decode(op);
      }
      for (Size pair = 0; pair < pairs; pair++) {
        const Size b = pair / c.heads, h = pair % c.heads;
        auto& seen = keys[static_cast<std::size_t>(pair)];
        const float* k = d.key.data() + (t * pairs + pair) * c.dim;
        seen.push_back(features_of(features(c, k, d.projection, false), k, c.dim, b, h));
        const float* q = d.query.data() + (t * pairs + pair) * c.dim;
        const auto read = features_of(features(c, q, d.projection, false), q, c.dim, b, h);
        const Expected want = expected(c, d, pair, t, seen, read);
        for (Size x = 0; x < c.value_dim; x++) {
          const auto at = static_cast<std::size_t>(x);
          expect_near(out[pair * c.value_dim + x], want.value[at], want.bound[at], text("token ", t));
        }
      }
    }
    expect(out.guards_hold() && state.guards_hold() && totals.guards_hold() && top.guards_hold(),
           "wrote outside a buffer");
  });
}

void check_cache(Size batch, Size heads, Size tokens, Size dim, Size value_dim, double spread) {
  run_case(text("cache B", batch, "-H", heads, "-T", tokens, "-D", dim, "-Dv", value_dim), [&] {
    const Size pairs = batch * heads, capacity = tokens + 3;
    const Buffer query = Buffer::normals(tokens * pairs * dim, 1, spread);
    const Buffer key = Buffer::normals(tokens * pairs * dim, 2, spread);
    const Buffer value = Buffer::normals(tokens * pairs * value_dim, 3);
    Buffer keys(pairs * capacity * dim), values(pairs * capacity * value_dim), out(pairs * value_dim);
    CacheDecode op;
    op.batch = batch;
    op.heads = heads;
    op.head_dim = dim;
    op.value_dim = value_dim;
    op.scale = 0.7f;
    op.key_cache = dense4(keys.data(), heads, capacity, dim);
    op.value_cache = dense4(values.data(), heads, capacity, value_dim);
    op.out = dense4(out.data(), heads, 1, value_dim);
    for (Size t = 0; t < tokens; t++) {
      op.length = t;
      op.query = dense4(query.data() + t * pairs * dim, heads, 1, dim);
      op.key = dense4(key.data() + t * pairs * dim, heads, 1, dim);
      op.value = dense4(value.data() + t * pairs * value_dim, heads, 1, value_dim);
      cache_decode(op);
      if (t > 40 && t % 61 != 0 && t + 1 != tokens) continue;
      for (Size pair = 0; pair < pairs; pair++) {
        std::vector<double> logits;
        double top = -kInf, error = 0, sum = 0;
        for (Size j = 0; j <= t; j++) {
          double dot = 0, magnitude = 1;
          for (Size x = 0; x < dim; x++) {
            const double p = static_cast<double>(query[(t * pairs + pair) * dim + x]) *
                             key[(j * pairs + pair) * dim + x];
            dot += p;
            magnitude += std::fabs(p);
          }
          logits.push_back(0.7f * dot);
          // as in the softmax test: dot product, scale and base, reference
          error = std::max(error, static_cast<double>(dim + 8) * kUnit * magnitude);
          top = std::max(top, logits.back());
        }
        for (const double l : logits) sum += std::exp(l - top);
        const double relative = 2 * (error + 4 * kUnit) + static_cast<double>(t + 9) * kUnit;
        for (Size x = 0; x < value_dim; x++) {
          double want = 0, magnitude = 0;
          for (Size j = 0; j <= t; j++) {
            const double p = std::exp(logits[static_cast<std::size_t>(j)] - top) / sum;
            want += p * value[(j * pairs + pair) * value_dim + x];
            magnitude += p * std::fabs(value[(j * pairs + pair) * value_dim + x]);
          }
          expect_near(out[pair * value_dim + x], want, relative * magnitude, text("token ", t));
        }
      }
    }
    expect(out.guards_hold() && keys.guards_hold() && values.guards_hold(), "wrote outside a buffer");
  });
}

void laws() {
  run_case("guards act on the denominator as they do elsewhere", [] {
    const Guard guards[] = {Guard::kNone, Guard::kAdd, Guard::kClamp, Guard::kAbsClamp, Guard::kNudge};
    // phi(k) = k, phi(q) = q, one feature: den = q k
    for (const float key : {0.0f, -0.25f, 0.25f, 3.0f}) {
      for (const Guard guard : guards) {
        const float query = 1, value = 2;
        float state = 0, normalizer = 0, out = kNaN;
        LinearDecode op;
        op.batch = op.heads = op.head_dim = op.value_dim = 1;
        op.query.x = {&query, 1, 1, 1};
        op.key.x = {&key, 1, 1, 1};
        op.value = {&value, 1, 1, 1};
        op.guard = guard;
        op.guard_bound = 0.5f;
        op.state = {&state, 1, 1, 1};
        op.normalizer = {&normalizer, 1, 1};
        op.out = {&out, 1, 1, 1};
        linear_decode(op);
        float den = key;
        if (guard == Guard::kAdd) den = key + 0.5f;
        if (guard == Guard::kClamp) den = std::max(key, 0.5f);
        if (guard == Guard::kAbsClamp) den = std::max(std::fabs(key), 0.5f);
        if (guard == Guard::kNudge && std::fabs(key) <= 0.5f) den = key + 1;
        const float want = den == 0 ? 0 : 2 * key / den;
        // a reciprocal and a product
        expect_near(out, want, 4 * kUnit * std::fabs(want),
                    text("guard ", static_cast<int>(guard), " key ", key));
      }
    }
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    for (const FeatureKind kind :
         {FeatureKind::kExplicit, FeatureKind::kEluPlusOne, FeatureKind::kTrigonometric,
          FeatureKind::kRelu, FeatureKind::kLogPositive, FeatureKind::kLogHyperbolic}) {
      for (const Size dim : {1, 3, 8, 17, 64}) check_features({kind, 1, 2, 7, dim, 5, 11});
      for (const Size dv : {1, 7, 16, 31, 33, 64, 65, 129}) check_features({kind, 1, 1, 5, 3, dv, 7});
      for (const Size m : {1, 16, 65, 1000}) check_features({kind, 1, 1, 3, 7, 5, m});
      check_features({kind, 2, 3, 61, 7, 11, 13});
      check_features({kind, 1, 2, 61, 7, 11, 13, false, false, 9});
      check_features({kind, 1, 2, 5, 7, 0, 13});
      check_features({kind, 0, 2, 5, 7, 3, 13});
      if (is_log(kind)) continue;
      check_features({kind, 2, 3, 41, 7, 11, 13, true});
      check_features({kind, 2, 3, 41, 7, 11, 13, false, true});
      check_features({kind, 2, 3, 41, 7, 11, 13, true, true});
    }
    for (const Size dim : {1, 7, 16, 17, 64, 65}) check_cache(1, 2, 19, dim, 5, 1);
    for (const Size dv : {1, 16, 31, 33, 64, 65, 129}) check_cache(1, 2, 19, 5, dv, 1);
    check_cache(2, 3, 521, 7, 11, 1);
    check_cache(1, 1, 131, 31, 11, 12);
    laws();
  });
  return finish("decode");
}
