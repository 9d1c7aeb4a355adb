// A run with changes of its plan has the sequential answer, with each output once. It has more threads than cores, runs
// at full speed and under a load, and also takes snapshots for a writer.
#include <cstdio>
#include <thread>

#include "streams.h"

#include "dgs/tests/random_keyed_sum.h"

namespace {

using lab::test::Events;
using lab::test::Output;

std::int64_t changes_of_the_plan_do_not_change_the_answer(unsigned round) {
  lab::test::RandomKeyedSum drawn(round, 300);
  drawn.draw_cuts();
  drawn.draw_load(3);
  drawn.options.adaptive = true;
  const bool has_writer = drawn.options.checkpoints = drawn.pick(0, 1) == 1;
  const auto cuts = static_cast<int>(drawn.options.cuts->size());
  lab::test::KeyedSumRun run(drawn.streams, drawn.keys, drawn.options, drawn.groups);
  lab::DgsRun& runtime = run.runtime();
  lab::Checkpoints& checkpoints = runtime.checkpoints();
  const int max_cuts_apart = drawn.pick(1, std::max(1, cuts / 3));
  std::mt19937 changes(round + 1);
  checkpoints.stop_from(drawn.pick(0, max_cuts_apart));
  std::vector<Output> outputs;  // as the writer receives them
  std::int64_t changed = 0;
  std::thread changer([&] {
    while (checkpoints.wait()) {
      if (has_writer) lab::test::add(outputs, lab::test::collected(runtime, checkpoints));
      if (!checkpoints.stops()) {
        checkpoints.free();
        continue;
      }
      std::vector<std::int64_t> sums(static_cast<std::size_t>(drawn.keys));
      checkpoints.join(runtime.forest, 8, std::as_writable_bytes(std::span(sums)));
      const std::int64_t cut = checkpoints.cut();
      if (!runtime.remove_plan()) return;
      const auto leaves = static_cast<std::int32_t>(changes() % static_cast<unsigned>(run.max_leaves())) + 1;
      run.replan(leaves, static_cast<std::int32_t>(changes() % 7), sums);
      checkpoints.stop_from(cut + 1 + static_cast<std::int64_t>(changes() % static_cast<unsigned>(max_cuts_apart)));
      runtime.resume();
      ++changed;
    }
  });
  const std::vector<Output> all = run.run();
  checkpoints.close(false);
  changer.join();
  const bool is_right = all == drawn.expected();
  if (!is_right) std::fprintf(stderr, "round %u\n", round);
  CHECK(is_right);
  CHECK_EQ(lab::test::counter(runtime, "plan_changes"), changed);
  const std::int64_t events = lab::test::events_in(drawn.streams);
  CHECK_EQ(runtime.events(), events);
  const lab::test::ProgressTotals progress = lab::test::progress_of(runtime);
  CHECK_EQ(progress.consumed, events);
  CHECK_EQ(progress.emitted, events);
  if (has_writer) {
    checkpoints.snapshot_rest();
    lab::test::add(outputs, lab::test::collected(runtime, checkpoints));
    CHECK(outputs == all);
  }
  return changed;
}

void a_plan_that_stays_is_not_taken_away() {
  const std::vector<Events> streams(1);
  lab::DgsOptions options;
  lab::test::KeyedSumRun run(streams, 1, options);
  CHECK_THROWS(run.runtime().remove_plan(), std::logic_error);
}

}  // namespace

int main() {
  a_plan_that_stays_is_not_taken_away();
  const int least = lab::test::stress_rounds(20) * 2;
  std::int64_t changes = 0;
  const int rounds = lab::test::rounds_until(
      least, [&](unsigned round) { changes += changes_of_the_plan_do_not_change_the_answer(round); },
      [&] { return changes > 2 * least; });
  std::printf("%d rounds, %lld changes of the plan\n", rounds, static_cast<long long>(changes));
  return 0;
}
