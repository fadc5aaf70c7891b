// A small test harness: named cases, guarded buffers, derived tolerances.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "rfa.h"

namespace rfa::test {

constexpr double kUnit = 5.9604644775390625e-08;  // 2^-24: half a unit in the last place of 1
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- random numbers: a fixed sequence per seed ----------------------------------------------

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567u) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // Approximately normal (12 uniforms), bounded by 6: bounds stay meaningful.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
};

// ---- buffers --------------------------------------------------------------------------------

// Floats at an address that is off by `shift` floats from any vector boundary, between two guard
// zones. Outputs start as NaN.
class Buffer {
 public:
  explicit Buffer(Size count, Size shift = 1, float fill = kNaN)
      : count_(count), memory_(static_cast<std::size_t>(count + 2 * kGuard + 16 + shift), kMark) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const Size to_line = static_cast<Size>((64 - address % 64) % 64 / sizeof(float));
    data_ = memory_.data() + to_line + kGuard + shift;
    for (Size i = 0; i < count; i++) data_[i] = fill;
  }
  static Buffer normals(Size count, std::uint64_t seed, double scale = 1, Size shift = 1) {
    Buffer buffer(count, shift);
    Random random(seed);
    for (Size i = 0; i < count; i++) buffer.data_[i] = static_cast<float>(random.normal() * scale);
    return buffer;
  }
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = default;
  Buffer(const Buffer& other) : Buffer(other.count_) {
    for (Size i = 0; i < count_; i++) data_[i] = other.data_[i];
  }

  float* data() { return data_; }
  const float* data() const { return data_; }
  float& operator[](Size i) { return data_[i]; }
  float operator[](Size i) const { return data_[i]; }
  Size size() const { return count_; }
  bool guards_hold() const {
    for (const float& x : memory_) {
      const bool inside = &x >= data_ && &x < data_ + count_;
      if (!inside && x != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr Size kGuard = 64;
  static constexpr float kMark = -123456.0f;
  Size count_;
  std::vector<float> memory_;
  float* data_;
};

// ---- cases ----------------------------------------------------------------------------------

struct Tally {
  int cases = 0, failures = 0;
  double worst = 0;  // largest error over bound
  std::string worst_case;
};
inline Tally& tally() {
  static Tally t;
  return t;
}
inline std::string& current_case() {
  static std::string name;
  return name;
}

inline void fail(const std::string& message) {
  tally().failures++;
  if (tally().failures <= 40) {
    std::printf("  FAILED [%s] %s: %s\n", runtime().isa.c_str(), current_case().c_str(),
                message.c_str());
  }
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// Runs one case under a name that says the behaviour and the shape.
inline void run_case(const std::string& name, const std::function<void()>& body) {
  current_case() = name;
  tally().cases++;
  body();
}

inline void expect(bool condition, const std::string& message) {
  if (!condition) fail(message);
}

// |got - want| <= bound; equal infinities pass. Remembers how close the bound came.
inline void expect_near(float got, double want, double bound, const std::string& what) {
  if (std::isinf(want) && static_cast<double>(got) == want) return;
  const double error = std::fabs(static_cast<double>(got) - want);
  if (!(error <= bound)) {
    fail(text(what, ": got ", got, ", want ", want, ", error ", error, " > bound ", bound));
    return;
  }
  const double ratio = bound > 0 ? error / bound : 0;
  if (ratio > tally().worst) {
    tally().worst = ratio;
    tally().worst_case = current_case();
  }
}

// Calls body once per usable instruction set (or for the one that RFA_ISA names).
inline void for_each_isa(const std::function<void()>& body) {
  const Runtime first = runtime();
  if (!first.error.empty()) {
    std::printf("%s\n", first.error.c_str());
    std::exit(2);
  }
  if (first.forced) return body();
  std::stringstream names(first.available);
  for (std::string name; std::getline(names, name, ',');) {
    const std::string error = select_isa(name);
    if (!error.empty()) fail(error);
    body();
  }
  select_isa("");
}

// Prints the summary line; the exit code of a test program.
inline int finish(const char* title) {
  const Tally& t = tally();
  std::printf("%-28s %s (%s): %d cases, %d failures; largest error / bound %.3f (%s)\n", title,
              t.failures ? "FAILED" : "ok", runtime().available.c_str(), t.cases, t.failures, t.worst,
              t.worst_case.c_str());
  return t.failures ? 1 : 0;
}

}  // namespace rfa::test
