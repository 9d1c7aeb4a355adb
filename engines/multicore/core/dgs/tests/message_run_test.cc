// Runs in the published form: actors release events in the order of dependence, and every run ends with the sequential
// answer, however small the producers' windows are.
#include "dgs/message_run.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "check.h"

#include "dgs/tests/message_sum.h"

namespace {

using lab::Message;
using lab::NodeActor;
using lab::Place;
using lab::test::Events;
using lab::test::MessageSumRun;
using lab::test::Output;

lab::MessageOptions options(std::int32_t workers, std::int64_t batch = 1, std::uint64_t ring_blocks = 1) {
  auto result = lab::test::short_run<lab::MessageOptions>(workers);
  result.batch = batch;
  result.ring_blocks = ring_blocks;
  return result;
}

void every_plan_gives_the_sequential_answer_with_a_window_of_one_event() {
  std::mt19937 random(3);
  for (const bool mixed : {false, true}) {
    for (const int groups : {0, 2}) {
      const auto streams = lab::test::random_streams(random, 5, 3, 300, mixed, groups);
      const auto expected = lab::test::by_key(lab::test::oracle(streams, 3, groups));
      for (const std::int32_t workers : {1, 2, 4, 7}) {
        for (const std::int32_t leaves : {1, 2, 5}) {
          for (const bool deep : {false, true}) {
            MessageSumRun run(streams, 3, options(workers), {leaves, deep}, groups);
            CHECK(lab::test::by_key(run.run()) == expected);
            CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
          }
        }
      }
    }
  }
}

void a_load_with_heartbeats_gives_the_sequential_answer_and_counts_all() {
  std::mt19937 random(4);
  for (const bool mixed : {false, true}) {
    auto streams = lab::test::random_streams(random, 4, 3, 300, mixed, 2);
    const auto expected = lab::test::by_key(lab::test::oracle(streams, 3, 2));
    for (const std::int64_t gap_ns : {0, 1000}) {
      lab::test::schedule(streams, gap_ns, 10);
      for (const bool whole : {false, true}) {
        lab::MessageOptions run_options = options(3, 7, 4);
        run_options.load = lab::LoadOptions{0, 0, whole};
        MessageSumRun run(streams, 3, run_options, {4, true}, 2);
        CHECK(lab::test::by_key(run.run()) == expected);
        const lab::test::ProgressTotals progress = lab::test::progress_of(run.runtime());
        CHECK_EQ(progress.emitted, lab::test::events_in(streams));
        CHECK_EQ(progress.consumed, lab::test::events_in(streams));
        CHECK_EQ(progress.outputs, std::ssize(expected));
        CHECK_EQ(lab::test::total_of(run.runtime().latency_counts()), std::ssize(expected));
        CHECK_EQ(lab::test::total_of(run.runtime().service_counts()), std::ssize(expected));
        CHECK(lab::test::counter(run.runtime(), "heartbeat_messages") > 0);
      }
    }
  }
}

void a_heartbeat_is_sent_even_if_an_event_of_its_block_caught_up() {
  std::vector<Events> streams(1);
  for (int ts = 1; ts <= 10; ++ts) streams[0].add(ts, 0, 1);
  streams[0].due.assign(10, 0);
  const auto heartbeats = [&] {
    lab::MessageOptions run_options = options(1, 5, 4);
    run_options.load = lab::LoadOptions{0, 0, false};
    MessageSumRun run(streams, 3, run_options, {1, false});
    run.run();
    return lab::test::counter(run.runtime(), "heartbeat_messages");
  };
  const std::int64_t at_end = heartbeats();
  streams[0].heartbeats = {4};  // later events have times from 5 on, and the last event of the first block is at 5
  streams[0].heartbeat_due = {0};
  CHECK_EQ(heartbeats(), 2 * at_end);
}

void empty_streams_end() {
  const std::vector<Events> streams(3);
  MessageSumRun run(streams, 2, options(3), {3, false}, 1);
  CHECK(run.run().empty());
}

void a_run_that_never_runs_is_torn_down() {
  const std::vector<Events> streams(2);
  MessageSumRun run(streams, 1, options(4), {2, false});
  run.runtime().start();
}

void a_synchronization_is_a_message_down_up_and_down_each_edge() {
  // Two values at leaves 0 and 1, and a read at the root.
  const std::vector<Events> streams{{{1}, {0}, {5}}, {{2}, {0}, {7}}, {{3}, {1}, {0}}};
  MessageSumRun run(streams, 1, options(3), {2, false});
  CHECK(run.run() == (std::vector<Output>{{3, 0, 12}}));
  CHECK_EQ(lab::test::counter(run.runtime(), "synchronizations"), 1);
  const std::int64_t messages = lab::test::counter(run.runtime(), "messages");
  CHECK_EQ(messages - lab::test::counter(run.runtime(), "heartbeat_messages"), 3 + 2 * 3);
}

void an_update_that_raises_ends_the_run_with_an_error() {
  const std::vector<Events> streams{{{1, 2}, {0, 0}, {1, 1}}, {{3}, {1}, {0}}};
  const auto failing_update = [](void*, const std::int32_t*, const void* const*, std::int64_t, std::int64_t,
                                 lab::Emit*) -> std::int64_t { return 0; };
  MessageSumRun::update = failing_update;
  for (const std::int32_t workers : {1, 2, 4}) {
    MessageSumRun run(streams, 1, options(workers), {2, false});
    CHECK_THROWS(run.run(), std::runtime_error);
  }
  MessageSumRun::update = &lab::test::KeyedSum::run;
}

// If the run does not end early, this takes an hour.
void a_run_with_a_load_can_be_stopped() {
  std::vector<Events> streams(2);
  for (int i = 0; i < 100; ++i) streams[static_cast<std::size_t>(i % 2)].add(i, 0, 0);
  lab::test::schedule(streams, 1'000, 10);
  streams[0].due.back() = 3'600'000'000'000;
  lab::MessageOptions run_options = options(4);
  run_options.load = lab::LoadOptions{};
  MessageSumRun run(streams, 1, run_options, {2, false});
  struct Interrupt {};
  CHECK_THROWS(run.runtime().run([] { throw Interrupt(); }), Interrupt);
}

void bad_nodes_and_streams_are_refused() {
  lab::MessageOptions run_options = options(1);
  CHECK_THROWS(lab::MessageRun(run_options), std::invalid_argument);  // no outputs
  run_options.output_itemsizes = {8};
  lab::MessageRun run(run_options);
  CHECK_THROWS(run.add_stream({}, 1), std::invalid_argument);
  run.forest.add_state_type(8);
  lab::TreeTemplate shape;
  shape.nodes.emplace_back();
  run.forest.add_template(shape);
  NodeActor::Node node;
  node.worker = 1;
  CHECK_THROWS(run.add_trees(0, {node}, 1), std::invalid_argument);
  node.worker = 0;
  node.tags.push_back({0, {}});
  CHECK_THROWS(run.add_trees(0, {node}, 1), std::invalid_argument);  // no such flow
  node.flows.push_back({0, -1});
  node.tags.push_back({0, {1}});
  CHECK_THROWS(run.add_trees(0, {node}, 1), std::invalid_argument);  // it waits for itself
}

// One leaf with three tags: 0 and 1 depend on each other, 2 on none. Flow i is that of stream i.
struct Mailbox {
  explicit Mailbox(const std::array<std::int32_t, 3>& flow_of_tag = {0, 1, 2}) {
    node.flows = {{0, -1}, {1, -1}, {2, -1}};
    for (std::int32_t tag = 0; tag < 3; ++tag) {
      std::vector<std::int32_t> waits;
      if (tag != 2) waits.push_back(1 - tag);
      node.tags.push_back({flow_of_tag[static_cast<std::size_t>(tag)], std::move(waits), &note, nullptr});
    }
    node.complete();
    forest.add_state_type(8);
    lab::TreeTemplate shape;
    shape.nodes.emplace_back();
    forest.add_template(shape);
    forest.add_trees(0, 1);
    forest.place(0, 0, &state);
    actor.emplace(node, forest, 0, 0, -1, std::vector<std::int32_t>());
    for (std::int32_t s = 0; s < 3; ++s) {
      streams.emplace_back().index = s;
      streams.back().columns = {reinterpret_cast<const void*>(static_cast<std::intptr_t>(s))};
    }
    processed.clear();
  }

  // Notes the stream and row of an event.
  static std::int64_t note(void*, const std::int32_t*, const void* const* columns, std::int64_t begin, std::int64_t end,
                           lab::Emit*) {
    processed.emplace_back(reinterpret_cast<std::intptr_t>(columns[0]), begin);
    return end;
  }

  void event(std::int32_t tag, std::int64_t ts, std::int64_t row) {
    const std::int32_t stream = node.tags[static_cast<std::size_t>(tag)].flow;
    actor->receive({.kind = Message::Kind::kEvent, .to = 0, .index = tag, .place = {{ts, stream}, row}}, context);
  }
  void heartbeat(std::int32_t flow, const Place& place) {
    actor->receive({.kind = Message::Kind::kHeartbeat, .to = 0, .index = flow, .place = place}, context);
  }

  static inline std::vector<std::pair<std::int64_t, std::int64_t>> processed;
  NodeActor::Node node;
  lab::Forest forest;
  std::int64_t state = 0;
  std::optional<NodeActor> actor;
  std::deque<lab::StreamView> streams;
  std::vector<lab::Parker> parkers{1};
  std::vector<lab::Inbox> inboxes{1};
  std::vector<std::int32_t> worker_of{0};
  lab::Post post{0, worker_of, inboxes, parkers};
  lab::Credits credits{{0, 0, 0}, parkers};
  lab::OutputBuffer out{std::vector<std::int32_t>{8}};
  lab::Recorder recorder{false};
  lab::Counters counters;
  lab::Histogram sync;
  lab::ActorContext context{post, credits, out, recorder, counters, sync, streams, 0, 1, 1};
};

void a_mailbox_orders_dependent_tags_and_no_others() {
  Mailbox mailbox;
  mailbox.event(0, 5, 0);  // waits for tag 1
  mailbox.event(0, 9, 1);
  mailbox.event(2, 7, 0);  // waits for none
  CHECK(mailbox.processed == (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 0}}));
  mailbox.event(1, 6, 0);  // releases the event at 5, and no longer waits for tag 0
  CHECK(mailbox.processed == (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 0}, {0, 0}, {1, 0}}));
  mailbox.event(1, 8, 1);  // before the event at 9, which waits
  CHECK_EQ(mailbox.processed.back().second, 1);
  CHECK_EQ(mailbox.processed.back().first, 1);
  CHECK_EQ(mailbox.processed.size(), 4U);
}

void a_heartbeat_moves_a_timer_and_the_last_one_ends_the_actor() {
  Mailbox mailbox;
  mailbox.event(0, 5, 0);
  mailbox.heartbeat(1, {{5, 1}, 0});  // later events may still be at 5 in stream 1, which is behind
  CHECK_EQ(mailbox.processed.size(), 1U);
  mailbox.event(0, 6, 1);
  CHECK_EQ(mailbox.processed.size(), 1U);
  mailbox.heartbeat(1, {{6, 1}, 0});
  CHECK_EQ(mailbox.processed.size(), 2U);
  CHECK_EQ(mailbox.context.unfinished, 1);
  for (std::int32_t flow = 0; flow < 3; ++flow) mailbox.heartbeat(flow, lab::kEnd);
  CHECK_EQ(mailbox.context.unfinished, 0);
}

void an_event_moves_the_timer_of_all_tags_of_its_stream() {
  Mailbox mailbox({0, 1, 1});
  mailbox.event(0, 5, 0);  // waits for tag 1
  mailbox.event(2, 6, 0);
  CHECK_EQ(mailbox.processed.size(), 2U);
}

}  // namespace

int main() {
  a_mailbox_orders_dependent_tags_and_no_others();
  a_heartbeat_moves_a_timer_and_the_last_one_ends_the_actor();
  an_event_moves_the_timer_of_all_tags_of_its_stream();
  every_plan_gives_the_sequential_answer_with_a_window_of_one_event();
  a_load_with_heartbeats_gives_the_sequential_answer_and_counts_all();
  a_heartbeat_is_sent_even_if_an_event_of_its_block_caught_up();
  empty_streams_end();
  a_run_that_never_runs_is_torn_down();
  a_synchronization_is_a_message_down_up_and_down_each_edge();
  an_update_that_raises_ends_the_run_with_an_error();
  a_run_with_a_load_can_be_stopped();
  bad_nodes_and_streams_are_refused();
  return 0;
}
