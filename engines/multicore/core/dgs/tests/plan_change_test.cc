// A run whose plan changes while it runs has the sequential answer, each output once, with threads that are more than
// cores, at full speed and under a load, and with snapshots for a writer beside.
#include <array>
#include <cstdio>
#include <thread>

#include "check.h"
#include "counter.h"
#include "dgs/tests/keyed_sum.h"

namespace {

using lab::test::Events;
using lab::test::Output;

void append(std::vector<Output>& to, const lab::DgsRun& run, const lab::Checkpoints& from) {
  const auto rows = static_cast<std::size_t>(from.rows());
  std::vector<std::int64_t> ts(rows);
  std::vector<std::int32_t> key(rows);
  std::vector<std::int64_t> sum(rows);
  const std::array<void*, 3> columns{ts.data(), key.data(), sum.data()};
  from.collect(columns, run.output_itemsizes());
  for (std::size_t i = 0; i < rows; ++i) to.emplace_back(ts[i], key[i], sum[i]);
}

std::int64_t total(const std::vector<Events>& streams) {
  std::int64_t events = 0;
  for (const Events& stream : streams) events += static_cast<std::int64_t>(stream.ts.size());
  return events;
}

std::int64_t plans_change_and_nothing_else(unsigned round) {
  std::mt19937 random(round);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const int keys = pick(1, 5);
  const int groups = pick(0, 1) * pick(1, keys);
  const auto streams = lab::test::random_streams(random, pick(1, 6), keys, 300, pick(0, 1) == 1, groups);
  lab::DgsOptions options;
  options.workers = pick(1, 6);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 50);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 1) != 0 ? 1 : 64;
  using Gather = lab::DgsOptions::Gather;
  options.gather = std::array{Gather::kNever, Gather::kQuicker, Gather::kAlways, Gather::kInTurn}[
      static_cast<std::size_t>(pick(0, 3))];
  options.direct = pick(0, 2) != 0;
  options.cuts = lab::test::random_cuts(random, streams, static_cast<unsigned>(pick(1, 20)));
  options.adaptive = true;
  options.checkpoints = pick(0, 1) == 1;
  const bool written = options.checkpoints;
  const auto cuts = static_cast<int>(options.cuts->size());
  const bool scheduled = pick(0, 2) == 0;
  lab::test::Schedule when;
  if (scheduled) {
    when = lab::test::schedule(streams, pick(0, 2000), static_cast<std::size_t>(pick(1, 100)));
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
  }
  lab::test::KeyedSumRun run(streams, keys, options, scheduled ? &when : nullptr, groups);
  lab::DgsRun& runtime = run.runtime();
  lab::Checkpoints& checkpoints = runtime.checkpoints();
  const int apart = pick(1, std::max(1, cuts / 3));
  std::mt19937 changes(round + 1);
  checkpoints.stop_from(pick(0, apart));
  std::vector<Output> outputs;  // as a writer has them
  std::int64_t changed = 0;
  std::thread changer([&] {
    while (checkpoints.wait()) {
      if (written) append(outputs, runtime, checkpoints);
      if (!checkpoints.stops()) {
        checkpoints.free();
        continue;
      }
      std::vector<std::int64_t> sums(static_cast<std::size_t>(keys));
      checkpoints.join(runtime.forest, 8, std::as_writable_bytes(std::span(sums)));
      const std::int64_t at = checkpoints.cut();
      if (!runtime.take_plan_away()) return;
      const auto leaves = static_cast<std::int32_t>(changes() % static_cast<unsigned>(run.most_leaves())) + 1;
      run.replan(leaves, static_cast<std::int32_t>(changes() % 7), sums);
      checkpoints.stop_from(at + 1 + static_cast<std::int64_t>(changes() % static_cast<unsigned>(apart)));
      runtime.go_on();
      ++changed;
    }
  });
  const std::vector<Output> all = run.run();
  checkpoints.close(false);
  changer.join();
  const bool right = all == lab::test::oracle(streams, keys, groups);
  if (!right) std::fprintf(stderr, "round %u\n", round);
  CHECK(right);
  CHECK_EQ(lab::test::counter(runtime, "plan_changes"), changed);
  CHECK_EQ(runtime.events(), total(streams));
  double consumed = 0;
  std::int64_t emitted = 0;
  for (const lab::Progress& step : runtime.progress()) {
    consumed += static_cast<double>(step.consumed);
    emitted += step.emitted;
  }
  CHECK_EQ(static_cast<std::int64_t>(consumed + 0.5), total(streams));
  CHECK_EQ(emitted, total(streams));
  if (written) {
    checkpoints.take_rest();
    append(outputs, runtime, checkpoints);
    CHECK(outputs == all);
  }
  return changed;
}

void a_plan_that_stays_is_not_taken_away() {
  const std::vector<Events> streams(1);
  lab::DgsOptions options;
  lab::test::KeyedSumRun run(streams, 1, options);
  bool refused = false;
  try {
    run.runtime().take_plan_away();
  } catch (const std::logic_error&) {
    refused = true;
  }
  CHECK(refused);
}

}  // namespace

int main() {
  a_plan_that_stays_is_not_taken_away();
  const int rounds = lab::test::stress_rounds(20) * 2;
  std::int64_t changes = 0;
  for (int round = 0; round < rounds; ++round) changes += plans_change_and_nothing_else(static_cast<unsigned>(round));
  std::printf("%d rounds, %lld changes of the plan\n", rounds, static_cast<long long>(changes));
  CHECK(changes > 2 * rounds);
}
