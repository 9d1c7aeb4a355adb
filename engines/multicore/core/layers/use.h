// ThreadUse: the context switches and CPU time of a thread, which LayersRun reports.
#pragma once
#include <cstdint>

#if defined(__linux__)
#include <sys/resource.h>
#include <time.h>
#endif

namespace lab {

struct ThreadUse {
  std::int64_t voluntary = 0;    // context switches because the thread slept
  std::int64_t involuntary = 0;  // context switches because another thread took the core
  std::int64_t cpu_ns = 0;

  // Returns the usage of the calling thread so far; zeros on systems without these counters.
  static ThreadUse now() noexcept {
    ThreadUse use;
#if defined(__linux__)
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
      use.voluntary = usage.ru_nvcsw;
      use.involuntary = usage.ru_nivcsw;
    }
    // getrusage updates its times once per scheduler tick, so a short run would show none.
    timespec time{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
      use.cpu_ns = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }
#endif
    return use;
  }

  ThreadUse operator-(const ThreadUse& before) const noexcept {
    return {voluntary - before.voluntary, involuntary - before.involuntary, cpu_ns - before.cpu_ns};
  }
  ThreadUse& operator+=(const ThreadUse& other) noexcept {
    voluntary += other.voluntary;
    involuntary += other.involuntary;
    cpu_ns += other.cpu_ns;
    return *this;
  }
};

}  // namespace lab
