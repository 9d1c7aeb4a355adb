// Random plans with more threads than cores: each run ends with the sequential answer.
#include <cstdio>

#include "streams.h"

#include "dgs/tests/random_keyed_sum.h"

int main() {
  const int least = lab::test::stress_rounds(20) * 5;
  lab::test::StressTotals totals;
  const auto run_round = [&](unsigned round) {
    lab::test::RandomKeyedSum drawn(round, 400);
    drawn.draw_load(3);
    lab::test::KeyedSumRun run(drawn.streams, drawn.keys, drawn.options, drawn.groups);
    const bool is_right = run.run() == drawn.expected();
    if (!is_right) std::fprintf(stderr, "round %u\n", round);
    CHECK(is_right);
    CHECK_EQ(run.runtime().events(), lab::test::events_in(drawn.streams));
    totals.add(run.runtime(), {"sleeps", "synchronizations", "gatherings"});
  };
  const int rounds = lab::test::rounds_until(least, run_round, [&] {
    return totals["synchronizations"] > 0 && totals["sleeps"] > 0 && totals["gatherings"] > least / 10;
  });
  totals.print(rounds);
  return 0;
}
