// Makes threads lose their core at random: rarely, between any two branches of the core's code, the current thread
// yields or sleeps for up to two milliseconds. On an idle machine, a thread is delayed between two loads while the
// others do ten steps once in a million rounds. Here that happens every few rounds.
//
// The compiler calls `__sanitizer_cov_trace_pc` at every edge of code compiled with -fsanitize-coverage=trace-pc
// (LAB_PERTURB in CMakeLists.txt). LAB_PERTURB_RATE is the share of edges that stop a thread. LAB_PERTURB_SEED selects
// these edges.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <sched.h>
#include <time.h>

namespace {

std::uint64_t from_environment(const char* name, double fallback, double factor) {
  const char* value = std::getenv(name);
  return static_cast<std::uint64_t>((value != nullptr ? std::atof(value) : fallback) * factor);
}

// Probability that the thread stops at an edge, of 2^32.
const std::uint64_t rate = from_environment("LAB_PERTURB_RATE", 1e-4, 4294967296.0);
std::atomic<std::uint64_t> seeds{from_environment("LAB_PERTURB_SEED", 1, 1)
                                 << 32};  // relaxed: any distinct number serves

std::uint64_t next_random() noexcept {
  static thread_local std::uint64_t state = 0;
  if (state == 0) state = seeds.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15U | 1U;
  state ^= state << 13;  // xorshift64
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

constexpr std::uint64_t kShortNs = 60'000;
constexpr std::uint64_t kLongNs = 2'000'000;

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  const std::uint64_t random = next_random();
  if ((random & 0xffffffffU) >= rate) return;
  const std::uint64_t choice = random >> 32;
  if ((choice & 1U) != 0) {
    sched_yield();
    return;
  }
  const timespec pause{0, static_cast<long>((choice >> 3) % ((choice & 6U) != 0 ? kShortNs : kLongNs))};
  nanosleep(&pause, nullptr);
}
