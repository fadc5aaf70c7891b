// feature_map against plain loops in double precision.
#include <cstring>

#include "features.h"

using namespace rfa;
using namespace rfa::test;

namespace {

struct Case {
  FeatureKind kind;
  Size batch, heads, length, dim, features;
  bool per_head = true, unit_norm = false;
  double spread = 1;

  std::string name() const {
    return text(kind_name(kind), " B", batch, "-H", heads, "-L", length, "-D", dim, "-M", features,
                per_head ? "" : " shared", unit_norm ? " unit" : "");
  }
};

void check(const Case& c) {
  run_case(c.name(), [&] {
    Buffer x = Buffer::normals(c.batch * c.heads * c.length * c.dim, 1, c.spread);
    if (c.length > 2 && c.batch * c.heads > 0) {
      for (Size i = 0; i < c.dim; i++) x[c.dim + i] = 0;  // a zero vector
    }
    const Buffer w = Buffer::normals(c.heads * c.features * c.dim, 2, 1, 3);
    FeatureMap op;
    op.batch = c.batch;
    op.heads = c.heads;
    op.length = c.length;
    op.head_dim = c.dim;
    op.input.kind = c.kind;
    op.input.x = dense4<const float>(x.data(), c.heads, c.length, c.dim);
    op.input.projection = {w.data(), 0, c.per_head ? c.features * c.dim : 0, c.dim};
    op.input.num_features = c.features;
    op.input.input_scale = 0.83f;
    op.input.feature_scale = is_log(c.kind) ? 1.0f : 1.7f;
    op.input.unit_norm = c.unit_norm;
    op.input.norm_epsilon = c.unit_norm ? 1e-3f : 0;
    const Size count = feature_dim(op.input, c.dim);
    Buffer out(c.batch * c.heads * c.length * count, 5);
    op.out = dense4(out.data(), c.heads, c.length, count);
    feature_map(op);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size row = 0; row < c.batch * c.heads * c.length; row++) {
      const Size head = row / c.length % c.heads, b = row / c.length / c.heads;
      const auto want = features_of(op.input, x.data() + row * c.dim, c.dim, b, head);
      for (Size s = 0; s < count; s++) {
        const Feature& f = want[static_cast<std::size_t>(s)];
        expect_near(out[row * count + s], f.value, f.error + 1e-38, text("row ", row, " feature ", s));
      }
    }
  });
}

// Sines and cosines of angles over the whole float range, as features of a projection with one row: the
// bound of math-inl.h.
void check_angles() {
  run_case("angles", [] {
    std::vector<float> angles = {0.0f, 131071.99f, 131072.0f, 1e30f};
    for (std::uint32_t bits = 0; bits < 0x7F800000u; bits += 4099) {
      float x;
      std::memcpy(&x, &bits, sizeof x);
      angles.push_back(x);
      angles.push_back(-x);
    }
    const Size count = static_cast<Size>(angles.size());
    const float one = 1;
    FeatureMap op;
    op.batch = op.heads = op.head_dim = 1;
    op.length = count;
    op.input.kind = FeatureKind::kTrigonometric;
    op.input.x = dense4<const float>(angles.data(), 1, count, 1);
    op.input.projection = {&one, 0, 0, 1};
    op.input.num_features = 1;
    Buffer out(2 * count, 5);
    op.out = dense4(out.data(), 1, count, 2);
    feature_map(op);
    for (Size i = 0; i < count; i++) {
      const double x = static_cast<double>(angles[static_cast<std::size_t>(i)]);
      expect_near(out[2 * i], std::sin(x), 5 * kUnit, text("sine of ", x));
      expect_near(out[2 * i + 1], std::cos(x), 5 * kUnit, text("cosine of ", x));
    }
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    check_angles();
    for (const FeatureKind kind : {FeatureKind::kTrigonometric, FeatureKind::kRelu,
                                   FeatureKind::kLogPositive, FeatureKind::kLogHyperbolic}) {
      for (const Size m : {1, 2, 5, 7, 8, 15, 16, 17, 63, 64, 65, 257}) check({kind, 1, 2, 7, 5, m});
      for (const Size d : {0, 1, 3, 7, 16, 17, 63, 64, 65, 128}) check({kind, 1, 1, 11, d, 13});
      for (const Size n : {0, 1, 5, 6, 7, 47, 48, 49, 383, 384, 385}) check({kind, 1, 1, n, 3, 5});
      check({kind, 2, 3, 19, 13, 37, false});
      check({kind, 2, 3, 19, 13, 37, true, true});
      check({kind, 1, 1, 23, 7, 1000});
      check({kind, 1, 1, 23, 7, 0});
      check({kind, 1, 2, 23, 7, 31, true, false, 300});
    }
    for (const Size d : {1, 7, 8, 17, 65}) check({FeatureKind::kEluPlusOne, 2, 3, 19, d, 0});
  });
  return finish("feature map");
}
