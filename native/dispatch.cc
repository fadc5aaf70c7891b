#include "dispatch.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "pool.h"

namespace rfa {

namespace {

#if defined(__x86_64__)
// These ask the operating system too: it must save the wide registers.
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

// Every set that this build and this machine have, best first. Never empty: scalar always is there.
std::vector<const KernelTable*> usable() {
  std::vector<const KernelTable*> tables;
  if (avx512_kernels() && has_avx512()) tables.push_back(avx512_kernels());
  if (avx2_kernels() && has_avx2()) tables.push_back(avx2_kernels());
  if (neon_kernels()) tables.push_back(neon_kernels());
  tables.push_back(scalar_kernels());
  return tables;
}

std::string names_of_usable(const char* separator) {
  std::string names;
  for (const KernelTable* table : usable()) {
    names += (names.empty() ? "" : separator) + std::string(table->name);
  }
  return names;
}

struct Choice {
  std::atomic<const KernelTable*> table{nullptr};
  bool forced = false;
  // of RFA_ISA, kept: a library must not end the process while it is loaded
  std::string error;
};

// Sets `choice` to the named set; "" or one sentence that says why not.
std::string choose(Choice& choice, const std::string& name) {
  for (const KernelTable* table : usable()) {
    if (!name.empty() && name != table->name) continue;
    choice.table = table;
    choice.forced = !name.empty();
    return "";
  }
  const bool known = name == "avx512" || name == "avx2" || name == "neon" || name == "scalar";
  return std::string(known ? "this machine or build has no " : "unknown instruction set ") +
         (known ? name : "\"" + name + "\"") + "; expected one of: " + names_of_usable(", ");
}

std::mutex& choice_mutex() {
  static std::mutex mutex;
  return mutex;
}

Choice& choice() {
  // C++ initialises both once, whichever thread comes first
  static Choice chosen;
  static const bool initialised = [] {
    choose(chosen, "");
    const char* wanted = std::getenv("RFA_ISA");
    if (wanted && *wanted) {
      const std::string error = choose(chosen, wanted);
      if (!error.empty()) chosen.error = "RFA_ISA: " + error;
    }
    return true;
  }();
  (void)initialised;
  return chosen;
}

const char* build_type() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(RFA_SANITIZE)
  return "sanitize";
#elif defined(NDEBUG)
  return "release";
#else
  return "debug";
#endif
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
         std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace

const KernelTable& kernels() { return *choice().table; }

Runtime runtime() {
  std::lock_guard<std::mutex> lock(choice_mutex());
  const KernelTable& table = kernels();
  Runtime result;
  result.isa = table.name;
  result.available = names_of_usable(",");
  result.lanes = table.lanes;
  result.forced = choice().forced;
  result.error = choice().error;
  result.compiler = compiler_name();
  result.build = build_type();
  return result;
}

std::string select_isa(const std::string& name) {
  std::lock_guard<std::mutex> lock(choice_mutex());
  // no call is under way while the choice changes: one call never mixes two sets
  const Pool::Session session;
  return choose(choice(), name);
}

void set_threads(int count) {
  const Pool::Session session;
  Pool::instance().resize(count);
}

bool bind_threads(const std::vector<int>& processors) {
  const Pool::Session session;
  Pool& pool = Pool::instance();
  return processors.size() == static_cast<std::size_t>(pool.size()) && pool.bind(processors);
}

int threads() {
  const Pool::Session session;
  return Pool::instance().size();
}

Size workspace_bytes() {
  const Pool::Session session;
  return Pool::instance().workspace_bytes();
}

void release_workspace() {
  const Pool::Session session;
  Pool::instance().release();
}

double fma_peak(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto rounds_per_second = [&](Size rounds, float* sink) {
    const auto start = Clock::now();
    const double operations = kernels().fma_rounds(rounds, sink);
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    return elapsed.count() > 0 ? operations / elapsed.count() : 0.0;
  };
  // a value that depends on every multiply-add and goes back in: none can be optimised away
  float sink = 0;
  double best = 0;
  const auto start = Clock::now();
  // rounds of about half a millisecond: short enough to fall between interruptions
  do {
    const double rate = rounds_per_second(200000, &sink);
    sink = 0;
    if (rate > best) best = rate;
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  return best * 1e-9;
}

}  // namespace rfa
