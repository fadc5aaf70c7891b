// softmax_attention against plain loops in double precision.
#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

struct Case {
  Size batch, heads, queries, keys, dim, value_dim;
  bool causal = false, bias = false, mask = false, lse = true;
  double spread = 1;  // standard deviation of queries and keys
  float scale = 1;

  std::string name() const {
    return text("B", batch, "-H", heads, "-L", queries, "-S", keys, "-D", dim, "-Dv", value_dim,
                causal ? " causal" : "", bias ? " bias" : "", mask ? " mask" : "",
                spread == 1 ? "" : text(" spread ", spread));
  }
};

struct Data {
  Buffer query, key, value, bias;
  std::vector<std::uint8_t> mask;

  explicit Data(const Case& c)
      : query(Buffer::normals(c.batch * c.heads * c.queries * c.dim, 1, c.spread, 1)),
        key(Buffer::normals(c.batch * c.heads * c.keys * c.dim, 2, c.spread, 3)),
        value(Buffer::normals(c.batch * c.heads * c.keys * c.value_dim, 3, 1, 5)),
        bias(Buffer::normals(c.batch * c.heads * c.keys, 4, 3, 7)),
        mask(static_cast<std::size_t>(c.batch * c.keys)) {
    Random random(5);
    for (auto& m : mask) m = random.uniform() < 0.7 ? 255 : 0;
    // the second batch element sees nothing
    for (Size j = 0; j < c.keys && c.batch > 1; j++) mask[static_cast<std::size_t>(c.keys + j)] = 0;
  }
};

SoftmaxAttention operation(const Case& c, const Data& d, Buffer& out, Buffer& lse) {
  SoftmaxAttention op;
  op.batch = c.batch;
  op.heads = c.heads;
  op.query_len = c.queries;
  op.key_len = c.keys;
  op.head_dim = c.dim;
  op.value_dim = c.value_dim;
  op.query = dense4(d.query.data(), c.heads, c.queries, c.dim);
  op.key = dense4(d.key.data(), c.heads, c.keys, c.dim);
  op.value = dense4(d.value.data(), c.heads, c.keys, c.value_dim);
  if (c.bias) op.key_bias = dense3(d.bias.data(), c.heads, c.keys);
  if (c.mask) op.key_mask = d.mask.data();
  op.scale = c.scale;
  op.causal = c.causal;
  op.out = dense4(out.data(), c.heads, c.queries, c.value_dim);
  if (c.lse) op.lse = dense3(lse.data(), c.heads, c.queries);
  return op;
}

// One row, and the rounding bounds of output and log-sum-exp. A logit is wrong by at most
// (D + 8) u (|scale| sum|q k| + |bias|): one dot product, three roundings of scale, bias and change of
// base, and the same once more for the subtraction of a reference of its size. A weight is wrong by
// that much relatively, plus 4 u for 2^x; a sum of n terms by n u.
void check_row(const Case& c, const Data& d, Size b, Size h, Size i, const Buffer& out,
               const Buffer& lse) {
  const Size pair = b * c.heads + h;
  const float* q = d.query.data() + (pair * c.queries + i) * c.dim;
  std::vector<double> logits;
  std::vector<Size> seen;
  double logit_error = 0, top = -kInf;
  for (Size j = 0; j < c.keys; j++) {
    if (c.causal && j > i) continue;
    if (c.mask && !d.mask[static_cast<std::size_t>(b * c.keys + j)]) continue;
    const float* k = d.key.data() + (pair * c.keys + j) * c.dim;
    double dot = 0, magnitude = 0;
    for (Size x = 0; x < c.dim; x++) {
      dot += static_cast<double>(q[x]) * k[x];
      magnitude += std::fabs(static_cast<double>(q[x]) * k[x]);
    }
    const double bias = c.bias ? d.bias[pair * c.keys + j] : 0;
    const double logit = c.scale * dot + bias;
    const double size = std::fabs(c.scale) * magnitude + std::fabs(bias) + 1;
    logit_error = std::max(logit_error, static_cast<double>(c.dim + 8) * kUnit * size);
    top = std::max(top, logit);
    logits.push_back(logit);
    seen.push_back(j);
  }
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - top);
  const double count = static_cast<double>(seen.size());
  const double relative = 2 * (logit_error + 4 * kUnit) + (count + 8) * kUnit;
  for (Size x = 0; x < c.value_dim; x++) {
    double want = 0, magnitude = 0;
    for (std::size_t n = 0; n < seen.size(); n++) {
      const double p = std::exp(logits[n] - top) / sum;
      const double v = d.value[(pair * c.keys + seen[n]) * c.value_dim + x];
      want += p * v;
      magnitude += p * std::fabs(v);
    }
    // weights that underflow (below 2^-126 of the largest) are lost: 1e-37 of any value
    expect_near(out[(pair * c.queries + i) * c.value_dim + x], want, relative * magnitude + 1e-36,
                text("out[", b, ",", h, ",", i, ",", x, "]"));
  }
  if (!c.lse) return;
  const double want = seen.empty() ? -kInf : top + std::log(sum);
  expect_near(lse[pair * c.queries + i], want, relative + 2 * kUnit * std::fabs(want), "lse");
}

void check(const Case& c) {
  run_case(c.name(), [&] {
    const Data d(c);
    Buffer out(c.batch * c.heads * c.queries * c.value_dim), lse(c.batch * c.heads * c.queries, 3);
    softmax_attention(operation(c, d, out, lse));
    expect(out.guards_hold() && lse.guards_hold(), "wrote outside the output");
    for (Size b = 0; b < c.batch; b++) {
      for (Size h = 0; h < c.heads; h++) {
        for (Size i = 0; i < c.queries; i++) check_row(c, d, b, h, i, out, lse);
      }
    }
  });
}

void shapes() {
  for (const Size dim : {1, 3, 7, 16, 17, 63, 64, 65, 128}) {
    check({1, 1, 13, 29, dim, 5});
    check({1, 1, 11, 31, 5, dim, true});
  }
  // around tiles of 6 and 24 rows, blocks of 256 keys, panels of 8 .. 64 keys, blocks of 192 rows
  for (const Size n : {1, 5, 6, 7, 23, 24, 25, 47, 63, 64, 65}) {
    check({1, 1, n, n, 5, 3});
    check({1, 1, n, n, 3, 7, true, true});
    check({1, 1, 7, n, 3, 5, true});
    check({1, 1, n, 7, 3, 5, true});
  }
  for (const Size n : {191, 192, 193, 255, 256, 257, 511, 513}) {
    check({1, 1, 7, n, 7, 3, false, true});
    check({1, 1, n, n, 3, 5, true, false});
  }
  check({1, 37, 230, 19, 3, 5});  // several blocks of rows per head
  check({2, 3, 41, 67, 13, 17, false, true, true});
  check({2, 3, 41, 67, 13, 17, true, true, true});
  check({2, 5, 19, 23, 11, 3, true, false, true, false});
}

void values() {
  for (const double spread : {0.0, 0.1, 10.0, 25.0}) {
    check({1, 2, 53, 301, 31, 19, false, true, false, true, spread});
    check({1, 2, 301, 301, 31, 19, true, false, false, true, spread});
  }
  Case c{1, 2, 53, 61, 31, 19, false, true};
  c.scale = -0.3f;
  check(c);
  for (const Case& empty : {Case{0, 2, 3, 5, 7, 11}, Case{2, 0, 3, 5, 7, 11}, Case{1, 2, 0, 5, 7, 11},
                            Case{1, 2, 3, 0, 7, 11}, Case{1, 2, 3, 5, 0, 11}, Case{1, 2, 3, 5, 7, 0},
                            Case{1, 2, 3, 0, 7, 11, true}}) {
    check(empty);
  }
}

// What follows from the contract beyond the numbers.
void laws() {
  run_case("a causal row keeps its bits when later keys and values change", [] {
    const Case c{1, 2, 331, 331, 19, 11, true, true};
    Data d(c);
    Buffer first(c.heads * c.queries * c.value_dim), second(c.heads * c.queries * c.value_dim);
    Buffer lse1(c.heads * c.queries), lse2(c.heads * c.queries);
    softmax_attention(operation(c, d, first, lse1));
    for (const Size t : {1, 5, 100, 257, 330}) {
      Data changed(c);
      for (Size h = 0; h < c.heads; h++) {
        for (Size j = t; j < c.keys; j++) {
          for (Size x = 0; x < c.dim; x++) changed.key[(h * c.keys + j) * c.dim + x] *= -40;
          for (Size x = 0; x < c.value_dim; x++) changed.value[(h * c.keys + j) * c.value_dim + x] += 9;
        }
      }
      softmax_attention(operation(c, changed, second, lse2));
      for (Size h = 0; h < c.heads; h++) {
        for (Size i = 0; i < t; i++) {
          for (Size x = 0; x < c.value_dim; x++) {
            const Size at = (h * c.queries + i) * c.value_dim + x;
            expect(first[at] == second[at], text("token ", t, " changed row ", i));
          }
          expect(lse1[h * c.queries + i] == lse2[h * c.queries + i], "lse changed");
        }
      }
    }
  });
  run_case("masked keys may hold NaN and count as absent", [] {
    const Case c{1, 1, 17, 71, 5, 3, false, false, true};
    Data d(c);
    for (Size j = 0; j < c.keys; j++) {
      if (d.mask[static_cast<std::size_t>(j)]) continue;
      d.key[j * c.dim] = kNaN;
      d.value[j * c.value_dim] = kNaN;
    }
    Buffer out(c.queries * c.value_dim), lse(c.queries);
    softmax_attention(operation(c, d, out, lse));
    for (Size i = 0; i < out.size(); i++) expect(std::isfinite(out[i]), "NaN came through");
  });
  run_case("a bias of -inf removes a key, and all of them give zero and -inf", [] {
    const Case c{1, 2, 5, 19, 3, 7, false, true};
    Data d(c);
    for (Size j = 0; j < c.keys; j++) d.bias[j] = -std::numeric_limits<float>::infinity();
    Buffer out(2 * c.queries * c.value_dim), lse(2 * c.queries);
    softmax_attention(operation(c, d, out, lse));
    for (Size i = 0; i < c.queries * c.value_dim; i++) expect(out[i] == 0, "row not zero");
    for (Size i = 0; i < c.queries; i++) expect(lse[i] == -kInf, "lse not -inf");
    for (Size i = 0; i < c.queries; i++) check_row(c, d, 0, 1, i, out, lse);
  });
  run_case("NaN in a query reaches its row and no other", [] {
    const Case c{1, 1, 9, 19, 3, 7};
    Data d(c);
    d.query[4 * c.dim] = kNaN;
    Buffer out(c.queries * c.value_dim), lse(c.queries);
    softmax_attention(operation(c, d, out, lse));
    for (Size i = 0; i < c.queries; i++) {
      expect(std::isnan(out[i * c.value_dim]) == (i == 4), text("row ", i));
    }
  });
}

void strides() {
  run_case("strided and shared inputs equal dense copies, bit for bit", [] {
    const Case c{2, 3, 23, 37, 5, 7, false, true};
    const Data d(c);
    Buffer out(c.batch * c.heads * c.queries * c.value_dim), lse(c.batch * c.heads * c.queries);
    SoftmaxAttention op = operation(c, d, out, lse);
    op.query = {d.query.data(), 0, 0, c.dim};  // the first [L, D] for every head
    softmax_attention(op);
    Data copied(c);
    const Size block = c.queries * c.dim;
    for (Size i = 0; i < copied.query.size(); i++) copied.query[i] = d.query[i % block];
    Buffer dense(out.size()), dense_lse(lse.size());
    softmax_attention(operation(c, copied, dense, dense_lse));
    for (Size i = 0; i < out.size(); i++) expect(out[i] == dense[i], "shared query");
    // output rows as [B, L, H, Dv]
    op.query = dense4<const float>(copied.query.data(), c.heads, c.queries, c.dim);
    Buffer turned(out.size());
    op.out = {turned.data(), c.heads * c.queries * c.value_dim, c.value_dim, c.heads * c.value_dim};
    softmax_attention(op);
    for (Size b = 0; b < c.batch; b++) {
      for (Size h = 0; h < c.heads; h++) {
        for (Size i = 0; i < c.queries; i++) {
          for (Size x = 0; x < c.value_dim; x++) {
            const float want = dense[((b * c.heads + h) * c.queries + i) * c.value_dim + x];
            expect(turned[((b * c.queries + i) * c.heads + h) * c.value_dim + x] == want, "turned");
          }
        }
      }
    }
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    shapes();
    values();
    laws();
    strides();
  });
  return finish("softmax attention");
}
