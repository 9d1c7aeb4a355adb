// Stress test of joins that store tuples by key, under random switches, shared and not, with more instances than cores.
// The answer has each pair once, and the run ends.
#include <cstdio>

#include "oplus/tests/stored_cases.h"

namespace {

using lab::OplusOptions;
using lab::OplusRun;
using lab::test::behaviour;

struct Totals {
  std::int64_t applied = 0, moved_bytes = 0;
};

// Requests switches until the run is over; waits for most of them.
void reconfigure(OplusRun& runtime, unsigned seed, std::int32_t most) {
  std::mt19937 random(seed);
  for (;;) {
    const auto instances = 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    std::vector<std::int32_t> owner;
    for (std::int64_t b = 0; b < behaviour.buckets; ++b) {
      owner.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(instances)));
    }
    const std::int64_t number = runtime.reconfigure(instances, owner);
    if (number < 0) return;
    if (random() % 4 == 0) static_cast<void>(runtime.snapshot());
    if (random() % 8 != 0 && !runtime.await(number)) return;
  }
}

void round_of(unsigned seed, Totals& totals) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  lab::test::choose_stored(random);
  const auto streams = lab::test::random_tuples(random, pick(2, 5), 2, 600, pick(1, 6));
  OplusOptions options;
  options.shared_nothing = pick(0, 1) == 1;
  options.workers = pick(1, 6);
  options.most_instances = pick(options.workers, 6);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  options.batch_rows = pick(0, 1) == 1 ? 4096 : pick(1, 20);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.tuple_buffer = pick(0, 1) == 1 ? "order" : "scalegate";
  options.log.entries = 1 << pick(4, 10);
  options.log.rows_in_flight = pick(1, 500);
  options.measure = pick(0, 3) != 0;
  lab::test::StoredRun run(streams, options);
  const unsigned inner = static_cast<unsigned>(random());
  const auto answer = run.run([&](OplusRun& runtime) { reconfigure(runtime, inner, options.most_instances); });
  const auto wanted = lab::test::stored_oracle(streams);
  if (answer != wanted.records) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(answer == wanted.records);
  CHECK_EQ(run.runtime().compared(), wanted.compared);
  CHECK_EQ(run.runtime().events(), lab::test::tuples_in(streams));
  for (const lab::Switch& one : run.runtime().switches()) {
    if (one.done_ns < 0) continue;
    ++totals.applied;
    totals.moved_bytes += one.moved_bytes;
    CHECK(options.shared_nothing || one.moved_bytes == 0);
  }
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  Totals totals;
  const int rounds = lab::test::rounds_until(
      least, [&](unsigned round) { round_of(round, totals); },
      [&] { return totals.applied >= least && totals.moved_bytes > 0; });
  std::printf("%d rounds, %lld switches applied, %lld bytes moved\n", rounds, static_cast<long long>(totals.applied),
              static_cast<long long>(totals.moved_bytes));
  return 0;
}
