#include "pool.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace rfa {

namespace {
constexpr std::size_t kAlignment = 64;
// Waking threads costs some 10 us: share what takes several times that, about 1e6 multiply-adds.
constexpr double kWorthSharing = 1e6;
// Calls follow each other closely, and waking a thread of a processor that has gone to sleep may
// cost more than the call: a thread looks for this long before it sleeps.
constexpr std::chrono::microseconds kLooks{200};

template <class Ready>
void look_for(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + kLooks;
  while (!ready() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

#if defined(__linux__)
bool bind_to(pthread_t thread, int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return pthread_setaffinity_np(thread, sizeof one, &one) == 0;
}
#endif
}  // namespace

// Room for the alignment on top: malloc gives 16 bytes of it, std::aligned_alloc is missing on
// Windows.
float* Workspace::reserve(Size floats) {
  if (floats <= capacity_) return aligned_;
  release();
  memory_ = std::malloc(static_cast<std::size_t>(floats) * sizeof(float) + kAlignment);
  if (!memory_) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(memory_);
  aligned_ = reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
  capacity_ = floats;
  return aligned_;
}

void Workspace::release() {
  std::free(memory_);
  memory_ = nullptr;
  aligned_ = nullptr;
  capacity_ = 0;
}

Pool& Pool::instance() {
  static Pool pool;
  return pool;
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
  stopping_ = false;
}

// Threads end and start anew: rare, and the only way to a smaller number.
void Pool::resize(int threads) {
  const std::size_t count = threads > 1 ? static_cast<std::size_t>(threads) : 1;
  if (count == workers_.size() + 1) return;
  stop();
  scratch_ = std::vector<Workspace>(1);
  try {
    while (workers_.size() + 1 < count) workers_.emplace_back(&Pool::work_loop, this);
    scratch_ = std::vector<Workspace>(count);
  } catch (...) {  // the system has no more threads or memory to give
    stop();
    throw;
  }
}

bool Pool::bind(const std::vector<int>& processors) {
#if defined(__linux__)
  bool bound = bind_to(pthread_self(), processors[0]);
  for (std::size_t i = 0; i < workers_.size(); i++) {
    bound = bind_to(workers_[i].native_handle(), processors[i + 1]) && bound;
  }
  return bound;
#else
  (void)processors;
  return false;
#endif
}

void Pool::run(Size items, Size scratch_floats, double work, Task task, const void* context) {
  if (items <= 0) return;
  // the calling thread works as well: with one item, or nothing to share, no other is woken
  const bool alone = workers_.empty() || items == 1 || work < kWorthSharing;
  scratch_[0].reserve(scratch_floats);
  if (alone) {
    for (Size item = 0; item < items; item++) task(context, item, scratch_[0].data());
    return;
  }
  // all memory is taken before any item runs: an exception then leaves outputs as they were
  const std::size_t helpers = std::min(workers_.size(), static_cast<std::size_t>(items - 1));
  for (std::size_t i = 1; i <= helpers; i++) scratch_[i].reserve(scratch_floats);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    task_ = task;
    context_ = context;
    items_ = items;
    // published with the rest by the mutex: relaxed is enough
    next_.store(0, std::memory_order_relaxed);
    places_ = busy_ = helpers;
  }
  // workers who do not wait yet look for a place before they do
  for (std::size_t i = 0; i < helpers; i++) wake_.notify_one();
  take_items(scratch_[0].data());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    busy_ -= places_;  // nothing is left for those who have not come yet
    places_ = 0;
  }
  look_for([this] { return busy_ == 0; });
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void Pool::work_loop() {
  for (;;) {
    std::size_t place;
    look_for([this] { return stopping_ || places_ > 0; });
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || places_ > 0; });
      if (stopping_) return;
      place = places_--;
    }
    take_items(scratch_[place].data());
    std::lock_guard<std::mutex> lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void Pool::take_items(float* scratch) {
  for (;;) {
    // one at a time: an item takes far longer than a fetch, and the last ones even out the threads
    const Size item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= items_) return;
    task_(context_, item, scratch);
  }
}

Size Pool::workspace_bytes() const {
  Size total = shared_.bytes();
  for (const auto& scratch : scratch_) total += scratch.bytes();
  return total;
}

void Pool::release() {
  shared_.release();
  for (auto& scratch : scratch_) scratch.release();
}

}  // namespace rfa
