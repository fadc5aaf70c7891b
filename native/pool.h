// A kept pool of threads over independent items, and the workspaces they use.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/table.h"
#include "rfa.h"

namespace rfa {

// One aligned, growing piece of memory.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { release(); }

  // At least `floats` floats, aligned to a cache line. Content is lost when it grows.
  // Throws std::bad_alloc.
  float* reserve(Size floats);
  float* data() const { return aligned_; }
  Size bytes() const { return capacity_ * static_cast<Size>(sizeof(float)); }
  void release();

 private:
  void* memory_ = nullptr;
  float* aligned_ = nullptr;
  Size capacity_ = 0;
};

// Items are cut by the shape of a call alone and write disjoint outputs, so whichever thread takes
// one, and however many threads there are, the bits are the same.
class Pool {
 public:
  using Task = void (*)(const void* context, Size item, float* scratch);

  static Pool& instance();
  ~Pool();

  // Throws std::system_error or std::bad_alloc, with one thread left.
  void resize(int threads);
  int size() const { return static_cast<int>(workers_.size()) + 1; }
  // Keeps the calling thread on the first of these processors for good, and each worker on one of the
  // others until the next resize. Whether the system did so; there is one for each thread.
  bool bind(const std::vector<int>& processors);

  // task(context, item, scratch) for item = 0 .. items - 1, each thread with `scratch_floats` private floats. On
  // the calling thread alone when `work` (in multiply-adds) is too small to share. The caller holds a Session.
  // Throws std::bad_alloc before any item runs.
  void run(Size items, Size scratch_floats, double work, Task task, const void* context);

  // Memory that all items of a call see.
  // Grows like the others and is kept: the next call of the same shape allocates nothing.
  Workspace& shared() { return shared_; }

  Size workspace_bytes() const;
  void release();

  // Held for the length of a call: one call at a time.
  class Session {
   public:
    Session() : lock_(instance().call_mutex_) {}

   private:
    std::lock_guard<std::mutex> lock_;
  };

 private:
  Pool() = default;
  void stop();
  void work_loop();
  void take_items(float* scratch);

  std::mutex call_mutex_;
  std::vector<std::thread> workers_;
  // [0] is the calling thread's; a worker uses that of the place it takes in a job
  // Owned here, lent to items for one call each; nothing of a call outlives it.
  std::vector<Workspace> scratch_ = std::vector<Workspace>(1);
  Workspace shared_;

  // the job in hand, published under mutex_ as places for workers: no more than it has items for
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  // written under mutex_; atomic for those who look before they wait
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> places_{0};  // not taken yet
  std::atomic<std::size_t> busy_{0};    // workers who have not ended, places not taken included
  Task task_ = nullptr;
  const void* context_ = nullptr;
  Size items_ = 0;
  std::atomic<Size> next_{0};
};

// Runs a kernel with items that need only the operation. The caller holds a Session.
template <class Op>
void run_items(const ItemKernel<Op>& kernel, const Op& op, double work) {
  // on the stack of the caller, who waits for all items: nothing is allocated per call
  struct Context {
    const ItemKernel<Op>& kernel;
    const Op& op;
  } context{kernel, op};
  Pool::instance().run(
      kernel.items(op), kernel.scratch(op), work,
      [](const void* data, Size item, float* scratch) {
        const auto& c = *static_cast<const Context*>(data);
        c.kernel.run(c.op, item, scratch);
      },
      &context);
}

}  // namespace rfa
