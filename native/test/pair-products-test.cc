// pair_products against plain loops in double precision.
#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

constexpr double kUnitD = 0x1p-53;  // half a unit in the last place of 1, in doubles

std::vector<double> run(const Buffer& vectors, Size count, Size length) {
  PairProducts op;
  op.count = count;
  op.length = length;
  op.vectors = vectors.data();
  // one more, which is to stay as it is
  std::vector<double> out(static_cast<std::size_t>(count * (count - 1) / 2 + 1), 7);
  op.out = out.data();
  pair_products(op);
  expect(out.back() == 7, "wrote outside");
  return out;
}

// Two sums of the same n terms in any order differ by at most 2 (n + 2) u sum|terms|.
void check(Size count, Size length) {
  run_case(text(count, " vectors of ", length), [&] {
    const Buffer vectors = Buffer::normals(count * length, 1, 2, 3);
    const auto got = run(vectors, count, length);
    std::size_t at = 0;
    for (Size j = 1; j < count; j++) {
      for (Size i = 0; i < j; i++, at++) {
        double want = 0, sizes = 0;
        for (Size d = 0; d < length; d++) {
          const double term = static_cast<double>(vectors[j * length + d]) * vectors[i * length + d];
          want += term;
          sizes += std::fabs(term);
        }
        const double bound = 2 * (static_cast<double>(length) + 2) * kUnitD * sizes;
        expect(std::fabs(got[at] - want) <= bound,
               text("vectors ", j, " and ", i, ": ", got[at], " for ", want));
      }
    }
  });
}

void shapes() {
  for (Size count = 1; count <= 11; count++) check(count, 37);
  for (Size length = 1; length <= 19; length++) check(3, length);
  for (const Size length : {1023, 1024, 1025, 4099}) check(10, length);
}

void threads_agree() {
  run_case("the bits do not depend on the number of threads", [] {
    const Buffer vectors = Buffer::normals(7 * 40009, 2, 1, 1);
    const auto one = run(vectors, 7, 40009);
    for (const int count : {2, 3, 5}) {
      set_threads(count);
      expect(run(vectors, 7, 40009) == one, text("products with ", count));
    }
    set_threads(1);
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    shapes();
    threads_agree();
  });
  return finish("pair products");
}
