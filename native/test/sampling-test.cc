// sample_keys, segment_means and optimal_mixture against plain loops in double precision.
#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

// ---- sample_keys ----------------------------------------------------------------------------

struct Draws {
  Size batch, heads, queries, keys, dim, draws;
  bool causal = false, mask = false;
  double spread = 1;

  std::string name() const {
    return text("draws B", batch, "-H", heads, "-L", queries, "-S", keys, "-D", dim, "-n", draws,
                causal ? " causal" : "", mask ? " mask" : "", spread == 1 ? "" : " large");
  }
};

// A draw is right when its interval of cumulated weights, widened by what float32 may do to them, holds
// the uniform. A logit is wrong by (D + 8) u of its summed magnitudes and its distance to the reference,
// a sum of weights by that relatively and by its roundings.
void check_draw(const Draws& c, const Buffer& query, const Buffer& key, const std::uint8_t* mask,
                Size pair, Size i, float u, Size drawn) {
  const float* q = query.data() + (pair * c.queries + i) * c.dim;
  std::vector<double> logits(static_cast<std::size_t>(c.keys), -kInf);
  double top = -kInf, error = 0;
  for (Size j = 0; j < c.keys; j++) {
    if ((c.causal && j > i) || (mask && !mask[j])) continue;
    const float* k = key.data() + (pair * c.keys + j) * c.dim;
    double dot = 0, magnitude = 0;
    for (Size x = 0; x < c.dim; x++) {
      dot += static_cast<double>(q[x]) * k[x];
      magnitude += std::fabs(static_cast<double>(q[x]) * k[x]);
    }
    logits[static_cast<std::size_t>(j)] = dot;
    error = std::max(error, static_cast<double>(c.dim + 8) * kUnit * (magnitude + 1));
    top = std::max(top, dot);
  }
  if (top == -kInf) return expect(drawn == 0, "a row without keys draws key 0");
  double total = 0, before = 0, after = 0;
  for (const double logit : logits) total += std::exp(logit - top);
  for (Size j = 0; j <= drawn; j++) {
    before = after;
    after += std::exp(logits[static_cast<std::size_t>(j)] - top) / total;
  }
  const double slack = 4 * error + static_cast<double>(c.keys + 16) * kUnit;
  expect(after > before || slack > 1e-3, "drew a key without weight");
  expect(before <= u + slack && u - slack <= after,
         text("drew ", drawn, " of [", before, ", ", after, ") at ", u));
}

void check_draws(const Draws& c) {
  run_case(c.name(), [&] {
    const Size rows = c.batch * c.heads;
    const Buffer query = Buffer::normals(rows * c.queries * c.dim, 1, c.spread);
    const Buffer key = Buffer::normals(rows * c.keys * c.dim, 2, c.spread, 3);
    Buffer uniform(rows * c.queries * c.draws), keys(rows * c.queries * c.draws * c.dim, 5);
    Random random(7);
    for (Size i = 0; i < uniform.size(); i++) uniform[i] = static_cast<float>(random.uniform());
    if (uniform.size() > 1) uniform[0] = 0, uniform[1] = 1;
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(c.batch * c.keys));
    for (auto& m : mask) m = random.uniform() < 0.6;
    for (Size j = 0; j < c.keys && c.batch > 1; j++) mask[static_cast<std::size_t>(c.keys + j)] = 0;
    std::vector<std::int32_t> index(static_cast<std::size_t>(uniform.size()), -1);
    SampleKeys op;
    op.batch = c.batch;
    op.heads = c.heads;
    op.query_len = c.queries;
    op.key_len = c.keys;
    op.head_dim = c.dim;
    op.draws = c.draws;
    op.query = dense4(query.data(), c.heads, c.queries, c.dim);
    op.key = dense4(key.data(), c.heads, c.keys, c.dim);
    op.uniform = dense4<const float>(uniform.data(), c.heads, c.queries, c.draws);
    if (c.mask) op.key_mask = mask.data();
    op.causal = c.causal;
    op.index = index.data();
    op.keys = dense4(keys.data(), c.heads, c.queries * c.draws, c.dim);
    sample_keys(op);
    expect(keys.guards_hold(), "wrote outside the output");
    for (Size at = 0; at < uniform.size(); at++) {
      const Size pair = at / (c.queries * c.draws), i = at / c.draws % c.queries;
      const Size drawn = index[static_cast<std::size_t>(at)];
      expect(drawn >= 0 && drawn < c.keys, text("index ", drawn));
      const std::uint8_t* row = c.mask ? mask.data() + pair / c.heads * c.keys : nullptr;
      check_draw(c, query, key, row, pair, i, uniform[at], drawn);
      for (Size x = 0; x < c.dim; x++) {
        expect(keys[at * c.dim + x] == key[(pair * c.keys + drawn) * c.dim + x], "another key");
      }
    }
  });
}

void draws() {
  // around groups of 32 keys, blocks of 256, tiles of 6 and 24 rows
  for (const Size keys : {1, 5, 31, 32, 33, 63, 65, 255, 256, 257, 300}) {
    check_draws({1, 1, 13, keys, 5, 2});
    check_draws({1, 1, keys, keys, 3, 1, true});
    check_draws({2, 1, 7, keys, 17, 1, false, true});
  }
  check_draws({2, 3, 97, 67, 16, 3, true, true});
  check_draws({1, 2, 25, 301, 64, 1, false, false, 5});
  check_draws({1, 37, 230, 19, 3, 1});  // several blocks of rows per head
  check_draws({0, 2, 3, 5, 7, 1});
  check_draws({1, 2, 0, 5, 7, 1});
  check_draws({1, 2, 3, 5, 7, 0});
}

// ---- segment_means --------------------------------------------------------------------------

void means() {
  for (const Size columns : {1, 3, 4, 7, 8, 15, 16, 17, 33, 64}) {
    run_case(text("means of segments, columns ", columns), [&] {
      const std::vector<std::int32_t> starts = {0, 1, 3, 20, 36};
      const Size planes = 3, rows = 36, segments = 4;
      const Buffer in = Buffer::normals(planes * rows * columns, 3);
      Buffer out(planes * segments * columns, 5);
      segment_means({planes, rows, columns, segments, starts.data(), in.data(), out.data()});
      expect(out.guards_hold(), "wrote outside the output");
      for (Size at = 0; at < out.size(); at++) {
        const Size plane = at / (segments * columns), segment = at / columns % segments;
        const Size first = starts[static_cast<std::size_t>(segment)];
        const Size end = starts[static_cast<std::size_t>(segment + 1)];
        double want = 0, magnitude = 0;
        for (Size row = first; row < end; row++) {
          const double x = in[(plane * rows + row) * columns + at % columns];
          want += x / static_cast<double>(end - first);
          magnitude += std::fabs(x) / static_cast<double>(end - first);
        }
        expect_near(out[at], want, static_cast<double>(end - first + 2) * kUnit * magnitude, "mean");
      }
    });
  }
}

// ---- optimal_mixture ------------------------------------------------------------------------

struct MixtureCase {
  Size batch, heads, queries, proposals, per_proposal, dim, value_dim;
  bool present = false;

  Size count() const { return proposals * per_proposal; }
  std::string name() const {
    return text("mixture B", batch, "-H", heads, "-L", queries, "-C", proposals, "x", per_proposal,
                "-D", dim, "-Dv", value_dim, present ? " some absent" : "");
  }
};

// Logits are wrong as in softmax_attention; alpha by 8 roundings of what it is made of, which counts
// absolutely, for it may nearly cancel. A quotient inherits the errors of both sums.
void check_mixture(const MixtureCase& c) {
  run_case(c.name(), [&] {
    const Size pairs = c.batch * c.heads, count = c.count();
    const Buffer query = Buffer::normals(pairs * c.queries * c.dim, 1);
    const Buffer vectors = Buffer::normals(pairs * count * c.dim, 2, 1, 3);
    const Buffer values = Buffer::normals(pairs * count * c.value_dim, 3, 1, 5);
    const Buffer bias = Buffer::normals(pairs * count, 4);
    Buffer balance(pairs * count), affinity(pairs * c.proposals * c.queries, 7);
    Random random(5);
    for (Size i = 0; i < balance.size(); i++) balance[i] = static_cast<float>(random.uniform());
    for (Size i = 0; i < affinity.size(); i++) affinity[i] = static_cast<float>(random.uniform());
    std::vector<std::uint8_t> present(static_cast<std::size_t>(c.batch * c.proposals));
    for (auto& p : present) p = random.uniform() < 0.7;
    for (Size i = 0; i < c.proposals && c.batch > 1; i++) {
      present[static_cast<std::size_t>(c.proposals + i)] = 0;
    }
    Buffer out(pairs * c.queries * c.value_dim, 9);
    OptimalMixture op;
    op.batch = c.batch;
    op.heads = c.heads;
    op.query_len = c.queries;
    op.head_dim = c.dim;
    op.value_dim = c.value_dim;
    op.count = count;
    op.proposals = c.proposals;
    op.query = dense4(query.data(), c.heads, c.queries, c.dim);
    op.vectors = dense4(vectors.data(), c.heads, count, c.dim);
    op.values = dense4(values.data(), c.heads, count, c.value_dim);
    op.bias = dense3(bias.data(), c.heads, count);
    op.balance = dense3<const float>(balance.data(), c.heads, count);
    op.affinity = dense4<const float>(affinity.data(), c.heads, c.proposals, c.queries);
    if (c.present) op.present = present.data();
    op.scale = 0.6f;
    op.coefficient = 1.5f;
    op.floor = 0.25f;
    op.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
    optimal_mixture(op);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size row = 0; row < pairs * c.queries; row++) {
      const Size pair = row / c.queries, i = row % c.queries;
      const std::uint8_t* here = c.present ? present.data() + pair / c.heads * c.proposals : nullptr;
      double mean = 0, exist = 0;
      for (Size p = 0; p < c.proposals; p++) {
        if (here && !here[p]) continue;
        mean += affinity[(pair * c.proposals + p) * c.queries + i];
        exist++;
      }
      mean /= std::max(1.0, exist);
      std::vector<double> logits, alphas, errors;
      std::vector<Size> which;
      double top = -kInf;
      for (Size n = 0; n < count; n++) {
        const Size p = n % c.proposals;
        if (here && !here[p]) continue;
        double dot = 0, magnitude = 0;
        for (Size x = 0; x < c.dim; x++) {
          const double term = static_cast<double>(query[row * c.dim + x]) *
                              vectors[(pair * count + n) * c.dim + x];
          dot += term;
          magnitude += std::fabs(term);
        }
        const double t = affinity[(pair * c.proposals + p) * c.queries + i];
        const double b = balance[pair * count + n];
        const double logit = 0.6f * dot + bias[pair * count + n];
        logits.push_back(logit);
        alphas.push_back(std::max(0.25, b + 1.5 * (t - mean)));
        errors.push_back(static_cast<double>(c.dim + 8) * kUnit *
                         (magnitude + std::fabs(bias[pair * count + n]) + 4));
        which.push_back(n);
        top = std::max(top, logit);
      }
      const double alpha_error = static_cast<double>(c.proposals + 8) * 4 * kUnit;
      double sum = 0, sum_error = 0;
      for (std::size_t n = 0; n < which.size(); n++) {
        const double size = std::exp(logits[n] - top);
        sum += alphas[n] * size;
        sum_error += size * (alpha_error + alphas[n] * (2 * errors[n] + 8 * kUnit));
      }
      sum_error += static_cast<double>(count + 8) * kUnit * sum;
      for (Size x = 0; x < c.value_dim; x++) {
        double want = 0, magnitude = 0;
        for (std::size_t n = 0; n < which.size(); n++) {
          const double v = values[(pair * count + which[n]) * c.value_dim + x];
          want += alphas[n] * std::exp(logits[n] - top) * v;
          magnitude = std::max(magnitude, std::fabs(v));
        }
        want = which.empty() ? 0 : want / sum;
        const double bound = which.empty() ? 0 : 2 * sum_error / sum * magnitude;
        expect_near(out[row * c.value_dim + x], want, bound, text("out[", row, ",", x, "]"));
      }
    }
  });
}

void mixtures() {
  for (const Size proposals : {1, 3, 4, 7, 8, 15, 16, 17, 33, 49, 65}) {
    check_mixture({1, 2, 29, proposals, 1, 5, 3});
    check_mixture({1, 1, 7, proposals, 2, 3, 17});
    check_mixture({2, 2, 13, proposals, 2, 16, 5, true});
  }
  for (const Size queries : {1, 5, 6, 7, 23, 24, 25, 383, 385}) check_mixture({1, 1, queries, 9, 1, 3, 5});
  check_mixture({1, 37, 230, 5, 1, 3, 5});
  check_mixture({1, 1, 9, 11, 1, 64, 64});
  check_mixture({0, 1, 9, 11, 1, 3, 5});
  check_mixture({1, 1, 0, 11, 1, 3, 5});
  check_mixture({1, 1, 9, 11, 1, 3, 0});
}

}  // namespace

int main() {
  for_each_isa([] {
    draws();
    means();
    mixtures();
  });
  return finish("sampling");
}
