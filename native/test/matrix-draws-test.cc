// Matrices of normals and of orthogonal rows: against the normals they are made of, and bit for bit
// against themselves drawn one by one and on other numbers of threads.
#include "harness.h"
#include "random.h"

using namespace rfa;
using namespace rfa::test;

namespace {

constexpr double kUnit64 = 0x1p-53;
constexpr double kMark = -123456;

using Doubles = std::vector<double>;
Doubles room(Size count) { return Doubles(static_cast<std::size_t>(count) + 8, kMark); }
bool marks_hold(const Doubles& x) {
  for (std::size_t i = x.size() - 8; i < x.size(); i++) {
    if (x[i] != kMark) return false;
  }
  return true;
}

RandomStream stream_of(const std::uint32_t* key, std::uint32_t replicate, std::uint32_t head,
                       std::uint32_t block) {
  RandomStream stream;
  stream.key[0] = key[0];
  stream.key[1] = key[1];
  stream.counter[1] = replicate;
  stream.counter[2] = head;
  stream.counter[3] = block;
  return stream;
}

// ---- blocks of normals ----------------------------------------------------------------------

void check_blocks(Size length, Size block_length) {
  run_case(text("normals of blocks of ", block_length, ", length ", length), [&] {
    NormalBlocks op;
    op.key[0] = 3;
    op.key[1] = 0xF0000001u;
    op.first = {0xFFFFFFFFu, 5, 7};  // the second replicate is number 0
    op.replicates = 2;
    op.heads = 3;
    op.length = length;
    op.block_length = block_length;
    const Size count = 6 * length;
    Doubles doubles = room(count);
    op.doubles = doubles.data();
    normal_blocks(op);
    Buffer floats(count, 3);
    op.floats = floats.data();
    normal_blocks(op);
    expect(marks_hold(doubles) && floats.guards_hold(), "wrote outside");
    Doubles want(static_cast<std::size_t>(block_length));
    for (Size i = 0; i < count; i++) {
      const Size pair = i / length, at = i % length;
      if (at % block_length == 0) {
        normals(stream_of(op.key, op.first.replicate + static_cast<std::uint32_t>(pair / 3),
                          5 + static_cast<std::uint32_t>(pair % 3),
                          7 + static_cast<std::uint32_t>(at / block_length)),
                want.data(), block_length);
      }
      const double x = want[static_cast<std::size_t>(at % block_length)];
      expect(doubles[static_cast<std::size_t>(i)] == x, text("double ", i));
      expect(floats[i] == static_cast<float>(x), text("float ", i));
    }
  });
}

// ---- orthonormal rows -----------------------------------------------------------------------

double dot(const double* a, const double* b, Size n) {
  double sum = 0;
  for (Size i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

// Inner products of unit rows: the second pass leaves the rounding of its products, n units at most, and of its
// subtractions, one for each row before; the sum here adds n.
double orthogonality(Size n) { return 4 * static_cast<double>(n + 4) * kUnit64; }

void check_orthonormal(const Doubles& q, Size rows, Size columns) {
  for (Size i = 0; i < rows; i++) {
    for (Size j = 0; j <= i; j++) {
      const double product = dot(&q[static_cast<std::size_t>(i * columns)],
                                 &q[static_cast<std::size_t>(j * columns)], columns);
      const double error = std::fabs(product - (i == j));
      expect(error <= orthogonality(columns), text("rows ", i, " and ", j, ": ", error));
    }
  }
}

void check_orthonormalize(Size rows, Size columns, double nearness = 1) {
  run_case(text("orthonormalize ", rows, " x ", columns, " rows that differ by ", nearness), [&] {
    Doubles matrix = room(rows * columns);
    RandomStream stream;
    stream.key[0] = static_cast<std::uint32_t>(rows * 1000 + columns);
    normals(stream, matrix.data(), rows * columns);
    // row 0 in all rows, plus small differences
    for (Size i = columns; i < rows * columns; i++) {
      const auto at = static_cast<std::size_t>(i);
      if (nearness < 1) matrix[at] = matrix[static_cast<std::size_t>(i % columns)] + nearness * matrix[at];
    }
    const Doubles input = matrix;
    Orthonormalize op;
    op.rows = rows;
    op.columns = columns;
    op.matrix = matrix.data();
    orthonormalize_rows(op);
    expect(marks_hold(matrix), "wrote outside");
    check_orthonormal(matrix, rows, columns);
    for (Size i = 0; i < rows; i++) {
      // each input row is a combination of the rows up to its own, the last one positive
      const double* const row = &input[static_cast<std::size_t>(i * columns)];
      Doubles rest(row, row + columns);
      for (Size j = 0; j <= i; j++) {
        const double* const unit = &matrix[static_cast<std::size_t>(j * columns)];
        const double product = dot(row, unit, columns);
        if (j == i) expect(product > 0, text("row ", i, " lies against its input"));
        for (Size d = 0; d < columns; d++) rest[static_cast<std::size_t>(d)] -= product * unit[d];
      }
      const double left = std::sqrt(dot(rest.data(), rest.data(), columns));
      const double bound = orthogonality(columns) * std::sqrt(static_cast<double>(rows)) *
                           std::sqrt(dot(row, row, columns));
      expect(left <= bound, text("row ", i, " leaves ", left, " > ", bound));
    }
  });
}

// ---- orthogonal blocks ----------------------------------------------------------------------

OrthogonalRows op_of(Size num_features, Size head_dim, bool chi) {
  OrthogonalRows op;
  op.direction_key[0] = 11;
  op.direction_key[1] = 12;
  op.length_key[0] = 13;
  op.length_key[1] = 14;
  op.first = {2, 1, 0};
  op.replicates = 3;
  op.heads = 2;
  op.num_features = num_features;
  op.head_dim = head_dim;
  op.chi = chi;
  return op;
}

void check_orthogonal(Size num_features, Size head_dim, bool chi) {
  run_case(text("orthogonal rows, M ", num_features, " D ", head_dim, chi ? " chi" : " sqrt D"), [&] {
    OrthogonalRows op = op_of(num_features, head_dim, chi);
    const Size size = num_features * head_dim, count = 6 * size;
    Doubles doubles = room(count);
    op.doubles = doubles.data();
    orthogonal_rows(op);
    Buffer floats(count, 3);
    op.floats = floats.data();
    orthogonal_rows(op);
    expect(marks_hold(doubles) && floats.guards_hold(), "wrote outside");
    for (Size i = 0; i < count; i++) {
      expect(floats[i] == static_cast<float>(doubles[static_cast<std::size_t>(i)]), text("float ", i));
    }
    for (Size pair = 0; pair < 6; pair++) {
      for (Size first = 0; first < num_features; first += head_dim) {
        const Size rows = std::min(head_dim, num_features - first);
        const auto replicate = static_cast<std::uint32_t>(2 + pair / 2);
        const auto head = static_cast<std::uint32_t>(1 + pair % 2);
        const auto block = static_cast<std::uint32_t>(first / head_dim);
        Doubles want(static_cast<std::size_t>(rows * head_dim)), gauss = want;
        normals(stream_of(op.direction_key, replicate, head, block), want.data(), rows * head_dim);
        normals(stream_of(op.length_key, replicate, head, block), gauss.data(), rows * head_dim);
        Orthonormalize factor;
        factor.rows = rows;
        factor.columns = head_dim;
        factor.matrix = want.data();
        orthonormalize_rows(factor);
        for (Size i = 0; i < rows * head_dim; i++) {
          const double* const row = &gauss[static_cast<std::size_t>(i / head_dim * head_dim)];
          const double length = std::sqrt(chi ? dot(row, row, head_dim) : static_cast<double>(head_dim));
          const double x = length * want[static_cast<std::size_t>(i)];
          const double got = doubles[static_cast<std::size_t>(pair * size + first * head_dim + i)];
          // half the relative error of two sums of D squares, and three roundings more on each side
          const double bound = (static_cast<double>(head_dim) + 6) * kUnit64 * std::fabs(x);
          expect(std::fabs(got - x) <= bound, text("pair ", pair, " row ", first, " at ", i));
        }
      }
    }
  });
  run_case(text("one by one and on threads, M ", num_features, " D ", head_dim), [&] {
    OrthogonalRows op = op_of(num_features, head_dim, chi);
    const Size size = num_features * head_dim;
    Doubles all = room(6 * size), one = room(2 * size);
    for (const int threads : {1, 2, 3}) {
      set_threads(threads);
      op.replicates = 3;
      op.first.replicate = 2;
      op.doubles = all.data();
      orthogonal_rows(op);
      set_threads(1);
      op.replicates = 1;
      op.doubles = one.data();
      for (Size replicate = 0; replicate < 3; replicate++) {
        op.first.replicate = static_cast<std::uint32_t>(2 + replicate);
        orthogonal_rows(op);
        for (Size i = 0; i < 2 * size; i++) {
          expect(all[static_cast<std::size_t>(replicate * 2 * size + i)] == one[static_cast<std::size_t>(i)],
                 text(threads, " threads, replicate ", replicate, " at ", i));
        }
      }
    }
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    for (const Size block_length : {1, 2, 7, 64, 321}) {
      for (const Size length : {1, 5, 64, 321, 963}) check_blocks(length, block_length);
    }
    check_blocks(20000, 3);
    for (const Size columns : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 70}) {
      for (const Size rows : {Size{1}, columns / 2, columns - 1, columns}) {
        if (rows > 0) check_orthonormalize(rows, columns);
      }
    }
    check_orthonormalize(6, 512);
    check_orthonormalize(13, 1030);
    for (const Size columns : {3, 9, 33}) check_orthonormalize(columns, columns, 1e-7);
    for (const bool chi : {false, true}) {
      check_orthogonal(3, 7, chi);
      check_orthogonal(17, 5, chi);
      check_orthogonal(1, 1, chi);
      check_orthogonal(70, 33, chi);
      check_orthogonal(160, 64, chi);
    }
  });
  return finish("random matrices");
}
