// Snapshots are what the sequential program has at their cuts, and a run goes on from each of them.
#include "dgs/checkpoints.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

#include "check.h"
#include "counter.h"
#include "dgs/tests/keyed_sum.h"

namespace {

using lab::Cut;
using lab::test::Events;
using lab::test::Output;

struct Snapshot {
  std::int64_t cut;
  std::vector<std::int64_t> sums;
  std::vector<Output> outputs;  // since the one before
};

std::vector<Output> collected(const lab::DgsRun& run, const lab::Checkpoints& from) {
  const auto rows = static_cast<std::size_t>(from.rows());
  std::vector<std::int64_t> ts(rows);
  std::vector<std::int32_t> key(rows);
  std::vector<std::int64_t> sum(rows);
  const std::array<void*, 3> columns{ts.data(), key.data(), sum.data()};
  from.collect(columns, run.output_itemsizes());
  std::vector<Output> out;
  for (std::size_t i = 0; i < rows; ++i) out.emplace_back(ts[i], key[i], sum[i]);
  return out;
}

Snapshot snapshot(lab::DgsRun& run, int keys) {
  lab::Checkpoints& checkpoints = run.checkpoints();
  Snapshot found{checkpoints.cut(), std::vector<std::int64_t>(static_cast<std::size_t>(keys)), collected(run, checkpoints)};
  checkpoints.join(run.forest, 8, std::as_writable_bytes(std::span(found.sums)));
  checkpoints.free();
  return found;
}

// How many events of a stream are before a cut.
std::size_t position(const std::vector<Events>& streams, std::size_t s, const Cut& cut) {
  const auto own = static_cast<std::size_t>(cut.key.stream);
  if (s == own) return static_cast<std::size_t>(cut.position);
  const auto& ts = streams[s].ts;
  const auto at = s < own ? std::upper_bound(ts.begin(), ts.end(), cut.key.ts) : std::lower_bound(ts.begin(), ts.end(), cut.key.ts);
  return static_cast<std::size_t>(at - ts.begin());
}

std::vector<Events> part(const std::vector<Events>& streams, const Cut& cut, bool before) {
  std::vector<Events> result(streams.size());
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const auto at = static_cast<std::ptrdiff_t>(position(streams, s, cut));
    const auto take = [&](const auto& column) {
      return before ? std::vector(column.begin(), column.begin() + at) : std::vector(column.begin() + at, column.end());
    };
    result[s] = {take(streams[s].ts), take(streams[s].tag), take(streams[s].value)};
  }
  return result;
}

void add(std::vector<Output>& to, const std::vector<Output>& more) { to.insert(to.end(), more.begin(), more.end()); }

std::int64_t every_snapshot_is_a_prefix_from_which_a_run_goes_on(unsigned round) {
  std::mt19937 random(round);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const int keys = pick(1, 5);
  const int groups = pick(0, 1) * pick(1, keys);
  const auto streams = lab::test::random_streams(random, pick(1, 6), keys, 300, pick(0, 1) == 1, groups);
  lab::DgsOptions options;
  options.workers = pick(1, 6);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 50);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 1) != 0 ? 1 : 64;
  using Gather = lab::DgsOptions::Gather;
  options.gather = std::array{Gather::kNever, Gather::kQuicker, Gather::kAlways, Gather::kInTurn}[
      static_cast<std::size_t>(pick(0, 3))];
  options.direct = pick(0, 2) != 0;
  const lab::DgsOptions plain = options;
  const std::vector<Cut> cuts = lab::test::random_cuts(random, streams, static_cast<unsigned>(pick(1, 20)));
  options.cuts = cuts;
  const bool scheduled = pick(0, 3) == 0;
  lab::test::Schedule when;
  if (scheduled) {
    when = lab::test::schedule(streams, pick(0, 2000), static_cast<std::size_t>(pick(1, 100)));
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
  }
  lab::test::KeyedSumRun run(streams, keys, options, scheduled ? &when : nullptr, groups);
  std::vector<Snapshot> found;
  std::thread writer([&] {
    while (run.runtime().checkpoints().wait()) found.push_back(snapshot(run.runtime(), keys));
  });
  const std::vector<Output> all = run.run();
  run.runtime().checkpoints().close(false);
  writer.join();
  CHECK(all == lab::test::oracle(streams, keys, groups));
  CHECK_EQ(lab::test::counter(run.runtime(), "checkpoints"), static_cast<std::int64_t>(found.size()));
  CHECK_EQ(lab::test::counter(run.runtime(), "checkpoints_skipped"),
           static_cast<std::int64_t>(cuts.size() - found.size()));
  run.runtime().checkpoints().take_rest();
  std::vector<Output> outputs;
  for (const Snapshot& one : found) {
    const Cut& cut = cuts[static_cast<std::size_t>(one.cut)];
    add(outputs, one.outputs);
    CHECK(outputs == lab::test::oracle(part(streams, cut, true), keys, groups));
    // Whether states are right is seen by what comes out behind them; here, that a run goes on from them.
    if (random() % 8 != 0) continue;
    const auto rest = part(streams, cut, false);
    lab::test::KeyedSumRun next(rest, keys, plain, nullptr, groups);
    for (std::int32_t key = 0; key < keys; ++key) {
      next.runtime().forest.initialise(key, std::as_bytes(std::span(one.sums).subspan(static_cast<std::size_t>(key), 1)));
    }
    std::vector<Output> chain = outputs;
    add(chain, next.run());
    CHECK(chain == all);
  }
  add(outputs, collected(run.runtime(), run.runtime().checkpoints()));
  CHECK(outputs == all);
  return static_cast<std::int64_t>(found.size());
}

void cuts_out_of_order_are_refused() {
  const Cut one{{5, 0}, 3}, two{{5, 0}, 3};
  bool refused = false;
  try {
    lab::Checkpoints({one, two});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

// A writer that is slow has cuts skipped, by all mailboxes alike.
void who_comes_while_a_snapshot_is_written_goes_on() {
  lab::Checkpoints checkpoints({{{1, 0}, 0}, {{2, 0}, 1}, {{3, 0}, 2}});
  const lab::OutputBuffer out({8});
  checkpoints.add_part(&out, {}, {});
  checkpoints.add_part(&out, {}, {});
  checkpoints.complete_parts();
  const Cut* const cuts = checkpoints.begin();
  CHECK(checkpoints.taken(cuts[0]));
  checkpoints.give(0);
  CHECK(!checkpoints.taken(cuts[1]));  // the other has not come to the first
  CHECK(checkpoints.taken(cuts[0]));
  checkpoints.give(1);
  CHECK(!checkpoints.taken(cuts[1]));
  CHECK(checkpoints.wait());
  CHECK_EQ(checkpoints.cut(), 0);
  checkpoints.free();
  CHECK(checkpoints.taken(cuts[2]));
  checkpoints.close(true);
  CHECK(!checkpoints.wait());
}

}  // namespace

int main() {
  cuts_out_of_order_are_refused();
  who_comes_while_a_snapshot_is_written_goes_on();
  const int rounds = lab::test::stress_rounds(20) * 3;
  std::int64_t snapshots = 0;
  for (int round = 0; round < rounds; ++round) {
    snapshots += every_snapshot_is_a_prefix_from_which_a_run_goes_on(static_cast<unsigned>(round));
  }
  std::printf("%d rounds, %lld snapshots\n", rounds, static_cast<long long>(snapshots));
  CHECK(snapshots > rounds);
}
