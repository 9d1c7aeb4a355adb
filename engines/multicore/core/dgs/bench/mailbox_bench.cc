// Benchmarks of mailboxes at full speed. The program sums values; a reading emits the sum and resets it.
//
// One thread pumps the sources and steps the mailboxes in turn. The recorder is on, but its grid begins in the far
// future, so the passage of time has no effect.
#include <algorithm>
#include <memory>
#include <vector>

#include "registry.h"

#include "dgs/bench/sum_kernels.h"
#include "dgs/mailbox.h"

namespace lab::bench {
namespace {

// Tag 0: a value, added to the sum; tag 1: a reading.
constexpr std::int32_t kReading = 1;

struct Events {
  std::vector<std::int64_t> ts;
  std::vector<std::int32_t> tag;
  std::vector<std::int64_t> value;
};

std::int64_t update(void* states, const std::int32_t* slots, const void* const* columns, std::int64_t begin,
                    std::int64_t end, Emit* out) {
  const auto* ts = static_cast<const std::int64_t*>(columns[0]);
  const auto* tag = static_cast<const std::int32_t*>(columns[1]);
  const auto* value = static_cast<const std::int64_t*>(columns[2]);
  const std::int64_t n = std::min(end - begin, out->capacity - out->count);
  for (std::int64_t i = begin; i < begin + n; ++i) {
    const std::int32_t slot = slots != nullptr ? slots[tag[i]] : 0;
    if (slot < 0) continue;
    std::int64_t& sum = static_cast<std::int64_t*>(states)[slot];
    if (tag[i] != kReading) {
      sum += value[i];
      continue;
    }
    static_cast<std::int64_t*>(out->columns[0])[out->count] = ts[i];
    static_cast<std::int64_t*>(out->columns[1])[out->count] = sum;
    ++out->count;
    sum = 0;
  }
  return begin + n;
}

std::int64_t fork(const void* state, const std::uint8_t*, const std::uint8_t*, void* first, void* second) {
  *static_cast<std::int64_t*>(first) = *static_cast<const std::int64_t*>(state);
  *static_cast<std::int64_t*>(second) = 0;
  return kDone;
}

constexpr std::int64_t kEvery = 25;                     // values between two readings
constexpr std::int64_t kLater = std::int64_t{1} << 62;  // ns; 146 years after the clock's zero

std::int64_t value_of(std::int64_t i) { return i % 7; }

// Returns the values of stream `s`. The `n` values are distributed to the `streams` streams in turn.
Events values(std::int64_t n, std::int64_t s, std::int64_t streams) {
  Events events;
  for (std::int64_t i = s; i < n; i += streams) {
    events.ts.push_back(i);
    events.tag.push_back(0);
    events.value.push_back(value_of(i));
  }
  return events;
}

// Returns the readings: one per `kEvery` values, each right after the value with the same timestamp.
Events readings(std::int64_t n) {
  Events events;
  for (std::int64_t i = kEvery - 1; i < n; i += kEvery) {
    events.ts.push_back(i);
    events.tag.push_back(kReading);
    events.value.push_back(0);
  }
  return events;
}

StreamView view(const Events& events, std::int32_t index) {
  StreamView stream;
  stream.index = index;
  stream.ts = events.ts;
  stream.tag = events.tag.data();
  stream.columns = {events.ts.data(), events.tag.data(), events.value.data()};
  return stream;
}

// A worker with one mailbox: a private lane of values, and a lane of the readings, which all workers share.
struct Worker {
  OutputBuffer out{{8, 8}};
  Recorder recorder;
  Histogram sync;
  Counters counters;
  const std::atomic<bool> never{false};
  Mailbox mailbox;
  std::vector<std::int64_t> state{0};
  std::vector<std::int32_t> slots;       // by tag: values belong to the state
  std::vector<std::int32_t> order_tree;  // by tag: readings belong to tree 0
  std::vector<std::int32_t> order_node;

  Worker(std::int32_t index, Forest& forest, std::int32_t leaf)
      : mailbox(index, index, forest, out, recorder, sync, counters, never),
        slots{0, -1},
        order_tree{-1, 0},
        order_node{-1, 0} {
    recorder.begin(kLater, 0);
    mailbox.leaf_of_tree = {leaf};
    forest.place(0, leaf, state.data());
  }

  void read(Source& source, bool values, std::int64_t direct) {
    Lane lane;
    lane.direct = direct;
    lane.source = &source;
    lane.reader = source.ring.add_reader();
    lane.owner_worker = -1;
    lane.run = values ? &update : nullptr;
    lane.slots = slots.data();
    lane.state = state.data();
    lane.order_tree = order_tree.data();
    lane.order_node = order_node.data();
    lane.update = {&update};
    mailbox.lanes.push_back(std::move(lane));
  }
};

TreeTemplate shape(std::int32_t leaves) {
  TreeTemplate result;
  result.nodes.resize(leaves == 1 ? 1 : 3);
  if (leaves == 1) return result;
  TreeTemplate::Node& root = result.nodes.front();
  root.first = 1;
  root.second = 2;
  root.fork = &fork;
  root.join = &sums::join;
  result.nodes[1].parent = result.nodes[2].parent = 0;
  return result;
}

// Runs `n` values and returns a checksum of the outputs. With one leaf, readings belong to the leaf. With two, the
// leaves synchronize at each reading. `direct`: read without rings; needs one leaf.
std::int64_t run(std::int64_t n, std::int64_t batch, std::int32_t leaves, bool direct = false) {
  std::vector<Events> events;
  for (std::int32_t s = 0; s < leaves; ++s) events.push_back(values(n, s, leaves));
  events.push_back(readings(n));
  std::vector<StreamView> streams;
  for (const Events& stream : events) streams.push_back(view(stream, static_cast<std::int32_t>(streams.size())));
  std::vector<std::unique_ptr<Source>> sources;
  for (const StreamView& stream : streams) sources.push_back(std::make_unique<Source>(stream, batch, 8));

  Forest forest;
  forest.add_state_type(8);
  forest.add_trees(forest.add_template(shape(leaves)), 1);
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Parker> parkers(static_cast<std::size_t>(leaves));
  for (std::int32_t w = 0; w < leaves; ++w) {
    workers.push_back(std::make_unique<Worker>(w, forest, leaves == 1 ? 0 : w + 1));
    workers.back()->read(*sources[static_cast<std::size_t>(w)], true, direct ? batch : 0);
    workers.back()->read(*sources.back(), false, direct ? batch : 0);
  }
  const std::int64_t zero = 0;
  forest.initialise(0, std::as_bytes(std::span(&zero, 1)));

  measure([&] {
    for (bool has_more = true; has_more;) {
      has_more = false;
      if (!direct) {
        for (const auto& source : sources) source->pump();
      }
      for (const auto& worker : workers) {
        worker->mailbox.step(parkers);
        has_more |= !worker->mailbox.finished();
      }
    }
    return std::int64_t{0};
  });

  std::vector<const OutputBuffer*> buffers;
  std::int64_t rows = 0;
  for (const auto& worker : workers) {
    buffers.push_back(&worker->out);
    rows += worker->out.rows();
  }
  std::vector<std::int64_t> ts(static_cast<std::size_t>(rows));
  std::vector<std::int64_t> sum(static_cast<std::size_t>(rows));
  void* const columns[] = {ts.data(), sum.data()};
  merge_outputs(buffers, columns);
  std::int64_t checksum = 0;
  for (std::size_t i = 0; i < ts.size(); ++i) checksum += ts[i] * sum[i];
  return checksum;
}

std::int64_t expected(std::int64_t n) {
  std::int64_t checksum = 0;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += value_of(i);
    if (i % kEvery != kEvery - 1) continue;
    checksum += i * sum;
    sum = 0;
  }
  return checksum;
}

std::int64_t run_long(std::int64_t n) { return run(n, 4096, 1); }
std::int64_t run_single(std::int64_t n) { return run(n, 1, 1); }
std::int64_t run_direct(std::int64_t n) { return run(n, 1, 1, true); }
std::int64_t run_two_leaves(std::int64_t n) { return run(n, 64, 2); }

}  // namespace

const Bench mailbox_long_runs{"mailbox_long_runs", "values, 4,096 a block, a reading every 25", 1'000'000, &run_long,
                              &expected};
const Bench mailbox_batch_1{"mailbox_batch_1", "values, 1 a block, a reading every 25", 100'000, &run_single,
                            &expected};
const Bench mailbox_direct{"mailbox_direct", "values, one by one from the columns, a reading every 25", 100'000,
                           &run_direct, &expected};
const Bench mailbox_synchronize{"mailbox_synchronize", "values, 64 a block, two leaves meet every 25", 1'000'000,
                                &run_two_leaves, &expected};

}  // namespace lab::bench
