// Random operators O+ as query graphs, with more threads than cores and channels of a few rows: the sequential answer,
// every tuple counted once, and always an end.
#include <cstdio>
#include <memory>

#include "check.h"
#include "counter.h"

#include "layers/layers_run.h"
#include "oplus/tests/operator_run_case.h"

namespace {

using lab::test::behaviour;
using lab::test::Record;
using lab::test::Tuples;

std::int64_t records = 0;
std::int64_t sleeps = 0;
std::int64_t waits = 0;
std::int64_t spilled = 0;

std::unique_ptr<lab::LayersRun> graph_of(const lab::LayersOptions& options, const std::vector<Tuples>& streams,
                                         bool join, std::optional<std::int64_t> end) {
  auto runtime = std::make_unique<lab::LayersRun>(options);
  lab::LayersOperator of;
  of.spec = lab::test::OperatorRunCase::spec(join);
  of.owner = lab::test::OperatorRunCase::owners(behaviour.buckets, options.workers);
  of.itemsizes = {8, 8, 8};
  of.end = end;
  runtime->set_operator(std::move(of));
  for (const Tuples& one : streams) {
    const auto process = one.input == 0 ? &lab::test::process<0> : &lab::test::process<1>;
    runtime->add_stream(lab::test::OperatorRunCase::view(one, join), one.input, join ? nullptr : process,
                        join ? nullptr : &lab::test::route);
  }
  return runtime;
}

std::vector<Record> answer_of(const lab::LayersRun& runtime) {
  const auto rows = static_cast<std::size_t>(runtime.rows());
  std::vector<std::int64_t> ts(rows), first(rows), second(rows);
  void* const columns[] = {ts.data(), first.data(), second.data()};
  runtime.collect(columns);
  CHECK(std::is_sorted(ts.begin(), ts.end()));
  std::vector<Record> out;
  for (std::size_t i = 0; i < rows; ++i) out.emplace_back(ts[i], first[i], second[i]);
  return out;
}

void round_of(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const bool join = pick(0, 2) == 0;
  lab::test::choose(random, join);
  // Wide windows: output times are far beyond their tuples.
  if (!join && pick(0, 3) == 0) behaviour.window.advance = behaviour.window.size = pick(100, 2000);
  auto streams = lab::test::random_tuples(random, join ? 2 : pick(1, 6), 2, join ? 600 : 500, pick(0, 6));
  lab::LayersOptions options;
  options.input_itemsizes = {8};
  using lab::Determinism;
  const std::array layers{Determinism::kOperator, Determinism::kCommunication, Determinism::kCommunication};
  options.determinism = layers[static_cast<std::size_t>(pick(0, 2))];
  options.workers = pick(1, 6);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 100);
  options.channel_rows = pick(0, 1) == 1 ? pick(2, 8) : pick(2, 300);
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.measure = pick(0, 3) != 0;
  options.grid_steps = 50;  // sanitizers pay for every step
  std::optional<std::int64_t> end;
  if (!join && pick(0, 1) == 1 && lab::test::tuples_in(streams) != 0) {
    end = lab::test::total_order(streams).back().ts + pick(-50, 100);
  }
  if (pick(0, 3) == 0) {
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    options.ring_blocks = 1024;
    lab::test::schedule(streams, pick(0, 2000));
  }
  const auto runtime = graph_of(options, streams, join, end);
  runtime->run();
  const auto answer = lab::test::sorted(answer_of(*runtime));
  const lab::test::JoinAnswer joined = join ? lab::test::join_oracle(streams) : lab::test::JoinAnswer{};
  if (lab::test::tuples_in(streams) != 0) {  // the known time may be less than the actual one
    const std::int64_t last = lab::test::total_order(streams).back().ts;
    end = std::max(last, end.value_or(last));
  }
  const bool right = answer == (join ? joined.records : lab::test::keyed_oracle(streams, end));
  if (!right)
    std::fprintf(stderr, "seed %u, %s\n", seed,
                 lab::kDeterminisms[static_cast<std::size_t>(options.determinism)].data());
  CHECK(right);
  CHECK_EQ(runtime->events(), lab::test::tuples_in(streams));
  const lab::LayersTotals totals = runtime->totals();
  if (join) CHECK_EQ(totals.compared, joined.compared);
  if (options.measure) {
    std::int64_t timed = 0;
    for (const std::int64_t n : runtime->latency_counts()) timed += n;
    CHECK_EQ(timed, static_cast<std::int64_t>(answer.size()));
  }
  records += static_cast<std::int64_t>(answer.size());
  sleeps += lab::test::counter(*runtime, "sleeps");
  waits += totals.room_waits;
  spilled += totals.spilled_rows;
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  const int rounds = lab::test::rounds_until(least, round_of, [&] { return waits > least && spilled > least; });
  std::printf("%d rounds, %lld records, %lld sleeps, %lld waits, %lld rows spilled\n", rounds,
              static_cast<long long>(records), static_cast<long long>(sleeps), static_cast<long long>(waits),
              static_cast<long long>(spilled));
  CHECK(records > 50 * rounds);
  return 0;
}
