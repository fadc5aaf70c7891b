// Speed of every kernel on one thread next to the FMA peak measured in the same process.
//
//   kernels-bench [seconds per kernel = 0.5] [part of a kernel's name]
//
// Environment: RFA_ISA chooses the instruction set, RFA_BENCH_THREADS the threads, RFA_BENCH_CLOCK=cpu
// takes the thread's processor time instead of wall time (for a machine that others use; one thread
// only). Kernels are interleaved and the best time of each counts: what the machine can do, not what
// its other users leave.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "random.h"
#include "rfa.h"

using namespace rfa;

namespace {

// Shares of the peak beyond this are errors; the rest is a clock that changes between measurements.
constexpr double kMostOfPeak = 1.05;

constexpr Size kHeads = 8, kLength = 2048, kDim = 64, kFeatures = 256;

// Starts arrays at a cache line, or RFA_BENCH_OFFSET bytes after it: malloc gives 16.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t count) {
    static const char* const given = std::getenv("RFA_BENCH_OFFSET");
    static const long offset = given ? std::atol(given) : 0;
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, count * sizeof(T) + 64) != 0) throw std::bad_alloc();
    return reinterpret_cast<T*>(static_cast<char*>(memory) + offset);
  }
  void deallocate(T*, std::size_t) {}  // arrays live as long as the process
  bool operator==(const LineAllocator&) const { return true; }
  bool operator!=(const LineAllocator&) const { return false; }
};
using Floats = std::vector<float, LineAllocator<float>>;
using Doubles = std::vector<double, LineAllocator<double>>;

double now(bool cpu) {
  timespec t;
  clock_gettime(cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Floats noise(Size count, float scale) {
  static std::uint64_t state = 88172645463325252u;
  Floats out(static_cast<std::size_t>(count));
  for (float& x : out) {
    float sum = -6;
    for (int i = 0; i < 12; i++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      sum += static_cast<float>(state >> 40) * 0x1p-24f;
    }
    x = sum * scale;
  }
  return out;
}

struct Kernel {
  std::string name;
  double flops;
  double bytes;  // least traffic: inputs and outputs once
  std::function<void()> run;
  int repeats = 1;  // calls per measurement, to find their state in the caches as in a real loop
  double width = 1;  // lanes of a vector over those of floats: doubles have half the peak
  double best = std::numeric_limits<double>::infinity();
};

// Everything the kernels work on.
struct Arrays {
  Floats query = noise(kHeads * kLength * kDim, 0.5f);
  Floats key = noise(kHeads * kLength * kDim, 0.5f);
  Floats value = noise(kHeads * kLength * kDim, 1);
  Floats projection = noise(kHeads * kFeatures * kDim, 1);
  Floats bias = noise(kHeads * kLength, 1);
  Floats lse = noise(kHeads * kFeatures, 1);
  Floats landmarks = noise(kHeads * kFeatures * kDim, 1);
  Floats out = noise(kHeads * kLength * kDim, 1);
  Floats denominator = noise(kHeads * kLength, 1);
  Floats to_query = value, to_key = value, to_value = value;
  Floats wide = noise(kHeads * kLength * kFeatures, 1);
  Floats wide_out = noise(kHeads * kLength * kFeatures, 1);
  Floats square = noise(kHeads * kLength * kLength, 1);
  Floats key_cache = key, value_cache = value;
  Floats state = noise(kHeads * kFeatures * kDim, 0);
  Floats normalizer = noise(kHeads * kFeatures, 0);
  Floats top = Floats(static_cast<std::size_t>(kHeads * kFeatures), -1e30f);
  Doubles query_doubles = Doubles(query.begin(), query.end());
  Doubles key_doubles = Doubles(key.begin(), key.end());
  Doubles exact = Doubles(value.begin(), value.end());
  Doubles entropy = Doubles(static_cast<std::size_t>(kLength));
};

Array4 tokens(const Floats& x) { return dense4(x.data(), kHeads, kLength, kDim); }
MutableArray4 matrices_of(Floats& x, Size rows) {
  return dense4(x.data(), kHeads, rows, kDim);
}
Array4 matrices(const Floats& x, Size rows) { return dense4(x.data(), kHeads, rows, kDim); }

SoftmaxAttention softmax(Arrays& a, bool causal) {
  SoftmaxAttention op;
  op.batch = 1;
  op.heads = kHeads;
  op.query_len = op.key_len = kLength;
  op.head_dim = op.value_dim = kDim;
  op.query = tokens(a.query);
  op.key = tokens(a.key);
  op.value = tokens(a.value);
  op.scale = 0.125f;
  op.causal = causal;
  op.out = dense4(a.out.data(), kHeads, kLength, kDim);
  return op;
}

// The two calls of bidirectional positive features: M queries over S keys, L queries over M keys.
void favor(Arrays& a) {
  SoftmaxAttention first = softmax(a, false), second = first;
  first.query_len = kFeatures;
  first.query = matrices(a.projection, kFeatures);
  first.key_bias = dense3<const float>(a.bias.data(), kHeads, kLength);
  first.scale = 1;
  first.out = dense4(a.landmarks.data(), kHeads, kFeatures, kDim);
  first.lse = dense3(a.lse.data(), kHeads, kFeatures);
  softmax_attention(first);
  second.key_len = kFeatures;
  second.key = matrices(a.projection, kFeatures);
  second.value = matrices(a.landmarks, kFeatures);
  second.key_bias = dense3<const float>(a.lse.data(), kHeads, kFeatures);
  second.scale = 1;
  softmax_attention(second);
}

Features features(const Arrays& a, FeatureKind kind, const Floats& x, Size count) {
  Features f;
  f.kind = kind;
  f.x = tokens(x);
  f.projection = {a.projection.data(), 0, kFeatures * kDim, kDim};
  f.num_features = count;
  return f;
}

void linear(Arrays& a, FeatureKind kind, Size count, bool causal) {
  LinearAttention op;
  op.batch = 1;
  op.heads = kHeads;
  op.query_len = op.key_len = kLength;
  op.head_dim = op.value_dim = kDim;
  op.query = features(a, kind, a.query, count);
  op.key = features(a, kind, a.key, count);
  op.query.unit_norm = op.key.unit_norm = kind == FeatureKind::kTrigonometric;
  op.value = tokens(a.value);
  op.causal = causal;
  op.normalize = true;
  op.out = dense4(a.out.data(), kHeads, kLength, kDim);
  linear_attention(op);
}

// Where gradients go, and what they come from: any numbers do.
void softmax_slopes(Arrays& a, bool causal) {
  SoftmaxGradient op;
  op.forward = softmax(a, causal);
  op.out = a.out.data();
  op.lse = a.bias.data();
  op.slopes = a.value.data();
  op.to_query = a.to_query.data();
  op.to_key = a.to_key.data();
  op.to_value = a.to_value.data();
  softmax_gradient(op);
}

CausalFeatureAttention favor_causal_call(Arrays& a) {
  CausalFeatureAttention op;
  op.batch = 1;
  op.heads = kHeads;
  op.query_len = op.key_len = kLength;
  op.head_dim = op.value_dim = kDim;
  op.query = features(a, FeatureKind::kLogPositive, a.query, kFeatures);
  op.key = features(a, FeatureKind::kLogPositive, a.key, kFeatures);
  op.value = tokens(a.value);
  op.out = dense4(a.out.data(), kHeads, kLength, kDim);
  return op;
}

void favor_causal(Arrays& a) { causal_feature_attention(favor_causal_call(a)); }

void favor_causal_slopes(Arrays& a) {
  CausalFeatureGradient op;
  op.forward = favor_causal_call(a);
  op.out = a.out.data();
  op.slopes = a.value.data();
  op.to_query = a.to_query.data();
  op.to_key = a.to_key.data();
  op.to_value = a.to_value.data();
  causal_feature_gradient(op);
}

void map(Arrays& a) {
  FeatureMap op;
  op.batch = 1;
  op.heads = kHeads;
  op.length = kLength;
  op.head_dim = kDim;
  op.input = features(a, FeatureKind::kTrigonometric, a.query, kFeatures / 2);
  op.out = dense4(a.wide_out.data(), kHeads, kLength, kFeatures);
  feature_map(op);
}

// One token of every head, dense as a decoder gets it: rows a power of two apart would share a few sets
// of the caches.
template <class Op>
Op step(Arrays& a, FeatureKind kind, Size count) {
  Op op;
  op.batch = 1;
  op.heads = kHeads;
  op.head_dim = op.value_dim = kDim;
  op.query = features(a, kind, a.query, count);
  op.key = features(a, kind, a.key, count);
  op.query.projection = op.key.projection = {a.projection.data(), 0, count * kDim, count};
  op.query.x = matrices(a.query, 1);
  op.key.x = matrices(a.key, 1);
  op.value = matrices(a.value, 1);
  op.state = matrices_of(a.state, kFeatures);
  op.normalizer = dense3(a.normalizer.data(), kHeads, kFeatures);
  op.out = matrices_of(a.out, 1);
  return op;
}

void decode_linear(Arrays& a, FeatureKind kind, Size count) {
  auto op = step<LinearDecode>(a, kind, count);
  op.state = matrices_of(a.state, feature_dim(op.query, kDim));
  linear_decode(op);
}

void decode_favor(Arrays& a) {
  auto op = step<LogFeatureDecode>(a, FeatureKind::kLogPositive, kFeatures);
  op.top = dense3(a.top.data(), kHeads, kFeatures);
  log_feature_decode(op);
}

void decode_cache(Arrays& a) {
  CacheDecode op;
  op.batch = 1;
  op.heads = kHeads;
  op.head_dim = op.value_dim = kDim;
  op.length = kLength - 1;
  op.query = tokens(a.query);
  op.key = tokens(a.key);
  op.value = tokens(a.value);
  op.scale = 0.125f;
  op.key_cache = matrices_of(a.key_cache, kLength);
  op.value_cache = matrices_of(a.value_cache, kLength);
  op.out = matrices_of(a.out, kLength);
  cache_decode(op);
}

// Products of matrices of every head, stored as they are: [rows, inner] x [inner, columns], or with
// either one transposed.
MatMul product(Size rows, Size inner, Size columns, const Floats& a, bool transpose_a,
               const Floats& b, bool transpose_b, Floats& out) {
  MatMul op;
  op.batch = kHeads;
  op.rows = rows;
  op.columns = columns;
  op.inner = inner;
  op.a = a.data();
  op.b = b.data();
  op.transpose_a = transpose_a;
  op.transpose_b = transpose_b;
  op.a_batch_stride = rows * inner;
  op.b_batch_stride = inner * columns;
  op.a_row_stride = transpose_a ? rows : inner;
  op.b_row_stride = transpose_b ? inner : columns;
  op.out = out.data();
  op.out_batch_stride = rows * columns;
  op.out_row_stride = columns;
  return op;
}

// Every head's exact output, one after the other as they are asked for.
void exact(Arrays& a, bool causal) {
  for (Size head = 0; head < kHeads; head++) {
    const Size first = head * kLength * kDim;
    ExactSoftmax op;
    op.query_len = op.key_len = kLength;
    op.head_dim = op.value_dim = kDim;
    op.query = a.query_doubles.data() + first;
    op.key = a.key_doubles.data() + first;
    op.value = a.value.data() + first;
    op.causal = causal;
    op.out = a.exact.data() + first;
    op.entropy = a.entropy.data();
    exact_softmax(op);
  }
}

void judge(Arrays& a) {
  double sums[kHeads * kErrorSums], rows_sum[kHeads * kDim];
  ErrorSums op;
  op.heads = kHeads;
  op.rows = kLength;
  op.value_dim = kDim;
  op.estimate = a.wide.data();
  op.exact = a.exact.data();
  op.mean = a.out.data();
  op.share = 0.5;
  op.out = sums;
  op.rows_sum = rows_sum;
  error_sums(op);
}

void draw_orthogonal(Arrays& a) {
  OrthogonalRows op;
  op.replicates = 1;
  op.heads = kHeads;
  op.num_features = kFeatures;
  op.head_dim = kDim;
  op.floats = a.wide_out.data();
  orthogonal_rows(op);
}

std::vector<Kernel> kernels(Arrays& a) {
  const double l = kLength, h = kHeads, d = kDim, m = kFeatures;
  const double io = 4 * h * l * d * 4;
  return {
      {"softmax", 4 * h * l * l * d, io, [&] { softmax_attention(softmax(a, false)); }},
      {"softmax causal", 2 * h * l * l * d, io, [&] { softmax_attention(softmax(a, true)); }},
      {"softmax gradient", 10 * h * l * l * d, 2 * io, [&] { softmax_slopes(a, false); }},
      {"softmax gradient causal", 5 * h * l * l * d, 2 * io, [&] { softmax_slopes(a, true); }},
      {"softmax in doubles", 4 * h * l * l * d, 2 * io, [&] { exact(a, false); }, 1, 0.5},
      {"softmax in doubles causal", 2 * h * l * l * d, 2 * io, [&] { exact(a, true); }, 1, 0.5},
      {"error sums", 0, 20 * h * l * d, [&] { judge(a); }},
      {"favor-pos", 8 * h * l * m * d, io, [&] { favor(a); }},
      {"favor-pos causal", 8 * h * l * m * d, io, [&] { favor_causal(a); }},
      {"favor-pos causal gradient", 22 * h * l * m * d, 2 * io, [&] { favor_causal_slopes(a); }},
      {"rfa M=128", 12 * h * l * (m / 2) * d, io,
       [&] { linear(a, FeatureKind::kTrigonometric, kFeatures / 2, false); }},
      {"rfa M=128 causal", 12 * h * l * (m / 2) * d, io,
       [&] { linear(a, FeatureKind::kTrigonometric, kFeatures / 2, true); }},
      {"elu", 4 * h * l * d * d, io, [&] { linear(a, FeatureKind::kEluPlusOne, 0, false); }},
      {"elu causal", 4 * h * l * d * d, io, [&] { linear(a, FeatureKind::kEluPlusOne, 0, true); }},
      {"feature map trig M=128", 2 * h * l * (m / 2) * d, h * l * (d + m) * 4, [&] { map(a); }},
      {"decode rfa M=128", 4 * h * m * d + 4 * h * (m / 2) * d, 8 * h * m * d,
       [&] { decode_linear(a, FeatureKind::kTrigonometric, kFeatures / 2); }, 50},
      {"decode rfa M=64", 2 * h * m * d + 4 * h * (m / 4) * d, 4 * h * m * d,
       [&] { decode_linear(a, FeatureKind::kTrigonometric, kFeatures / 4); }, 50},
      {"decode elu", 4 * h * d * d, 8 * h * d * d,
       [&] { decode_linear(a, FeatureKind::kEluPlusOne, 0); }, 50},
      {"decode favor-pos", 4 * h * m * d + 4 * h * m * d, 8 * h * m * d, [&] { decode_favor(a); }, 50},
      {"decode cache t=2048", 4 * h * l * d, 8 * h * l * d, [&] { decode_cache(a); }, 3},
      {"product 256x64x2048", 2 * h * l * m * d, 4 * h * l * (d + m),
       [&] { mat_mul(product(kFeatures, kDim, kLength, a.projection, false, a.key, true, a.wide_out)); }},
      {"product 64x2048x64", 2 * h * l * d * d, 8 * h * l * d,
       [&] { mat_mul(product(kDim, kLength, kDim, a.query, true, a.key, false, a.wide_out)); }},
      {"product 2048x64x2048", 2 * h * l * l * d, 4 * h * l * (2 * d + l),
       [&] { mat_mul(product(kLength, kDim, kLength, a.query, false, a.key, false, a.square)); }},
      {"product 2048x2048x64", 2 * h * l * l * d, 4 * h * l * (2 * d + l),
       [&] { mat_mul(product(kLength, kLength, kDim, a.square, false, a.key, false, a.out)); }},
      {"exp", 0, 8 * h * l * m,
       [&] { unary(Unary::kExp, a.wide.data(), a.wide_out.data(), kHeads * kLength * kFeatures); }},
      {"softmax rows", 0, 8 * h * l * m,
       [&] { softmax_rows(a.wide.data(), a.wide_out.data(), kHeads * kLength, kFeatures); }},
      {"normals 8x2048x256", 0, 4 * h * l * m,
       [&] { normals({}, a.wide_out.data(), kHeads * kLength * kFeatures); }},
      {"orthogonal rows 8x256x64", 0, 4 * h * m * d, [&] { draw_orthogonal(a); }},
  };
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 0.5;
  const std::string filter = argc > 2 ? argv[2] : "";
  const char* clock = std::getenv("RFA_BENCH_CLOCK");
  const bool cpu = clock && std::string(clock) == "cpu";
  const char* threads_wanted = std::getenv("RFA_BENCH_THREADS");
  set_threads(threads_wanted ? std::atoi(threads_wanted) : 1);
  const Runtime r = runtime();
  if (!r.error.empty()) {
    std::printf("%s\n", r.error.c_str());
    return 2;
  }
  Arrays arrays;
  std::vector<Kernel> all = kernels(arrays);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Kernel& k) { return k.name.find(filter) == std::string::npos; }),
            all.end());
  double peak = 0;
  const double end = now(false) + budget * static_cast<double>(all.size());
  do {
    peak = std::max(peak, fma_peak(0.01));
    for (Kernel& kernel : all) {
      const double start = now(cpu);
      for (int i = 0; i < kernel.repeats; i++) kernel.run();
      kernel.best = std::min(kernel.best, (now(cpu) - start) / kernel.repeats);
    }
  } while (now(false) < end);
  const double all_threads = peak * threads();
  std::printf("%s, %d thread(s), %s, FMA peak of one thread %.1f GFLOP/s\n", r.isa.c_str(), threads(),
              r.compiler.c_str(), peak);
  std::printf("%-26s %10s %10s %8s %8s\n", "kernel", "ms", "GFLOP/s", "% peak", "GB/s");
  bool possible = true;
  for (const Kernel& kernel : all) {
    const double rate = kernel.flops / kernel.best * 1e-9;
    std::printf("%-26s %10.4f %10.1f %8.1f %8.2f\n", kernel.name.c_str(), kernel.best * 1e3, rate,
                100 * rate / (all_threads * kernel.width), kernel.bytes / kernel.best * 1e-9);
    possible = possible && rate <= kMostOfPeak * all_threads * kernel.width;
  }
  if (possible) return 0;
  std::printf("More than %.0f %% of the peak: it or the work that is counted is wrong.\n",
              100 * kMostOfPeak);
  return 1;
}
