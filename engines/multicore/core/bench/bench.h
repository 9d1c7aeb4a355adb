// A fixed set of micro-benchmarks of the core's structures. Callgrind counts them (benchmarks/instructions.py), and
// pytest-benchmark times them (benchmarks/test_core.py).
//
// Laws of a benchmark:
//  - its work depends only on `n`, so its instruction count repeats exactly: no thread, no unseeded randomness, no
//    decision that depends on the clock;
//  - its work is linear in `n`;
//  - its set-up is outside `measure`;
//  - it returns a checksum that a few obvious lines (`expected`) compute as well.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "run/clock.h"

namespace lab::bench {

struct Bench {
  const char* name;
  const char* unit;  // the unit of `n`
  std::int64_t n;    // the size for which instructions are counted: tens of millions of instructions
  std::int64_t (*run)(std::int64_t n);
  std::int64_t (*expected)(std::int64_t n);
};

// All benchmarks, in a fixed order.
std::span<const Bench> all() noexcept;

// Throws std::invalid_argument if no benchmark has this name.
const Bench& find(std::string_view name);

// Runs a benchmark and returns its checksum.
// Throws std::invalid_argument if n < 1, std::logic_error if the checksum is wrong.
std::int64_t run_checked(const Bench& bench, std::int64_t n);

// Nanoseconds that this thread has spent inside `measure`.
inline std::int64_t& spent_ns() noexcept {
  thread_local std::int64_t spent = 0;
  return spent;
}

// Callgrind counts the instructions of this function, which it finds by name. So the function must not be inlined.
template <typename Body>
[[gnu::noinline]] std::int64_t run_counted(Body&& body) {
  const std::int64_t result = std::forward<Body>(body)();
  asm volatile("" ::: "memory");  // prevents the compiler from treating the call as pure
  return result;
}

// The measured part of a benchmark.
template <typename Body>
std::int64_t measure(Body&& body) {
  const std::int64_t start = now_ns();
  const std::int64_t result = run_counted(std::forward<Body>(body));
  spent_ns() += now_ns() - start;
  return result;
}

}  // namespace lab::bench
