// Stress test of instances that leave and join as fast as possible, with more threads than cores. A thread is sometimes
// delayed between two loads of its switch state while the others make the next switch. Mainly for the perturbed build
// (tests/perturb.cc).
#include <cstdio>

#include "oplus/tests/queues_cases.h"

namespace {

using lab::test::behaviour;
using lab::test::OperatorRunCase;

constexpr std::int32_t kMost = 6;
constexpr std::int64_t kBuckets = 12;

template <typename Case>
std::int64_t run_round(unsigned seed, const char* log) {
  behaviour = {.window = {5, 10, false}, .buckets = kBuckets};
  std::mt19937 random(seed);
  const auto streams = lab::test::random_tuples(random, 2, 2, 1500, 2);
  auto options = lab::test::short_run<lab::OplusOptions>(1);
  options.max_instances = kMost;
  options.batch = 4;
  options.batch_rows = 4;
  options.ring_blocks = 2;
  options.tuple_buffer = log;
  options.log.rows_in_flight = 16;
  Case run(streams, options);
  std::int64_t applied = 0;
  const auto answer = run.run([&](lab::OplusRun& runtime) {
    for (unsigned i = 0;; ++i) {
      const auto instances = i % 3 == 0 ? lab::first_instances(kMost)
                                        : lab::test::random_instances(random, kMost - static_cast<std::int32_t>(i % 2));
      const std::int64_t number = runtime.reconfigure(instances, lab::test::spread(kBuckets, instances));
      if (number < 0 || !runtime.await(number)) return;
      ++applied;
    }
  });
  const bool right = lab::test::sorted(answer) == lab::test::keyed_oracle(streams);
  if (!right) std::fprintf(stderr, "seed %u, log %s\n", seed, log);
  CHECK(right);
  CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
  return applied;
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20);
  std::int64_t applied = 0;
  const auto run_all = [&](unsigned seed) {
    for (const char* log : lab::test::kLogs) {
      applied += run_round<OperatorRunCase>(seed, log) + run_round<lab::test::SharedNothingRun>(seed, log);
    }
  };
  const int rounds = lab::test::rounds_until(least, run_all, [&] { return applied >= 4 * least; });
  std::printf("%d rounds, %lld switches\n", rounds, static_cast<long long>(applied));
  return 0;
}
