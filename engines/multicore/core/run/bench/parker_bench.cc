// Measures Parker::notify without a sleeper, as in nearly all calls of a run.
#include <vector>

#include "registry.h"

#include "run/parker.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kPrepareEvery = 64;

std::int64_t run(std::int64_t n) {
  std::vector<Parker> parkers(2);
  return measure([&] {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      Parker& parker = parkers[static_cast<std::size_t>(i % 2)];
      if (i % kPrepareEvery == 0) {  // the owner announces a sleep, then finds work
        sum += 1 + parker.prepare();
        parker.cancel();
      }
      parker.notify();
    }
    return sum;
  });
}

// `prepare` always returns ticket 0 here, since no parker is ever woken.
std::int64_t expected(std::int64_t n) { return (n + kPrepareEvery - 1) / kPrepareEvery; }

}  // namespace

const Bench parker_notify{"parker_notify", "calls", 2'000'000, &run, &expected};

}  // namespace lab::bench
