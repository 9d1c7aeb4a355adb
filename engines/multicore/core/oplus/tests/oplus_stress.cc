// Stress test of operators O+ under random reconfigurations, with more instances than cores: the sequential answer,
// every tuple counted once, and an end, always.
#include <cstdio>

#include "check.h"
#include "counter.h"

#include "oplus/tests/operator_run_case.h"

namespace {

using lab::test::behaviour;
using lab::test::Tuples;

struct Totals {
  std::int64_t called = 0, applied = 0, sleeps = 0;
};

std::vector<std::int32_t> random_owner(std::mt19937& random, std::int32_t instances) {
  std::vector<std::int32_t> owner;
  for (std::int64_t b = 0; b < behaviour.buckets; ++b) {
    owner.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(instances)));
  }
  return owner;
}

// Requests switches until the run is over: at once, after a while, two in a row; waits for some of them.
void reconfigure(lab::OplusRun& runtime, unsigned seed, std::int32_t most, Totals& totals) {
  std::mt19937 random(seed);
  for (;;) {
    const auto instances = 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    const std::int64_t number = runtime.reconfigure(instances, random_owner(random, instances));
    if (number < 0) return;
    ++totals.called;
    const auto next = random() % 8;
    if (next == 0) continue;  // the next one may overtake it
    if (next == 1) {
      static_cast<void>(runtime.snapshot());
    } else if (!runtime.await(number)) {
      return;
    }
    if (next == 2) {
      for (auto i = random() % 200; i > 0; --i) std::this_thread::yield();
    }
  }
}

void round_of(unsigned seed, Totals& totals) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const bool join = pick(0, 2) == 0;
  lab::test::choose(random, join);
  auto streams = lab::test::random_tuples(random, join ? 2 : pick(1, 6), 2, join ? 1500 : 1200, pick(1, 6));
  lab::OplusOptions options;
  options.workers = pick(1, 8);
  options.most_instances = pick(options.workers, 8);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  options.batch_rows = pick(0, 1) == 1 ? 4096 : pick(1, 20);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.tuple_buffer = pick(0, 1) == 1 ? "order" : "scalegate";
  options.log.entries = 1 << pick(4, 10);
  options.log.rows_in_flight = pick(1, 500);
  options.measure = pick(0, 3) != 0;
  if (pick(0, 2) == 0) {
    options.downstream = pick(1, 3);
    options.link_rows = 1 << pick(1, 10);
  }
  const bool cut = !join && pick(0, 1) == 1 && lab::test::tuples_in(streams) != 0;
  if (cut) options.end_watermark = lab::test::total_order(streams).back().ts + pick(-50, 100);
  if (pick(0, 3) == 0) {  // on a schedule, with promises, which reach beyond the last tuple
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    lab::test::schedule(streams, pick(0, 3000));
  }
  lab::test::OperatorRunCase run(streams, options, join);
  const unsigned inner = static_cast<unsigned>(random());
  const auto answer = lab::test::sorted(
      run.run([&](lab::OplusRun& runtime) { reconfigure(runtime, inner, options.most_instances, totals); }));
  const lab::test::JoinAnswer joined = join ? lab::test::join_oracle(streams) : lab::test::JoinAnswer{};
  const bool right = answer == (join ? joined.records : lab::test::keyed_oracle(streams, options.end_watermark));
  if (!right) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(right);
  CHECK_EQ(run.runtime().events(), lab::test::tuples_in(streams));
  if (join) CHECK_EQ(run.runtime().compared(), joined.compared);
  std::int64_t applied = 0;
  for (const lab::Switch& one : run.runtime().switches()) applied += one.done_ns >= 0 ? 1 : 0;
  totals.applied += applied;
  totals.sleeps += lab::test::counter(run.runtime(), "sleeps");
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 5;
  Totals totals;
  const int rounds = lab::test::rounds_until(
      least, [&](unsigned round) { round_of(round, totals); }, [&] { return totals.applied >= least; });
  std::printf("%d rounds, %lld switches called, %lld applied, %lld sleeps\n", rounds,
              static_cast<long long>(totals.called), static_cast<long long>(totals.applied),
              static_cast<long long>(totals.sleeps));
  return 0;
}
