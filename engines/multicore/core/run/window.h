// WindowShape: window arithmetic of all windowed operators. Instances are [l, l + size) with l = n x advance.
#pragma once
#include <cstdint>

namespace lab {

// Limit of the sum of an event time and a window size; beyond it, this arithmetic would overflow int64.
inline constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;

struct WindowShape {
  std::int64_t advance = 1;
  std::int64_t size = 1;
  bool single = false;  // whether a key has a single instance, which advances

  // Returns the begin of the latest window that contains `ts`, the largest multiple of `advance` at or below `ts`.
  std::int64_t latest(std::int64_t ts) const noexcept { return floor_div(ts, advance) * advance; }

  // Returns the begin of the earliest window that contains `ts`.
  std::int64_t earliest(std::int64_t ts) const noexcept { return (floor_div(ts - size, advance) + 1) * advance; }

  // Returns the maximum number of windows of one key that are alive at once.
  std::int64_t alive() const noexcept { return (size + advance - 1) / advance; }

  // `places` returns the number of places that the windows of a key share in turn. Windows that are alive at once have
  // different places. `place` returns the place of the window that begins at `left`.
  std::int64_t places() const noexcept { return single ? 1 : alive(); }
  std::int64_t place(std::int64_t left) const noexcept {
    return single ? 0 : floor_mod(floor_div(left, advance), alive());
  }

  static std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    const std::int64_t quotient = a / b;
    return quotient - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
  }
  static std::int64_t floor_mod(std::int64_t a, std::int64_t b) noexcept { return a - floor_div(a, b) * b; }
};

}  // namespace lab
