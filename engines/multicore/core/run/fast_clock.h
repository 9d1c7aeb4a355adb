// The core's clock for loops that stream through memory: `now_ns()`, without its fence.
//
// On x86 the library's clock waits for every load before it (`lfence; rdtsc`), so that the reading cannot slip
// ahead of them. Once a block that stops the prefetching of the next one and costs a cache miss: 5 % of
// event_window, where the reading itself takes 21 ns of 2,700 (docs/performance.md). Here the time-stamp counter
// is read as it is; a reading may be early by as much as the processor runs ahead, some 100 ns.
//
// Law: between two anchors, at most a millisecond apart, time is the anchor's plus ticks times the rate that the
// last two anchors showed; each anchor is a reading of `now_ns()`. Time never runs backwards for one owner. Where
// the counter does not tick evenly, or is another machine's, every reading is `now_ns()`.
#pragma once
#include <algorithm>
#include <cstdint>

#include "run/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace lab {

// One owner thread.
class FastClock {
 public:
  std::int64_t now() noexcept {
#if defined(__x86_64__)
    // A counter that has gone back (another core's) wraps to a large number of ticks, and makes a new anchor.
    const std::uint64_t ticks = __rdtsc() - anchor_ticks_;
    if (ticks < limit_ticks_) {
      // Below 2^23 ticks of less than 2^32 each: no overflow.
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
  static constexpr std::int64_t kShortestNs = 100'000;  // the clock's own 20 ns are then 0.02 % of the rate
  static constexpr std::int64_t kLongestNs = 1'000'000;
  static constexpr std::uint64_t kTightTicks = 1'000;  // some 300 ns; undisturbed it is a tenth of that
  static constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 23;

  // Whether the counter ticks evenly, whatever the core's frequency and sleep (CPUID 80000007H, EDX bit 8).
  static bool even() noexcept {
    static const bool result = [] {
      unsigned a = 0, b = 0, c = 0, d = 0;
      return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
    }();
    return result;
  }

  std::int64_t anchor() noexcept {
    const std::uint64_t before = __rdtsc();
    const std::int64_t ns = now_ns();
    const std::uint64_t ticks = __rdtsc();
    if (!even()) return ns;
    const std::int64_t passed_ns = ns - anchor_ns_;
    const std::uint64_t passed = ticks - anchor_ticks_;
    // An interruption between the two readings would be taken for time that the counter ran ahead.
    if (passed_ns >= kShortestNs && ticks - before < kTightTicks) {
      // A long sleep says less about the rate than it could overflow, and the first anchor has none before it.
      const bool fresh =
          anchor_ns_ != 0 && passed_ns < 1'000'000'000 && passed > static_cast<std::uint64_t>(passed_ns) / 16;
      if (fresh) {
        ns_per_tick_ = (static_cast<std::uint64_t>(passed_ns) << 32) / passed;
        limit_ticks_ = std::min(
            kMostTicks, (static_cast<std::uint64_t>(kLongestNs) << 32) / std::max<std::uint64_t>(1, ns_per_tick_));
      }
      anchor_ns_ = ns;
      anchor_ticks_ = ticks;
    }
    last_ns_ = std::max(last_ns_, ns);
    return last_ns_;
  }

  std::uint64_t anchor_ticks_ = 0;
  std::int64_t anchor_ns_ = 0;     // 0: no anchor yet
  std::uint64_t ns_per_tick_ = 0;  // in 2^-32 ns
  std::uint64_t limit_ticks_ = 0;  // 0: the rate is not known yet, every reading is an anchor
  std::int64_t last_ns_ = 0;
#endif
};

}  // namespace lab
