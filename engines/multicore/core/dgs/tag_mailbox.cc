#include "dgs/tag_mailbox.h"

#include <algorithm>

#include "run/errors.h"

namespace lab {
namespace {

// Waiting trees that a step checks; each costs a cache miss. A step without other work checks all of them.
constexpr std::int32_t kLooks = 8;

// Steps without progress before an event that waits for a lane goes into a buffer. Other mailboxes of the place, and
// the publisher of the lane, get their turns first.
constexpr std::int32_t kPatience = 64;

// Most late events of a kernel call, between two checks for the end of the run.
constexpr std::int64_t kLate = 1024;

constexpr std::int64_t stamp_of(const StreamView& stream, std::int64_t start, std::int64_t event,
                                std::int64_t stamp_ns) {
  return stream.due.empty() ? stamp_ns : start + stream.due[static_cast<std::size_t>(event)];
}

// Returns the key of the earliest event that the lane may still deliver.
EventKey not_passed(const Lane& lane) noexcept { return lane.next < lane.end ? lane.key(lane.next) : lane.bound(); }

// Returns the key of the earliest ordering event that it may still deliver.
EventKey not_ordered(const Lane& lane) noexcept {
  const std::int64_t from = std::max(lane.next, lane.ordering);
  return from < lane.end ? lane.key(from) : lane.bound();
}

}  // namespace

std::int32_t TagMailbox::make_buffers(std::int64_t most_runs, std::int32_t first_number) {
  const auto trees =
      std::count_if(leaf_of_tree.begin(), leaf_of_tree.end(), [](std::int32_t leaf) { return leaf >= 0; });
  if (trees < 2) return 0;
  buffers_ = std::make_unique<TagBuffers>(lanes, leaf_of_tree, forest_, most_runs);
  first_number_ = first_number;
  return buffers_->members();
}

bool TagMailbox::step(std::span<Parker> parkers) {
  if (!buffers_) return Mailbox::step(parkers);
  if (parked_ && !resume(parkers)) return false;  // in a crossing
  short_ = false;
  bool progress = settle(kLooks, parkers);
  Lane* first = nullptr;  // null: the horizon is only a promise
  const EventKey horizon = next_horizon(first, progress, parkers);
  if (cut_is_next(horizon, first)) {
    progress |= go_to_cut(parkers);
  } else {
    bool complete = true;
    for (Lane& lane : lanes) {
      progress |= pass_to_horizon(lane, horizon, parkers);
      if (lane.next == lane.end && lane.bound() < horizon) complete = false;
    }
    if (first != nullptr && !short_) progress |= pass(*first, complete, parkers);
  }
  if (!progress) progress = settle(buffers_->waiting(), parkers);
  if (!progress) unstamped_ = 0;  // time passes meanwhile
  idle_steps_ = progress ? 0 : idle_steps_ + 1;
  return progress;
}

// Passes the lane's ordering event if possible. `complete`: all earlier events are passed.
bool TagMailbox::pass(Lane& lane, bool complete, std::span<Parker> parkers) {
  const std::int32_t tag = lane.source->stream().tag == nullptr ? 0 : lane.source->stream().tag[lane.ordering];
  const std::int32_t tree = lane.order_tree[tag];
  if (lane.order_node[tag] < 0) {
    if (!complete || trees_wait_) return false;
    order(lane, parkers);
    return true;
  }
  const std::int32_t member = buffers_->member_of_tree(tree);
  const bool waits = buffers_->member(member).waits;
  if (!waits && complete) {
    order(lane, parkers);
    return true;
  }
  if (!waits && idle_steps_ < kPatience) return false;
  if (lane.direct == 0) {
    while (lane.ordering >= lane.source->ring.at(lane.block).end) ++lane.block;
  }
  const std::int64_t stamp_ns = lane.direct != 0 ? recorder_.now() : lane.source->ring.at(lane.block).stamp_ns;
  const auto number = static_cast<std::size_t>(&lane - lanes.data());
  if (!buffers_->put_ordering(member, number, lane.ordering, stamp_ns)) return false;
  if (!waits) wait(member);
  fresh_ = true;
  lane.next = ++lane.ordering;
  ++lane.counted;  // `processed_late` counts it
  give_back(lane, parkers);
  return true;
}

// Passes ordinary events before `limit` while trees wait, as far as the buffers have room for their events.
bool TagMailbox::run_while_trees_wait(Lane& lane, std::int64_t limit, std::span<Parker> parkers) {
  const std::int64_t begin = lane.next;
  const auto number = static_cast<std::size_t>(&lane - lanes.data());
  bool full = false;  // for this lane; other lanes continue as far as their reserved runs allow
  while (lane.next < limit && !full) {
    go_on_unless(stop_);
    std::int64_t end = std::min(limit, lane.next + kLate);
    std::int64_t stamp_ns = 0;
    if (lane.direct != 0) {
      stamp_ns = recorder_.now();
    } else if (!lane.together) {
      while (lane.next >= lane.source->ring.at(lane.block).end) ++lane.block;
      const Block& block = lane.source->ring.at(lane.block);
      end = std::min(block.end, limit);
      stamp_ns = block.stamp_ns;
    }
    std::int64_t buffered = 0;
    const std::int64_t until = buffers_->put(lane, number, end, stamp_ns, buffered);
    full = until < end;
    const std::int64_t events = until - lane.next;
    if (buffered == events) {
      lane.next = until;
      if (lane.direct != 0) stamp(events);
    } else if (lane.direct != 0) {
      process_directly(lane, until);
    } else {
      process(lane, until, stamp_ns);
    }
    lane.counted += buffered;  // `processed_late` counts them
  }
  short_ |= full;
  give_back(lane, parkers);
  return lane.next != begin;
}

// Checks some of the waiting trees. Returns whether any of them made progress.
bool TagMailbox::settle(std::int32_t looks, std::span<Parker> parkers) {
  bool progress = false;
  for (looks = std::min(looks, buffers_->waiting()); looks > 0; --looks) {
    const std::int32_t member = buffers_->take();
    progress |= release(member, parkers);
    const TagBuffers::Member& one = buffers_->member(member);
    bool done = !one.parked;
    for (std::size_t l = 0; done && l < lanes.size(); ++l) done = buffers_->buffer(member, l).empty();
    if (done) {
      latest_stamp_ = std::max(latest_stamp_, one.latest_stamp);
      buffers_->open(member);
      fresh_ = true;  // its next outputs follow its late ones
    } else {
      buffers_->close_again(member);
    }
  }
  trees_wait_ = !buffers_->empty();
  return progress;
}

// Processes events from the buffers of a tree, as far as possible.
bool TagMailbox::release(std::int32_t member, std::span<Parker> parkers) {
  TagBuffers::Member& one = buffers_->member(member);
  bool progress = false;
  if (one.parked) {
    if (!Forest::released(forest_.tree(one.tree), one.arrival)) return false;
    leave(one.arrival, one.tree, parkers);
    one.parked = false;
    progress = true;
  }
  while (!one.parked && release_next(member, parkers)) progress = true;
  return progress;
}

// Processes the first run of a tree, if no event on which it depends can still come before it.
bool TagMailbox::release_next(std::int32_t member, std::span<Parker> parkers) {
  std::size_t first = lanes.size();
  EventKey key = kEndOfStream;
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const TagBuffers::Buffer& buffer = buffers_->buffer(member, l);
    if (buffer.empty()) continue;
    const EventKey its = lanes[l].key(buffers_->run(buffer.first).begin);
    if (first != lanes.size() && key < its) continue;
    first = l;
    key = its;
  }
  if (first == lanes.size()) return false;
  EventKey ordering = kEndOfStream;  // no ordering event of another lane comes before it
  EventKey any = kEndOfStream;       // no unpassed event of another lane comes before it
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const TagBuffers::Buffer& buffer = buffers_->buffer(member, l);
    if (l == first || (!buffer.ordinary && !buffer.ordering)) continue;
    if (buffer.empty()) any = std::min(any, not_passed(lanes[l]));
    if (!buffer.ordering) continue;
    const EventKey its = buffer.empty() ? not_ordered(lanes[l]) : lanes[l].key(buffers_->run(buffer.first).begin);
    ordering = std::min(ordering, its);
  }
  go_on_unless(stop_);
  if (buffers_->run(buffers_->buffer(member, first).first).ordering != 0) {
    if (any < key) return false;
    order_late(member, first, parkers);
  } else {
    if (ordering < key) return false;
    process_late(member, first, ordering);
  }
  return true;
}

// Processes ordinary events of a tree from one lane before the key `before`: the first run, and the runs after it.
void TagMailbox::process_late(std::int32_t member, std::size_t number, const EventKey& before) {
  Lane& lane = lanes[number];
  TagBuffers::Buffer& buffer = buffers_->buffer(member, number);
  do {
    const TagBuffers::Run run = buffers_->run(buffer.first);
    const std::int64_t end = first_behind(lane, run.begin, std::min(run.end(), run.begin + kLate), before);
    run_late(lane, member, number, {run.begin, end, run.stamp_ns});
    buffers_->pop(buffer, end);
    processed_late(lane, end - run.begin);
    if (buffer.empty() || buffers_->run(buffer.first).ordering != 0) return;
    go_on_unless(stop_);
  } while (lane.key(buffers_->run(buffer.first).begin) < before);
}

void TagMailbox::run_late(Lane& lane, std::int32_t member, std::size_t number, const Late& late) {
  const StreamView& stream = lane.source->stream();
  TagBuffers::Member& one = buffers_->member(member);
  const bool scheduled = !stream.due.empty();
  const std::int64_t taken_ns = scheduled ? recorder_.tick() : 0;
  std::int64_t next = late.begin;
  while (next < late.end) {
    const std::int64_t begin = next;
    Emit* emit = out_.open(max_outputs_per_event);
    next = lane.run(lane.state, buffers_->slots(number), stream.columns.data(), begin, late.end, emit);
    if (next <= begin || next > late.end) kernel_failed("update");
    ++counters_.kernel_calls;
    const std::int64_t outputs = out_.close(first_number_ + member, stream.index, begin, one.fresh);
    if (outputs == 0) continue;
    one.fresh = false;
    refuse_beyond((next - begin) * max_outputs_per_event, outputs);
    recorder_.tick();
    if (scheduled) {
      record_each(stream, begin, next, *emit, outputs, taken_ns);
    } else {
      recorder_.output(late.stamp_ns, outputs);
    }
  }
  one.latest_stamp = std::max(one.latest_stamp, stamp_of(stream, recorder_.start(), late.end - 1, late.stamp_ns));
}

void TagMailbox::order_late(std::int32_t member, std::size_t number, std::span<Parker> parkers) {
  Lane& lane = lanes[number];
  const StreamView& stream = lane.source->stream();
  TagBuffers::Buffer& buffer = buffers_->buffer(member, number);
  const TagBuffers::Run run = buffers_->run(buffer.first);
  TagBuffers::Member& one = buffers_->member(member);
  const std::int32_t tag = stream.tag == nullptr ? 0 : stream.tag[run.begin];
  const std::int64_t taken_ns = stream.due.empty() ? 0 : recorder_.tick();
  one.latest_stamp = std::max(one.latest_stamp, stamp_of(stream, recorder_.start(), run.begin, run.stamp_ns));
  const Taken taken{run.begin, first_number_ + member, one.latest_stamp, taken_ns};
  one.fresh = true;
  if (!meet_others(lane, one.tree, lane.order_node[tag], taken, parkers)) {
    one.parked = true;
    one.arrival = arrival_;
  }
  buffers_->pop(buffer, run.end());
  processed_late(lane, 1);
}

void TagMailbox::processed_late(Lane& lane, std::int64_t events) {
  recorder_.consumed(static_cast<double>(events) * lane.share);
  counters_.events += events;
  if (lane.direct != 0) recorder_.emitted(events);
}

void TagMailbox::park(std::int32_t tree) {
  if (!buffers_) return Mailbox::park(tree);
  const std::int32_t member = buffers_->member_of_tree(tree);
  buffers_->member(member).parked = true;
  buffers_->member(member).arrival = arrival_;
  wait(member);
}

void TagMailbox::wait(std::int32_t member) {
  buffers_->close(member, latest_stamp_);
  trees_wait_ = true;
}

}  // namespace lab
