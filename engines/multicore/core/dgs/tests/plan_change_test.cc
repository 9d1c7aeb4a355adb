// A run with changes of its plan has the sequential answer, with each output once. It has more threads than cores, runs
// at full speed and under a load, and also takes snapshots for a writer.
#include <cstdio>
#include <thread>

#include "check.h"
#include "counter.h"

#include "dgs/tests/random_keyed_sum.h"

namespace {

using lab::test::Events;
using lab::test::Output;

std::int64_t total(const std::vector<Events>& streams) {
  std::int64_t events = 0;
  for (const Events& stream : streams) events += static_cast<std::int64_t>(stream.ts.size());
  return events;
}

std::int64_t plans_change_and_nothing_else(unsigned round) {
  lab::test::RandomKeyedSum drawn(round, 300);
  drawn.draw_cuts();
  drawn.draw_load(3);
  drawn.options.adaptive = true;
  const bool written = drawn.options.checkpoints = drawn.pick(0, 1) == 1;
  const auto cuts = static_cast<int>(drawn.options.cuts->size());
  lab::test::KeyedSumRun run(drawn.streams, drawn.keys, drawn.options, drawn.load(), drawn.groups);
  lab::DgsRun& runtime = run.runtime();
  lab::Checkpoints& checkpoints = runtime.checkpoints();
  const int apart = drawn.pick(1, std::max(1, cuts / 3));
  std::mt19937 changes(round + 1);
  checkpoints.stop_from(drawn.pick(0, apart));
  std::vector<Output> outputs;  // as the writer receives them
  std::int64_t changed = 0;
  std::thread changer([&] {
    while (checkpoints.wait()) {
      if (written) lab::test::add(outputs, lab::test::collected(runtime, checkpoints));
      if (!checkpoints.stops()) {
        checkpoints.free();
        continue;
      }
      std::vector<std::int64_t> sums(static_cast<std::size_t>(drawn.keys));
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
  const bool right = all == drawn.right();
  if (!right) std::fprintf(stderr, "round %u\n", round);
  CHECK(right);
  CHECK_EQ(lab::test::counter(runtime, "plan_changes"), changed);
  CHECK_EQ(runtime.events(), total(drawn.streams));
  double consumed = 0;
  std::int64_t emitted = 0;
  for (const lab::Progress& step : runtime.progress()) {
    consumed += static_cast<double>(step.consumed);
    emitted += step.emitted;
  }
  CHECK_EQ(static_cast<std::int64_t>(consumed + 0.5), total(drawn.streams));
  CHECK_EQ(emitted, total(drawn.streams));
  if (written) {
    checkpoints.take_rest();
    lab::test::add(outputs, lab::test::collected(runtime, checkpoints));
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
  const int least = lab::test::stress_rounds(20) * 2;
  std::int64_t changes = 0;
  const int rounds = lab::test::rounds_until(
      least, [&](unsigned round) { changes += plans_change_and_nothing_else(round); },
      [&] { return changes > 2 * least; });
  std::printf("%d rounds, %lld changes of the plan\n", rounds, static_cast<long long>(changes));
  return 0;
}
