// Random pipelines, run in random ways, with more workers than cores and small windows: the outputs of sequential
// execution, and always an end.
#include <cstdio>

#include "check.h"
#include "counter.h"

#include "ordered/tests/ordered_cases.h"

namespace {

using lab::test::Behaviour;
using lab::test::behaviours;
using Kind = lab::StageSpec::Kind;

std::int64_t records = 0;
std::int64_t sleeps = 0;
std::int64_t handed_over = 0;
std::int64_t delegated = 0;
std::int64_t splits = 0;
std::int64_t refused = 0;
std::int64_t put_aside = 0;

void round_of(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const auto operators = static_cast<std::size_t>(pick(1, 4));
  const bool keyed = pick(0, 3) == 0;                         // and homed, with windows so short that bundles split
  const int many = pick(0, static_cast<int>(operators) - 1);  // the only operator that may forward many
  for (std::size_t i = 0; i < operators; ++i) {
    Behaviour& how = behaviours[i];
    how = {};
    how.kind = std::array{Kind::kStateless, Kind::kPartitioned, Kind::kStateful}[static_cast<std::size_t>(pick(0, 2))];
    how.keys = pick(0, 2) == 0 ? 1 : pick(1, 30);
    how.partitions = pick(0, 2) == 0 ? 1 : pick(1, 40);
    how.tenths = std::array{0, 3, 6, 10, 10, 10}[static_cast<std::size_t>(pick(0, 5))];
    if (static_cast<int>(i) == many && pick(0, 1) == 1) how.copies = pick(2, 20);
    how.max_outputs = how.copies + (pick(0, 1) == 1 ? pick(0, 9) : 0);
    how.spins = pick(0, 2) == 0 ? pick(0, 200) : 0;
    if (!keyed) continue;
    how.kind = Kind::kPartitioned;
    how.keys = pick(2, 30);
    how.partitions = pick(2, 40);
    how.tenths = 10;
  }
  auto streams = lab::test::random_streams(random, pick(1, 4), 500, 40, pick(1, 6));
  lab::OrderedOptions options;
  options.workers = pick(1, 8);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  options.window = pick(0, 1) == 1 ? pick(1, 8) : pick(1, 300);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 8));
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  const std::array schedulers{"ct", "ct_input", "lp", "et", "qst"};
  options.scheduler = schedulers[static_cast<std::size_t>(pick(0, 4))];
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
  options.measure = pick(0, 3) != 0;
  options.grid_steps = 100;
  if (pick(0, 3) == 0) {
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    options.ring_blocks = 1024;
    lab::test::schedule(streams, pick(0, 2000));
  }
  const auto runtime = lab::test::pipeline_of(options, streams, operators);
  runtime->run();
  const auto answer = lab::test::collected(*runtime);
  const bool right = answer == lab::test::oracle(streams, operators);
  if (!right) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(right);
  CHECK_EQ(runtime->events(), lab::test::records_in(streams));
  if (options.load && options.measure) {
    std::int64_t timed = 0;
    for (const std::int64_t n : runtime->latency_counts()) timed += n;
    CHECK_EQ(timed, static_cast<std::int64_t>(answer.size()));
  }
  records += static_cast<std::int64_t>(answer.size());
  sleeps += lab::test::counter(*runtime, "sleeps");
  handed_over += runtime->counts().handed_over;
  delegated += runtime->counts().delegated;
  splits += runtime->counts().splits;
  refused += runtime->counts().refused;
  put_aside += runtime->counts().put_aside;
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 10;
  const int rounds = lab::test::rounds_until(
      least, round_of, [&] { return splits > least / 20 && refused > least && put_aside > least / 20; });
  std::printf(
      "%d rounds, %lld records, %lld sleeps, %lld turns handed over, %lld groups delegated, %lld splits, %lld units "
      "refused, %lld put aside\n",
      rounds, static_cast<long long>(records), static_cast<long long>(sleeps), static_cast<long long>(handed_over),
      static_cast<long long>(delegated), static_cast<long long>(splits), static_cast<long long>(refused),
      static_cast<long long>(put_aside));
  CHECK(records > 100 * rounds);
  return 0;
}
