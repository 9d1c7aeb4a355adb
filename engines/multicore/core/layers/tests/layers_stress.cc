// Random query graphs with more threads than cores and channels of a few rows: the only right answer, and always an
// end.
#include <cstdio>

#include "check.h"
#include "counter.h"

#include "layers/tests/layers_cases.h"

namespace {

using lab::test::Behaviour;
using lab::test::behaviours;
using Kind = lab::StageSpec::Kind;

std::int64_t records = 0;
std::int64_t sleeps = 0;
std::int64_t waits = 0;
std::int64_t spilled = 0;
std::int64_t shared = 0;

// Makes each stream lag behind the following one: rows of some are ready long before others'.
void set_apart(std::vector<lab::test::Rows>& streams, std::int64_t distance) {
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::int64_t& ts : streams[s].ts) ts -= static_cast<std::int64_t>(s) * distance;
  }
}

void round_of(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const auto operators = static_cast<std::size_t>(pick(1, 3));
  const int many = pick(0, static_cast<int>(operators) - 1);  // the only operator that may forward many
  for (std::size_t i = 0; i < operators; ++i) {
    Behaviour& how = behaviours[i];
    how = {};
    const std::array kinds{Kind::kStateless, Kind::kPartitioned, Kind::kPartitioned, Kind::kStateful};
    how.kind = kinds[static_cast<std::size_t>(pick(0, 3))];
    how.keys = pick(0, 2) == 0 ? 1 : pick(1, 30);
    how.partitions = pick(0, 2) == 0 ? 1 : pick(1, 40);
    how.tenths = std::array{0, 1, 3, 6, 10, 10}[static_cast<std::size_t>(pick(0, 5))];
    if (static_cast<int>(i) == many && pick(0, 1) == 1) how.copies = pick(2, 20);
    how.max_outputs = how.copies + (pick(0, 1) == 1 ? pick(0, 9) : 0);
    how.spins = pick(0, 2) == 0 ? pick(0, 200) : 0;
  }
  // Gap 0: all rows of a stream have one time.
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
  options.workers = pick(1, 6);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 100);
  options.channel_rows = pick(0, 1) == 1 ? pick(2, 8) : pick(2, 300);
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.grid_steps = 50;  // sanitizers pay for every step
  options.measure = pick(0, 3) != 0;
  if (pick(0, 3) == 0) {
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    options.ring_blocks = 1024;
    lab::test::schedule(streams, pick(0, 2000));
  }
  const auto runtime = lab::test::graph_of(options, streams, operators);
  runtime->run();
  auto answer = lab::test::collected(*runtime);
  auto expected = options.dealing == lab::Dealing::kTurn
                      ? lab::test::dealt_oracle(streams, operators, options.workers)
                      : lab::test::layered_oracle(streams, operators, options.workers);
  bool right = true;
  if (options.determinism != lab::Determinism::kNone) {
    right = answer == expected;
  } else if (std::all_of(behaviours.begin(), behaviours.begin() + static_cast<std::ptrdiff_t>(operators),
                         [](const Behaviour& how) { return how.kind == Kind::kStateless; })) {
    std::sort(answer.begin(), answer.end(), lab::test::before);  // out of order, but complete
    std::sort(expected.begin(), expected.end(), lab::test::before);
    right = answer == expected;
  }
  if (!right) {
    std::fprintf(stderr, "seed %u, %s, channels %s, by %s, dealt by %s\n", seed,
                 lab::kDeterminisms[static_cast<std::size_t>(options.determinism)].data(),
                 lab::kChannels[static_cast<std::size_t>(options.channels)].data(),
                 lab::kMergeUnits[static_cast<std::size_t>(options.merge_unit)].data(),
                 lab::kDealings[static_cast<std::size_t>(options.dealing)].data());
  }
  CHECK(right);
  CHECK_EQ(runtime->events(), lab::test::records_in(streams));
  if (options.measure) {
    std::int64_t timed = 0;
    for (const std::int64_t n : runtime->latency_counts()) timed += n;
    CHECK_EQ(timed, static_cast<std::int64_t>(answer.size()));
  }
  const lab::LayersTotals totals = runtime->totals();
  records += static_cast<std::int64_t>(answer.size());
  sleeps += lab::test::counter(*runtime, "sleeps");
  waits += totals.room_waits;
  spilled += totals.spilled_rows;
  shared += totals.merges_by_producers;
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  const int rounds =
      lab::test::rounds_until(least, round_of, [&] { return waits > least && spilled > least && shared > least / 2; });
  std::printf("%d rounds, %lld records, %lld sleeps, %lld waits, %lld rows spilled, %lld merges by producers\n", rounds,
              static_cast<long long>(records), static_cast<long long>(sleeps), static_cast<long long>(waits),
              static_cast<long long>(spilled), static_cast<long long>(shared));
  CHECK(records > 50 * rounds);
  return 0;
}
