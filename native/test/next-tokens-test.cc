// next_tokens against plain loops in double precision.
#include <algorithm>

#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

constexpr double kUnitD = 0x1p-53;  // half a unit in the last place of 1, in doubles

std::vector<double> run(const Buffer& a, const Buffer& b, const std::vector<std::int32_t>& next) {
  NextTokens op;
  op.places = static_cast<Size>(next.size());
  op.vocabulary = a.size() / op.places;
  op.original = a.data();
  op.exchanged = b.data();
  op.next = next.data();
  // one more, which is to stay as it is
  std::vector<double> out(static_cast<std::size_t>(kNextTokenFields * op.places + 1), 7);
  op.out = out.data();
  next_tokens(op);
  expect(out.back() == 7, "wrote outside");
  out.pop_back();
  return out;
}

// ln sum e^x, and the place of the largest.
double log_sum(const float* x, Size n, Size* top) {
  *top = std::max_element(x, x + n) - x;
  double sum = 0;
  for (Size i = 0; i < n; i++) sum += std::exp(static_cast<double>(x[i]) - x[*top]);
  return x[*top] + std::log(sum);
}

// Sums of n terms, exponentials of numbers up to `size`: (n + size + 8) u of the sizes of what is added.
void check(Size places, Size vocabulary, double scale) {
  run_case(text(places, " places, ", vocabulary, " tokens, logits of ", scale), [&] {
    const Buffer a = Buffer::normals(places * vocabulary, 1, scale, 3);
    const Buffer b = Buffer::normals(places * vocabulary, 2, scale, 1);
    std::vector<std::int32_t> next(static_cast<std::size_t>(places));
    for (std::size_t i = 0; i < next.size(); i++) {
      next[i] = i % 5 == 3 ? -1 : static_cast<std::int32_t>((7 * i) % static_cast<std::size_t>(vocabulary));
    }
    const auto got = run(a, b, next);
    const auto field = [&](int name, Size place) {
      return got[static_cast<std::size_t>(name * places + place)];
    };
    for (Size r = 0; r < places; r++) {
      const std::int32_t token = next[static_cast<std::size_t>(r)];
      if (token < 0) {
        for (int name = 0; name < kNextTokenFields; name++) {
          expect(field(name, r) == 0, text("place ", r, " is left out"));
        }
        continue;
      }
      const float *x = a.data() + r * vocabulary, *y = b.data() + r * vocabulary;
      Size top_x, top_y;
      const double log_x = log_sum(x, vocabulary, &top_x), log_y = log_sum(y, vocabulary, &top_y);
      double kl = 0, sizes = 0;
      for (Size i = 0; i < vocabulary; i++) {
        const double p = std::exp(x[i] - log_x), apart = (x[i] - log_x) - (y[i] - log_y);
        kl += p * apart;
        sizes += p * std::fabs(apart);
      }
      const double size = 12 * scale + std::log(static_cast<double>(vocabulary));
      const double bound = (static_cast<double>(vocabulary) + size + 8) * kUnitD * (size + sizes + 1);
      const auto near = [&](int name, double want) {
        const double error = std::fabs(field(name, r) - want);
        expect(error <= bound, text("field ", name, " of place ", r, ": ", error, " > ", bound));
      };
      near(kOriginalNats, log_x - x[token]);
      near(kExchangedNats, log_y - y[token]);
      near(kDivergence, kl);
      expect(field(kSameTop, r) == (top_x == top_y ? 1 : 0), text("top of place ", r));
    }
  });
}

void shapes() {
  for (Size vocabulary = 1; vocabulary <= 35; vocabulary++) check(7, vocabulary, 2);
  for (const Size vocabulary : {63, 1000, 20011}) check(6, vocabulary, 5);
  check(1001, 33, 3);
  check(3, 257, 200);  // weights underflow
}

void same_logits() {
  run_case("the same logits differ by nothing", [] {
    const Buffer a = Buffer::normals(5 * 133, 3, 300);
    const auto got = run(a, a, {0, 1, 132, 77, 5});
    for (std::size_t r = 0; r < 5; r++) {
      expect(got[kOriginalNats * 5 + r] == got[kExchangedNats * 5 + r], "nats");
      expect(got[kDivergence * 5 + r] == 0 && got[kSameTop * 5 + r] == 1, "divergence and top");
    }
  });
}

void first_of_equals() {
  run_case("of equal logits the first one is the top", [] {
    Buffer a(2 * 41, 1, 0), b(2 * 41, 1, 0);
    for (const Size i : {18, 40}) a[i] = a[41 + i] = 1;
    b[18] = 1;
    b[41 + 40] = 1;
    const auto got = run(a, b, {0, 0});
    expect(got[kSameTop * 2] == 1 && got[kSameTop * 2 + 1] == 0, "tops");
  });
}

void not_a_number() {
  run_case("NaN gives NaN", [] {
    Buffer a = Buffer::normals(2 * 37, 4), b = Buffer::normals(2 * 37, 5);
    a[20] = kNaN;
    b[37 + 36] = kNaN;
    const auto got = run(a, b, {1, 1});
    expect(std::isnan(got[kOriginalNats * 2]) && std::isnan(got[kExchangedNats * 2 + 1]), "nats");
    expect(std::isnan(got[kDivergence * 2]) && std::isnan(got[kDivergence * 2 + 1]), "divergence");
  });
}

void threads_agree() {
  run_case("the bits do not depend on the number of threads", [] {
    const Buffer a = Buffer::normals(90 * 2011, 6, 4), b = Buffer::normals(90 * 2011, 7, 4);
    const std::vector<std::int32_t> next(90, 17);
    const auto one = run(a, b, next);
    for (const int count : {2, 3, 5}) {
      set_threads(count);
      expect(run(a, b, next) == one, text("numbers with ", count));
    }
    set_threads(1);
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    shapes();
    same_logits();
    first_of_equals();
    not_a_number();
    threads_agree();
  });
  return finish("next tokens");
}
