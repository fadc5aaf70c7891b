// error_sums against plain loops in double precision.
#include <algorithm>

#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

constexpr double kUnitD = 0x1p-53;  // half a unit in the last place of 1, in doubles

struct Case {
  Size heads, rows, dim, group_step = 0;

  std::string name() const {
    return text("H", heads, "-L", rows, "-Dv", dim, group_step ? text(" group ", group_step) : "");
  }
  Size entries() const { return heads * rows * dim; }
  Size group_rows() const { return group_step ? (heads * rows + group_step - 1) / group_step : 0; }
};

struct Data {
  Buffer estimate, mean, group;
  std::vector<double> exact;

  explicit Data(const Case& c)
      : estimate(Buffer::normals(c.heads * c.rows * (c.dim + 1), 1, 1, 3)),
        mean(Buffer::normals(c.entries(), 2, 0.5, 5)),
        group(Buffer::normals(c.group_rows() * c.dim, 3, 2, 1)),
        exact(static_cast<std::size_t>(c.entries())) {
    Random random(4);
    for (double& x : exact) x = random.normal();
  }
};

struct Result {
  Buffer mean, group;
  std::vector<double> sums, rows_sum;
};

Result run(const Case& c, const Data& d, double share) {
  Result r{d.mean, d.group, std::vector<double>(static_cast<std::size_t>(c.heads * kErrorSums), 7),
           std::vector<double>(static_cast<std::size_t>(c.heads * c.dim), 7)};
  ErrorSums op;
  op.heads = c.heads;
  op.rows = c.rows;
  op.value_dim = c.dim;
  op.estimate = d.estimate.data();
  op.exact = d.exact.data();
  op.mean = r.mean.data();
  op.share = share;
  if (c.group_step) {
    op.group = r.group.data();
    op.group_step = c.group_step;
  }
  op.out = r.sums.data();
  op.rows_sum = r.rows_sum.data();
  error_sums(op);
  expect(r.mean.guards_hold() && r.group.guards_hold(), "wrote outside");
  return r;
}

// The plain loop. Mean and group round as the kernel does and must have its bits.
Result plain(const Case& c, const Data& d, double share) {
  Result r{d.mean, d.group, std::vector<double>(static_cast<std::size_t>(c.heads * kErrorSums)),
           std::vector<double>(static_cast<std::size_t>(c.heads * c.dim))};
  for (Size row = 0; row < c.heads * c.rows; row++) {
    double* sums = r.sums.data() + row / c.rows * kErrorSums;
    const float* estimate = d.estimate.data() + row * (c.dim + 1);
    double inner = 0, a2 = 0, b2 = 0;
    for (Size x = 0; x < c.dim; x++) {
      const double a = estimate[x], b = d.exact[static_cast<std::size_t>(row * c.dim + x)];
      const double difference = a - b;
      float& mean = r.mean[row * c.dim + x];
      const double before = difference - mean;
      mean = static_cast<float>(mean + before * share);
      sums[kSpread] += before * (difference - mean);
      if (c.group_step && row % c.group_step == 0) {
        float& sum = r.group[row / c.group_step * c.dim + x];
        sum = static_cast<float>(sum + difference);
      }
      r.rows_sum[static_cast<std::size_t>(row / c.rows * c.dim + x)] += difference;
      sums[kSquares] += difference * difference;
      sums[kAbsolutes] += std::fabs(difference);
      sums[kLargest] = std::max(sums[kLargest], std::fabs(difference));
      sums[kNotFinite] += std::isfinite(a) ? 0 : 1;
      inner += a * b;
      a2 += a * a;
      b2 += b * b;
    }
    const double lengths = std::sqrt(a2 * b2);
    sums[kCosines] += lengths == 0 ? (a2 == b2 ? 1.0 : 0.0) : inner / lengths;
    sums[kRowSumDeviations] += std::fabs(static_cast<double>(estimate[c.dim]) - 1);
  }
  for (Size h = 0; h < c.heads; h++) {
    if (r.sums[static_cast<std::size_t>(h * kErrorSums + kNotFinite)] > 0) {
      r.sums[static_cast<std::size_t>(h * kErrorSums + kLargest)] = kNaN;
    }
  }
  return r;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Two sums of the same n terms in any order, each term rounded up to twice, differ by at most
// 2 (n + 2) u sum|terms|. A cosine is at most 1 and wrong by (2 Dv + 8) u besides.
void check(const Case& c) {
  run_case(c.name(), [&] {
    const Data d(c);
    const double share = 1.0 / 3;
    const Result got = run(c, d, share), want = plain(c, d, share);
    for (Size i = 0; i < c.entries(); i++) expect(got.mean[i] == want.mean[i], text("mean ", i));
    for (Size i = 0; i < want.group.size(); i++) {
      expect(got.group[i] == want.group[i], text("group ", i));
    }
    const double n = static_cast<double>(c.rows * c.dim), rows = static_cast<double>(c.rows);
    for (Size h = 0; h < c.heads; h++) {
      const double* a = got.sums.data() + h * kErrorSums;
      const double* b = want.sums.data() + h * kErrorSums;
      const double relative = 2 * (n + 2) * kUnitD;
      double spread = 0;
      for (Size i = h * c.rows * c.dim; i < (h + 1) * c.rows * c.dim; i++) {
        const Size row = i / c.dim;
        const double difference = static_cast<double>(d.estimate[row * (c.dim + 1) + i % c.dim]) -
                                  d.exact[static_cast<std::size_t>(i)];
        spread += std::fabs((difference - d.mean[i]) * (difference - want.mean[i]));
      }
      const auto near = [&](ErrorSum field, double bound) {
        expect(std::fabs(a[field] - b[field]) <= bound,
               text("field ", field, " of head ", h, ": ", a[field], " for ", b[field]));
      };
      near(kSquares, relative * b[kSquares]);
      near(kAbsolutes, relative * b[kAbsolutes]);
      near(kSpread, relative * spread);
      near(kRowSumDeviations, 2 * (rows + 2) * kUnitD * b[kRowSumDeviations]);
      near(kCosines, rows * 2 * (rows + 2.0 * static_cast<double>(c.dim) + 8) * kUnitD);
      for (Size x = 0; x < c.dim; x++) {
        const std::size_t at = static_cast<std::size_t>(h * c.dim + x);
        double sizes = 0;
        for (Size r = h * c.rows; r < (h + 1) * c.rows; r++) {
          sizes += std::fabs(static_cast<double>(d.estimate[r * (c.dim + 1) + x]) -
                             d.exact[static_cast<std::size_t>(r * c.dim + x)]);
        }
        const double off = std::fabs(got.rows_sum[at] - want.rows_sum[at]);
        expect(off <= 2 * (rows + 2) * kUnitD * sizes, text("sum of column ", x, " of head ", h));
      }
      expect(a[kLargest] == b[kLargest], "largest");
      expect(a[kNotFinite] == b[kNotFinite], "not finite");
    }
  });
}

void shapes() {
  for (Size dim = 1; dim <= 19; dim++) check({2, 5, dim, 3});
  check({1, 1, 1});
  check({3, 7, 64});
  check({1, 4, 20000, 2});
  check({2, 301, 64, 7});
  check({3, 1031, 33, 1});
}

void not_finite() {
  run_case("entries that are not finite reach the sums of their head and no others", [] {
    const Case c{3, 9, 13, 2};
    const float bad[] = {kNaN, static_cast<float>(kInf), -static_cast<float>(kInf)};
    for (const float x : bad) {
      Data d(c);
      d.estimate[(c.rows + 4) * (c.dim + 1) + 12] = x;
      d.estimate[(c.rows + 7) * (c.dim + 1) + 3] = x;
      const Result got = run(c, d, 0.5), want = plain(c, d, 0.5);
      for (Size h = 0; h < c.heads; h++) {
        for (int field = 0; field < kErrorSums; field++) {
          const double a = got.sums[static_cast<std::size_t>(h * kErrorSums + field)];
          const double b = want.sums[static_cast<std::size_t>(h * kErrorSums + field)];
          expect(h == 1 || std::isfinite(a), text("head ", h, " field ", field, ": ", a));
          // the second head: the plain loop's infinities and NaN, counts and finite sums
          if (!std::isfinite(b)) expect(same(a, b), text("field ", field, ": ", a, " for ", b));
        }
      }
      for (Size i = 0; i < c.heads * c.dim; i++) {
        const std::size_t at = static_cast<std::size_t>(i);
        const bool broken = i == c.dim + 12 || i == c.dim + 3;
        expect(std::isfinite(got.rows_sum[at]) != broken, text("sum of column ", i));
      }
      expect(got.sums[kErrorSums + kNotFinite] == 2, "counted");
      for (Size i = 0; i < c.entries(); i++) expect(same(got.mean[i], want.mean[i]), "mean");
    }
  });
  run_case("rows of zeros are alike, and unlike others", [] {
    const Case c{1, 3, 11};
    Data d(c);
    for (Size x = 0; x < c.dim; x++) {
      d.estimate[x] = d.estimate[c.dim + 1 + x] = 0;
      d.exact[static_cast<std::size_t>(x)] = d.exact[static_cast<std::size_t>(2 * c.dim + x)] = 0;
    }
    expect(run(c, d, 1).sums[kCosines] == 1, "cosines");
  });
}

void threads_agree() {
  run_case("the bits do not depend on the number of threads", [] {
    const Case c{3, 2111, 65, 5};
    const Data d(c);
    const Result one = run(c, d, 0.25);
    for (const int count : {2, 3, 5}) {
      set_threads(count);
      const Result many = run(c, d, 0.25);
      expect(one.sums == many.sums, text("sums with ", count));
      expect(one.rows_sum == many.rows_sum, text("sums of columns with ", count));
      for (Size i = 0; i < c.entries(); i++) expect(one.mean[i] == many.mean[i], "mean");
    }
    set_threads(1);
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    shapes();
    not_finite();
    threads_agree();
  });
  return finish("error sums");
}
