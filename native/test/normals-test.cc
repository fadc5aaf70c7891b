// Random words against the published answers and a plain loop; normals against long double.
#include <cstring>

#include "dispatch.h"
#include "harness.h"
#include "random.h"

using namespace rfa;
using namespace rfa::test;

namespace {

using Words = std::vector<std::uint32_t>;

RandomStream stream_of(std::uint32_t seed) {
  RandomStream stream;
  stream.key[0] = seed * 0x9E3779B9u;
  stream.key[1] = ~seed;
  stream.counter[1] = seed;
  stream.counter[2] = 0x80000000u + seed;
  stream.counter[3] = 3;
  return stream;
}

// ---- words ----------------------------------------------------------------------------------

// One block in plain 64-bit arithmetic, after the definition.
void plain_block(const RandomStream& stream, std::uint32_t block, std::uint32_t* out) {
  std::uint32_t c[4] = {stream.counter[0] + block, stream.counter[1], stream.counter[2],
                        stream.counter[3]};
  std::uint32_t k[2] = {stream.key[0], stream.key[1]};
  for (int round = 0; round < 10; round++) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
    const std::uint32_t next[4] = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0],
                                   static_cast<std::uint32_t>(p1),
                                   static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
                                   static_cast<std::uint32_t>(p0)};
    std::memcpy(c, next, sizeof c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  std::memcpy(out, c, sizeof c);
}

void known_answers() {
  run_case("known answers of Random123 for philox4x32 with 10 rounds", [] {
    struct {
      RandomStream stream;
      std::uint32_t answer[4];
    } cases[] = {
        {{{0, 0}, {0, 0, 0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{{~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{{0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (const auto& c : cases) {
      std::uint32_t got[4];
      random_words(c.stream, got, 1);
      for (int i = 0; i < 4; i++) expect(got[i] == c.answer[i], text("word ", i, ": ", got[i]));
    }
  });
  run_case("every number of blocks agrees with a plain loop, across the end of the counter", [] {
    RandomStream stream = stream_of(5);
    stream.counter[0] = 0xFFFFFFF0u;
    for (Size blocks = 0; blocks <= 67; blocks++) {
      Words got(static_cast<std::size_t>(4 * blocks + 1), 77);
      random_words(stream, got.data(), blocks);
      expect(got.back() == 77, "wrote beyond the end");
      for (Size block = 0; block < blocks; block++) {
        std::uint32_t want[4];
        plain_block(stream, static_cast<std::uint32_t>(block), want);
        for (Size i = 0; i < 4; i++) {
          expect(got[static_cast<std::size_t>(4 * block + i)] == want[i], text("block ", block));
        }
      }
    }
  });
}

// ---- normals --------------------------------------------------------------------------------

// Both normals of a block; the angle is rounded as in the definition.
void exact_normals(const std::uint32_t* w, long double* out) {
  const auto uniform = [](std::uint32_t a, std::uint32_t b) {
    return (static_cast<double>(a >> 5) * 0x1p26 + static_cast<double>(b >> 6)) * 0x1p-53;
  };
  const long double radius = std::sqrt(-2 * std::log(static_cast<long double>(1 - uniform(w[0], w[1]))));
  const double angle = 2 * 3.141592653589793 * uniform(w[2], w[3]);
  out[0] = radius * std::cos(static_cast<long double>(angle));
  out[1] = radius * std::sin(static_cast<long double>(angle));
}

// In units of 2^-53 of the normal: half the logarithm's 2, the root's 1, the 2.4 of sine or cosine and 1
// for the product; 2^-104 times the largest radius near zeros of those.
double allowed(long double want) {
  return 5.4 * 0x1p-53 * static_cast<double>(std::fabs(want)) + 9 * 0x1p-104;
}

void check_block(const std::uint32_t* words, const double* got, double* worst) {
  long double want[2];
  exact_normals(words, want);
  for (int i = 0; i < 2; i++) {
    const double error = static_cast<double>(std::fabs(static_cast<long double>(got[i]) - want[i]));
    const double bound = allowed(want[i]);
    expect(error <= bound, text("normal ", i, " of ", words[0], " ", words[1], " ", words[2], " ",
                                words[3], ": got ", got[i], ", error ", error / bound, " bounds"));
    *worst = std::max(*worst, error / bound);
  }
}

void accuracy() {
  run_case("normals are within their bound of the exact ones", [] {
    constexpr Size kCount = 1 << 17;
    const RandomStream stream = stream_of(9);
    std::vector<double> got(kCount);
    normals(stream, got.data(), kCount);
    Words words(2 * kCount);
    random_words(stream, words.data(), kCount / 2);
    double worst = 0;
    for (std::size_t i = 0; i < kCount / 2; i++) check_block(&words[4 * i], &got[2 * i], &worst);
    std::printf("  %-7s normals: largest error / bound %.3f\n", runtime().isa.c_str(), worst);
  });
  run_case("so are those at the ends of uniform numbers and at turns of the circle", [] {
    // pairs of words, most significant first, as a number of 53 bits
    const auto pair_of = [](std::uint64_t k, std::uint32_t* out) {
      out[0] = static_cast<std::uint32_t>(k >> 26) << 5;
      out[1] = static_cast<std::uint32_t>(k & 0x3FFFFFF) << 6;
    };
    const std::uint64_t end = std::uint64_t{1} << 53;
    std::vector<std::uint64_t> places;
    for (std::uint64_t turn = 0; turn <= 16; turn++) {
      for (std::uint64_t i = 0; i < 9; i++) {
        // an eighth of the circle is where the quadrant changes, a quarter where one is zero
        const std::uint64_t place = turn * (end / 16) + i - 4;
        if (place < end) places.push_back(place);
      }
    }
    double worst = 0;
    for (const std::uint64_t u : places) {
      for (const std::uint64_t v : places) {
        std::uint32_t words[4];
        pair_of(u, words);
        pair_of(v, words + 2);
        double got[2];
        kernels().normals_of_words(words, 1, got);
        check_block(words, got, &worst);
      }
    }
  });
}

void lengths() {
  run_case("every length is the beginning of a longer one, in floats too", [] {
    const RandomStream stream = stream_of(3);
    std::vector<double> all(68);
    normals(stream, all.data(), 68);
    for (Size n = 0; n <= 67; n++) {
      std::vector<double> some(static_cast<std::size_t>(n) + 1, 77);
      Buffer floats(n, n % 5);
      const double spare = normals(stream, some.data(), n);
      const double same = normals(stream, floats.data(), n);
      const double want = n % 2 ? all[static_cast<std::size_t>(n)] : 0;
      expect(spare == want && same == want, text("spare of ", n));
      expect(some.back() == 77 && floats.guards_hold(), text("wrote outside, length ", n));
      for (Size i = 0; i < n; i++) {
        const auto at = static_cast<std::size_t>(i);
        expect(some[at] == all[at], text("length ", n, " element ", i));
        expect(floats[i] == static_cast<float>(all[at]), text("float ", i, " of ", n));
      }
    }
  });
  run_case("the bits are the same for any number of threads", [] {
    constexpr Size kCount = 100001;
    std::vector<double> one(kCount), many(kCount);
    const RandomStream stream = stream_of(4);
    set_threads(1);
    normals(stream, one.data(), kCount);
    for (const int threads : {2, 3}) {
      set_threads(threads);
      normals(stream, many.data(), kCount);
      expect(one == many, text(threads, " threads"));
    }
    set_threads(1);
  });
}

}  // namespace

int main() {
  for_each_isa([] {
    known_answers();
    accuracy();
    lengths();
  });
  return finish("random draws");
}
