// Threads and instruction sets: same bits for any number of threads, errors that say what to do.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "harness.h"
#include "pool.h"

using namespace rfa;
using namespace rfa::test;

namespace {

constexpr Size kHeads = 3, kLength = 613, kDim = 23, kFeatures = 37;
constexpr Size kDecodeHeads = kLength;  // a head for every row of the inputs

struct Arrays {
  Buffer query = Buffer::normals(kHeads * kLength * kDim, 1);
  Buffer key = Buffer::normals(kHeads * kLength * kDim, 2);
  Buffer value = Buffer::normals(kHeads * kLength * kDim, 3);
  Buffer projection = Buffer::normals(kFeatures * kDim, 4);
  Buffer long_input = Buffer::normals(kHeads * kLength * kDim * 13, 5);
  Buffer out = Buffer(kHeads * kLength * kDim);
  Buffer wide = Buffer(kHeads * kLength * kFeatures * 2);
  Buffer square = Buffer(kHeads * kLength * kLength);
  Buffer rows = Buffer(kHeads * kLength);
  // of a decoder with many heads, for a step large enough to be shared
  Buffer state = Buffer(kDecodeHeads * 2 * kFeatures * kDim, 1, 0);
  Buffer totals = Buffer(kDecodeHeads * 2 * kFeatures, 1, 0);
};

Features features(const Arrays& a, FeatureKind kind, const Buffer& x) {
  Features f;
  f.kind = kind;
  f.x = dense4(x.data(), kHeads, kLength, kDim);
  f.projection = {a.projection.data(), 0, 0, kDim};
  f.num_features = kFeatures;
  return f;
}

template <class Op>
Op sized(Arrays& a) {
  Op op;
  op.batch = 1;
  op.heads = kHeads;
  op.query_len = op.key_len = kLength;
  op.head_dim = op.value_dim = kDim;
  op.value = dense4<const float>(a.value.data(), kHeads, kLength, kDim);
  op.out = dense4(a.out.data(), kHeads, kLength, kDim);
  return op;
}

// Every operation that shares its work, with its output.
struct Shared {
  const char* name;
  std::function<void(Arrays&)> run;
  Buffer Arrays::*out;
};

std::vector<Shared> operations() {
  const auto softmax = [](bool causal) {
    return [causal](Arrays& a) {
      auto op = sized<SoftmaxAttention>(a);
      op.query = dense4<const float>(a.query.data(), kHeads, kLength, kDim);
      op.key = dense4<const float>(a.key.data(), kHeads, kLength, kDim);
      op.causal = causal;
      softmax_attention(op);
    };
  };
  // of one head, whose blocks of keys are shared out
  const auto softmax_gradients = [](bool keys) {
    return [keys](Arrays& a) {
      SoftmaxGradient op;
      op.forward = sized<SoftmaxAttention>(a);
      op.forward.heads = 1;
      op.forward.query = dense4<const float>(a.query.data(), 1, kLength, kDim);
      op.forward.key = dense4<const float>(a.key.data(), 1, kLength, kDim);
      op.forward.lse = dense3(a.rows.data(), 1, kLength);
      op.forward.causal = true;
      softmax_attention(op.forward);
      op.out = a.out.data();
      op.lse = a.rows.data();
      op.slopes = a.long_input.data();
      op.to_query = (keys ? a.square : a.wide).data();
      op.to_key = (keys ? a.wide : a.square).data() + kLength * kDim * (keys ? 0 : 1);
      op.to_value = a.square.data() + 2 * kLength * kDim;
      softmax_gradient(op);
    };
  };
  const auto linear = [](bool causal) {
    return [causal](Arrays& a) {
      auto op = sized<LinearAttention>(a);
      op.query = features(a, FeatureKind::kTrigonometric, a.query);
      op.key = features(a, FeatureKind::kTrigonometric, a.key);
      op.causal = causal;
      op.normalize = true;
      linear_attention(op);
    };
  };
  return {
      {"softmax", softmax(false), &Arrays::out},
      {"softmax causal", softmax(true), &Arrays::out},
      {"linear", linear(false), &Arrays::out},
      {"linear causal", linear(true), &Arrays::out},
      {"causal features",
       [](Arrays& a) {
         auto op = sized<CausalFeatureAttention>(a);
         op.query = features(a, FeatureKind::kLogHyperbolic, a.query);
         op.key = features(a, FeatureKind::kLogHyperbolic, a.key);
         causal_feature_attention(op);
       },
       &Arrays::out},
      {"gradient of softmax by keys", softmax_gradients(true), &Arrays::wide},
      {"gradient of softmax by queries", softmax_gradients(false), &Arrays::wide},
      {"gradient of causal features",
       [](Arrays& a) {
         CausalFeatureGradient op;
         op.forward = sized<CausalFeatureAttention>(a);
         op.forward.query = features(a, FeatureKind::kLogHyperbolic, a.query);
         op.forward.key = features(a, FeatureKind::kLogHyperbolic, a.key);
         causal_feature_attention(op.forward);
         op.out = a.out.data();
         op.slopes = a.long_input.data();
         op.to_query = a.square.data();
         op.to_key = op.to_query + a.out.size();
         op.to_value = a.wide.data();
         op.to_query_projection = op.to_key + a.out.size();
         op.to_key_projection = op.to_query_projection + kHeads * kFeatures * kDim;
         causal_feature_gradient(op);
       },
       &Arrays::square},
      {"feature map",
       [](Arrays& a) {
         FeatureMap op;
         op.batch = 1;
         op.heads = kHeads;
         op.length = kLength;
         op.head_dim = kDim;
         op.input = features(a, FeatureKind::kTrigonometric, a.query);
         op.out = dense4(a.wide.data(), kHeads, kLength, 2 * kFeatures);
         feature_map(op);
       },
       &Arrays::wide},
      {"product",
       [](Arrays& a) {
         MatMul op;
         op.batch = kHeads;
         op.rows = op.columns = kLength;
         op.inner = kDim;
         op.a = a.query.data();
         op.b = a.key.data();
         op.transpose_b = true;
         op.a_batch_stride = op.b_batch_stride = kLength * kDim;
         op.a_row_stride = op.b_row_stride = kDim;
         op.out = a.square.data();
         op.out_batch_stride = kLength * kLength;
         op.out_row_stride = kLength;
         mat_mul(op);
       },
       &Arrays::square},
      {"exp", [](Arrays& a) { unary(Unary::kExp, a.key.data(), a.out.data(), a.key.size()); },
       &Arrays::out},
      {"sum of two",
       [](Arrays& a) {
         BinaryOp op;
         op.rank = 3;
         const Size shape[] = {kLength, kHeads, kDim * 13};
         const Size over_rows[] = {0, kDim * 13, 1};
         Size stride = 1;
         for (int axis = 2; axis >= 0; axis--) {
           op.shape[axis] = shape[axis];
           op.a_strides[axis] = stride;
           op.b_strides[axis] = over_rows[axis];
           stride *= shape[axis];
         }
         op.a = a.long_input.data();
         op.b = a.key.data();
         op.out = a.square.data();
         binary(op);
       },
       &Arrays::square},
      {"row sums",
       [](Arrays& a) {
         reduce_rows(Reduction::kLogSumExp, a.long_input.data(), a.rows.data(), kHeads * kLength,
                     kDim * 13);
       },
       &Arrays::rows},
      {"softmax of rows",
       [](Arrays& a) {
         softmax_rows(a.long_input.data(), a.square.data(), kHeads * kLength, kDim * 13);
       },
       &Arrays::square},
      {"transpose",
       [](Arrays& a) {
         StridedCopy op;
         op.rank = 3;
         const Size shape[] = {kHeads, kDim * 13, kLength};
         const Size from[] = {kLength * kDim * 13, 1, kDim * 13}, to[] = {kDim * 13 * kLength, kLength, 1};
         for (int axis = 0; axis < 3; axis++) {
           op.shape[axis] = shape[axis];
           op.in_strides[axis] = from[axis];
           op.out_strides[axis] = to[axis];
         }
         op.in = a.long_input.data();
         op.out = a.square.data();
         strided_copy(op);
       },
       &Arrays::square},
      {"column sums",
       [](Arrays& a) {
         reduce(Reduction::kSum, a.long_input.data(), a.rows.data(), 1, kHeads * 13 * kDim, kLength);
       },
       &Arrays::rows},
      {"sums of few columns",
       [](Arrays& a) {
         reduce(Reduction::kMean, a.long_input.data(), a.rows.data(), 1, kHeads * 13 * kLength, kDim);
       },
       &Arrays::rows},
      {"sums by index",
       [](Arrays& a) {
         std::vector<std::int32_t> index(static_cast<std::size_t>(kHeads * 13 * kDim));
         for (std::size_t i = 0; i < index.size(); i++) index[i] = static_cast<std::int32_t>(i % 3);
         SegmentSums op;
         op.rows = kHeads * 13 * kDim;
         op.columns = kLength;
         op.segments = 3;
         op.index = index.data();
         op.in = a.long_input.data();
         op.out = a.square.data();
         segment_sums(op);
       },
       &Arrays::square},
      {"decode",
       [](Arrays& a) {
         LinearDecode op;
         op.batch = 1;
         op.heads = kDecodeHeads;
         op.head_dim = op.value_dim = kDim;
         op.query = features(a, FeatureKind::kTrigonometric, a.query);
         op.key = features(a, FeatureKind::kTrigonometric, a.key);
         op.query.projection = op.key.projection = {a.long_input.data(), 0, 0, kFeatures};
         for (int token = 0; token < kHeads; token++) {  // the rows of a head of the inputs each
           const Size offset = token * kDecodeHeads * kDim;
           op.query.x = dense4<const float>(a.query.data() + offset, kDecodeHeads, 1, kDim);
           op.key.x = dense4<const float>(a.key.data() + offset, kDecodeHeads, 1, kDim);
           op.value = dense4<const float>(a.value.data() + offset, kDecodeHeads, 1, kDim);
           op.state = dense4(a.state.data(), kDecodeHeads, 2 * kFeatures, kDim);
           op.normalizer = dense3(a.totals.data(), kDecodeHeads, 2 * kFeatures);
           op.out = dense4(a.out.data() + offset, kDecodeHeads, Size{1}, kDim);
           linear_decode(op);
         }
       },
       &Arrays::out},
  };
}

void same_bits() {
  for (const Shared& op : operations()) {
    run_case(text(op.name, " has the same bits for 1, 2, 3 and 7 threads"), [&] {
      set_threads(1);
      Arrays first;
      op.run(first);
      for (const int count : {2, 3, 7}) {
        set_threads(count);
        expect(threads() == count, "number of threads");
        Arrays again;
        op.run(again);
        const Buffer &x = first.*op.out, &y = again.*op.out;
        expect(std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0,
               text(count, " threads differ"));
        expect(y.guards_hold(), "wrote outside the output");
      }
      set_threads(1);
    });
  }
}

void pool_laws() {
  run_case("every item runs exactly once, whatever the number of threads", [] {
    const Pool::Session session;
    for (const int count : {1, 2, 5, 8, 1}) {
      Pool::instance().resize(count);
      for (const Size items : {0, 1, 2, 3, 100, 1001}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(items) + 1);
        const auto task = [](const void* context, Size item, float* scratch) {
          for (int i = 0; i < 64; i++) scratch[i] = static_cast<float>(item);
          auto& all = *const_cast<std::vector<std::atomic<int>>*>(
              static_cast<const std::vector<std::atomic<int>>*>(context));
          all[static_cast<std::size_t>(item)]++;
          for (int i = 0; i < 64; i++) {
            if (scratch[i] != static_cast<float>(item)) all[static_cast<std::size_t>(item)] += 1000;
          }
        };
        Pool::instance().run(items, 64, 1e9, task, &seen);
        for (Size i = 0; i < items; i++) {
          expect(seen[static_cast<std::size_t>(i)] == 1, text("item ", i, " of ", items));
        }
      }
    }
  });
  run_case("threads keep to the processors that they are bound to", [] {
    const Pool::Session session;
    Pool& pool = Pool::instance();
    pool.resize(2);
#if defined(__linux__)
    cpu_set_t before;
    expect(sched_getaffinity(0, sizeof before, &before) == 0, "processors of this thread");
    std::vector<int> allowed;
    for (int i = 0; i < CPU_SETSIZE; i++) {
      if (CPU_ISSET(i, &before)) allowed.push_back(i);
    }
    const int first = allowed.front(), last = allowed.back();
    expect(pool.bind({first, last}), "bound");
    // the calling thread's and the worker's, each for as long as the other has not come
    std::vector<std::atomic<int>> seen(2);
    const auto task = [](const void* context, Size item, float*) {
      auto& all = *const_cast<std::vector<std::atomic<int>>*>(
          static_cast<const std::vector<std::atomic<int>>*>(context));
      all[static_cast<std::size_t>(item)] = sched_getcpu() + 1;
      while (all[static_cast<std::size_t>(1 - item)] == 0) std::this_thread::yield();
    };
    pool.run(2, 0, 1e9, task, &seen);
    const std::set<int> found{seen[0] - 1, seen[1] - 1};
    expect(found == std::set<int>{first, last}, text("ran on ", seen[0] - 1, " and ", seen[1] - 1));
    expect(!pool.bind({first, CPU_SETSIZE}), "a processor that is none");
    sched_setaffinity(0, sizeof before, &before);
#else
    expect(!pool.bind({0, 1}), "not known to this system");
#endif
    pool.resize(1);
  });
  run_case("calls from several threads at once run one after the other", [] {
    set_threads(2);
    Buffer in = Buffer::normals(40009, 1);
    std::vector<Buffer> outs;
    for (int i = 0; i < 4; i++) outs.emplace_back(in.size());
    std::vector<std::thread> callers;
    for (Buffer& out : outs) {
      callers.emplace_back([&in, &out] {
        for (int i = 0; i < 5; i++) unary(Unary::kExp, in.data(), out.data(), in.size());
      });
    }
    for (auto& caller : callers) caller.join();
    for (const Buffer& out : outs) {
      expect(std::memcmp(out.data(), outs[0].data(), static_cast<std::size_t>(in.size()) * 4) == 0,
             "outputs differ");
    }
    set_threads(1);
  });
  run_case("workspaces are kept between calls and can be given back", [] {
    Arrays a;
    operations()[0].run(a);
    expect(workspace_bytes() > 0, "nothing kept");
    release_workspace();
    expect(workspace_bytes() == 0, "not given back");
    operations()[0].run(a);
    expect(std::isfinite(a.out[0]), "does not work afterwards");
  });
  run_case("a long sequence needs no more workspace than a short one", [] {
    const auto bytes = [](Size length) {
      release_workspace();
      Buffer x = Buffer::normals(length * 5, 1), out(length * 5);
      LinearAttention op;
      op.batch = op.heads = 1;
      op.query_len = op.key_len = length;
      op.head_dim = op.value_dim = 5;
      op.query.kind = op.key.kind = FeatureKind::kEluPlusOne;
      op.query.x = op.key.x = op.value = dense4<const float>(x.data(), 1, length, 5);
      op.causal = true;
      op.normalize = true;
      op.out = dense4(out.data(), 1, length, 5);
      linear_attention(op);
      op.causal = false;
      linear_attention(op);
      return workspace_bytes();
    };
    // up to 16 partial states of 5 x 16 floats, and their totals
    expect(bytes(40009) <= bytes(2003) + 16 * (6 * 16 + 16) * 4, "workspace grows with the length");
  });
}

void instruction_sets() {
  run_case("an unknown or absent instruction set is refused with the choices", [] {
    const std::string before = runtime().isa;
    const std::string unknown = select_isa("sse9");
    expect(unknown.find("unknown instruction set \"sse9\"") != std::string::npos, unknown);
    expect(unknown.find("scalar") != std::string::npos, unknown);
    for (const char* name : {"avx512", "avx2", "neon"}) {
      if (runtime().available.find(name) != std::string::npos) continue;
      const std::string absent = select_isa(name);
      expect(absent.find(text("no ", name)) != std::string::npos, absent);
    }
    expect(runtime().isa == before, "the choice changed");
  });
  run_case("the FMA peak is a positive, finite rate", [] {
    const double peak = fma_peak(0.01);
    expect(peak > 0 && std::isfinite(peak), text(peak));
  });
#if !defined(RFA_NO_UNROLL)
  // The best of many short runs each, until the peak is above: other load lowers both, and only a peak that
  // the machine exceeds for seconds on end fails.
  run_case("no product is faster than the FMA peak", [] {
    const Size rows = 48, columns = 64, inner = 256;
    const Buffer a = Buffer::normals(rows * inner, 1), b = Buffer::normals(inner * columns, 2);
    Buffer out(rows * columns);
    MatMul op;
    op.batch = 1;
    op.rows = rows;
    op.columns = columns;
    op.inner = inner;
    op.a = a.data();
    op.a_row_stride = inner;
    op.b = b.data();
    op.b_row_stride = columns;
    op.out = out.data();
    op.out_row_stride = columns;
    using Clock = std::chrono::steady_clock;
    double peak = 0, rate = 0;
    const auto end = Clock::now() + std::chrono::seconds(3);
    for (int round = 0; round < 20 || (rate > 1.05 * peak && Clock::now() < end); round++) {
      peak = std::max(peak, fma_peak(0.001));
      const auto start = Clock::now();
      for (int i = 0; i < 100; i++) mat_mul(op);
      const std::chrono::duration<double> elapsed = Clock::now() - start;
      rate = std::max(rate, 100 * 2e-9 * static_cast<double>(rows * columns * inner) / elapsed.count());
    }
    expect(rate <= 1.05 * peak, text(rate, " GFLOP/s of at most ", peak));
  });
#endif
  run_case("the runtime describes itself", [] {
    const Runtime r = runtime();
    expect(r.lanes >= 1 && !r.compiler.empty(), "lanes or compiler");
    expect(r.build == "release" || r.build == "debug" || r.build == "sanitize", r.build);
  });
}

}  // namespace

int main() {
  for_each_isa([] { same_bits(); });
  pool_laws();
  instruction_sets();
  return finish("threads, instruction sets");
}
