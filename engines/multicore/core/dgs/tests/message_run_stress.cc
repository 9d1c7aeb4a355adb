// Random plans in the published form, mostly with more threads than cores: each run ends with the sequential answer.
#include <cstdio>

#include "streams.h"

#include "dgs/tests/message_sum.h"

int main() {
  const int least = lab::test::stress_rounds(20) * 5;
  lab::test::StressTotals totals;
  const auto run_round = [&](unsigned round) {
    std::mt19937 random(round);
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const int keys = pick(1, 5);
    const int groups = pick(0, 1) * pick(1, keys);
    auto streams = lab::test::random_streams(random, pick(1, 6), keys, 400, pick(0, 1) == 1, groups);
    lab::MessageOptions options;
    lab::test::draw_settings(random, options, streams);
    if (!options.load) options.ring_blocks = static_cast<std::uint64_t>(pick(1, 8));
    const lab::test::MessageSumRun::Shape shape{pick(1, 8), pick(0, 1) == 1};
    lab::test::MessageSumRun run(streams, keys, options, shape, groups);
    const bool is_right = lab::test::by_key(run.run()) == lab::test::by_key(lab::test::oracle(streams, keys, groups));
    if (!is_right) std::fprintf(stderr, "round %u\n", round);
    CHECK(is_right);
    CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
    totals.add(run.runtime(), {"sleeps", "synchronizations", "messages", "messages_between_workers"});
  };
  const int rounds = lab::test::rounds_until(least, run_round, [&] {
    return totals["synchronizations"] > 0 && totals["sleeps"] > 0 && totals["messages_between_workers"] > 0;
  });
  totals.print(rounds);
  return 0;
}
