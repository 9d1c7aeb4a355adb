// A mailbox by tag: while one of its trees waits for another worker, the other trees continue.
#include "dgs/tag_mailbox.h"

#include "streams.h"

#include "dgs/tests/keyed_sum.h"

namespace {

using lab::test::Events;
using lab::test::KeyedSum;

// Two trees of two leaves each. The test steps both mailboxes itself, in its chosen order.
class TwoTrees {
 public:
  TwoTrees(const Events& left, const Events& right, const Events& reads, std::int64_t most_runs)
      : sources_{source(left, 0), source(right, 1), source(reads, 2)} {
    forest_.add_state_type(8);
    lab::TreeTemplate shape;
    for (const std::int32_t parent : {-1, 0, 0}) {
      lab::TreeTemplate::Node node;
      node.parent = parent;
      node.fork = &KeyedSum::fork;
      node.join = &lab::sums::join;
      node.pred1 = node.pred2 = {1, 0};
      shape.nodes.push_back(node);
    }
    shape.nodes[0].first = 1;
    shape.nodes[0].second = 2;
    forest_.add_template(std::move(shape));
    forest_.add_trees(0, 2);
    for (std::int32_t m = 0; m < 2; ++m) {
      auto& box = boxes_[static_cast<std::size_t>(m)] = std::make_unique<Box>(m, forest_);
      box->mailbox.leaf_of_tree = {m + 1, m + 1};
      for (std::int32_t tree = 0; tree < 2; ++tree) forest_.place(tree, m + 1, box->states + tree);
      lab::Lane own = lane_on(static_cast<std::size_t>(m));
      own.run = &KeyedSum::run;
      own.slots = kSlots;
      own.state = box->states;
      lab::Lane ordering = lane_on(2);
      ordering.order_tree = kOrderTree;
      ordering.order_node = kOrderNode;
      ordering.update = {&KeyedSum::run};
      box->mailbox.lanes.push_back(std::move(own));
      box->mailbox.lanes.push_back(std::move(ordering));
    }
    const std::vector<std::byte> zero(8);
    for (std::int32_t tree = 0; tree < 2; ++tree) forest_.initialise(tree, zero);
    CHECK(boxes_[0]->mailbox.make_buffers(most_runs, 2) == 2);
    CHECK(boxes_[1]->mailbox.make_buffers(most_runs, 4) == 2);
    for (auto& one : sources_) {
      while (one->pump()) {
      }
    }
  }

  // Steps the mailbox until it has no more work.
  void work(std::size_t m) {
    while (boxes_[m]->mailbox.step(parkers_)) {
    }
  }
  bool finished(std::size_t m) const { return boxes_[m]->mailbox.finished(); }
  std::int64_t passed(std::size_t m, std::size_t lane) const { return boxes_[m]->mailbox.lanes[lane].next; }
  std::int64_t rows(std::size_t m) const { return boxes_[m]->out.rows(); }
  const lab::TagBuffers& buffers(std::size_t m) const { return *boxes_[m]->mailbox.buffers(); }
  std::int64_t sum(std::size_t m, int tree) const { return boxes_[m]->states[tree]; }

 private:
  static constexpr std::int32_t kSlots[4] = {0, -1, 1, -1};
  static constexpr std::int32_t kOrderTree[4] = {-1, 0, -1, 1};
  static constexpr std::int32_t kOrderNode[4] = {-1, 0, -1, 0};

  struct Box {
    Box(std::int32_t id, lab::Forest& forest) : mailbox(id, id, forest, out, recorder, sync, counters, stop) {
      recorder.begin(lab::now_ns(), 0);
    }
    lab::OutputBuffer out{{8, 4, 8}};
    lab::Recorder recorder{true, 50};
    lab::Histogram sync;
    lab::Counters counters;
    std::atomic<bool> stop{false};
    std::int64_t states[2] = {0, 0};
    lab::TagMailbox mailbox;
  };

  std::unique_ptr<lab::Source> source(const Events& events, std::int32_t index) {
    views_[static_cast<std::size_t>(index)].index = index;
    lab::StreamView& view = views_[static_cast<std::size_t>(index)];
    view.ts = events.ts;
    view.tag = events.tag.data();
    view.columns = {events.ts.data(), events.tag.data(), events.value.data()};
    return std::make_unique<lab::Source>(view, 1, 1024);
  }

  lab::Lane lane_on(std::size_t stream) {
    lab::Lane lane;
    lane.source = sources_[stream].get();
    lane.reader = lane.source->ring.add_reader();
    lane.owner_worker = -1;
    lane.tags = 4;
    return lane;
  }

  lab::StreamView views_[3];
  std::unique_ptr<lab::Source> sources_[3];
  lab::Forest forest_;
  std::unique_ptr<Box> boxes_[2];
  std::vector<lab::Parker> parkers_ = std::vector<lab::Parker>(2);
};

// Tag 0 and 1: value and read of key 0; 2 and 3: of key 1.
const Events left{{0, 2, 3, 4, 6, 7}, {0, 2, 0, 2, 2, 0}, {1, 10, 2, 20, 30, 4}};
const Events right{{0, 8}, {0, 2}, {100, 1000}};
const Events reads{{1, 5}, {1, 3}, {0, 0}};  // of key 0, then of key 1

void a_tree_that_waits_holds_up_no_other() {
  TwoTrees run(left, right, reads, 100);
  run.work(0);
  // It waits for the other worker at both reads and has passed all events: its values after the reads are in buffers.
  CHECK(run.passed(0, 0) == 6 && run.passed(0, 1) == 2);
  CHECK(!run.finished(0) && run.buffers(0).waiting() == 2);
  CHECK(run.sum(0, 0) == 1);            // the joined state, which no thread may touch
  CHECK(run.sum(0, 1) == 30);           // key 1 continued after the read of key 0: 10, then 20
  CHECK(run.buffers(0).events() == 3);  // the events at 3, 6 and 7
  run.work(1);
  CHECK(run.finished(1) && run.rows(1) == 2);  // 101 and 30
  run.work(0);
  CHECK(run.finished(0) && run.buffers(0).empty());
  CHECK(run.sum(0, 0) + run.sum(1, 0) == 6 && run.sum(0, 1) + run.sum(1, 1) == 1030);
}

void without_room_it_waits_and_still_ends() {
  TwoTrees run(left, right, reads, 0);  // only the reserved run of each lane
  run.work(0);
  CHECK(!run.finished(0));
  CHECK(run.passed(0, 0) == 4);  // the event at 3 is in a buffer; the event at 6 has no room
  CHECK(run.buffers(0).peak_runs() <= 2);
  run.work(1);
  run.work(0);
  run.work(1);
  CHECK(run.finished(0) && run.finished(1));
  CHECK(run.sum(0, 0) + run.sum(1, 0) == 6 && run.sum(0, 1) + run.sum(1, 1) == 1030);
}

// Keys with many reads, and distant leaves: the buffers fill, and the answer equals that of one thread.
void the_answer_is_the_sequential_one_whatever_is_buffered() {
  std::int64_t buffered = 0;
  const auto run_round = [&](unsigned seed) {
    std::mt19937 random(seed);
    const auto streams = lab::test::random_streams(random, 4, 6, 300, seed % 2 == 1, seed % 3 == 0 ? 2 : 0);
    auto options = lab::test::short_run<lab::DgsOptions>(3);
    options.batch = 1 + static_cast<std::int64_t>(seed) % 5;
    options.ring_blocks = 2;
    options.gather = lab::DgsOptions::Gather::kNever;
    options.by_tag = true;
    options.buffer_runs = static_cast<std::int64_t>(seed) % 4;
    lab::test::KeyedSumRun run(streams, 6, options, seed % 3 == 0 ? 2 : 0);
    CHECK(run.run() == lab::test::oracle(streams, 6, seed % 3 == 0 ? 2 : 0));
    buffered += lab::test::counter(run.runtime(), "buffered_events");
    CHECK(lab::test::counter(run.runtime(), "most_buffered_runs") <= options.buffer_runs + 4);
  };
  lab::test::rounds_until(40, run_round, [&] { return buffered > 0; });
}

void invalid_options_are_refused() {
  lab::DgsOptions options;
  options.output_itemsizes = {8};
  options.buffer_runs = -1;
  CHECK_THROWS(lab::DgsRun{options}, std::invalid_argument);
  options.buffer_runs = lab::DgsOptions::kMostRuns + 1;
  CHECK_THROWS(lab::DgsRun{options}, std::invalid_argument);
}

}  // namespace

int main() {
  a_tree_that_waits_holds_up_no_other();
  without_room_it_waits_and_still_ends();
  the_answer_is_the_sequential_one_whatever_is_buffered();
  invalid_options_are_refused();
  return 0;
}
