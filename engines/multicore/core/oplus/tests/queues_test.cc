// Tests the path from sources to shared-nothing instances, on one thread: order, copies, full rings, silence, and ends.
#include "oplus/tests/queues_rig.h"

namespace {

using lab::Queues;
using lab::test::behaviour;
using lab::test::kLogs;
using lab::test::kLowest;
using lab::test::Rig;
using lab::test::Texts;
using lab::test::word_in;

void each_responsible_instance_gets_one_copy_in_order() {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto streams = lab::test::random_texts(random, 1 + static_cast<int>(seed % 4), 150);
    const std::int32_t instances = seed == 19 ? 150 : 1 + static_cast<std::int32_t>(seed % 5);
    for (const char* log : kLogs) {
      Rig rig(streams, instances + 1, lab::test::random_owner(random, lab::first_instances(instances)), instances, log);
      rig.settle();
      lab::test::check_rows(rig, streams, instances);
      for (std::int32_t i = 0; i < instances; ++i) CHECK(rig.ended(i));
      rig.read(instances);
      CHECK(rig.ended(instances));  // an inactive instance finds the end there
      CHECK_EQ(rig.queues().delivered(), lab::test::events_in(streams));
    }
  }
}

// Rings of 4,096 rows; they wrap more than twice.
void a_tuple_that_does_not_fit_everywhere_waits() {
  const std::int32_t zeroth = word_in(0), first = word_in(1);
  std::vector<Texts> streams(1);
  for (std::int64_t i = 0; i < 10'000; ++i) streams[0].add(i, {zeroth, first}, i);
  streams[0].add(10'000, {first});
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0, 1}, 2, log);
    rig.settle(0b01);  // 0 does not read
    CHECK_EQ(std::ssize(rig.of(1).rows), Queues::kRows);
    CHECK_EQ(rig.queues().delivered(), Queues::kRows);
    CHECK(!rig.feed());
    CHECK(rig.read(0, 1));
    rig.settle(0b01);
    const std::int64_t more = std::ssize(rig.of(1).rows);
    CHECK(more > Queues::kRows && more <= Queues::kRows + std::ssize(rig.of(0).rows));
    rig.settle(0b10);  // now 1 does not
    CHECK_EQ(std::ssize(rig.of(0).rows), more + Queues::kRows);
    rig.settle();
    lab::test::check_rows(rig, streams, 2);
    CHECK(rig.ended(0) && rig.ended(1));
  }
}

void a_row_that_a_full_queue_refused_is_not_evaluated_again() {
  std::vector<Texts> streams(1);
  for (std::int64_t i = 0; i < Queues::kRows + 100; ++i) streams[0].add(i, {word_in(0)}, i);
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0, 1}, 2, log);
    rig.settle(0b01);
    lab::test::rows_evaluated = 0;
    for (int i = 0; i < 100; ++i) CHECK(!rig.feed());
    CHECK_EQ(lab::test::rows_evaluated, 0);
    // The mapping has changed, and with it the owner of the refused row.
    rig.change({0, 1}, {1, 0});
    rig.settle(0b01);
    CHECK_EQ(lab::test::rows_evaluated, 100);
    CHECK_EQ(std::ssize(rig.of(1).rows), 100);
  }
}

// The longest list takes a quarter of the elements: these run out before the rows do.
void long_lists_wait_for_room_too() {
  std::vector<Texts> streams(2);
  std::mt19937 random(3);
  for (std::int64_t i = 0; i < 60; ++i) {
    streams[static_cast<std::size_t>(i % 2)].add(i, std::vector<std::int32_t>(random() % 9000, word_in(i % 3)), i);
  }
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0, 1, 0}, 2, log);
    for (int i = 0; i < 100; ++i) rig.feed();
    CHECK(rig.queues().delivered() < 60);
    rig.settle();
    lab::test::check_rows(rig, streams, 2);
  }
}

// Room for 256 keys at first. A turn that only made room for a key must not count as a turn without work.
void a_tuple_may_have_more_keys_than_there_is_room_for_at_first() {
  std::vector<Texts> streams(1);
  for (const int words : {3, 300, 5000, 2, 20'000}) {
    std::vector<std::int32_t> list(static_cast<std::size_t>(words));
    std::iota(list.begin(), list.end(), 0);
    streams[0].add(std::ssize(streams[0].ts), list);
  }
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0, 1}, 2, log);
    for (std::int64_t tuples = 1; tuples <= 5; ++tuples) {
      CHECK(rig.feed());
      CHECK_EQ(rig.queues().delivered(), tuples);
      rig.read(0);
      rig.read(1);
    }
    rig.settle();
    lab::test::check_rows(rig, streams, 2);
  }
}

// Promises reach also the instances that get no tuples of a source.
void silent_sources_hold_back_until_they_promise_or_end() {
  const std::int32_t zeroth = word_in(0), first = word_in(1);
  std::vector<Texts> streams(3);  // the third is empty
  for (const std::int64_t ts : {10, 20, 30}) streams[0].add(ts, {zeroth});
  streams[0].due = {0, 0, 0};
  streams[1].add(25, {first});
  streams[1].due = {100};
  streams[1].heartbeats = {15, 60};
  streams[1].heartbeat_due = {10, 200};
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0, 1}, 2, log, true);
    const auto until = [&](std::int64_t elapsed_ns, std::ptrdiff_t rows_0, std::ptrdiff_t rows_1) {
      for (const std::size_t s : {0, 1, 2}) rig.feeds.publish_due(s, elapsed_ns);
      rig.settle();
      CHECK_EQ(std::ssize(rig.of(0).rows), rows_0);
      CHECK_EQ(std::ssize(rig.of(1).rows), rows_1);
    };
    until(0, 0, 0);
    CHECK_EQ(rig.of(1).watermark, kLowest);
    until(10, 1, 0);  // no more tuples at or before 15
    CHECK_EQ(rig.of(1).watermark, 16);
    until(100, 2, 1);
    CHECK(!rig.ended(0) && !rig.ended(1));
    until(200, 3, 1);
    CHECK(rig.ended(0) && rig.ended(1));
  }
}

void invalid_queues_are_refused() {
  lab::OperatorSpec join;
  join.match_by_left = &lab::test::match<true>;
  std::deque<lab::Feed> feeds;
  CHECK_THROWS(Queues(join, "order", lab::LogOptions{}, {}, {}, feeds), std::invalid_argument);
  behaviour.raises_at = 5;
  std::vector<Texts> streams(1);
  streams[0].add(0, {1}, 5);
  Rig rig(streams, 1, std::vector<std::int32_t>(3, 0), 1, "order");
  CHECK_THROWS(rig.feed(), std::runtime_error);
  CHECK_THROWS(rig.feed(), std::runtime_error);  // the source's flag was released
  behaviour.raises_at = lab::test::kNever;
}

}  // namespace

int main() {
  behaviour = {.window = {10, 20, false}};
  behaviour.buckets = 7;
  each_responsible_instance_gets_one_copy_in_order();
  behaviour.buckets = 2;
  a_tuple_that_does_not_fit_everywhere_waits();
  a_row_that_a_full_queue_refused_is_not_evaluated_again();
  a_tuple_may_have_more_keys_than_there_is_room_for_at_first();
  silent_sources_hold_back_until_they_promise_or_end();
  behaviour.buckets = 3;
  long_lists_wait_for_room_too();
  invalid_queues_are_refused();
  return 0;
}
