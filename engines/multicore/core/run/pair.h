// A result of a join of all pairs.
#pragma once
#include <cstdint>

namespace lab {

// A row of the join's first input and a row of its second input.
struct Pair {
  std::int64_t left;
  std::int64_t right;
};

}  // namespace lab
