// The clock of the core; all measured times come from it.
#pragma once
#include <chrono>
#include <cstdint>

namespace lab {

// Monotonic time in nanoseconds; comparable between threads of one host, not between hosts.
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace lab
