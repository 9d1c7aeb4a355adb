// Fork and join kernels for a state that is a single sum. Tests and benchmarks use them.
#pragma once
#include <cstdint>

#include "run/kernel.h"

namespace lab::sums {

inline std::int64_t fork_halves(const void* state, const std::uint8_t*, const std::uint8_t*, void* first,
                                void* second) {
  const std::int64_t value = *static_cast<const std::int64_t*>(state);
  *static_cast<std::int64_t*>(first) = value / 2;
  *static_cast<std::int64_t*>(second) = value - value / 2;
  return kDone;
}

inline std::int64_t join(const void* first, const void* second, void* state) {
  *static_cast<std::int64_t*>(state) =
      *static_cast<const std::int64_t*>(first) + *static_cast<const std::int64_t*>(second);
  return kDone;
}

}  // namespace lab::sums
