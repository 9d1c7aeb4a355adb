// Random operators O+ as query graphs, with more threads than cores and channels of a few rows: the answer is the
// sequential one, every tuple is counted once, and each run ends.
#include <cstdio>
#include <memory>

#include "layers/layers_run.h"
#include "oplus/tests/oplus_rig.h"

namespace {

using lab::test::behaviour;
using lab::test::Record;
using lab::test::Tuples;

lab::test::StressTotals totals;

std::unique_ptr<lab::LayersRun> graph_of(const lab::LayersOptions& options, const std::vector<Tuples>& streams,
                                         bool join, std::optional<std::int64_t> end) {
  auto runtime = std::make_unique<lab::LayersRun>(options);
  lab::LayersOperator op;
  op.spec = lab::test::operator_spec(join);
  op.owner = lab::test::spread(behaviour.buckets, options.workers);
  op.itemsizes = {8, 8, 8};
  op.final_watermark = end;
  runtime->set_operator(std::move(op));
  for (const Tuples& stream : streams) {
    runtime->add_stream(lab::test::view_of(stream, join), stream.input,
                        join ? nullptr : lab::test::process_of(stream.input), join ? nullptr : &lab::test::route);
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

void run_round(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const bool join = pick(0, 2) == 0;
  lab::test::draw_behaviour(random, join);
  // With wide windows, output times are far beyond those of their tuples.
  if (!join && pick(0, 3) == 0) behaviour.window.advance = behaviour.window.size = pick(100, 2000);
  auto streams = lab::test::random_tuples(random, join ? 2 : pick(1, 6), 2, join ? 600 : 500, pick(0, 6));
  lab::LayersOptions options;
  options.input_itemsizes = {8};
  using lab::Determinism;
  const std::array layers{Determinism::kOperator, Determinism::kCommunication, Determinism::kCommunication};
  options.determinism = layers[static_cast<std::size_t>(pick(0, 2))];
  options.channels = pick(0, 1) == 1 ? lab::Channels::kScaleGate : lab::Channels::kLog;
  options.channel_rows = pick(0, 1) == 1 ? pick(2, 8) : pick(2, 300);
  lab::test::draw_settings(random, options, streams, 6, 500);
  std::optional<std::int64_t> end;
  if (!join && pick(0, 1) == 1 && lab::test::events_in(streams) != 0) {
    end = lab::test::total_order(streams).back().ts + pick(-50, 100);
  }
  const auto runtime = graph_of(options, streams, join, end);
  runtime->run();
  const auto answer = lab::test::sorted(answer_of(*runtime));
  const lab::test::JoinAnswer joined = join ? lab::test::join_oracle(streams) : lab::test::JoinAnswer{};
  if (lab::test::events_in(streams) != 0) {  // the known time may be less than the actual one
    const std::int64_t last = lab::test::total_order(streams).back().ts;
    end = std::max(last, end.value_or(last));
  }
  const bool is_right = answer == (join ? joined.records : lab::test::keyed_oracle(streams, end));
  if (!is_right)
    std::fprintf(stderr, "seed %u, %s\n", seed,
                 lab::kDeterminisms[static_cast<std::size_t>(options.determinism)].data());
  CHECK(is_right);
  CHECK_EQ(runtime->events(), lab::test::events_in(streams));
  if (join) CHECK_EQ(lab::test::counter(*runtime, "comparisons"), joined.compared);
  if (options.measure) {
    CHECK_EQ(lab::test::total_of(runtime->latency_counts()), std::ssize(answer));
  }
  totals["records"] += std::ssize(answer);
  totals.add(*runtime, {"sleeps", "room_waits", "spilled_rows"});
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  const int rounds = lab::test::rounds_until(
      least, run_round, [&] { return totals["room_waits"] > least && totals["spilled_rows"] > least; });
  totals.print(rounds);
  CHECK(totals["records"] > 50 * rounds);
  return 0;
}
