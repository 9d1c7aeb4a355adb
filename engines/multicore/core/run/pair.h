// What a join of all pairs finds.
#pragma once
#include <cstdint>

namespace lab {

// Pairs of a join: rows of its first and of its second input.
struct Pair {
  std::int64_t left;
  std::int64_t right;
};

}  // namespace lab
