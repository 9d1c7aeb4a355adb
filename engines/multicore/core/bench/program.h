// Functions for stand-alone benchmark programs: they measure CPU time, and report errors by the exit status.
#pragma once
#include <cstdint>
#include <cstdio>
#include <exception>
#include <time.h>

namespace lab::bench {

// Returns the CPU time of all threads of the process.
inline std::int64_t cpu_ns() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return spent.tv_sec * 1'000'000'000 + spent.tv_nsec;
}

// Runs a program that takes `min_arguments` to `max_arguments` arguments. Returns its exit status: 2 for a wrong
// number of arguments, 1 after an error.
template <typename Body>
int run_program(const char* name, const char* usage, int count, int min_arguments, int max_arguments, Body body) {
  if (count - 1 < min_arguments || count - 1 > max_arguments) {
    std::fprintf(stderr, "usage: %s %s\n", name, usage);
    return 2;
  }
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace lab::bench
