// Random pipelines, run in random ways, with more workers than cores and small windows: the outputs are those of
// sequential execution, and each run ends.
#include <cstdio>

#include "streams.h"

#include "ordered/ordered_run.h"
#include "stages/tests/stage_cases.h"

namespace {

using lab::test::Behaviour;
using lab::test::behaviours;
using Kind = lab::StageSpec::Kind;

lab::test::StressTotals totals;

void run_round(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const auto operators = static_cast<std::size_t>(pick(1, 4));
  lab::test::draw_behaviours(random, operators);
  const bool keyed = pick(0, 3) == 0;  // and the worklist is homed, with windows so short that bundles split
  for (std::size_t i = 0; keyed && i < operators; ++i) {
    Behaviour& op = behaviours[i];
    op.kind = Kind::kPartitioned;
    op.keys = pick(2, 30);
    op.partitions = pick(2, 40);
    op.tenths = 10;
  }
  auto streams = lab::test::random_streams(random, pick(1, 4), 500, 40, pick(1, 6));
  lab::OrderedOptions options;
  lab::test::draw_settings(random, options, streams);
  options.window = pick(0, 1) == 1 ? pick(1, 8) : pick(1, 300);
  const std::array schedulers{"ct", "lp", "et", "qst"};
  options.scheduler = schedulers[static_cast<std::size_t>(pick(0, 3))];
  options.worklist = std::array{"homed", "hybrid", "partitioned", "shared"}[static_cast<std::size_t>(pick(0, 3))];
  options.reordering = pick(0, 3) == 0 ? "lock" : "nonblocking";
  const bool by_operator = !keyed && pick(0, 2) == 0;
  if (by_operator) {
    options.serials = "operator";
    if (options.worklist == "homed") options.worklist = "hybrid";
  }
  options.slice_ns = pick(0, 1) == 1 ? 1 : 50'000;
  options.window_ns = pick(0, 1) == 1 ? 1'000 : 10'000'000;
  if (keyed) {
    options.workers = pick(2, 8);
    options.worklist = "homed";
    options.window_ns = 1'000;
  }
  const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, operators);
  runtime->run();
  const auto answer = lab::test::collected(*runtime);
  const bool is_right = answer == lab::test::oracle(streams, operators);
  if (!is_right) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(is_right);
  CHECK_EQ(runtime->events(), lab::test::events_in(streams));
  CHECK_EQ(runtime->counts().adds, runtime->counts().sends);
  CHECK_EQ(runtime->totals(0).rows, runtime->events());
  for (std::size_t i = 1; i < operators; ++i) CHECK_EQ(runtime->totals(i).rows, runtime->totals(i - 1).outputs);
  if (options.load && options.measure) {
    CHECK_EQ(lab::test::total_of(runtime->latency_counts()), std::ssize(answer));
  }
  totals["records"] += std::ssize(answer);
  totals.add(*runtime, {"sleeps", "reordering_handed_over", "groups_delegated", "bundles_split", "reordering_refused",
                        "reordering_put_aside"});
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 10;
  const int rounds = lab::test::rounds_until(least, run_round, [&] {
    return totals["bundles_split"] > least / 20 && totals["reordering_refused"] > least &&
           totals["reordering_put_aside"] > least / 20;
  });
  totals.print(rounds);
  CHECK(totals["records"] > 100 * rounds);
  return 0;
}
