// now_ns: the clock of the core, which supplies all measured times.
#pragma once
#include <chrono>
#include <cstdint>

namespace lab {

// Returns monotonic time in nanoseconds, comparable between threads of one host, not between hosts.
inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace lab
