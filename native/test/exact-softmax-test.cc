// exact_softmax against plain loops in extended precision, and its 2^x.
#include <algorithm>

#include "dispatch.h"
#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

constexpr double kUnitD = 0x1p-53;  // half a unit in the last place of 1, in doubles
using Long = long double;
using Doubles = std::vector<double>;

struct Case {
  Size queries, keys, dim, value_dim;
  bool causal = false, self = false, bias = false, constant = false, output = true;
  double spread = 1;  // standard deviation of queries and keys

  std::string name() const {
    return text("L", queries, "-S", keys, "-D", dim, "-Dv", value_dim, causal ? " causal" : "",
                self ? " excludes self" : "", bias ? " bias" : "", constant ? " constant" : "",
                output ? "" : " no output", spread == 1 ? "" : text(" spread ", spread));
  }
};

Doubles normals(Size count, std::uint64_t seed, double scale) {
  Random random(seed);
  Doubles out(static_cast<std::size_t>(count));
  for (double& x : out) x = random.normal() * scale;
  return out;
}

struct Data {
  Doubles query, key, bias, constant;
  Buffer value;

  explicit Data(const Case& c)
      : query(normals(c.queries * c.dim, 1, c.spread)),
        key(normals(c.keys * c.dim, 2, c.spread)),
        bias(normals(c.keys, 4, 3)),
        constant(normals(c.queries, 5, 4)),
        value(Buffer::normals(c.keys * c.value_dim, 3)) {
    for (std::size_t i = 0; i < constant.size(); i += 5) constant[i] = -kInf;
  }
};

// Doubles with a guard behind them; start as NaN.
struct Output {
  Doubles memory;
  explicit Output(Size count) : memory(static_cast<std::size_t>(count + 8), kNaN) {
    std::fill(memory.end() - 8, memory.end(), -7.0);
  }
  double* data() { return memory.data(); }
  double operator[](Size i) const { return memory[static_cast<std::size_t>(i)]; }
  bool guard_holds() const {
    return std::all_of(memory.end() - 8, memory.end(), [](double x) { return x == -7.0; });
  }
};

struct Result {
  Output out, lse, entropy;

  explicit Result(const Case& c) : out(c.queries * c.value_dim), lse(c.queries), entropy(c.queries) {}
};

Result run(const Case& c, const Data& d) {
  Result r(c);
  ExactSoftmax op;
  op.query_len = c.queries;
  op.key_len = c.keys;
  op.head_dim = c.dim;
  op.value_dim = c.output ? c.value_dim : 0;
  op.query = d.query.data();
  op.key = d.key.data();
  if (c.bias) op.key_bias = d.bias.data();
  if (c.constant) op.log_constant = d.constant.data();
  if (c.output) {
    op.value = d.value.data();
    op.out = r.out.data();
  }
  op.causal = c.causal;
  op.excludes_self = c.self;
  op.lse = r.lse.data();
  op.entropy = r.entropy.data();
  exact_softmax(op);
  expect(r.out.guard_holds() && r.lse.guard_holds() && r.entropy.guard_holds(), "wrote outside");
  return r;
}

void near(double got, Long want, Long bound, const std::string& what) {
  const Long error = std::fabs(static_cast<Long>(got) - want);
  if (!(error <= bound)) fail(text(what, ": got ", got, ", want ", want, ", bound ", bound));
  const double ratio = static_cast<double>(error / bound);
  if (bound > 0 && ratio > tally().worst) {
    tally().worst = ratio;
    tally().worst_case = current_case();
  }
}

// One row and its bounds, u = 2^-53. A logit in units of log2 is wrong by (D + 6) u log2 e (sum|q k| +
// |bias|): a dot product of rounded terms, and as much again where a reference of its size is taken
// off. A weight is wrong by that relatively (times ln 2) and 3 u for 2^x; a sum of n terms by (n + 8) u,
// once more for each time that the reference moves, at most once per block of keys. Quotients double
// it. The entropy is a sum of p |s - m|, |s - m| <= 8 + the range of the logits.
void check_row(const Case& c, const Data& d, Size i, const Result& r) {
  const Size view = c.causal ? std::min(i + 1, c.keys) : c.keys;
  std::vector<Long> logits;
  std::vector<Size> seen;
  Long magnitude = 1, top = -kInf, least = kInf;
  for (Size j = 0; j < view; j++) {
    if (c.self && j == i && view > 1) continue;
    Long dot = 0, size = 0;
    for (Size x = 0; x < c.dim; x++) {
      const Long term = static_cast<Long>(d.query[static_cast<std::size_t>(i * c.dim + x)]) *
                        d.key[static_cast<std::size_t>(j * c.dim + x)];
      dot += term;
      size += std::fabs(term);
    }
    const Long bias = c.bias ? d.bias[static_cast<std::size_t>(j)] : 0;
    logits.push_back(dot + bias);
    seen.push_back(j);
    magnitude = std::max(magnitude, size + std::fabs(bias));
    top = std::max(top, logits.back());
    least = std::min(least, logits.back());
  }
  if (seen.empty()) {
    expect(r.lse[i] == -kInf && r.entropy[i] == 0, "row without keys");
    for (Size x = 0; x < c.value_dim; x++) expect(r.out[i * c.value_dim + x] == 0, "row not zero");
    return;
  }
  const Long constant = c.constant ? d.constant[static_cast<std::size_t>(i)] : -kInf;
  const Long most = std::max(top, constant), added = std::exp(constant - most);
  const Long n = static_cast<Long>(seen.size()), blocks = static_cast<Long>(c.keys / 128 + 2);
  Long sum = 0, plain = 0, moment = 0;
  for (const Long logit : logits) {
    sum += std::exp(logit - most) + added;
    plain += std::exp(logit - top);
    moment += std::exp(logit - top) * (logit - top);
  }
  const Long logit_error = 2 * static_cast<Long>(c.dim + 6) * kUnitD * (magnitude + std::fabs(most));
  const Long relative = 2 * (logit_error + (n + 8 + 3 * blocks) * kUnitD);
  for (Size x = 0; c.output && x < c.value_dim; x++) {
    Long want = 0, size = 0;
    for (std::size_t k = 0; k < seen.size(); k++) {
      const Long p = (std::exp(logits[k] - most) + added) / sum;
      const Long v = d.value[seen[k] * c.value_dim + x];
      want += p * v;
      size += p * std::fabs(v);
    }
    // the hidden key's value is added to those in view and taken off again
    const bool hides = c.constant && c.self && i < view;
    if (hides) size += added / sum * std::fabs(d.value[i * c.value_dim + x]);
    near(r.out[i * c.value_dim + x], want, relative * size + 1e-300L, text("out[", i, ",", x, "]"));
  }
  near(r.lse[i], most + std::log(sum), relative + 4 * kUnitD * std::fabs(most + std::log(sum)), "lse");
  const Long spread = 8 + std::min(top - least, static_cast<Long>(750));
  near(r.entropy[i], std::log(plain) - moment / plain, relative * (1 + 2 * spread), "entropy");
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    const Data d(c);
    const Result r = run(c, d);
    for (Size i = 0; i < c.queries; i++) check_row(c, d, i, r);
  });
}

void shapes() {
  for (const Size n : {1, 2, 5, 6, 7, 8, 9, 23, 24, 25, 33}) check({n, 2 * n + 1, 5, n});
  for (const bool causal : {false, true}) {
    for (const bool self : {false, true}) {
      for (const bool constant : {false, true}) {
        check({47, 53, 7, 9, causal, self, true, constant});
        check({1, 1, 3, 2, causal, self, false, constant});
        check({301, 260, 17, 33, causal, self, false, constant});
        check({131, 390, 3, 5, causal, self, true, constant});
      }
    }
  }
  check({37, 129, 64, 64, true, false, false, false, false});
  check({9, 0, 3, 4});
  check({9, 7, 0, 4, true});
  check({800, 129, 1, 1});
}

void values() {
  // logits of some 1e4 and more: one key takes all, and others leave no trace
  check({40, 300, 16, 8, false, false, true, false, true, 25});
  check({40, 300, 16, 8, true, true, true, true, true, 25});
  check({25, 140, 8, 3, true, false, true, true, true, 1e-3});
  run_case("a reference that falls or rises from block to block", [] {
    for (const double step : {-3.0, 3.0}) {
      Case c{7, 700, 1, 3};
      Data d(c);
      for (Size j = 0; j < c.keys; j++) {
        d.key[static_cast<std::size_t>(j)] = step * static_cast<double>(j);
      }
      const Result r = run(c, d);
      for (Size i = 0; i < c.queries; i++) check_row(c, d, i, r);
    }
  });
  run_case("NaN in a query reaches its row and no other", [] {
    const Case c{9, 19, 3, 7};
    Data d(c);
    d.query[4 * 3] = kNaN;
    const Result r = run(c, d);
    for (Size i = 0; i < c.queries; i++) {
      expect(std::isnan(r.out[i * c.value_dim]) == (i == 4), text("row ", i));
      expect(std::isnan(r.entropy[i]) == (i == 4), text("entropy of row ", i));
    }
  });
  run_case("the bits do not depend on the number of threads", [] {
    const Case c{700, 650, 33, 40, true, true, true, true};
    const Data d(c);
    const Result one = run(c, d);
    for (const int count : {2, 3}) {
      set_threads(count);
      const Result many = run(c, d);
      expect(one.out.memory == many.out.memory && one.lse.memory == many.lse.memory &&
                 one.entropy.memory == many.entropy.memory,
             text(count, " threads"));
    }
    set_threads(1);
  });
}

// Weights of the arc-cosine kernel, from the angle in extended precision. A cosine of unit vectors is wrong
// by (D + 3) u, a weight by pi times that and 12 u, a sum by (n + 8) u; numerator and denominator double it.
void arc_cosine() {
  for (const bool causal : {false, true}) {
    for (const bool self : {false, true}) {
      for (const Size dim : {1, 2, 17}) {
        run_case(text("arc-cosine D", dim, causal ? " causal" : "", self ? " excludes self" : ""), [&] {
          const Case c{61, 230, dim, 9, causal, self};
          Data d(c);
          for (Doubles* vectors : {&d.query, &d.key}) {
            for (std::size_t i = 0; i < vectors->size(); i += static_cast<std::size_t>(dim)) {
              Long norm = 0;
              for (Size x = 0; x < dim; x++) norm += static_cast<Long>((*vectors)[i + x]) * (*vectors)[i + x];
              for (Size x = 0; x < dim; x++) (*vectors)[i + x] /= static_cast<double>(std::sqrt(norm));
            }
          }
          Doubles length = normals(c.keys, 6, 1);
          for (double& x : length) x = std::fabs(x);
          Result r(c);
          ExactSoftmax op;
          op.query_len = c.queries;
          op.key_len = c.keys;
          op.head_dim = dim;
          op.value_dim = c.value_dim;
          op.query = d.query.data();
          op.key = d.key.data();
          op.key_length = length.data();
          op.value = d.value.data();
          op.causal = causal;
          op.excludes_self = self;
          op.out = r.out.data();
          exact_softmax(op);
          expect(r.out.guard_holds(), "wrote outside");
          for (Size i = 0; i < c.queries; i++) {
            const Size view = causal ? std::min(i + 1, c.keys) : c.keys;
            Long sum = 0, lengths = 0, size = 0;
            std::vector<Long> want(static_cast<std::size_t>(c.value_dim));
            for (Size j = 0; j < view; j++) {
              if (self && j == i && view > 1) continue;
              Long dot = 0;
              for (Size x = 0; x < dim; x++) {
                dot += static_cast<Long>(d.query[static_cast<std::size_t>(i * dim + x)]) *
                       d.key[static_cast<std::size_t>(j * dim + x)];
              }
              dot = std::max<Long>(-1, std::min<Long>(1, dot));
              const Long t = std::acos(dot), weight = std::sin(t) + (std::acos(-dot)) * dot;
              const Long scale = length[static_cast<std::size_t>(j)];
              sum += scale * weight;
              lengths += scale;
              for (Size x = 0; x < c.value_dim; x++) {
                want[static_cast<std::size_t>(x)] += scale * weight * d.value[j * c.value_dim + x];
                size = std::max(size, std::fabs(static_cast<Long>(d.value[j * c.value_dim + x])));
              }
            }
            const Long error = lengths * (3.2L * (dim + 3) + 12 + 3.2L * (view + 8)) * kUnitD;
            for (Size x = 0; x < c.value_dim; x++) {
              const Long value = sum > 0 ? want[static_cast<std::size_t>(x)] / sum : 0;
              // a row of opposite vectors has no weights to speak of
              if (sum < 1e3 * error) continue;
              near(r.out[i * c.value_dim + x], value, 2.1L * error * size / sum, text("out ", i, ",", x));
            }
          }
        });
      }
    }
  }
}

void powers() {
  run_case("2^x of weights", [] {
    Random random(7);
    Doubles in = {0, -0.5, 0.5, -1021.75, -1022, -1022.49, -1022.51, -1100, -1e300, -kInf, kNaN, 1021.9};
    for (int i = 0; i < 400000; i++) in.push_back((random.uniform() * 2 - 1) * (i % 2 ? 1022 : 2));
    Doubles out(in.size());
    kernels().exp2_weights_double(in.data(), out.data(), static_cast<Size>(in.size()));
    double worst = 0;
    for (std::size_t i = 0; i < in.size(); i++) {
      if (in[i] < -1022.5) {
        expect(out[i] == 0, text("2^", in[i]));
      } else if (std::isnan(in[i])) {
        expect(std::isnan(out[i]), "NaN");
      } else if (in[i] >= -1022) {
        const Long want = std::exp2(static_cast<Long>(in[i]));
        int exponent;
        std::frexp(static_cast<double>(want), &exponent);
        const Long error = std::fabs(out[i] - want) / std::ldexp(static_cast<Long>(1), exponent - 53);
        worst = std::max(worst, static_cast<double>(error));
      }
    }
    std::printf("  %-7s 2^x double  %.4f ULP\n", runtime().isa.c_str(), worst);
    expect(worst <= 1.1, text("error ", worst, " ULP"));
  });
}

}  // namespace

// Floats with a factor are the doubles that they stand for, to the bit.
void floats() {
  const Case c{45, 203, 11, 9};
  const double scale = 0.37;
  const Buffer query = Buffer::normals(c.queries * c.dim, 6), key = Buffer::normals(c.keys * c.dim, 7);
  Data scaled(c);
  const auto fill = [&](Doubles& to, const Buffer& from) {
    for (std::size_t i = 0; i < to.size(); i++) to[i] = from.data()[i] * scale;
  };
  fill(scaled.query, query);
  fill(scaled.key, key);
  const Result doubles = run(c, scaled);
  Result given(c);
  ExactSoftmax op;
  op.query_len = c.queries;
  op.key_len = c.keys;
  op.head_dim = c.dim;
  op.value_dim = c.value_dim;
  op.query_floats = query.data();
  op.key_floats = key.data();
  op.scale = scale;
  op.value = scaled.value.data();
  op.out = given.out.data();
  exact_softmax(op);
  expect(given.out.memory == doubles.out.memory, "floats with a factor: " + c.name());
}

int main() {
  for_each_isa([] {
    shapes();
    floats();
    values();
    arc_cosine();
    powers();
  });
  return finish("exact softmax");
}
