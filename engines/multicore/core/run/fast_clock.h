// FastClock: `now_ns()` without its fence, for loops that stream through memory. Recorders, sources and Backoff use it.
//
// On x86 the library's clock waits for every earlier load (`lfence; rdtsc`), so its reading cannot move ahead of them.
// One such reading per block stops the prefetch of the next block and costs a cache miss: 5 % of event_window, where
// the reading itself takes 21 ns of 2,700 (docs/performance.md). This clock reads the time-stamp counter without a
// fence. A reading may be early by the time that the processor runs ahead, some 100 ns.
//
// Law: each anchor is a reading of `now_ns()`. Two anchors are at most a millisecond apart. Between them, time is the
// anchor's time plus ticks times the rate between the last two anchors. Time never decreases for one owner. If the
// counter does not tick evenly, or the machine is not x86, every reading is `now_ns()`.
#pragma once
#include <algorithm>
#include <cstdint>

#include "run/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace lab {

// Only one thread uses a FastClock.
class FastClock {
 public:
  std::int64_t now() noexcept {
#if defined(__x86_64__)
    // A lower counter (of another core) wraps to a large number of ticks and causes a new anchor.
    const std::uint64_t ticks = __rdtsc() - anchor_ticks_;
    if (ticks < limit_ticks_) {
      // No overflow: below 2^23 ticks, each less than 2^32.
      last_ns_ = std::max(last_ns_, anchor_ns_ + static_cast<std::int64_t>((ticks * ns_per_tick_) >> 32));
      return last_ns_;
    }
    return anchor();
#else
    return now_ns();
#endif
  }

 private:
#if defined(__x86_64__)
  static constexpr std::int64_t kShortestNs = 100'000;  // 20 ns of the clock itself change the rate by 0.02 %
  static constexpr std::int64_t kLongestNs = 1'000'000;
  static constexpr std::uint64_t kTightTicks = 1'000;  // some 300 ns; ten times the duration without interruption
  static constexpr std::uint64_t kMaxTicks = std::uint64_t{1} << 23;  // keeps the product in `now` within 64 bits

  // Returns whether the counter ticks evenly in all frequencies and sleep states of the core (CPUID 80000007H, EDX bit
  // 8).
  static bool is_even() noexcept {
    static const bool result = [] {
      unsigned a = 0, b = 0, c = 0, d = 0;
      return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
    }();
    return result;
  }

  // Returns a reading of `now_ns()`, and makes it the new anchor unless an interruption may have falsified it.
  std::int64_t anchor() noexcept {
    const std::uint64_t before = __rdtsc();
    const std::int64_t ns = now_ns();
    const std::uint64_t ticks = __rdtsc();
    if (!is_even()) return ns;
    const std::int64_t passed_ns = ns - anchor_ns_;
    const std::uint64_t passed = ticks - anchor_ticks_;
    // An interruption between the two readings would falsify the rate.
    if (passed_ns >= kShortestNs && ticks - before < kTightTicks) {
      // After a long sleep the product could overflow. The first anchor has no predecessor. In both cases the rate
      // stays the same.
      const bool updates_rate =
          anchor_ns_ != 0 && passed_ns < 1'000'000'000 && passed > static_cast<std::uint64_t>(passed_ns) / 16;
      if (updates_rate) {
        ns_per_tick_ = (static_cast<std::uint64_t>(passed_ns) << 32) / passed;
        limit_ticks_ = std::min(
            kMaxTicks, (static_cast<std::uint64_t>(kLongestNs) << 32) / std::max<std::uint64_t>(1, ns_per_tick_));
      }
      anchor_ns_ = ns;
      anchor_ticks_ = ticks;
    }
    last_ns_ = std::max(last_ns_, ns);
    return last_ns_;
  }

  std::uint64_t anchor_ticks_ = 0;
  std::int64_t anchor_ns_ = 0;     // 0 before the first anchor
  std::uint64_t ns_per_tick_ = 0;  // in 2^-32 ns
  std::uint64_t limit_ticks_ = 0;  // 0 while the rate is unknown, so that every reading is an anchor
  std::int64_t last_ns_ = 0;
#endif
};

}  // namespace lab
