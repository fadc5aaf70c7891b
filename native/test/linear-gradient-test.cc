// linear_attention_gradient and feature_map_gradient against plain loops, on whole numbers: with log-weights and gates of 0
// all factors are 1, and sums are exact in any order. Factors, guards and other features are held in TypeScript.
#include "features.h"

using namespace rfa;
using namespace rfa::test;

namespace {

// Whole numbers from -2 to 2.
Buffer whole(Size count, std::uint64_t seed, Size shift = 1) {
  Buffer buffer(count, shift);
  Random random(seed);
  for (Size i = 0; i < count; i++) buffer[i] = static_cast<float>(random.next() % 5) - 2;
  return buffer;
}

struct Case {
  FeatureKind kind;
  Size batch, heads, queries, keys, dim, value_dim, features;
  bool causal = false, mask = false, weight = false, gate = false, state = false, normalize = false;

  std::string name() const {
    return text(kind == FeatureKind::kRelu ? "relu" : "explicit", " B", batch, "-H", heads, "-L", queries, "-S", keys,
                "-D", dim, "-Dv", value_dim, "-M", features, causal ? " causal" : "", mask ? " mask" : "",
                weight ? " weight" : "", gate ? " gate" : "", state ? " state" : "", normalize ? " normalize" : "");
  }
};

struct Data {
  Size pairs, count;
  Buffer query, key, value, projection, zeros, state, normalizer, out, ones, slopes, denominator_slopes;
  Buffer to_query, to_key, to_value, to_query_projection, to_key_projection, to_weight, to_gate, to_state, to_normalizer;
  std::vector<std::uint8_t> mask;
  LinearAttentionGradient op;

  explicit Data(const Case& c)
      : pairs(c.batch * c.heads),
        count(c.kind == FeatureKind::kRelu ? c.features : c.dim),
        query(whole(pairs * c.queries * c.dim, 1)),
        key(whole(pairs * c.keys * c.dim, 2, 3)),
        value(whole(pairs * c.keys * c.value_dim, 3, 5)),
        projection(whole(c.heads * c.features * c.dim, 4, 7)),
        zeros(pairs * c.keys, 1, 0),
        state(whole(pairs * count * c.value_dim, 5)),
        normalizer(whole(pairs * count, 6)),
        out(whole(pairs * c.queries * c.value_dim, 7)),
        ones(pairs * c.queries, 1, 1),
        slopes(whole(pairs * c.queries * c.value_dim, 8)),
        denominator_slopes(whole(pairs * c.queries, 9)),
        to_query(pairs * c.queries * c.dim),
        to_key(pairs * c.keys * c.dim, 3),
        to_value(pairs * c.keys * c.value_dim, 5),
        to_query_projection(pairs * c.features * c.dim),
        to_key_projection(pairs * c.features * c.dim),
        to_weight(pairs * c.keys),
        to_gate(pairs * c.keys),
        to_state(pairs * count * c.value_dim),
        to_normalizer(pairs * count),
        mask(static_cast<std::size_t>(c.batch * c.keys)) {
    Random random(10);
    for (auto& m : mask) m = random.uniform() < 0.7 ? 1 : 0;
    LinearAttention& f = op.forward;
    f.batch = c.batch;
    f.heads = c.heads;
    f.query_len = c.queries;
    f.key_len = c.keys;
    f.head_dim = c.dim;
    f.value_dim = c.value_dim;
    f.query.kind = f.key.kind = c.kind;
    f.query.num_features = f.key.num_features = c.features;
    if (c.kind == FeatureKind::kRelu) {
      f.query.projection = f.key.projection = {projection.data(), 0, c.features * c.dim, c.dim};
    }
    f.query.x = dense4<const float>(query.data(), c.heads, c.queries, c.dim);
    f.key.x = dense4<const float>(key.data(), c.heads, c.keys, c.dim);
    f.value = dense4<const float>(value.data(), c.heads, c.keys, c.value_dim);
    if (c.mask) f.key_mask = mask.data();
    if (c.weight) f.key_log_weight = dense3<const float>(zeros.data(), c.heads, c.keys);
    if (c.gate) f.log_gate = dense3<const float>(zeros.data(), c.heads, c.keys);
    if (c.state) {
      f.initial_state = dense4<const float>(state.data(), c.heads, count, c.value_dim);
      f.initial_normalizer = dense3<const float>(normalizer.data(), c.heads, count);
    }
    f.causal = c.causal;
    f.normalize = c.normalize;
    f.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
    f.denominator = dense3(ones.data(), c.heads, c.queries);
    op.slopes = slopes.data();
    op.denominator_slopes = denominator_slopes.data();
    op.to_query = to_query.data();
    op.to_key = to_key.data();
    op.to_value = to_value.data();
    op.to_query_projection = to_query_projection.data();
    op.to_key_projection = to_key_projection.data();
    op.to_key_log_weight = to_weight.data();
    op.to_log_gate = to_gate.data();
    op.to_initial_state = to_state.data();
    op.to_initial_normalizer = to_normalizer.data();
  }
};

using Doubles = std::vector<double>;

// Features of a token, and from slopes of them to those of token and projection.
Doubles features_of_token(const Case& c, const Data& d, Size head, const float* x) {
  Doubles phi(static_cast<std::size_t>(d.count));
  for (Size f = 0; f < d.count; f++) {
    if (c.kind == FeatureKind::kExplicit) {
      phi[f] = x[f];
      continue;
    }
    for (Size i = 0; i < c.dim; i++) phi[f] += static_cast<double>(d.projection[(head * c.features + f) * c.dim + i]) * x[i];
    phi[f] = std::max(phi[f], 0.0);
  }
  return phi;
}
void add_token(const Case& c, const Data& d, Size head, const float* x, const Doubles& phi, const Doubles& slopes,
               double* to_x, Doubles& to_projection) {
  for (Size f = 0; f < d.count; f++) {
    if (c.kind == FeatureKind::kExplicit) {
      to_x[f] = slopes[f];
      continue;
    }
    for (Size i = 0; phi[f] > 0 && i < c.dim; i++) {
      to_x[i] += slopes[f] * d.projection[(head * c.features + f) * c.dim + i];
      to_projection[f * c.dim + i] += slopes[f] * x[i];
    }
  }
}

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}
void add(Doubles& sum, double factor, const Doubles& x) {
  for (std::size_t i = 0; i < x.size(); i++) sum[i] += factor * x[i];
}

void expect_all(const float* got, const Doubles& want, const char* what) {
  for (std::size_t i = 0; i < want.size(); i++) expect_near(got[i], want[i], 0, text(what, " ", i));
}

// All gradients of one head as sums over its pairs.
void check_head(const Case& c, const Data& d, Size pair) {
  const Size batch = pair / c.heads, head = pair % c.heads;
  std::vector<Doubles> q, k, v, n;  // features, values and slopes, the last two with an entry for the denominator
  for (Size i = 0; i < c.queries; i++) {
    const Size row = pair * c.queries + i;
    q.push_back(features_of_token(c, d, head, d.query.data() + row * c.dim));
    Doubles slope;
    double along = 0;
    for (Size e = 0; e < c.value_dim; e++) {
      slope.push_back(d.slopes[row * c.value_dim + e]);
      along += slope.back() * d.out[row * c.value_dim + e];
    }
    slope.push_back(d.denominator_slopes[row] - (c.normalize ? along : 0));
    n.push_back(slope);
  }
  const auto there = [&](Size j) { return !c.mask || d.mask[static_cast<std::size_t>(batch * c.keys + j)]; };
  for (Size j = 0; j < c.keys; j++) {
    const Size row = pair * c.keys + j;
    k.push_back(features_of_token(c, d, head, d.key.data() + row * c.dim));
    Doubles one(d.value.data() + row * c.value_dim, d.value.data() + (row + 1) * c.value_dim);
    one.push_back(1);
    v.push_back(one);
  }
  const auto size = [](Size a, Size b) { return Doubles(static_cast<std::size_t>(a * b)); };
  std::vector<Doubles> to_q(q.size(), size(d.count, 1)), to_k(k.size(), size(d.count, 1)), to_v(k.size(), size(c.value_dim + 1, 1));
  Doubles gates = size(c.keys, 1), weights = gates, state = size(d.count, c.value_dim), normalizer = size(d.count, 1);
  for (Size i = 0; i < c.queries; i++) {
    for (Size f = 0; c.state && f < d.count; f++) {
      const Size at = pair * d.count + f;
      double carried = n[i].back() * d.normalizer[at];
      for (Size e = 0; e < c.value_dim; e++) {
        carried += n[i][e] * d.state[at * c.value_dim + e];
        state[f * c.value_dim + e] += q[i][f] * n[i][e];
      }
      normalizer[f] += q[i][f] * n[i].back();
      to_q[i][f] += carried;
      for (Size m = 0; m < c.keys && m <= i; m++) gates[m] += carried * q[i][f];
    }
    for (Size j = 0; j < (c.causal ? std::min(c.keys, i + 1) : c.keys); j++) {
      if (!there(j)) continue;
      const double steep = dot(n[i], v[j]), product = dot(q[i], k[j]);
      add(to_q[i], steep, k[j]);
      add(to_k[j], steep, q[i]);
      add(to_v[j], product, n[i]);
      weights[j] += steep * product;
      for (Size m = j + 1; m < c.keys && m <= i; m++) gates[m] += steep * product;
    }
  }
  Doubles to_query = size(c.queries, c.dim), to_key = size(c.keys, c.dim), to_value;
  Doubles query_rows = size(c.features, c.dim), key_rows = query_rows;
  for (Size i = 0; i < c.queries; i++) {
    add_token(c, d, head, d.query.data() + (pair * c.queries + i) * c.dim, q[i], to_q[i], &to_query[i * c.dim], query_rows);
  }
  for (Size j = 0; j < c.keys; j++) {
    add_token(c, d, head, d.key.data() + (pair * c.keys + j) * c.dim, k[j], to_k[j], &to_key[j * c.dim], key_rows);
    to_value.insert(to_value.end(), to_v[j].begin(), to_v[j].end() - 1);
  }
  expect_all(d.to_query.data() + pair * c.queries * c.dim, to_query, "query");
  expect_all(d.to_key.data() + pair * c.keys * c.dim, to_key, "key");
  expect_all(d.to_value.data() + pair * c.keys * c.value_dim, to_value, "value");
  if (c.kind == FeatureKind::kRelu) {
    expect_all(d.to_query_projection.data() + pair * c.features * c.dim, query_rows, "query projection");
    expect_all(d.to_key_projection.data() + pair * c.features * c.dim, key_rows, "key projection");
  }
  if (c.weight) expect_all(d.to_weight.data() + pair * c.keys, weights, "weight");
  if (c.gate) expect_all(d.to_gate.data() + pair * c.keys, gates, "gate");
  if (!c.state) return;
  expect_all(d.to_state.data() + pair * d.count * c.value_dim, state, "state");
  expect_all(d.to_normalizer.data() + pair * d.count, normalizer, "normalizer");
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    Data d(c);
    linear_attention_gradient(d.op);
    for (Size pair = 0; pair < d.pairs; pair++) check_head(c, d, pair);
    for (const Buffer* b : {&d.to_query, &d.to_key, &d.to_value, &d.to_query_projection, &d.to_key_projection, &d.to_weight,
                            &d.to_gate, &d.to_state, &d.to_normalizer}) {
      expect(b->guards_hold(), "wrote outside of an output");
    }
  });
}

void check_cases() {
  for (const FeatureKind kind : {FeatureKind::kExplicit, FeatureKind::kRelu}) {
    for (const auto& [queries, keys] : {std::pair<Size, Size>{1, 1}, {5, 3}, {3, 5}, {48, 48}, {49, 101}, {101, 53}}) {
      for (const bool causal : {false, true}) {
        for (const bool mask : {false, true}) {
          check({kind, 1, 2, queries, keys, 7, 5, 9, causal, mask});
          check({kind, 2, 1, queries, keys, 17, 19, 13, causal, mask, true, causal, false, true});
          if (causal) check({kind, 1, 1, queries, keys, 3, 16, 33, true, mask, false, mask, true});
        }
      }
    }
  }
}

// Slopes of log-features, and of the projection, exactly; those of the other kinds are in range of their outputs.
void check_map(FeatureKind kind, Size length) {
  run_case(text("feature map, ", kind_name(kind), ", ", length), [&] {
    constexpr Size kPairs = 2, kDim = 7, kRows = 5;
    const bool twice = kind == FeatureKind::kTrigonometric || kind == FeatureKind::kLogHyperbolic;
    const Size count = twice ? 2 * kRows : kRows;
    Buffer x = whole(kPairs * length * kDim, 1), w = whole(kPairs * kRows * kDim, 2, 3), u = whole(kPairs * length * count, 3);
    Buffer to_x(kPairs * length * kDim, 3), to_w(kPairs * kRows * kDim);
    FeatureMapGradient op;
    op.batch = 1;
    op.heads = kPairs;
    op.length = length;
    op.head_dim = kDim;
    op.input.kind = kind;
    op.input.x = dense4<const float>(x.data(), kPairs, length, kDim);
    op.input.projection = {w.data(), 0, kRows * kDim, kDim};
    op.input.num_features = kRows;
    op.slopes = u.data();
    op.to_x = to_x.data();
    op.to_projection = to_w.data();
    feature_map_gradient(op);
    expect(to_x.guards_hold() && to_w.guards_hold(), "wrote outside of an output");
    for (Size i = 0; i < to_x.size(); i++) expect(std::isfinite(to_x[i]), "a slope was not written");
    for (Size i = 0; i < to_w.size(); i++) expect(std::isfinite(to_w[i]), "a slope was not written");
    if (kind != FeatureKind::kLogPositive && kind != FeatureKind::kLogHyperbolic) return;
    Doubles rows(static_cast<std::size_t>(to_w.size()));
    for (Size token = 0; token < kPairs * length; token++) {
      const Size head = token / length;
      Doubles slope(kDim);
      for (Size m = 0; m < kRows; m++) {
        const double plus = u[token * count + m], minus = twice ? u[token * count + kRows + m] : 0;
        for (Size i = 0; i < kDim; i++) {
          const double at = x[token * kDim + i], row = w[(head * kRows + m) * kDim + i];
          slope[i] += (plus - minus) * row - at * (plus + minus);
          rows[(head * kRows + m) * kDim + i] += (plus - minus) * at;
        }
      }
      expect_all(to_x.data() + token * kDim, slope, "token");
    }
    expect_all(to_w.data(), rows, "projection");
  });
}

// What a call keeps beside its outputs grows with tokens by a gate slope each and a reference a chunk, not by features.
void check_memory() {
  run_case("memory of a head", [] {
    Size bytes[2];
    for (const Size length : {1024, 4096}) {
      Data d({FeatureKind::kRelu, 1, 1, length, length, 4, 4, 64, true, false, true, true});
      release_workspace();
      linear_attention_gradient(d.op);
      bytes[length > 1024] = workspace_bytes();
    }
    const Size tokens = 4096 - 1024;
    expect(bytes[1] - bytes[0] <= 4 * (tokens + tokens / 48 + 64), text("grew by ", bytes[1] - bytes[0], " bytes"));
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    check_cases();
    for (const Size length : {1, 47, 49}) {
      for (const FeatureKind kind : {FeatureKind::kTrigonometric, FeatureKind::kRelu, FeatureKind::kLogPositive,
                                     FeatureKind::kLogHyperbolic}) {
        check_map(kind, length);
      }
    }
    check_memory();
  });
  return finish("linear attention gradient");
}
