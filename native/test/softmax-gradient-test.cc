// softmax_gradient against plain loops in double precision.
#include <algorithm>

#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

struct Case {
  Size batch, heads, queries, keys, dim, value_dim;
  bool causal = false, bias = false, mask = false, lse = false;
  double spread = 1;  // standard deviation of queries and keys
  float scale = 0.5f;

  std::string name() const {
    return text("B", batch, "-H", heads, "-L", queries, "-S", keys, "-D", dim, "-Dv", value_dim,
                causal ? " causal" : "", bias ? " bias" : "", mask ? " mask" : "", lse ? " lse" : "",
                spread == 1 ? "" : text(" spread ", spread));
  }
};

// A call with its arrays; `out` and `lse` come from the forward pass.
struct Data {
  Case c;
  Size pairs;
  Buffer query, key, value, bias, slopes, lse_slopes, out, lse, to_query, to_key, to_value, to_bias;
  std::vector<std::uint8_t> mask;
  SoftmaxGradient op;

  explicit Data(const Case& given)
      : c(given),
        pairs(c.batch * c.heads),
        query(Buffer::normals(pairs * c.queries * c.dim, 1, c.spread, 1)),
        key(Buffer::normals(pairs * c.keys * c.dim, 2, c.spread, 3)),
        value(Buffer::normals(pairs * c.keys * c.value_dim, 3, 1, 5)),
        bias(Buffer::normals(pairs * c.keys, 4, 3, 7)),
        slopes(Buffer::normals(pairs * c.queries * c.value_dim, 5, 1, 2)),
        lse_slopes(Buffer::normals(pairs * c.queries, 6, 1, 4)),
        out(pairs * c.queries * c.value_dim),
        lse(pairs * c.queries, 3),
        to_query(query.size(), 5),
        to_key(key.size(), 7),
        to_value(value.size(), 2),
        to_bias(bias.size(), 6),
        mask(static_cast<std::size_t>(c.batch * c.keys)) {
    Random random(7);
    for (auto& m : mask) m = random.uniform() < 0.7 ? 255 : 0;
    // the second batch element sees nothing
    for (Size j = 0; j < c.keys && c.batch > 1; j++) mask[static_cast<std::size_t>(c.keys + j)] = 0;
    SoftmaxAttention& forward = op.forward;
    forward.batch = c.batch;
    forward.heads = c.heads;
    forward.query_len = c.queries;
    forward.key_len = c.keys;
    forward.head_dim = c.dim;
    forward.value_dim = c.value_dim;
    forward.query = dense4<const float>(query.data(), c.heads, c.queries, c.dim);
    forward.key = dense4<const float>(key.data(), c.heads, c.keys, c.dim);
    forward.value = dense4<const float>(value.data(), c.heads, c.keys, c.value_dim);
    if (c.bias) forward.key_bias = dense3<const float>(bias.data(), c.heads, c.keys);
    if (c.mask) forward.key_mask = mask.data();
    forward.scale = c.scale;
    forward.causal = c.causal;
    SoftmaxAttention run = forward;
    run.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
    run.lse = dense3(lse.data(), c.heads, c.queries);
    softmax_attention(run);
    op.out = out.data();
    op.lse = lse.data();
    op.slopes = slopes.data();
    if (c.lse) op.lse_slopes = lse_slopes.data();
    op.to_query = to_query.data();
    op.to_key = to_key.data();
    op.to_value = to_value.data();
    if (c.bias) op.to_bias = to_bias.data();
  }
  bool sees(Size b, Size i, Size j) const {
    return !(c.causal && j > i) && (!c.mask || mask[static_cast<std::size_t>(b * c.keys + j)] != 0);
  }
};

// A sum and what it may be wrong by.
struct Bounded {
  double value = 0, error = 0;
  void add(double term, double wrong) {
    value += term;
    error += wrong;
  }
};

// Gradients of one head. A weight is wrong by twice the error of its logit, (D + 8) u of the magnitudes (see
// softmax-attention-test.cc), by 8 u of the log-sum and the largest logit, and by (S + 16) u from that sum. With
// T_ij = |g_i|.(|v_j| + sum p |v|) + |dlse_i| a slope p (g.(v - o) + dlse) is at most p T, and wrong by p T times twice that,
// for p and for o, and (2 Dv + 16) u. Sums of n terms round by n u of their magnitudes.
void check_head(const Data& d, Size b, Size h) {
  const Case& c = d.c;
  const Size pair = b * c.heads + h;
  const float* query = d.query.data() + pair * c.queries * c.dim;
  const float* key = d.key.data() + pair * c.keys * c.dim;
  const float* value = d.value.data() + pair * c.keys * c.value_dim;
  const auto n = [](Size a) { return static_cast<std::size_t>(a); };
  std::vector<Bounded> to_query(n(c.queries * c.dim)), to_key(n(c.keys * c.dim)), to_value(n(c.keys * c.value_dim)),
      to_bias(n(c.keys));
  const double rows = static_cast<double>(c.queries + 8), columns = static_cast<double>(c.keys + 8);
  for (Size i = 0; i < c.queries; i++) {
    const float* slope = d.slopes.data() + (pair * c.queries + i) * c.value_dim;
    std::vector<double> weight(n(c.keys));
    double top = -kInf, largest = 0, error = 0, sum = 0;
    for (Size j = 0; j < c.keys; j++) {
      double dot = 0, magnitude = 0;
      for (Size x = 0; x < c.dim; x++) {
        const double term = static_cast<double>(query[i * c.dim + x]) * key[j * c.dim + x];
        dot += term;
        magnitude += std::fabs(term);
      }
      const double shift = c.bias ? d.bias[pair * c.keys + j] : 0;
      weight[n(j)] = d.sees(b, i, j) ? c.scale * dot + shift : -kInf;
      if (!d.sees(b, i, j)) continue;
      top = std::max(top, weight[n(j)]);
      largest = std::max(largest, std::fabs(weight[n(j)]));
      error = std::max(error, static_cast<double>(c.dim + 8) * kUnit * (c.scale * magnitude + std::fabs(shift) + 1));
    }
    if (top == -kInf) continue;
    for (double& w : weight) sum += w = std::exp(w - top);
    const double relative = 2 * error + 8 * kUnit * (2 * largest + std::log(columns)) + (columns + 8) * kUnit;
    std::vector<double> out(n(c.value_dim)), size(out.size());
    for (Size j = 0; j < c.keys; j++) {
      weight[n(j)] /= sum;
      for (Size x = 0; x < c.value_dim; x++) {
        out[n(x)] += weight[n(j)] * value[j * c.value_dim + x];
        size[n(x)] += weight[n(j)] * std::fabs(value[j * c.value_dim + x]);
      }
    }
    for (Size j = 0; j < c.keys; j++) {
      double rise = c.lse ? d.lse_slopes[pair * c.queries + i] : 0, most = std::fabs(rise);
      const double p = weight[n(j)];
      for (Size x = 0; x < c.value_dim; x++) {
        const double v = value[j * c.value_dim + x], g = slope[x];
        rise += g * (v - out[n(x)]);
        most += std::fabs(g) * (std::fabs(v) + size[n(x)]);
        to_value[n(j * c.value_dim + x)].add(p * g, std::fabs(p * g) * (relative + rows * kUnit));
      }
      const double wrong = p * most * (2 * relative + static_cast<double>(2 * c.value_dim + 16) * kUnit);
      to_bias[n(j)].add(p * rise, wrong + rows * kUnit * p * most);
      for (Size x = 0; x < c.dim; x++) {
        const double q = c.scale * static_cast<double>(query[i * c.dim + x]);
        const double k = c.scale * static_cast<double>(key[j * c.dim + x]);
        to_query[n(i * c.dim + x)].add(p * rise * k, std::fabs(k) * (wrong + columns * kUnit * p * most));
        to_key[n(j * c.dim + x)].add(p * rise * q, std::fabs(q) * (wrong + rows * kUnit * p * most));
      }
    }
  }
  const auto compare = [&](const char* what, const float* got, const std::vector<Bounded>& want) {
    // weights below 2^-126 are lost: 1e-33 of any product here
    for (std::size_t x = 0; x < want.size(); x++) {
      expect_near(got[x], want[x].value, want[x].error + 1e-33, text(what, " of head ", pair, ", ", x));
    }
  };
  compare("query", d.to_query.data() + pair * c.queries * c.dim, to_query);
  compare("key", d.to_key.data() + pair * c.keys * c.dim, to_key);
  compare("value", d.to_value.data() + pair * c.keys * c.value_dim, to_value);
  if (c.bias) compare("bias", d.to_bias.data() + pair * c.keys, to_bias);
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    Data d(c);
    softmax_gradient(d.op);
    for (const Buffer* written : {&d.to_query, &d.to_key, &d.to_value, &d.to_bias}) {
      expect(written->guards_hold(), "wrote outside an output");
    }
    for (Size b = 0; b < c.batch; b++) {
      for (Size h = 0; h < c.heads; h++) check_head(d, b, h);
    }
  });
}

void shapes() {
  for (const Size dim : {1, 3, 7, 16, 17, 63, 64, 65}) {
    check({1, 1, 13, 29, dim, 5});
    check({1, 1, 31, 11, 5, dim, true});
  }
  // around register tiles of 6, tiles of 48 queries, panels and blocks of 128 keys
  for (const Size n : {1, 5, 6, 7, 15, 16, 17, 47, 48, 49, 127, 128, 129}) {
    check({1, 1, n, n, 5, 3});
    check({1, 1, n, n, 3, 7, true, true});
    check({1, 2, 7, n, 5, 3, true});
    check({1, 2, n, 7, 5, 3, true});
  }
  for (const bool causal : {false, true}) {
    check({1, 1, 301, 301, 7, 5, causal});
    check({3, 3, 150, 150, 7, 5, causal, true, true, true});
    check({2, 3, 59, 101, 7, 11, causal, true, true, true});
    check({2, 3, 101, 59, 7, 11, causal, false, true, true});
    for (const double spread : {0.1, 4.0}) check({1, 2, 61, 131, 17, 11, causal, true, false, true, spread});
    check({0, 2, 3, 5, 7, 11, causal, true});
    check({1, 2, 0, 5, 7, 11, causal, true});
    check({1, 2, 3, 0, 7, 11, causal, true});
    check({1, 2, 3, 5, 7, 0, causal, true});
  }
}

void laws() {
  run_case("rows that see no key, and absent keys, have no part whatever stands in them", [] {
    Data d({2, 2, 61, 61, 7, 5, true, false, true, true});
    softmax_gradient(d.op);
    const Buffer to_query = d.to_query, to_key = d.to_key, to_value = d.to_value;
    for (Size j = 0; j < 2 * d.c.keys; j++) {
      if (d.mask[static_cast<std::size_t>(j)]) continue;
      for (Size h = 0; h < 2; h++) {
        const Size row = (j / d.c.keys * 2 + h) * d.c.keys + j % d.c.keys;
        for (Size x = 0; x < d.c.dim; x++) d.key[row * d.c.dim + x] = kNaN;
        for (Size x = 0; x < d.c.value_dim; x++) d.value[row * d.c.value_dim + x] = kNaN;
      }
    }
    for (Size i = d.slopes.size() / 2; i < d.slopes.size(); i++) d.slopes[i] = kNaN;
    softmax_gradient(d.op);
    const auto same = [](const Buffer& a, const Buffer& b, const char* what) {
      for (Size i = 0; i < a.size(); i++) expect(a[i] == b[i], text(what, " ", i));
    };
    same(d.to_query, to_query, "query");
    same(d.to_key, to_key, "key");
    same(d.to_value, to_value, "value");
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    shapes();
    laws();
  });
  return finish("softmax gradient");
}
