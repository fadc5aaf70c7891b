// Random draws: cuts a call into items and shares them out.
#include <algorithm>

#include "dispatch.h"
#include "pool.h"
#include "random.h"
#include "rfa.h"

namespace rfa {

namespace {

constexpr Size kItemNormals = 8192;    // some 10 us: well above the cost of taking an item
constexpr double kNormalWork = 16;     // multiply-adds that take as long as one normal

// Normals into doubles or floats by `function`, in items of whole blocks.
template <class T>
double share_normals(void (*function)(const RandomStream&, Size, Size, T*),
                     const RandomStream& stream, T* out, Size count) {
  const auto item = [&](Size index) {
    const Size first = index * kItemNormals;
    function(stream, first / 2, std::min(kItemNormals, count - first), out + first);
  };
  Pool::instance().run(
      (count + kItemNormals - 1) / kItemNormals, 0, kNormalWork * static_cast<double>(count),
      [](const void* context, Size index, float*) { (*static_cast<decltype(&item)>(context))(index); },
      &item);
  if (count % 2 == 0) return 0;
  double last[2];
  kernels().normal_doubles(stream, count / 2, 2, last);
  return last[1];
}

}  // namespace

void random_words(const RandomStream& stream, std::uint32_t* out, Size blocks) {
  kernels().random_words(stream, blocks, out);
}

double normals(const RandomStream& stream, double* out, Size count) {
  const Pool::Session session;
  return share_normals(kernels().normal_doubles, stream, out, count);
}

double normals(const RandomStream& stream, float* out, Size count) {
  const Pool::Session session;
  return share_normals(kernels().normal_floats, stream, out, count);
}

void normal_blocks(const NormalBlocks& op) {
  const Pool::Session session;
  const double count = static_cast<double>(op.replicates * op.heads) * static_cast<double>(op.length);
  run_items(kernels().normal_blocks, op, kNormalWork * count);
}

void orthogonal_rows(const OrthogonalRows& op) {
  const Pool::Session session;
  const double entries = static_cast<double>(op.replicates * op.heads * op.num_features) *
                         static_cast<double>(op.head_dim);
  const double products = 2 * static_cast<double>(std::min(op.num_features, op.head_dim));
  run_items(kernels().orthogonal_rows, op, ((op.chi ? 2 : 1) * kNormalWork + products) * entries);
}

void orthonormalize_rows(const Orthonormalize& op) {
  const Pool::Session session;
  run_items(kernels().orthonormalize, op, 0);
}

}  // namespace rfa
