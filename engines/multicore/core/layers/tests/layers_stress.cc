// Random query graphs with more threads than cores and channels of a few rows: the answer is the only right one,
// and each run ends.
#include <cstdio>

#include "streams.h"

#include "layers/tests/layers_cases.h"

namespace {

using lab::test::Behaviour;
using lab::test::behaviours;
using Kind = lab::StageSpec::Kind;

lab::test::StressTotals totals;

// Makes each stream lag behind the following one, so that rows of some are ready long before those of others.
void set_apart(std::vector<lab::test::Rows>& streams, std::int64_t distance) {
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::int64_t& ts : streams[s].ts) ts -= static_cast<std::int64_t>(s) * distance;
  }
}

void run_round(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const auto operators = static_cast<std::size_t>(pick(1, 3));
  lab::test::draw_behaviours(random, operators);
  // With gap 0, all rows of a stream have one time.
  auto streams = lab::test::random_streams(random, pick(1, 6), 400, 40, pick(0, 6));
  if (pick(0, 3) == 0) set_apart(streams, pick(0, 1) == 0 ? 30 : 3000);
  if (pick(0, 7) == 0) streams[static_cast<std::size_t>(pick(0, static_cast<int>(streams.size()) - 1))] = {};
  lab::LayersOptions options;
  using lab::Determinism;
  const std::array layers{Determinism::kOperator, Determinism::kCommunication, Determinism::kCommunication,
                          Determinism::kNone};
  options.determinism = layers[static_cast<std::size_t>(pick(0, 3))];
  options.channels = pick(0, 1) == 1 ? lab::Channels::kScaleGate : lab::Channels::kLog;
  options.merge_unit = pick(0, 1) == 1 ? lab::MergeUnit::kTuple : lab::MergeUnit::kRun;
  options.dealing = pick(0, 1) == 1 ? lab::Dealing::kTurn : lab::Dealing::kTime;
  options.channel_rows = pick(0, 1) == 1 ? pick(2, 8) : pick(2, 300);
  lab::test::draw_settings(random, options, streams, 6);
  const auto runtime = lab::test::run_of<lab::LayersRun>(options, streams, operators);
  runtime->run();
  auto answer = lab::test::collected(*runtime);
  const bool by_turn = options.dealing == lab::Dealing::kTurn;
  auto expected = lab::test::layered_oracle(streams, operators, options.workers, by_turn);
  bool is_right = true;
  if (options.determinism != lab::Determinism::kNone) {
    is_right = answer == expected;
  } else if (std::all_of(behaviours.begin(), behaviours.begin() + static_cast<std::ptrdiff_t>(operators),
                         [](const Behaviour& op) { return op.kind == Kind::kStateless; })) {
    std::sort(answer.begin(), answer.end(), lab::test::before);  // out of order, but complete
    std::sort(expected.begin(), expected.end(), lab::test::before);
    is_right = answer == expected;
  }
  if (!is_right) {
    std::fprintf(stderr, "seed %u, %s, channels %s, by %s, distributed by %s\n", seed,
                 lab::kDeterminisms[static_cast<std::size_t>(options.determinism)].data(),
                 lab::kChannels[static_cast<std::size_t>(options.channels)].data(),
                 lab::kMergeUnits[static_cast<std::size_t>(options.merge_unit)].data(),
                 lab::kDealings[static_cast<std::size_t>(options.dealing)].data());
  }
  CHECK(is_right);
  CHECK_EQ(runtime->events(), lab::test::events_in(streams));
  if (options.measure) {
    CHECK_EQ(lab::test::total_of(runtime->latency_counts()), std::ssize(answer));
  }
  totals["records"] += std::ssize(answer);
  totals.add(*runtime, {"sleeps", "room_waits", "spilled_rows", "merges_by_producers"});
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  const int rounds = lab::test::rounds_until(least, run_round, [&] {
    return totals["room_waits"] > least && totals["spilled_rows"] > least && totals["merges_by_producers"] > least / 2;
  });
  totals.print(rounds);
  CHECK(totals["records"] > 50 * rounds);
  return 0;
}
