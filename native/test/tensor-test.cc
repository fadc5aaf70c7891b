// mat_mul, binary, reduce_rows and softmax_rows against plain loops.
#include <algorithm>

#include "harness.h"

using namespace rfa;
using namespace rfa::test;

namespace {

// ---- matrix product -------------------------------------------------------------------------

struct ProductCase {
  Size batch, rows, columns, inner;
  bool transpose_a = false, transpose_b = false, shared_b = false, bias = false;
  Activation activation = Activation::kNone;

  std::string name() const {
    return text("product N", batch, "-I", rows, "-J", columns, "-K", inner, transpose_a ? " aT" : "",
                transpose_b ? " bT" : "", shared_b ? " shared" : "", bias ? " bias" : "");
  }
};

double activated(double x, Activation activation) {
  if (activation == Activation::kRelu) return std::max(x, 0.0);
  if (activation == Activation::kRelu6) return std::min(std::max(x, 0.0), 6.0);
  if (activation == Activation::kElu) return x < 0 ? std::expm1(x) : x;
  if (activation == Activation::kGelu) return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  if (activation == Activation::kGeluTanh) {
    return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  }
  if (activation == Activation::kSilu) return x / (1 + std::exp(-x));
  return x;
}

void check(const ProductCase& c) {
  run_case(c.name(), [&] {
    const Size pad = 3;  // rows of the stored matrices are longer than what is used
    const Size a_stride = (c.transpose_a ? c.rows : c.inner) + pad;
    const Size b_stride = (c.transpose_b ? c.inner : c.columns) + pad;
    const Size a_size = (c.transpose_a ? c.inner : c.rows) * a_stride;
    const Size b_size = (c.transpose_b ? c.columns : c.inner) * b_stride;
    const Size out_stride = c.columns + pad, out_size = c.rows * out_stride;
    const Buffer a = Buffer::normals(c.batch * a_size, 1, 1, 1);
    const Buffer b = Buffer::normals((c.shared_b ? 1 : c.batch) * b_size, 2, 1, 3);
    const Buffer bias = Buffer::normals(c.columns, 3);
    Buffer out(c.batch * out_size, 5);
    MatMul op;
    op.batch = c.batch;
    op.rows = c.rows;
    op.columns = c.columns;
    op.inner = c.inner;
    op.a = a.data();
    op.b = b.data();
    op.a_batch_stride = a_size;
    op.b_batch_stride = c.shared_b ? 0 : b_size;
    op.a_row_stride = a_stride;
    op.b_row_stride = b_stride;
    op.transpose_a = c.transpose_a;
    op.transpose_b = c.transpose_b;
    op.bias = c.bias ? bias.data() : nullptr;
    op.activation = c.activation;
    op.out = out.data();
    op.out_batch_stride = out_size;
    op.out_row_stride = out_stride;
    mat_mul(op);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size n = 0; n < c.batch; n++) {
      for (Size i = 0; i < c.rows; i++) {
        for (Size j = 0; j < out_stride; j++) {
          const float got = out[n * out_size + i * out_stride + j];
          if (j >= c.columns) {
            expect(std::isnan(got), "wrote between the rows");
            continue;
          }
          double want = c.bias ? bias[j] : 0, magnitude = std::fabs(want);
          for (Size k = 0; k < c.inner; k++) {
            const double x = a[n * a_size + (c.transpose_a ? k * a_stride + i : i * a_stride + k)];
            const double y = b[(c.shared_b ? 0 : n) * b_size +
                               (c.transpose_b ? j * b_stride + k : k * b_stride + j)];
            want += x * y;
            magnitude += std::fabs(x * y);
          }
          // K products and sums, bias; slopes of activations are at most 1.13, their own errors those
          // that math-inl.h states, exp(x) - 1 is by subtraction
          const double wide = activated(want, c.activation);
          const double extra = c.activation == Activation::kElu ? 4 * kUnit
                               : c.activation > Activation::kElu ? 8 * kUnit * std::fabs(want)
                                                                 : 0;
          expect_near(got, wide, 1.13 * static_cast<double>(c.inner + 2) * kUnit * magnitude + extra,
                      text("[", n, ",", i, ",", j, "]"));
        }
      }
    }
  });
}

void products() {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const Size i : {1, 2, 3, 4, 5, 6, 7, 13, 191, 193}) check({1, i, 17, 11, ta, tb});
      for (const Size j : {1, 3, 7, 8, 15, 16, 31, 33, 63, 64, 65, 255, 257}) check({1, 7, j, 5, ta, tb});
      for (const Size j : {1, 7, 33, 65, 257}) check({1, 2, j, 67, ta, tb});
      for (const Size k : {0, 1, 2, 3, 16, 17, 63, 255, 256, 257, 521}) check({1, 7, 11, k, ta, tb});
      check({3, 13, 29, 17, ta, tb});
      check({3, 13, 29, 17, ta, tb, true, true});
      check({0, 13, 29, 17, ta, tb});
      check({2, 0, 29, 17, ta, tb});
      check({2, 13, 0, 17, ta, tb});
    }
  }
  for (const Activation a : {Activation::kRelu, Activation::kRelu6, Activation::kElu, Activation::kGelu,
                             Activation::kGeluTanh, Activation::kSilu}) {
    check({1, 13, 29, 17, false, false, false, true, a});
    check({1, 2, 29, 0, false, false, false, true, a});
  }
}

// ---- two arguments --------------------------------------------------------------------------

void check_binary(const std::vector<Size>& a_shape, const std::vector<Size>& b_shape) {
  const std::size_t rank = a_shape.size();
  BinaryOp op;
  op.rank = static_cast<int>(rank);
  Size count = 1, a_count = 1, b_count = 1;
  std::string name = "binary";
  for (std::size_t i = rank; i-- > 0;) {
    op.shape[i] = a_shape[i] == 1 ? b_shape[i] : a_shape[i];
    op.a_strides[i] = a_shape[i] == 1 ? 0 : a_count;
    op.b_strides[i] = b_shape[i] == 1 ? 0 : b_count;
    count *= op.shape[i];
    a_count *= a_shape[i];
    b_count *= b_shape[i];
  }
  for (std::size_t i = 0; i < rank; i++) name += text(" ", a_shape[i], "/", b_shape[i]);
  run_case(name, [&] {
    const Buffer a = Buffer::normals(a_count, 1), b = Buffer::normals(b_count, 2);
    op.a = a.data();
    op.b = b.data();
    for (const Binary kind : {Binary::kAdd, Binary::kSubtract, Binary::kMultiply, Binary::kDivide,
                              Binary::kMaximum, Binary::kMinimum}) {
      Buffer out(count, 3);
      op.op = kind;
      op.out = out.data();
      binary(op);
      expect(out.guards_hold(), "wrote outside the output");
      for (Size i = 0; i < count; i++) {
        Size rest = i, a_at = 0, b_at = 0;
        for (std::size_t axis = rank; axis-- > 0;) {
          const Size index = rest % op.shape[axis];
          rest /= op.shape[axis];
          a_at += index * op.a_strides[axis];
          b_at += index * op.b_strides[axis];
        }
        const float x = a[a_at], y = b[b_at];
        const float want = kind == Binary::kAdd        ? x + y
                           : kind == Binary::kSubtract ? x - y
                           : kind == Binary::kMultiply ? x * y
                           : kind == Binary::kDivide   ? x / y
                           : kind == Binary::kMaximum  ? std::max(x, y)
                                                       : std::min(x, y);
        expect(out[i] == want, text("kind ", static_cast<int>(kind), " element ", i));
      }
    }
  });
}

void binaries() {
  check_binary({}, {});
  check_binary({1}, {1});
  for (const Size n : {1, 7, 8, 15, 16, 17, 20011}) check_binary({n}, {n});
  check_binary({20011}, {1});
  check_binary({1}, {20011});
  check_binary({3, 5, 7}, {3, 5, 7});
  check_binary({3, 5, 7}, {1, 5, 7});
  check_binary({3, 5, 7}, {3, 1, 7});
  check_binary({3, 5, 7}, {3, 5, 1});
  check_binary({3, 1, 7}, {1, 5, 1});
  check_binary({2, 3, 1, 5, 1, 7}, {1, 3, 4, 1, 6, 7});
  check_binary({0, 5}, {1, 5});
  check_binary({3, 5, 4099}, {3, 1, 1});
  run_case("binary with strides beyond 1 in the last axis", [] {
    const Buffer a = Buffer::normals(3 * 11, 1), b = Buffer::normals(11, 2);
    Buffer out(11);
    BinaryOp op;
    op.op = Binary::kSubtract;
    op.rank = 1;
    op.shape[0] = 11;
    op.a = a.data();
    op.a_strides[0] = 3;
    op.b = b.data();
    op.b_strides[0] = 1;
    op.out = out.data();
    binary(op);
    for (Size i = 0; i < 11; i++) expect(out[i] == a[3 * i] - b[i], text(i));
  });
  run_case("maximum and minimum give NaN wherever either one is", [] {
    const float a[] = {kNaN, 1, kNaN}, b[] = {1, kNaN, kNaN};
    for (const Binary kind : {Binary::kMaximum, Binary::kMinimum}) {
      float out[3];
      BinaryOp op;
      op.op = kind;
      op.rank = 1;
      op.shape[0] = 3;
      op.a = a;
      op.b = b;
      op.a_strides[0] = op.b_strides[0] = 1;
      op.out = out;
      binary(op);
      for (const float x : out) expect(std::isnan(x), "lost a NaN");
    }
  });
}

// ---- rows -----------------------------------------------------------------------------------

void check_rows(Size rows, Size columns, double spread) {
  run_case(text("rows ", rows, "x", columns, " spread ", spread), [&] {
    const Buffer in = Buffer::normals(rows * columns, 1, spread);
    Buffer sum(rows, 3), squares(rows, 3), top(rows, 5), log_sum(rows, 7), softmax(rows * columns, 3);
    reduce_rows(Reduction::kSum, in.data(), sum.data(), rows, columns);
    reduce_rows(Reduction::kSquareSum, in.data(), squares.data(), rows, columns);
    reduce_rows(Reduction::kMax, in.data(), top.data(), rows, columns);
    reduce_rows(Reduction::kLogSumExp, in.data(), log_sum.data(), rows, columns);
    softmax_rows(in.data(), softmax.data(), rows, columns);
    for (const Buffer* out : {&sum, &squares, &top, &log_sum, &softmax}) {
      expect(out->guards_hold(), "wrote outside an output");
    }
    for (Size r = 0; r < rows; r++) {
      double total = 0, magnitude = 0, square = 0, most = -kInf, powers = 0;
      for (Size c = 0; c < columns; c++) {
        const double x = in[r * columns + c];
        total += x;
        magnitude += std::fabs(x);
        square += x * x;
        most = std::max(most, x);
      }
      for (Size c = 0; c < columns; c++) powers += std::exp(in[r * columns + c] - most);
      // sums of blocks of 1024 in W x 4 chains at least (4 lanes), then double
      const double sum_error = (1024.0 / 16 + 8) * kUnit;
      expect_near(sum[r], total, sum_error * magnitude + kUnit * std::fabs(total), "sum");
      // each square is rounded, and so is the sum
      expect_near(squares[r], square, (sum_error + 2 * kUnit) * square, "sum of squares");
      expect(static_cast<double>(top[r]) == most, "max");
      const double want = columns == 0 ? -kInf : most + std::log(powers);
      // x - max rounds by u of up to 2 max; then exp and the sum
      const double weight_error = sum_error + (4 + 2 * std::fabs(most)) * kUnit;
      expect_near(log_sum[r], want, weight_error + 2 * kUnit * std::fabs(want), "log-sum-exp");
      for (Size c = 0; c < columns; c++) {
        const double x = in[r * columns + c];
        const double p = std::exp(x - most) / powers;
        const double relative = weight_error + (4 + std::fabs(x - most)) * kUnit;
        expect_near(softmax[r * columns + c], p, 2 * relative * p + 1e-37, "softmax");
      }
    }
  });
}

// Under a mask: the softmax of the columns seen, put together, and zeros. Rows of two masks.
void check_masked_rows(Size columns, Size height) {
  run_case(text("masked rows of ", columns, ", matrices of ", height), [&] {
    const Size rows = 4 * std::max<Size>(1, height);
    Buffer in = Buffer::normals(rows * columns, 1, 3);
    Buffer present(2 * columns, 2), out(rows * columns, 3);
    Random random(7);
    for (Size c = 0; c < 2 * columns; c++) present[c] = random.uniform() < 0.4 ? 0.0f : 2.0f;
    RowVisibility seen;
    seen.causal_rows = height;
    seen.present = present.data();
    seen.shared_rows = rows / 2;
    softmax_rows(in.data(), out.data(), rows, columns, seen);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size r = 0; r < rows; r++) {
      const auto sees = [&](Size c) {
        return present[r / (rows / 2) * columns + c] != 0 && (height == 0 || c <= r % height);
      };
      Buffer kept(columns), want(columns);
      Size count = 0;
      for (Size c = 0; c < columns; c++) {
        if (sees(c)) kept[count++] = in[r * columns + c];
      }
      softmax_rows(kept.data(), want.data(), 1, count);
      Size at = 0;
      for (Size c = 0; c < columns; c++) {
        const double p = out[r * columns + c];
        // summed in another order: blocks of 1024 in W x 4 chains, twice
        const double weight = sees(c) ? static_cast<double>(want[at++]) : 0.0;
        expect_near(p, weight, 2 * (1024.0 / 16 + 8) * kUnit * weight, text("row ", r));
      }
    }
  });
}

void check_running_log_sums(Size length, Size inner, double scale) {
  run_case(text("running log-sums ", length, "x", inner, " of scale ", scale), [&] {
    constexpr Size outer = 2;
    const Buffer in = Buffer::normals(outer * length * inner, 1, scale);
    Buffer out(in.size(), 3);
    running_log_sums({outer, length, inner, in.data(), out.data()});
    expect(out.guards_hold(), "wrote outside the output");
    for (Size column = 0; column < outer * inner; column++) {
      double top = -kInf, sum = 0;
      for (Size row = 0; row < length; row++) {
        const Size at = (column / inner * length + row) * inner + column % inner;
        const double x = in[at], next = std::max(top, x);
        sum = sum * std::exp(top - next) + std::exp(x - next);
        top = next;
        const double want = top + std::log(sum);
        // of the sum, a row adds 3 roundings of its size at most and those of an exponential, whose argument is rounded by
        // |d| e^-|d| < 1/2 of a rounding; then a logarithm and a sum
        const double n = static_cast<double>(row + 1);
        const double bound = 8 * n * kUnit + 4 * kUnit * (std::fabs(want) + std::fabs(top) + std::log(n));
        expect_near(out[at], want, bound, text("[", row, ",", column, "]"));
      }
    }
  });
}

void running_log_sum_cases() {
  for (const Size length : {1, 2, 63, 64, 65, 1000}) {
    for (const Size inner : {1, 5, 16, 63, 64, 65}) check_running_log_sums(length, inner, length == 64 ? 30 : 3);
  }
  run_case("running log-sums keep what is small, and a NaN", [] {
    // 4096 numbers of e^-18 beside 1: in one chain of float32 each would vanish
    Buffer in(4097, 1, -18.0f), out(4097, 3);
    in[0] = 0;
    running_log_sums({1, 4097, 1, in.data(), out.data()});
    const double want = std::log1p(4096 * std::exp(-18.0));
    // a rounding for each of 64 blocks of 64 rows, a sum within one of 2^-24 of its size at most, a logarithm
    expect_near(out[4096], want, 72 * kUnit, "what is small");
    in[2] = kNaN;
    in[3] = 7;
    running_log_sums({1, 4097, 1, in.data(), out.data()});
    expect(!std::isnan(out[1]) && std::isnan(out[2]) && std::isnan(out[4096]), "NaN from its row on");
  });
}

void check_norm(Size rows, Size columns, double shift, bool centred, bool with_bias) {
  run_case(text("norm of ", rows, "x", columns, " around ", shift, centred ? " centred" : "",
                with_bias ? " bias" : ""), [&] {
    Buffer in = Buffer::normals(rows * columns, 1, 1, 1);
    for (Size i = 0; i < rows * columns; i++) in[i] += static_cast<float>(shift);
    const Buffer weight = Buffer::normals(columns, 2, 1, 3), bias = Buffer::normals(columns, 3);
    Buffer out(rows * columns, 5);
    NormRows op;
    op.rows = rows;
    op.columns = columns;
    op.in = in.data();
    op.weight = weight.data();
    op.bias = with_bias ? bias.data() : nullptr;
    op.epsilon = 1e-3f;
    op.centred = centred;
    op.out = out.data();
    norm_rows(op);
    expect(out.guards_hold(), "wrote outside the output");
    for (Size r = 0; r < rows; r++) {
      double mean = 0, squares = 0, largest = 0;
      for (Size c = 0; c < columns; c++) {
        const double x = in[r * columns + c];
        mean += centred ? x / static_cast<double>(columns) : 0;
        largest = std::max(largest, std::fabs(x));
      }
      for (Size c = 0; c < columns; c++) squares += std::pow(in[r * columns + c] - mean, 2);
      const double root = std::sqrt(squares / static_cast<double>(columns) + 1e-3);
      // sums of blocks of 1024 in W x 4 chains at least (4 lanes); the mean is rounded
      const double sum_error = (1024.0 / 16 + 8) * kUnit;
      for (Size c = 0; c < columns; c++) {
        const double x = in[r * columns + c] - mean, shift_of = with_bias ? bias[c] : 0;
        const double want = x / root * weight[c] + shift_of;
        const double moved = (sum_error * largest + kUnit * largest) / root;
        const double error = std::fabs(weight[c]) * (moved + std::fabs(x) / root * (sum_error + 2 * moved));
        expect_near(out[r * columns + c], want, error + 4 * kUnit * (std::fabs(want) + std::fabs(shift_of)),
                    text("[", r, ",", c, "]"));
      }
    }
    norm_rows(op);
    op.out = in.data();
    norm_rows(op);
    for (Size i = 0; i < rows * columns; i++) expect(in[i] == out[i], text("in place ", i));
  });
}

void norms() {
  for (const Size n : {1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1023, 1025, 5003}) {
    check_norm(3, n, 0, true, true);
    check_norm(3, n, 30, false, false);
  }
  check_norm(0, 7, 0, true, true);
  check_norm(5003, 7, 30, true, false);
}

void rows() {
  for (const Size n : {0, 1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 5003}) {
    check_rows(3, n, 2);
  }
  check_rows(0, 7, 1);
  check_rows(5003, 7, 1);
  check_rows(7, 301, 300);
  run_case("NaN and infinities in rows come through", [] {
    const float inf = static_cast<float>(kInf);
    const float in[] = {1, kNaN, 2, -inf, -inf, -inf, inf, 1, 2};
    float out[3];
    reduce_rows(Reduction::kMax, in, out, 3, 3);
    expect(std::isnan(out[0]) && out[1] == -inf && out[2] == inf, "max");
    reduce_rows(Reduction::kLogSumExp, in, out, 3, 3);
    expect(std::isnan(out[0]) && out[1] == -inf && out[2] == inf, "log-sum-exp");
    reduce_rows(Reduction::kSum, in, out, 3, 3);
    expect(std::isnan(out[0]) && out[1] == -inf && out[2] == inf, "sum");
  });
  for (const Size columns : {0, 1, 7, 8, 9, 16, 17, 31, 33, 65, 1025}) {
    for (const Size height : {0, 1, 5, 40}) check_masked_rows(columns, height);
  }
  run_case("large numbers at hidden columns do not matter, rows without any are zero", [] {
    const float in[] = {0, 1e20f, 1e25f, 3, 0, 1e20f, -1e20f, -1e25f, 1e25f, 2, 1, 0};
    const float present[] = {1, 1, 0, 0, 1, 0};
    float out[12];
    RowVisibility seen;
    seen.causal_rows = 2;
    seen.present = present;
    seen.shared_rows = 2;
    softmax_rows(in, out, 4, 3, seen);
    const float e = std::exp(-3.0f);
    const float want[] = {1, 0, 0, 1 / (1 + e), e / (1 + e), 0, 0, 0, 0, 0, 1, 0};
    for (Size i = 0; i < 12; i++) {
      expect_near(out[i], want[i], 16 * kUnit * want[i], text(i, ": ", out[i]));
    }
  });
  run_case("softmax in place", [] {
    Buffer in = Buffer::normals(7 * 37, 1);
    Buffer out(7 * 37);
    softmax_rows(in.data(), out.data(), 7, 37);
    softmax_rows(in.data(), in.data(), 7, 37);
    for (Size i = 0; i < 7 * 37; i++) expect(in[i] == out[i], text(i));
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    products();
    binaries();
    rows();
    running_log_sum_cases();
    norms();
  });
  return finish("tensor operations");
}
