// Strided copies, reductions over any axis, rows by index, and elementwise choices against plain loops.
#include <algorithm>
#include <cstring>

#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

// ---- strided copies -------------------------------------------------------------------------

struct CopyAxis {
  Size length, in, out;
};

template <class T>
void check_copy(const std::string& name, const std::vector<CopyAxis>& axes) {
  run_case(text("copy of ", sizeof(T), " bytes, ", name), [&] {
    StridedCopy op;
    op.element = sizeof(T);
    Size count = 1, first_in = 0, last_in = 0, last_out = 0;
    for (const CopyAxis& axis : axes) {
      op.shape[op.rank] = axis.length;
      op.in_strides[op.rank] = axis.in;
      op.out_strides[op.rank++] = axis.out;
      count *= axis.length;
      if (axis.length == 0) continue;
      (axis.in < 0 ? first_in : last_in) += (axis.length - 1) * axis.in;
      last_out += (axis.length - 1) * axis.out;
    }
    // one element more on each side of the output, which is odd for vectors
    const auto size = static_cast<std::size_t>(last_out + 3);
    std::vector<T> in(static_cast<std::size_t>(last_in - first_in + 1)), out(size, T(77)), want(size, T(77));
    for (std::size_t i = 0; i < in.size(); i++) in[i] = static_cast<T>(i % 61);
    op.in = in.data() - first_in;
    op.out = out.data() + 1;
    strided_copy(op);
    for (Size i = 0; i < count; i++) {
      Size rest = i, from = -first_in, to = 1;
      for (std::size_t axis = axes.size(); axis-- > 0;) {
        from += rest % axes[axis].length * axes[axis].in;
        to += rest % axes[axis].length * axes[axis].out;
        rest /= axes[axis].length;
      }
      want[static_cast<std::size_t>(to)] = in[static_cast<std::size_t>(from)];
    }
    expect(std::memcmp(out.data(), want.data(), size * sizeof(T)) == 0, "other numbers");
  });
}

void check_both(const std::string& name, const std::vector<CopyAxis>& axes) {
  check_copy<std::uint32_t>(name, axes);
  check_copy<std::uint8_t>(name, axes);
}

// Every permutation of a dense array.
void check_transpose(const std::vector<Size>& shape) {
  std::vector<std::size_t> perm(shape.size());
  for (std::size_t i = 0; i < perm.size(); i++) perm[i] = i;
  do {
    std::vector<Size> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    std::vector<CopyAxis> axes(shape.size());
    Size stride = 1;
    std::string name = "transposed";
    for (std::size_t i = shape.size(); i-- > 0;) {
      axes[i] = {shape[perm[i]], strides[perm[i]], stride};
      stride *= shape[perm[i]];
    }
    for (std::size_t i = 0; i < shape.size(); i++) name += text(" ", shape[i], ">", perm[i]);
    check_both(name, axes);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

void copies() {
  for (const std::vector<Size>& shape : {std::vector<Size>{}, {7}, {37, 67}, {3, 5, 17}, {2, 3, 5, 7}, {5, 1, 0, 3},
                                         {600, 19}, {1, 3, 1, 9}}) {
    check_transpose(shape);
  }
  check_both("a slice of the middle", {{3, 77, 35}, {5, 11, 7}, {7, 1, 1}});
  check_both("into every second place", {{3, 35, 70}, {35, 1, 2}});
  check_both("of every third place", {{4, 90, 30}, {30, 3, 1}});
  check_both("repeated rows", {{4, 0, 15}, {3, 5, 5}, {5, 1, 1}});
  check_both("repeated numbers", {{15, 1, 4}, {4, 0, 1}});
  check_both("one number again and again", {{5, 0, 9}, {9, 0, 1}});
  check_both("backwards", {{5, -9, 9}, {9, -1, 1}});
  check_both("backwards and transposed", {{9, -1, 5}, {5, 9, 1}});
  check_both("a long row", {{2, 40000, 40003}, {40000, 1, 1}});
  check_both("a long column", {{40000, 1, 3}});
  check_both("a column beside others", {{501, 1, 33}});
}

// ---- rows by index --------------------------------------------------------------------------

void indexed_rows() {
  run_case("rows by index", [] {
    constexpr Size batch = 2, outer = 3, length = 5, columns = 7, count = 11;
    const Buffer in = Buffer::normals(batch * outer * length * columns, 1);
    Buffer out(batch * outer * count * columns, 3);
    std::vector<std::int32_t> index(batch * count);
    for (std::size_t i = 0; i < index.size(); i++) index[i] = static_cast<std::int32_t>(i * 3 % length);
    GatherRows op;
    op.batch = batch;
    op.outer = outer;
    op.length = length;
    op.columns = columns;
    op.count = count;
    op.index = index.data();
    op.in = in.data();
    op.out = out.data();
    gather_rows(op);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size i = 0; i < out.size(); i++) {
      const Size plane = i / columns / count, row = i / columns % count;
      const Size from = index[static_cast<std::size_t>(plane / outer * count + row)];
      expect(out[i] == in[(plane * length + from) * columns + i % columns], text(i));
    }
  });
  for (const Size columns : {1, 7, 64, 131}) {
    run_case(text("sums of rows by index, ", columns, " columns"), [&] {
      constexpr Size rows = 301, segments = 5;
      const Buffer in = Buffer::normals(rows * columns, 1);
      Buffer out(segments * columns, 3);
      std::vector<std::int32_t> index(rows);
      // some rows count nowhere, and segment 3 has none
      for (std::size_t i = 0; i < index.size(); i++) index[i] = static_cast<std::int32_t>(i * 7 % 8) - 1;
      for (auto& i : index) i = i == 3 ? 2 : i;
      SegmentSums op;
      op.rows = rows;
      op.columns = columns;
      op.segments = segments;
      op.index = index.data();
      op.in = in.data();
      op.out = out.data();
      segment_sums(op);
      expect(out.guards_hold(), "wrote outside the output");
      for (Size i = 0; i < out.size(); i++) {
        double want = 0, magnitude = 0;
        for (Size row = 0; row < rows; row++) {
          if (index[static_cast<std::size_t>(row)] != i / columns) continue;
          want += static_cast<double>(in[row * columns + i % columns]);
          magnitude += std::fabs(in[row * columns + i % columns]);
        }
        // in double, rounded once
        expect_near(out[i], want, kUnit * std::fabs(want) + rows * 0x1p-53 * magnitude, text(i));
      }
    });
  }
}

// ---- reductions -----------------------------------------------------------------------------

void check_reduction(Size outer, Size length, Size inner) {
  run_case(text("reduction of ", outer, "x", length, "x", inner), [&] {
    const Buffer in = Buffer::normals(outer * length * inner, 1);
    for (const Reduction op : {Reduction::kSum, Reduction::kMean, Reduction::kMax, Reduction::kMin, Reduction::kProduct}) {
      Buffer out(outer * inner, 3);
      reduce(op, in.data(), out.data(), outer, length, inner);
      expect(out.guards_hold(), "wrote outside the output");
      for (Size i = 0; i < out.size(); i++) {
        double sum = 0, magnitude = 0, product = 1, most = -kInf, least = kInf;
        for (Size k = 0; k < length; k++) {
          const double x = in[(i / inner * length + k) * inner + i % inner];
          sum += x;
          magnitude += std::fabs(x);
          product *= x;
          most = std::max(most, x);
          least = std::min(least, x);
        }
        const double divisor = op == Reduction::kMean ? static_cast<double>(std::max<Size>(1, length)) : 1;
        const double sum_error = 72 * kUnit * magnitude / divisor + kUnit * std::fabs(sum) / divisor;
        if (op == Reduction::kSum || op == Reduction::kMean) expect_near(out[i], sum / divisor, sum_error, "sum");
        if (op == Reduction::kMax) expect(static_cast<double>(out[i]) == most, "max");
        if (op == Reduction::kMin) expect(static_cast<double>(out[i]) == least, "min");
        // below the normal numbers an absolute error
        if (op == Reduction::kProduct) expect_near(out[i], product, 2 * kUnit * std::fabs(product) + 1e-45, "product");
      }
    }
  });
}

void reductions() {
  // tall matrices go by parts of 512 rows
  for (const Size length : {512, 513, 1500}) {
    for (const Size inner : {2, 65, 512, 513}) check_reduction(1, length, inner);
  }
  for (const Size inner : {1, 2, 3, 15, 16, 17, 63, 64, 65, 131}) {
    for (const Size length : {0, 1, 5, 64, 65, 301}) check_reduction(3, length, inner);
  }
  check_reduction(2001, 2, 7);
  check_reduction(1, 5003, 33);
  run_case("NaN and infinities in columns come through", [] {
    const float inf = static_cast<float>(kInf);
    const float in[] = {1, -inf, kNaN, kNaN, inf, 2};
    float out[6];
    for (const Reduction op : {Reduction::kMax, Reduction::kMin, Reduction::kSum}) {
      reduce(op, in, out, 1, 3, 2);
      expect(std::isnan(out[1]), "a NaN is lost");
    }
    reduce(Reduction::kMax, in, out, 3, 1, 2);
    for (int i = 0; i < 6; i++) {
      expect(out[i] == in[i] || (std::isnan(out[i]) && std::isnan(in[i])), "max of one row");
    }
    reduce(Reduction::kMin, in + 4, out, 1, 1, 2);
    expect(out[0] == inf && out[1] == 2, "min of one row");
    float ends[3];
    const float rows[] = {1, kNaN, 2, -inf, 3, inf, inf, inf, inf};
    reduce(Reduction::kMin, rows, ends, 3, 3, 1);
    expect(std::isnan(ends[0]) && ends[1] == -inf && ends[2] == inf, "min of rows");
  });
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      run_case(text("running sums", exclusive ? " exclusive" : "", reverse ? " reverse" : ""), [&] {
        constexpr Size outer = 3, length = 17, inner = 5;
        const Buffer in = Buffer::normals(outer * length * inner, 1);
        Buffer out(in.size(), 3);
        CumulativeSums op;
        op.outer = outer;
        op.length = length;
        op.inner = inner;
        op.exclusive = exclusive;
        op.reverse = reverse;
        op.in = in.data();
        op.out = out.data();
        cumulative_sums(op);
        expect(out.guards_hold(), "wrote outside the output");
        for (Size column = 0; column < outer * inner; column++) {
          float sum = 0;
          for (Size k = 0; k < length; k++) {
            const Size place = reverse ? length - 1 - k : k;
            const Size at = (column / inner * length + place) * inner + column % inner;
            if (exclusive) expect(out[at] == sum, text(at));
            sum = k == 0 ? in[at] : sum + in[at];
            if (!exclusive) expect(out[at] == sum, text(at));
          }
        }
      });
    }
  }
}

// ---- elementwise ----------------------------------------------------------------------------

void choices() {
  for (const Size n : {1, 7, 16, 17, 63, 65, 1009}) {
    run_case(text("comparisons and choices of ", n), [&] {
      Buffer a = Buffer::normals(n, 1), b = Buffer::normals(n, 2);
      for (Size i = 0; i < n; i += 3) b[i] = a[i];
      if (n > 4) a[4] = kNaN;
      std::vector<std::uint8_t> truth(static_cast<std::size_t>(n) + 2);
      for (const bool broadcast : {false, true}) {
        for (int kind = static_cast<int>(Binary::kEqual); kind <= static_cast<int>(Binary::kGreaterEqual); kind++) {
          std::fill(truth.begin(), truth.end(), std::uint8_t{9});
          BinaryOp op;
          op.op = static_cast<Binary>(kind);
          op.rank = 1;
          op.shape[0] = n;
          op.a = a.data();
          op.b = b.data();
          op.a_strides[0] = 1;
          op.b_strides[0] = broadcast ? 0 : 1;
          op.truth = truth.data() + 1;
          binary(op);
          expect(truth.front() == 9 && truth.back() == 9, "wrote outside the output");
          for (Size i = 0; i < n; i++) {
            const float x = a[i], y = b[broadcast ? 0 : i];
            const bool want[] = {x == y, x != y, x < y, x <= y, x > y, x >= y};
            expect(truth[static_cast<std::size_t>(i) + 1] == want[kind - static_cast<int>(Binary::kEqual)],
                   text(kind, " at ", i));
          }
        }
      }
      Buffer out(n, 3);
      select(truth.data() + 1, a.data(), b.data(), out.data(), n);
      expect(out.guards_hold(), "wrote outside the output");
      for (Size i = 0; i < n; i++) {
        const float want = truth[static_cast<std::size_t>(i) + 1] ? a[i] : b[i];
        expect(std::memcmp(&out[i], &want, sizeof want) == 0, text("choice ", i));
      }
    });
  }
}

}  // namespace

int main() {
  for_each_isa([] {
    copies();
    indexed_rows();
    reductions();
    choices();
  });
  return finish("moves and reductions");
}
