// Whole runs with small inputs: every worker count and batch size gives the sequential answer.
#include "dgs/dgs_run.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "check.h"

#include "dgs/tests/keyed_sum.h"

namespace {

using lab::test::Events;
using lab::test::KeyedSumRun;
using lab::test::Output;

lab::DgsOptions options(std::int32_t workers, std::int64_t batch, std::uint64_t ring_blocks) {
  auto result = lab::test::short_run<lab::DgsOptions>(workers);
  result.batch = batch;
  result.ring_blocks = ring_blocks;
  return result;
}

void empty_input_ends() {
  const std::vector<Events> streams(3);
  KeyedSumRun run(streams, 2, options(3, 4, 1));
  CHECK(run.run().empty());
}

void ties_go_by_stream() {
  // At time 5: value in stream 0, read in stream 1, value in stream 2 (after the read), read in stream 3.
  const std::vector<Events> streams{{{5}, {0}, {1}}, {{5}, {1}, {0}}, {{5}, {0}, {10}}, {{5}, {1}, {0}}};
  for (const std::int32_t workers : {1, 2, 4}) {
    KeyedSumRun run(streams, 1, options(workers, 1, 1));
    CHECK(run.run() == (std::vector<Output>{{5, 0, 1}, {5, 0, 10}}));
  }
}

void runtime_that_never_runs_is_torn_down() {
  const std::vector<Events> streams(2);
  KeyedSumRun run(streams, 1, options(4, 1, 1));
  run.runtime().start();
}

void ties_within_mixed_streams_keep_their_order() {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<Events> streams(2);
    for (Events& stream : streams) {
      for (int i = 0; i < 300; ++i) {
        const int read = random() % 3 == 0 ? 1 : 0;
        stream.add(i / 40, read + 2 * static_cast<int>(random() % 2), 1);
      }
    }
    KeyedSumRun run(streams, 2, options(2, 1 + round * 3, 4));
    CHECK(run.run() == lab::test::oracle(streams, 2));
  }
}

// A kernel call of a direct lane takes at most a batch of events, and a turn at most a burst. This bounds the distance
// between the outputs of two independent streams.
void direct_lanes_take_turns_in_bursts() {
  constexpr std::int64_t kEvents = 2000;
  constexpr std::int64_t kMaxDistance = 256;
  std::vector<Events> streams(2);
  for (Events& stream : streams) {
    for (std::int64_t i = 0; i < kEvents; ++i) stream.add(i, 0, 1);
  }
  static std::int64_t longest = 0;
  static std::int64_t distance = 0;
  static std::array<std::int64_t, 2> taken{};
  static std::array<const void*, 2> column{};
  for (const std::int64_t batch : {1, 7}) {
    longest = distance = 0;
    taken = {};
    column = {streams[0].ts.data(), streams[1].ts.data()};
    KeyedSumRun run(streams, 1, options(1, batch, 2));
    for (lab::Lane& lane : run.runtime().mailbox(0).lanes) {
      lane.run = [](void*, const std::int32_t*, const void* const* columns, std::int64_t begin, std::int64_t end,
                    lab::Emit*) -> std::int64_t {
        longest = std::max(longest, end - begin);
        taken[columns[0] == column[0] ? 0 : 1] += end - begin;
        distance = std::max(distance, std::abs(taken[0] - taken[1]));
        return end;
      };
    }
    CHECK(run.run().empty());
    CHECK_EQ(taken[0] + taken[1], 2 * kEvents);
    CHECK_EQ(longest, batch);
    CHECK(distance <= kMaxDistance);
  }
}

// "Any int64 but the largest": differences of timestamps may exceed int64.
void timestamps_may_be_far_apart() {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = lab::kEndOfTime - 1;
  std::vector<Events> streams(2);
  for (std::int64_t i = 0; i < 40; ++i) {
    const bool first = i < 20;
    streams[0].add(first ? kLowest + i : kHighest - 40 + i, 0, 1);
    if (i % 5 == 0) streams[1].add(streams[0].ts.back(), 1, 0);
  }
  for (const std::int32_t workers : {1, 2}) {
    for (const std::int64_t batch : {1, 100}) {
      KeyedSumRun run(streams, 1, options(workers, batch, 2));
      CHECK(run.run() == lab::test::oracle(streams, 1));
    }
  }
}

void an_update_that_raises_ends_the_run_with_an_error() {
  const std::vector<Events> streams{{{1, 2}, {0, 0}, {1, 1}}, {{3}, {1}, {0}}};
  for (const std::int32_t workers : {1, 2}) {
    KeyedSumRun run(streams, 1, options(workers, 1, 1));
    for (lab::Lane& lane : run.runtime().mailbox(0).lanes) {
      if (lane.run != nullptr) {
        lane.run = [](void*, const std::int32_t*, const void* const*, std::int64_t, std::int64_t,
                      lab::Emit*) -> std::int64_t { return 0; };
      }
    }
    CHECK_THROWS(run.run(), std::runtime_error);
  }
}

void bad_options_and_streams_are_refused() {
  lab::DgsOptions wrong = options(0, 1, 1);
  wrong.output_itemsizes = {8};
  CHECK_THROWS(lab::DgsRun(wrong), std::invalid_argument);
  wrong = options(1, 0, 1);
  wrong.output_itemsizes = {8};
  CHECK_THROWS(lab::DgsRun(wrong), std::invalid_argument);
  wrong = options(1, 1, 1);
  CHECK_THROWS(lab::DgsRun(wrong), std::invalid_argument);
  wrong.output_itemsizes = {8};
  lab::DgsRun runtime(wrong);
  const std::vector<std::int64_t> decreasing{3, 2};
  lab::StreamView view;
  view.ts = decreasing;
  CHECK_THROWS(runtime.add_stream(view, 0), std::invalid_argument);
  const std::vector<std::int64_t> last{lab::kEndOfTime};
  view.ts = last;
  CHECK_THROWS(runtime.add_stream(view, 0), std::invalid_argument);
  CHECK_THROWS(runtime.add_stream({}, 1), std::invalid_argument);
}

}  // namespace

int main() {
  empty_input_ends();
  ties_go_by_stream();
  runtime_that_never_runs_is_torn_down();
  ties_within_mixed_streams_keep_their_order();
  direct_lanes_take_turns_in_bursts();
  timestamps_may_be_far_apart();
  an_update_that_raises_ends_the_run_with_an_error();
  bad_options_and_streams_are_refused();
  return 0;
}
