// Mailboxes in one thread, with rings that the test fills.
#include "dgs/mailbox.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>
#include <vector>

#include "check.h"

#include "dgs/bench/sum_kernels.h"
#include "run/errors.h"

namespace {

constexpr std::int64_t kBlocks = 64;
constexpr std::int64_t kBatch = 1000;

std::atomic<bool> stop{false};
std::int64_t taken = 0;

// Cancels the run in the middle of a turn.
std::int64_t stop_run(void*, const std::int32_t*, const void* const*, std::int64_t begin, std::int64_t end,
                      lab::Emit*) {
  taken += end - begin;
  stop.store(true, std::memory_order_relaxed);
  return end;
}

void a_turn_with_a_full_ring_ends_when_the_run_is_stopped() {
  for (const bool merges_blocks : {false, true}) {
    stop = false;
    taken = 0;
    std::vector<std::int64_t> ts(kBlocks * kBatch);
    std::iota(ts.begin(), ts.end(), 0);
    lab::StreamView stream;
    stream.ts = ts;
    stream.columns = {ts.data()};
    lab::Source source(stream, kBatch, kBlocks);
    lab::Forest forest;
    lab::OutputBuffer out{{8}};
    lab::Recorder recorder;
    lab::Histogram sync;
    lab::Counters counters;
    lab::Mailbox mailbox(0, 0, forest, out, recorder, sync, counters, stop);
    recorder.begin(lab::now_ns(), 0);
    lab::Lane lane;
    lane.source = &source;
    lane.reader = source.ring.add_reader();
    lane.owner_worker = -1;
    lane.merges_blocks = merges_blocks;
    lane.run = &stop_run;
    mailbox.lanes.push_back(std::move(lane));
    while (source.pump()) {
    }
    CHECK_THROWS(mailbox.step({}), lab::Stopped);
    CHECK(taken <= 1024);
  }
}

std::int64_t update(void*, const std::int32_t*, const void* const*, std::int64_t, std::int64_t end, lab::Emit*) {
  return end;
}

// Makes a tree whose first leaf is the deepest: each inner node has one leaf. Returns the leaves, the deepest first.
std::vector<std::int32_t> make_comb(lab::TreeTemplate& shape, std::int32_t leaves) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(leaves));
  for (std::int32_t i = leaves - 1, inner = 0; i > 0; --i, inner += 2) {
    auto& node = shape.nodes.emplace_back();
    node.parent = inner - 2;
    node.first = inner + 2;
    node.second = inner + 1;
    node.fork = &lab::sums::fork_halves;
    node.join = &lab::sums::join;
    result[static_cast<std::size_t>(i)] = inner + 1;
    shape.nodes.emplace_back().parent = inner;
  }
  result[0] = static_cast<std::int32_t>(shape.nodes.size());
  shape.nodes.emplace_back().parent = result[0] - 2;
  if (leaves > 1) shape.nodes[0].parent = -1;
  return result;
}

// One thread serves all mailboxes in turn, as where places are gathered. A mailbox that resumes releases the mailbox
// before it, and the thread gets to that one only in its next turn. So the resume must count as progress, or the thread
// may sleep.
void a_mailbox_that_releases_another_makes_progress() {
  constexpr std::int32_t kLeaves = 8;
  const std::vector<std::int64_t> ts{0};
  lab::StreamView stream;
  stream.ts = ts;
  stream.columns = {ts.data()};
  lab::Source source(stream, 1, 4);
  lab::Forest forest;
  forest.add_state_type(8);
  lab::TreeTemplate shape;
  const std::vector<std::int32_t> leaves = make_comb(shape, kLeaves);
  forest.add_template(std::move(shape));
  forest.add_trees(0, 1);
  std::vector<std::int64_t> states(kLeaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) forest.place(0, leaves[i], &states[i]);
  const std::int64_t zero = 0;
  forest.initialise(0, std::as_bytes(std::span(&zero, 1)));
  lab::OutputBuffer out{{8}};
  lab::Recorder recorder;
  lab::Histogram sync;
  lab::Counters counters;
  stop = false;
  recorder.begin(lab::now_ns(), 0);
  const std::int32_t root_tree = 0, root_node = 0;
  std::deque<lab::Mailbox> mailboxes;
  for (std::int32_t i = 0; i < kLeaves; ++i) {
    lab::Mailbox& mailbox = mailboxes.emplace_back(i, i, forest, out, recorder, sync, counters, stop);
    mailbox.leaf_of_tree = {leaves[static_cast<std::size_t>(i)]};
    lab::Lane lane;
    lane.source = &source;
    lane.reader = source.ring.add_reader();
    lane.owner_worker = 0;
    lane.order_tree = &root_tree;
    lane.order_node = &root_node;
    lane.update = {&update};
    mailbox.lanes.push_back(std::move(lane));
  }
  std::vector<lab::Parker> parkers(kLeaves);
  const auto finished = [&] { return std::ranges::all_of(mailboxes, &lab::Mailbox::finished); };
  while (source.pump()) {
  }
  std::int64_t turns = 0;
  while (!finished()) {
    bool progress = false;
    for (lab::Mailbox& mailbox : mailboxes) progress |= mailbox.step(parkers);
    CHECK(progress);
    if (!progress) return;
    ++turns;
  }
  CHECK(turns >= kLeaves - 1);
  CHECK_EQ(counters.synchronizations, 1);
}

}  // namespace

int main() {
  a_turn_with_a_full_ring_ends_when_the_run_is_stopped();
  a_mailbox_that_releases_another_makes_progress();
  return 0;
}
