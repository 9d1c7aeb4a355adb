// Snapshots equal the states of the sequential program at their cuts, and a run can resume from each of them.
#include "dgs/checkpoints.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

#include "streams.h"

#include "dgs/tests/random_keyed_sum.h"

namespace {

using lab::Cut;
using lab::test::Events;
using lab::test::Output;

struct Snapshot {
  std::int64_t cut;
  std::vector<std::int64_t> sums;
  std::vector<Output> outputs;  // since the previous snapshot
};

Snapshot snapshot_of(lab::DgsRun& run, int keys) {
  lab::Checkpoints& checkpoints = run.checkpoints();
  Snapshot result{checkpoints.cut(), std::vector<std::int64_t>(static_cast<std::size_t>(keys)),
                  lab::test::collected(run, checkpoints)};
  checkpoints.join(run.forest, 8, std::as_writable_bytes(std::span(result.sums)));
  checkpoints.free();
  return result;
}

// Returns the number of events of a stream before a cut.
std::size_t events_before(const std::vector<Events>& streams, std::size_t s, const Cut& cut) {
  const auto own = static_cast<std::size_t>(cut.key.stream);
  if (s == own) return static_cast<std::size_t>(cut.position);
  const auto& ts = streams[s].ts;
  const auto first_after =
      s < own ? std::upper_bound(ts.begin(), ts.end(), cut.key.ts) : std::lower_bound(ts.begin(), ts.end(), cut.key.ts);
  return static_cast<std::size_t>(first_after - ts.begin());
}

std::vector<Events> part_of(const std::vector<Events>& streams, const Cut& cut, bool before) {
  std::vector<Events> result(streams.size());
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const auto middle = static_cast<std::ptrdiff_t>(events_before(streams, s, cut));
    const auto take = [&](const auto& column) {
      return before ? std::vector(column.begin(), column.begin() + middle)
                    : std::vector(column.begin() + middle, column.end());
    };
    result[s] = {take(streams[s].ts), take(streams[s].tag), take(streams[s].value)};
  }
  return result;
}

std::int64_t a_run_resumes_from_every_snapshot(unsigned round) {
  lab::test::RandomKeyedSum drawn(round, 300);
  const auto& [streams, keys, groups] = std::tie(drawn.streams, drawn.keys, drawn.groups);
  const lab::DgsOptions plain = drawn.options;
  drawn.draw_cuts();
  drawn.draw_load(4);
  const std::vector<Cut>& cuts = *drawn.options.cuts;
  lab::test::KeyedSumRun run(streams, keys, drawn.options, groups);
  std::vector<Snapshot> snapshots;
  std::thread writer([&] {
    while (run.runtime().checkpoints().wait()) snapshots.push_back(snapshot_of(run.runtime(), drawn.keys));
  });
  const std::vector<Output> all = run.run();
  run.runtime().checkpoints().close(false);
  writer.join();
  CHECK(all == drawn.expected());
  CHECK_EQ(lab::test::counter(run.runtime(), "checkpoints"), static_cast<std::int64_t>(snapshots.size()));
  CHECK_EQ(lab::test::counter(run.runtime(), "checkpoints_skipped"),
           static_cast<std::int64_t>(cuts.size() - snapshots.size()));
  run.runtime().checkpoints().snapshot_rest();
  std::vector<Output> outputs;
  for (const Snapshot& snapshot : snapshots) {
    const Cut& cut = cuts[static_cast<std::size_t>(snapshot.cut)];
    lab::test::add(outputs, snapshot.outputs);
    CHECK(outputs == lab::test::oracle(part_of(streams, cut, true), keys, groups));
    // Later outputs show whether the states are right, so a new run resumes from them.
    if (drawn.random() % 8 != 0) continue;
    const auto rest = part_of(streams, cut, false);
    lab::test::KeyedSumRun next(rest, keys, plain, groups);
    for (std::int32_t key = 0; key < keys; ++key) {
      next.runtime().forest.initialise(
          key, std::as_bytes(std::span(snapshot.sums).subspan(static_cast<std::size_t>(key), 1)));
    }
    std::vector<Output> chain = outputs;
    lab::test::add(chain, next.run());
    CHECK(chain == all);
  }
  lab::test::add(outputs, lab::test::collected(run.runtime(), run.runtime().checkpoints()));
  CHECK(outputs == all);
  return static_cast<std::int64_t>(snapshots.size());
}

void cuts_out_of_order_are_refused() {
  const Cut cut{{5, 0}, 3}, same{{5, 0}, 3};
  CHECK_THROWS(lab::Checkpoints({cut, same}), std::invalid_argument);
}

// Adds `parts` parts without states and returns the first cut.
const Cut* with_parts(lab::Checkpoints& checkpoints, const lab::OutputBuffer& out, int parts) {
  for (int i = 0; i < parts; ++i) checkpoints.add_part(&out, {}, {});
  checkpoints.complete_parts();
  return checkpoints.begin();
}

// Returns cuts {0, 0}, {1, 0}, ... at positions 0, 1, ...
std::vector<Cut> many_cuts(std::int64_t count) {
  std::vector<Cut> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back({{i, 0}, i});
  return all;
}

// With a slow writer, all mailboxes skip the same cuts.
void mailboxes_skip_cuts_while_a_snapshot_is_written() {
  lab::Checkpoints checkpoints({{{1, 0}, 0}, {{2, 0}, 1}, {{3, 0}, 2}});
  const lab::OutputBuffer out({8});
  const Cut* const cuts = with_parts(checkpoints, out, 2);
  CHECK(checkpoints.is_taken(cuts[0]));
  checkpoints.give_part(0);
  CHECK(!checkpoints.is_taken(cuts[1]));  // the other mailbox has not reached the first cut
  CHECK(checkpoints.is_taken(cuts[0]));
  checkpoints.give_part(1);
  CHECK(!checkpoints.is_taken(cuts[1]));
  CHECK(checkpoints.wait());
  CHECK_EQ(checkpoints.cut(), 0);
  checkpoints.free();
  CHECK(checkpoints.is_taken(cuts[2]));
  checkpoints.close(true);
  CHECK(!checkpoints.wait());
}

// During the writing of a snapshot, mailboxes skip many cuts at once, and all skip the same ones.
void many_cuts_are_skipped_at_once_while_a_snapshot_is_written() {
  constexpr std::int64_t kCuts = 1'000;
  lab::Checkpoints checkpoints(many_cuts(kCuts), true, false);
  const lab::OutputBuffer out({8});
  const Cut* const cuts = with_parts(checkpoints, out, 2);
  CHECK(checkpoints.is_taken(cuts[0]));
  checkpoints.give_part(0);
  // The first mailbox continues alone.
  int visited = 0;
  const Cut* cut = checkpoints.next_cut_after(cuts[0]);
  CHECK(cut == &cuts[1]);
  while (cut < &cuts[900]) {
    CHECK(!checkpoints.is_taken(*cut));
    const Cut* const next = checkpoints.next_cut_after(*cut);
    CHECK(next > cut);
    CHECK(next - cut <= 33);
    CHECK(next - cut <= 1 + (cut - cuts) / 4);  // the next snapshot is taken soon after this one
    cut = next;
    ++visited;
  }
  CHECK(visited < 60);
  // The other mailbox learns of all skipped cuts at once.
  CHECK(checkpoints.is_taken(cuts[0]));
  checkpoints.give_part(1);
  CHECK(checkpoints.wait());
  CHECK(checkpoints.next_cut_after(cuts[0]) == cut);
  checkpoints.free();
  CHECK(checkpoints.next_cut_after(cuts[0]) == cut);
  CHECK(checkpoints.is_taken(*cut));
  CHECK(checkpoints.next_cut_after(*cut) == cut + 1);
  // A mailbox far behind goes to the taken cut.
  CHECK(checkpoints.next_cut_after(cuts[7]) == cut);
  // At the end, only existing cuts are decided.
  for (; cut != checkpoints.end(); cut = checkpoints.next_cut_after(*cut)) checkpoints.is_taken(*cut);
  CHECK_EQ(checkpoints.decided(), kCuts);
}

// If the run may stop at a snapshot, it stops at the next cut that no mailbox has reached.
void no_cut_is_decided_ahead_if_the_plan_may_change() {
  lab::Checkpoints checkpoints(many_cuts(1'000));
  const lab::OutputBuffer out({8});
  const Cut* const cuts = with_parts(checkpoints, out, 1);
  CHECK(checkpoints.is_taken(cuts[0]));
  checkpoints.give_part(0);
  CHECK(checkpoints.wait());
  for (int i = 1; i < 500; ++i) {
    CHECK(!checkpoints.is_taken(cuts[i]));
    CHECK(checkpoints.next_cut_after(cuts[i]) == &cuts[i + 1]);
  }
  checkpoints.stop_from(0);
  checkpoints.free();
  CHECK(checkpoints.is_taken(cuts[500]));
  CHECK(checkpoints.stops());
}

}  // namespace

int main() {
  cuts_out_of_order_are_refused();
  mailboxes_skip_cuts_while_a_snapshot_is_written();
  many_cuts_are_skipped_at_once_while_a_snapshot_is_written();
  no_cut_is_decided_ahead_if_the_plan_may_change();
  const int least = lab::test::stress_rounds(20) * 3;
  std::int64_t snapshots = 0;
  const int rounds = lab::test::rounds_until(
      least, [&](unsigned round) { snapshots += a_run_resumes_from_every_snapshot(round); },
      [&] { return snapshots > least; });
  std::printf("%d rounds, %lld snapshots\n", rounds, static_cast<long long>(snapshots));
  return 0;
}
