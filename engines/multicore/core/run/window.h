// Window arithmetic: instances [l, l + size) with l = n x advance, over all of event time.
#pragma once
#include <cstdint>

namespace lab {

// Event times and windows' sizes stay within it, added up: beyond, this arithmetic would leave int64.
inline constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;

struct WindowShape {
  std::int64_t advance = 1;
  std::int64_t size = 1;
  bool single = false;  // one instance per key, which advances

  // Largest multiple of `advance` at or below `ts`: where the latest window with `ts` in it begins.
  std::int64_t latest(std::int64_t ts) const noexcept { return floor_div(ts, advance) * advance; }

  // Where the earliest window with `ts` in it begins.
  std::int64_t earliest(std::int64_t ts) const noexcept { return (floor_div(ts - size, advance) + 1) * advance; }

  // Most windows of one key that can be alive at once.
  std::int64_t alive() const noexcept { return (size + advance - 1) / advance; }

  // A key's windows that may be alive at once take turns at so many places: which of them is that of the window that
  // begins at `left`.
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
