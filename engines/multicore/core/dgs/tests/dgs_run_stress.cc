// Random plans with more threads than cores: the sequential answer, always, and an end, always.
#include <array>
#include <cstdio>

#include "check.h"
#include "counter.h"
#include "dgs/tests/keyed_sum.h"
#include "dgs/dgs_run.h"

int main() {
  const int rounds = lab::test::stress_rounds(20) * 5;
  std::int64_t sleeps = 0;
  std::int64_t synchronizations = 0;
  std::int64_t gatherings = 0;
  std::int64_t buffered = 0;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const int keys = pick(1, 5);
    const int groups = pick(0, 1) * pick(1, keys);
    const auto streams = lab::test::random_streams(random, pick(1, 7), keys, 400, pick(0, 1) == 1, groups);
    lab::DgsOptions options;
    options.workers = pick(1, 8);
    options.batch = pick(0, 1) == 1 ? 1 : pick(1, 50);
    options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
    options.core_count = pick(0, 2) != 0 ? 1 : 64;
    using Gather = lab::DgsOptions::Gather;
    options.gather = std::array{Gather::kNever, Gather::kQuicker, Gather::kAlways, Gather::kInTurn}[
        static_cast<std::size_t>(pick(0, 3))];
    options.direct = pick(0, 3) != 0;
    options.by_tag = pick(0, 1) == 1;
    options.buffer_runs = std::array{0, 1, 3, 1 << 16}[static_cast<std::size_t>(pick(0, 3))];
    const bool scheduled = pick(0, 2) == 0;
    lab::test::Schedule when;
    if (scheduled) {
      when = lab::test::schedule(streams, pick(0, 2000), static_cast<std::size_t>(pick(1, 100)));
      options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    }
    lab::test::KeyedSumRun run(streams, keys, options, scheduled ? &when : nullptr, groups);
    const bool right = run.run() == lab::test::oracle(streams, keys, groups);
    if (!right) std::fprintf(stderr, "round %d\n", round);
    CHECK(right);
    sleeps += lab::test::counter(run.runtime(), "sleeps");
    synchronizations += lab::test::counter(run.runtime(), "synchronizations");
    gatherings += lab::test::counter(run.runtime(), "gatherings");
    if (options.by_tag) buffered += lab::test::counter(run.runtime(), "buffered_events");
  }
  std::printf("%d rounds, %lld synchronizations, %lld sleeps, %lld gatherings, %lld buffered\n", rounds,
              static_cast<long long>(synchronizations), static_cast<long long>(sleeps),
              static_cast<long long>(gatherings), static_cast<long long>(buffered));
  CHECK(synchronizations > 0);
  CHECK(sleeps > 0);
  CHECK(gatherings > rounds / 10);
  CHECK(buffered > rounds);
}
