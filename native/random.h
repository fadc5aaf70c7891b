// Random draws: streams of random blocks, the normals made of them, and matrices of those. A part of
// rfa.h, with its rules: the same bits for any number of threads.
//
// The definition, and the judge, is src/random/ in TypeScript. Integers are equal; a normal is the
// double x there to 6 |x| 2^-52 + 2^-100, as log, sine and cosine are rounded otherwise.
#pragma once

#include <cstdint>

namespace rfa {

// Blocks of four random words: Philox4x32-10 of the key at counter, counter + 1, .. (the first word
// counts, modulo 2^32). Source: Salmon, Moraes, Dror, Shaw 2011.
struct RandomStream {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t counter[4] = {0, 0, 0, 0};
};

// The words of `blocks` blocks, four by four.
void random_words(const RandomStream& stream, std::uint32_t* out, std::int64_t blocks);

// Standard normals, two of each block (Box-Muller in double precision): the first `count`. Returns the
// second one of the last block where `count` is odd, else 0.
double normals(const RandomStream& stream, double* out, std::int64_t count);
// The same, rounded to floats.
double normals(const RandomStream& stream, float* out, std::int64_t count);

// Where the blocks of a call begin: words 1 to 3 of the counter of their streams. Replicates, heads and
// blocks count up from there, modulo 2^32.
struct BlockPlace {
  std::uint32_t replicate = 0, head = 0, block = 0;
};

// Normals of many streams of one key: `length` of each (replicate, head) pair, replicates first, in blocks of
// `block_length`, each the beginning of a separate stream. As floats if the caller gives room for floats, else as
// doubles.
struct NormalBlocks {
  std::uint32_t key[2] = {0, 0};
  BlockPlace first;
  std::int64_t replicates = 0, heads = 0, length = 0, block_length = 1;
  float* floats = nullptr;
  double* doubles = nullptr;
};
void normal_blocks(const NormalBlocks& op);

// Blocks of D orthogonal rows, the last one cut short: the orthogonal factor of normals of the stream of
// directions (Gram-Schmidt over the rows, each with a positive component along its normals). Each row is
// multiplied by the length (chi) of a row of normals of the stream of lengths, or by sqrt(D). [R, H, M, D].
struct OrthogonalRows {
  std::uint32_t direction_key[2] = {0, 0}, length_key[2] = {0, 0};
  BlockPlace first;
  std::int64_t replicates = 0, heads = 0, num_features = 0, head_dim = 1;
  bool chi = true;
  float* floats = nullptr;
  double* doubles = nullptr;
};
void orthogonal_rows(const OrthogonalRows& op);

// Gram-Schmidt over the rows, in place; rows <= columns. Of a row that depends on those
// before it rounding is left, or NaN where nothing is.
struct Orthonormalize {
  std::int64_t rows = 0, columns = 1;
  double* matrix = nullptr;
};
void orthonormalize_rows(const Orthonormalize& op);

}  // namespace rfa
