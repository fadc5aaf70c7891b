// Vector exp, log, sin, cos, 2^x against double precision, in units in the last place (ULP).
//
// Every RFA_TEST_STEP-th float (default 4099; 1 takes all of them) of either sign, plus the floats around
// where a function changes its way. The bounds are those that math-inl.h and rfa.h state.
#include <cstring>

#include "dispatch.h"
#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

float from_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Distance between neighbouring floats at |x|.
double spacing(double x) {
  int exponent;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

struct Function {
  const char* name;
  std::function<void(const float*, float*, Size)> run;
  double (*exact)(double);
  double bound;     // ULP
  double absolute;  // also allowed
  double low, high; // arguments tested
  std::vector<float> borders;
};

double ulps(const Function& f, float x, float got) {
  const double want = f.exact(x);
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInf;
  const float nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isinf(got)) {
    // one ULP below overflow either answer is right
    if (nearest == got) return 0;
    const double limit = std::numeric_limits<float>::max();
    return std::fabs(std::fabs(want) - limit) <= 2 * spacing(limit) ? 1 : kInf;
  }
  const double error = std::fabs(static_cast<double>(got) - want);
  return error <= f.absolute ? 0 : error / spacing(want);
}

std::uint32_t step() {
  const char* text = std::getenv("RFA_TEST_STEP");
  return text ? static_cast<std::uint32_t>(std::max(1, std::atoi(text))) : 4099;
}

std::vector<float> arguments(const Function& f, std::uint64_t first, std::uint64_t count) {
  std::vector<float> out;
  for (std::uint64_t i = first; i < first + count && i <= 0xFFFFFFFFu; i += step()) {
    const float x = from_bits(static_cast<std::uint32_t>(i));
    if (std::isnan(x) || (x >= f.low && x <= f.high)) out.push_back(x);
  }
  return out;
}

void check(const Function& f) {
  run_case(f.name, [&] {
    double worst = 0;
    float worst_at = 0;
    const auto measure = [&](const std::vector<float>& in) {
      std::vector<float> out(in.size() + 1, 77);
      f.run(in.data(), out.data(), static_cast<Size>(in.size()));
      expect(out.back() == 77, "wrote beyond the end");
      for (std::size_t i = 0; i < in.size(); i++) {
        const double error = ulps(f, in[i], out[i]);
        if (error > worst) {
          worst = error;
          worst_at = in[i];
        }
      }
    };
    std::vector<float> near;
    for (const float border : f.borders) {
      for (int i = -500; i <= 500; i++) {
        const float x = from_bits(bits_of(border) + static_cast<std::uint32_t>(i));
        if (x >= f.low && x <= f.high) near.push_back(x);
      }
    }
    measure(near);
    const std::uint64_t block = std::uint64_t{step()} << 16;
    for (std::uint64_t first = 0; first <= 0xFFFFFFFFu; first += block) {
      measure(arguments(f, first, block));
    }
    std::printf("  %-7s %-12s %.4f ULP at %.9g\n", runtime().isa.c_str(), f.name, worst,
                static_cast<double>(worst_at));
    expect(worst <= f.bound, text("error ", worst, " ULP at ", worst_at, " > ", f.bound));
  });
}

std::function<void(const float*, float*, Size)> apply(Unary op) {
  return [op](const float* in, float* out, Size n) { unary(op, in, out, n); };
}

double exact_log(double x) { return std::log(x); }
double exact_exp(double x) { return std::exp(x); }
double exact_exp2(double x) { return x < -126 ? 0 : std::exp2(x); }
double exact_sin(double x) { return std::sin(x); }
double exact_cos(double x) { return std::cos(x); }
double exact_elu(double x) { return x < 0 ? std::expm1(x) : x; }

void tails() {
  run_case("every length from 0 to 67 gives what single elements give", [] {
    for (const Unary op : {Unary::kExp, Unary::kLog, Unary::kSin, Unary::kCos, Unary::kRelu, Unary::kElu,
                           Unary::kSquare, Unary::kNegate, Unary::kAbs, Unary::kSqrt}) {
      Buffer in = Buffer::normals(67, 1, 3);
      // neighbours that sin and cos reduce in another way
      for (Size i = 5; i < 67; i += 9) in[i] = i % 2 ? 3e7f : kNaN;
      for (Size n = 0; n <= 67; n++) {
        Buffer out(n, n % 5);
        unary(op, in.data(), out.data(), n);
        expect(out.guards_hold(), text("wrote outside, length ", n));
        for (Size i = 0; i < n; i++) {
          float one;
          unary(op, in.data() + i, &one, 1);
          expect(bits_of(one) == bits_of(out[i]) || (std::isnan(one) && std::isnan(out[i])),
                 text("length ", n, " element ", i));
        }
      }
    }
  });
}

void simple() {
  run_case("relu, square, negate, abs and sqrt are exact and keep NaN", [] {
    const float values[] = {-2.5f, -0.0f, 0.0f, 3.0f, 1e-40f, 1e30f, kNaN, static_cast<float>(kInf)};
    for (const float x : values) {
      const auto f = [x](Unary op) {
        float y;
        unary(op, &x, &y, 1);
        return y;
      };
      const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
      expect(same(f(Unary::kRelu), std::isnan(x) ? x : std::max(x, 0.0f)), text("relu ", x));
      expect(same(f(Unary::kSquare), x * x), text("square ", x));
      expect(same(f(Unary::kNegate), -x), text("negate ", x));
      expect(same(f(Unary::kAbs), std::fabs(x)), text("abs ", x));
      expect(same(f(Unary::kSqrt), std::sqrt(x)), text("sqrt ", x));
    }
  });
}

// 2^x of weights in double precision: 0 below the smallest normal number.
void double_powers() {
  run_case("2^x of double weights", [] {
    Random random(7);
    std::vector<double> in = {0, -0.5, 0.5, -1021.75, -1022, -1022.51, -1100, -1e300, -kInf, std::nan(""), 1021.9};
    for (int i = 0; i < 400000; i++) in.push_back((random.uniform() * 2 - 1) * (i % 2 ? 1022 : 2));
    std::vector<double> out(in.size());
    kernels().exp2_weights_double(in.data(), out.data(), static_cast<Size>(in.size()));
    double worst = 0;
    for (std::size_t i = 0; i < in.size(); i++) {
      if (in[i] < -1022.5) {
        expect(out[i] == 0, text("2^", in[i]));
      } else if (std::isnan(in[i])) {
        expect(std::isnan(out[i]), "NaN");
      } else if (in[i] >= -1022) {
        const long double want = std::exp2(static_cast<long double>(in[i]));
        int exponent;
        std::frexp(static_cast<double>(want), &exponent);
        const long double unit = std::ldexp(static_cast<long double>(1), exponent - 53);
        worst = std::max(worst, static_cast<double>(std::fabs(out[i] - want) / unit));
      }
    }
    std::printf("  %-7s 2^x double  %.4f ULP\n", runtime().isa.c_str(), worst);
    expect(worst <= 1.1, text("error ", worst, " ULP"));
  });
}

}  // namespace

int main() {
  const double inf = kInf;
  for_each_isa([&] {
    check({"exp", apply(Unary::kExp), exact_exp, 1.1, 0, -inf, inf,
           {88.72284f, -87.33655f, -103.97208f, -103.2789f, 0.0f, 0.34657359f, -0.34657359f, -1e30f}});
    check({"2^x weight", [](const float* in, float* out, Size n) { kernels().exp2_weights(in, out, n); },
           exact_exp2, 1.4, 0x1p-126, -inf, 126, {-126.0f, -127.0f, -126.5f, 0.0f, 0.5f, -0.5f, 125.5f}});
    check({"log", apply(Unary::kLog), exact_log, 0.9, 0, -inf, inf,
           {1.0f, 0.70710677f, 1.4142135f, 0x1p-126f, 0x1p-149f, 2.0f, 0.5f}});
    // near multiples of pi the result is small and what is left of the argument matters most
    const std::vector<float> turns = {3.14159274f, 1.57079637f, 6.28318548f, 0.785398185f, 2.35619450f,
                                      102943.707f, 131071.99f, 131072.0f, 16367173.0f, 1e30f};
    check({"sin", apply(Unary::kSin), exact_sin, 1.6, 0, -inf, inf, turns});
    check({"cos", apply(Unary::kCos), exact_cos, 1.6, 0, -inf, inf, turns});
    check({"elu", apply(Unary::kElu), exact_elu, 1.1, 0, -inf, inf,
           {-1e-30f, -1e-5f, -0.34657359f, -1.0f, -17.0f, -87.0f, -88.0f, -104.0f}});
    tails();
    simple();
    double_powers();
  });
  return finish("math");
}
