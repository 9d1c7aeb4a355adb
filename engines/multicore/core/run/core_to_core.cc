// Implements core_to_core_ns; see run/core_to_core.h.
#include "run/core_to_core.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <thread>

#include "run/cacheline.h"
#include "run/clock.h"
#include "run/parker.h"

namespace lab {
namespace {

constexpr int kTries = 5;
constexpr std::int64_t kRounds = 400;  // round trips of a try

constexpr std::int64_t kMaxLimit = 3'600'000'000'000;  // one hour

// Number of loads of the line between two readings of the clock.
constexpr int kLooks = 256;

bool pin(std::int32_t core) noexcept {
#if defined(__linux__)
  if (core >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
#else
  static_cast<void>(core);
  return false;
#endif
}

struct alignas(kCacheLine) Line {
  // Number of the next turn; the first thread takes the even turns. Release at the end of a turn pairs with acquire in
  // `wait`. No data depends on this order; it adds the cost that shared data has.
  std::atomic<std::int64_t> turn{0};
};

// Waits for a turn. Returns whether it came before the deadline.
bool wait(const Line& line, std::int64_t turn, std::int64_t deadline_ns) noexcept {
  for (int looks = 0; line.turn.load(std::memory_order_acquire) != turn; ++looks) {
    spin_pause();
    if (looks % kLooks == kLooks - 1 && now_ns() > deadline_ns) return false;
  }
  return true;
}

// Plays one side of kRounds round trips from turn `from` on. Returns whether they ended before the deadline.
bool play(Line& line, std::int64_t from, std::int64_t deadline_ns) noexcept {
  if (now_ns() > deadline_ns) return false;
  const std::int64_t end = from + 2 * kRounds;
  for (std::int64_t turn = from; turn < end; turn += 2) {
    if (!wait(line, turn, deadline_ns)) return false;
    line.turn.store(turn + 1, std::memory_order_release);
  }
  return true;
}

}  // namespace

double core_to_core_ns(std::int32_t first, std::int32_t second, std::int64_t limit_ns) {
  if (first == second)
    throw std::invalid_argument("first and second are both core " + std::to_string(first) + "; give two cores");
  if (std::min(first, second) < 0) throw std::invalid_argument("cores must not be negative");
  if (limit_ns > kMaxLimit)
    throw std::invalid_argument("limit_ns must be at most an hour, " + std::to_string(kMaxLimit));
  const std::int64_t deadline_ns = now_ns() + limit_ns;
  Line line;
  std::atomic<bool> pinned{true};  // relaxed: read after the end of both threads
  double lowest = -1;
  // Each thread may start late, or wait for the core of the other. Both stop at the deadline.
  const auto body = [&](std::int32_t core, int side) {
    if (!pin(core)) {
      pinned.store(false, std::memory_order_relaxed);
      return;
    }
    if (!play(line, side, deadline_ns)) return;  // both threads arrive and warm up
    for (std::int64_t t = 1; t <= kTries; ++t) {
      const std::int64_t begin_ns = now_ns();
      if (!play(line, 2 * kRounds * t + side, deadline_ns)) return;
      if (side != 0) continue;
      const auto one_way_ns = static_cast<double>(now_ns() - begin_ns) / static_cast<double>(2 * kRounds);
      lowest = lowest < 0 ? one_way_ns : std::min(lowest, one_way_ns);
    }
  };
  std::jthread second_thread(body, second, 1);  // ends at the deadline if `first_thread` fails to start
  std::jthread first_thread(body, first, 0);
  first_thread.join();
  second_thread.join();
  if (!pinned.load(std::memory_order_relaxed)) {
    throw std::runtime_error("cannot pin a thread to core " + std::to_string(first) + " or " + std::to_string(second));
  }
  return lowest;
}

}  // namespace lab
