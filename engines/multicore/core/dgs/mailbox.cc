// Implements the steps that dgs/mailbox.h explains.
#include "dgs/mailbox.h"

#include <algorithm>

#include "run/errors.h"

namespace lab {
namespace {

// Maximum number of events of one kernel call that covers several blocks. The call delays the outputs of its first
// event by a few microseconds. Under a load each sending time makes a small block, so a worker that has fallen behind
// finds many blocks and processes them in one call.
constexpr std::int64_t kMaxCallEvents = 1024;

// Number of events that a direct lane takes at once, unless its kernel calls take more. These events share one reading
// of the clock. An event of another lane waits for at most this many events, a few microseconds of work.
constexpr std::int64_t kBurst = 256;

// Returns the number of rows to request for the outputs of `events` events: at most a quarter of a chunk, but enough
// for one event.
std::int64_t room_for(std::int64_t events, std::int64_t max_outputs_per_event, std::int64_t chunk_rows) noexcept {
  const std::int64_t part = chunk_rows / 4;
  const std::int64_t wanted = events > part / max_outputs_per_event ? part : events * max_outputs_per_event;
  return std::max(max_outputs_per_event, wanted);
}

// Returns the first position in [from, to) whose timestamp is at least `ts`, or above `ts` if `after`. Timestamps are
// often nearly linear in the position, so the search interpolates, then gallops. It takes two or three cache misses; a
// binary search over a long run takes a dozen.
std::int64_t search(std::span<const std::int64_t> column, std::int64_t from, std::int64_t to, std::int64_t ts,
                    bool after) noexcept {
  const auto ts_at = [&](std::int64_t i) noexcept { return column[static_cast<std::size_t>(i)]; };
  const auto is_before = [&](std::int64_t i) noexcept { return after ? ts_at(i) <= ts : ts_at(i) < ts; };
  if (from == to || !is_before(from)) return from;
  if (is_before(to - 1)) return to;
  std::int64_t low = from;     // is_before(low)
  std::int64_t high = to - 1;  // !is_before(high)
  // Unsigned: the difference of two timestamps may exceed int64.
  const auto since_low = [first = static_cast<std::uint64_t>(ts_at(low))](std::int64_t time) noexcept {
    return static_cast<double>(static_cast<std::uint64_t>(time) - first);
  };
  const double span = since_low(ts_at(high));
  if (span > 0 && high - low > 8) {
    const double share = since_low(ts) / span;
    const std::int64_t guess =
        std::clamp(low + static_cast<std::int64_t>(share * static_cast<double>(high - low)), low + 1, high - 1);
    std::int64_t width = 4;
    if (is_before(guess)) {
      low = guess;
      while (low + width < high && is_before(low + width)) {
        low += width;
        width *= 2;
      }
      high = std::min(high, low + width);
    } else {
      high = guess;
      while (high - width > low && !is_before(high - width)) {
        high -= width;
        width *= 2;
      }
      low = std::max(low, high - width);
    }
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_before(middle) ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::int64_t Mailbox::max_room(std::int64_t max_outputs_per_event, std::int64_t batch,
                               const OutputPool& pool) noexcept {
  return room_for(std::max(batch, kMaxCallEvents), max_outputs_per_event, pool.chunk_rows());
}

std::int64_t Mailbox::max_segments(std::int64_t batch) const noexcept {
  std::int64_t calls = 0;
  std::int64_t horizons = 0;  // each horizon ends a run of every lane; see `step`
  for (const Lane& lane : lanes) {
    const StreamView& stream = lane.source->stream();
    const std::int64_t blocks = stream.size() / batch + 1;
    calls += blocks;
    if (lane.order_tree == nullptr) continue;
    horizons += blocks;
    if (stream.tag == nullptr) {
      horizons += stream.size();
    } else {
      horizons += std::count_if(stream.tag, stream.tag + stream.size(),
                                [&lane](std::int32_t tag) { return lane.order_tree[tag] >= 0; });
    }
  }
  return calls + horizons * (1 + static_cast<std::int64_t>(lanes.size()));
}

std::int64_t Mailbox::due_ns(const StreamView& stream, std::int64_t event) const noexcept {
  return recorder_.start() + stream.due[static_cast<std::size_t>(event)];
}

bool Mailbox::finished() const noexcept {
  return !parked_ && cut_ == cuts_end_ &&
         std::all_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.finished(); });
}

// Returns the key of the earliest ordering event seen, and sets `first` to its lane. If the horizon is only a promise,
// returns the key below which no lane will have an ordering event, and sets `first` to null.
EventKey Mailbox::find_horizon(Lane*& first, bool& progress, std::span<Parker> parkers) {
  EventKey horizon = kEndOfStream;
  for (Lane& lane : lanes) {
    progress |= refresh(lane, parkers);
    if (lane.order_tree == nullptr) continue;
    find_ordering(lane);
    const bool has_ordering = lane.ordering < lane.end;
    const EventKey key = has_ordering ? lane.key(lane.ordering) : lane.bound();
    if (key < horizon) {
      horizon = key;
      first = has_ordering ? &lane : nullptr;
    }
  }
  return horizon;
}

bool Mailbox::step(std::span<Parker> parkers) {
  bool progress = false;
  if (parked_) [[unlikely]] {
    if (!resume(parkers, progress)) return progress;
  }
  Lane* first = nullptr;  // null if the horizon is only a promise
  const EventKey horizon = find_horizon(first, progress, parkers);
  if (cut_is_next(horizon, first)) [[unlikely]] {
    progress |= go_to_cut(parkers);
  } else {
    bool complete = true;
    for (Lane& lane : lanes) {
      progress |= run_lane<false>(lane, horizon, parkers);
      // A lane is complete if its next event is after the horizon, or is promised to be.
      if (lane.next == lane.end && lane.bound() < horizon) complete = false;
    }
    if (first != nullptr && complete) {
      process_ordering_event(*first, parkers);
      progress = true;
    }
  }
  if (!progress) stamp_credit_ = 0;
  return progress;
}

// Returns whether the next cut comes before the horizon. At equal keys, cut and horizon concern events of one stream.
bool Mailbox::cut_is_next(const EventKey& horizon, const Lane* first) const noexcept {
  if (cut_ == cuts_end_) return false;
  return cut_->key < horizon || (cut_->key == horizon && (first == nullptr || first->ordering >= cut_->position));
}

// Processes the events before the next cut. At the cut, gives the mailbox's part of the snapshot if the cut is taken.
// Returns whether there was any work.
bool Mailbox::go_to_cut(std::span<Parker> parkers) {
  bool progress = false;
  bool complete = true;
  for (Lane& lane : lanes) {
    progress |= run_lane<true>(lane, cut_->key, parkers);
    // As in `step`, except that the cut may lie between two events of its stream with the same time.
    if (lane.index() == cut_->key.stream) {
      if (lane.next < cut_->position) complete = false;
    } else if (lane.next == lane.end && lane.bound() < cut_->key) {
      complete = false;
    }
  }
  if (!complete) return progress;
  // All events before the cut are processed, none after it, and the states of the leaves are at rest.
  if (checkpoints_->is_taken(*cut_)) {
    stopped_ = parked_ = checkpoints_->stops();
    checkpoints_->give_part(part_);
    fresh_ = true;  // the next outputs belong to another snapshot
  }
  cut_ = checkpoints_->next_cut_after(*cut_);
  return true;
}

// Resumes after the synchronization in which the mailbox waits. Returns false if the mailbox is not released yet. Sets
// `progress` if it released others.
bool Mailbox::resume(std::span<Parker> parkers, bool& progress) {
  if (stopped_) return false;
  if (crossing_ != nullptr) {
    if (!crossing_->resume(forest_, parkers, progress)) return false;
    crossing_ = nullptr;
  } else {
    if (!Forest::released(forest_.tree(parked_tree_), arrival_)) return false;
    finish_synchronization(arrival_, parked_tree_, parkers);
    progress = true;
  }
  parked_ = false;
  return true;
}

// Forks the state from the node where the mailbox was parked down to its leaf, after the release.
void Mailbox::finish_synchronization(const Arrival& arrival, std::int32_t tree_index, std::span<Parker> parkers) {
  const Tree& tree = forest_.tree(tree_index);
  const auto& node = tree.shape->nodes[static_cast<std::size_t>(arrival.node)];
  const std::int32_t child = arrival.side == 0 ? node.first : node.second;
  forest_.descend(tree, child, leaf_of_tree[static_cast<std::size_t>(tree_index)], parkers);
}

// Takes the next burst of a direct lane. The lane's bound is exact, since its next event is already in the columns.
bool Mailbox::look_ahead(Lane& lane) noexcept {
  if (lane.next < lane.end || lane.bound_ts == kEndOfTime) return false;
  const std::span<const std::int64_t> ts = lane.source->stream().ts;
  const auto n = static_cast<std::int64_t>(ts.size());
  const std::int64_t burst = std::max(lane.direct, kBurst);
  lane.end = n - lane.next <= burst ? n : lane.next + burst;
  lane.bound_ts = lane.end == n ? kEndOfTime : ts[static_cast<std::size_t>(lane.end)];
  if (lane.end == n) return true;
  // Prefetch the next reads, which often lie in two lines. Each miss costs some 3 % of the time of a block of 4,096
  // events.
  const std::int64_t next_end = std::min(n - 1, lane.end + burst);
  __builtin_prefetch(ts.data() + next_end - 1);
  __builtin_prefetch(ts.data() + next_end);
  return true;
}

// Returns the time at which direct lanes take `events` events: the latest reading of the clock, at most a burst old.
std::int64_t Mailbox::stamp(std::int64_t events) noexcept {
  if (stamp_credit_ < events) {
    recorder_.tick();
    stamp_credit_ = std::max(kBurst, events);
  }
  stamp_credit_ -= events;
  return recorder_.now();
}

// Takes note of the lane's new events. Returns whether there were new events or heartbeats.
bool Mailbox::refresh(Lane& lane, std::span<Parker> parkers) {
  if (lane.direct != 0) return look_ahead(lane);
  const std::uint64_t published = lane.source->ring.published();
  if (published == lane.seen) return false;
  const Block& last = lane.source->ring.at(published - 1);
  lane.seen = published;
  lane.end = last.end;
  lane.bound_ts = last.bound_ts;
  recorder_.observe(last.stamp_ns);
  if (lane.next == lane.end) report_progress(lane, parkers);  // the new blocks hold only heartbeats
  return true;
}

// Moves `lane.ordering` to the lane's next ordering event, or to `lane.end` if none is seen.
void Mailbox::find_ordering(Lane& lane) const noexcept {
  const StreamView& stream = lane.source->stream();
  if (lane.ordering < lane.next) lane.ordering = lane.next;
  if (stream.tag == nullptr) return;  // all events are ordering events
  while (lane.ordering < lane.end && lane.order_tree[stream.tag[lane.ordering]] < 0) ++lane.ordering;
}

// Sets `lane.limit` to the first seen event at or after the horizon.
void Mailbox::set_limit(Lane& lane, const EventKey& horizon) noexcept {
  if (lane.limit_at == horizon && lane.limit < lane.limit_end) return;  // already computed
  if (lane.limit_at == horizon && lane.limit_end == lane.end) return;   // no new events
  const std::int64_t from = lane.limit_at == horizon ? std::max(lane.limit, lane.next) : lane.next;
  lane.limit_at = horizon;
  lane.limit_end = lane.end;
  if (horizon == kEndOfStream) {
    lane.limit = lane.end;
    return;
  }
  lane.limit = first_at_or_after(lane, from, lane.end, horizon);
}

// At equal timestamps the stream index decides. If the horizon comes from this lane, all of the lane's seen events at
// that time come before the horizon, since unseen events follow seen ones. If the horizon is an event, `ordering`
// bounds the run.
std::int64_t Mailbox::first_at_or_after(const Lane& lane, std::int64_t from, std::int64_t to,
                                        const EventKey& horizon) noexcept {
  return search(lane.source->stream().ts, from, to, horizon.ts, lane.index() <= horizon.stream);
}

// Processes the lane's events before the horizon and before its next ordering event. Returns whether there were any.
// `to_cut`: the horizon is the next cut.
template <bool to_cut>
bool Mailbox::run_lane(Lane& lane, const EventKey& horizon, std::span<Parker> parkers) {
  if (lane.run == nullptr) {
    // The lane has only ordering events. It skips those of other mailboxes; those of this mailbox wait for their turn.
    const std::int64_t passing = lane.order_tree != nullptr ? lane.ordering : lane.end;
    if (lane.next == passing) return false;
    lane.next = passing;
    report_progress(lane, parkers);
    return true;
  }
  set_limit(lane, horizon);
  std::int64_t limit = lane.order_tree != nullptr ? std::min(lane.limit, lane.ordering) : lane.limit;
  if constexpr (to_cut) {
    if (lane.index() == horizon.stream) limit = std::min(limit, cut_->position);
  }
  if (lane.next >= limit) return false;
  if (lane.direct != 0) process_directly(lane, limit);
  while (lane.merges_blocks && lane.next < limit) {
    throw_if_stopped(stop_);
    process(lane, std::min(limit, lane.next + kMaxCallEvents), 0);
  }
  while (lane.next < limit) {
    const Block& block = lane.source->ring.at(lane.block);
    if (lane.next >= block.end) {
      ++lane.block;
      continue;
    }
    // A turn may process a whole ring, so check for a cancelled run between two blocks.
    throw_if_stopped(stop_);
    process(lane, std::min(block.end, limit), block.stamp_ns);
  }
  report_progress(lane, parkers);
  return true;
}

// Processes the lane's events before `end`. `stamp_ns`: time of their publication; unused under a load.
void Mailbox::process(Lane& lane, std::int64_t end, std::int64_t stamp_ns) {
  const StreamView& stream = lane.source->stream();
  const bool scheduled = !stream.due.empty();
  const std::int64_t taken_ns = scheduled ? recorder_.tick() : 0;
  latest_stamp_ = std::max(latest_stamp_, scheduled ? due_ns(stream, end - 1) : stamp_ns);
  while (lane.next < end) {
    const std::int64_t begin = lane.next;
    Emit* emit = out_.open(room_for(end - begin, max_outputs_per_event, out_.chunk_rows()));
    lane.next = lane.run(lane.state, lane.slots, stream.columns.data(), begin, end, emit);
    if (lane.next <= begin || lane.next > end) kernel_failed("update");
    ++counters_.kernel_calls;
    const std::int64_t outputs = out_.close(id_, stream.index, begin, fresh_);
    if (outputs == 0) continue;
    refuse_beyond((lane.next - begin) * max_outputs_per_event, outputs);
    fresh_ = false;
    recorder_.tick();
    if (scheduled) {
      record_each(stream, begin, lane.next, *emit, outputs, taken_ns);
    } else {
      recorder_.output(stamp_ns, outputs);
    }
  }
}

// Does the same as `process` for a direct lane.
void Mailbox::process_directly(Lane& lane, std::int64_t end) {
  const StreamView& stream = lane.source->stream();
  const std::int64_t room = room_for(lane.direct, max_outputs_per_event, out_.chunk_rows());
  latest_stamp_ = std::max(latest_stamp_, stamp(end - lane.next));
  while (lane.next < end) {
    const std::int64_t begin = lane.next;
    const std::int64_t call_end = std::min(end, begin + lane.direct);
    const std::int64_t stamp_ns = recorder_.now();
    Emit* emit = out_.open(room);
    lane.next = lane.run(lane.state, lane.slots, stream.columns.data(), begin, call_end, emit);
    if (lane.next <= begin || lane.next > call_end) kernel_failed("update");
    ++counters_.kernel_calls;
    const std::int64_t outputs = out_.close(id_, stream.index, begin, fresh_);
    if (outputs == 0) continue;
    refuse_beyond((lane.next - begin) * max_outputs_per_event, outputs);
    fresh_ = false;
    recorder_.tick();
    recorder_.output(stamp_ns, outputs);
  }
  latest_stamp_ = std::max(latest_stamp_, recorder_.now());
}

// Records the latency of the latest `outputs` rows of `emit`, which the events [begin, end) caused under a load.
void Mailbox::record_each(const StreamView& stream, std::int64_t begin, std::int64_t end, const Emit& emit,
                          std::int64_t outputs, std::int64_t taken_ns) noexcept {
  // An output has the timestamp of the event that caused it, so a merge by timestamp finds its due time. Among events
  // with one timestamp the first counts, which can only overestimate latency. Outputs with one due time form one
  // record.
  const auto* ts = static_cast<const std::int64_t*>(emit.columns[0]) + (emit.count - outputs);
  std::int64_t event = begin;
  std::int64_t done = 0;
  while (done < outputs) {
    while (event + 1 < end && stream.ts[static_cast<std::size_t>(event)] < ts[done]) ++event;
    std::int64_t same = done + 1;
    while (same < outputs && ts[same] == ts[done]) ++same;
    const std::int64_t due = due_ns(stream, event);
    recorder_.output(due, same - done);
    recorder_.served(due, taken_ns, same - done);
    done = same;
  }
}

void Mailbox::process_ordering_event(Lane& lane, std::span<Parker> parkers) {
  const std::int32_t tag = lane.source->stream().tag == nullptr ? 0 : lane.source->stream().tag[lane.ordering];
  const std::int32_t tree = lane.order_tree[tag];
  const std::int32_t owner = lane.order_node[tag];
  if (lane.direct == 0) {
    while (lane.ordering >= lane.source->ring.at(lane.block).end) ++lane.block;
  }
  const bool scheduled = !lane.source->stream().due.empty();
  const std::int64_t taken_ns = scheduled ? recorder_.tick() : 0;
  latest_stamp_ = std::max(latest_stamp_, scheduled          ? due_ns(lane.source->stream(), lane.ordering)
                                          : lane.direct != 0 ? stamp(1)
                                                             : lane.source->ring.at(lane.block).stamp_ns);
  lane.next = lane.ordering;
  if (owner >= 0) [[likely]] {
    if (!process_on_tree(lane, tree, owner, {lane.ordering, latest_stamp_, taken_ns}, parkers)) {
      parked_ = true;
      parked_tree_ = tree;
    }
  } else {
    const AcrossKernel update = lane.across[static_cast<std::size_t>(kAcross - owner)];
    process_across_trees(lane, crossings[static_cast<std::size_t>(tree)], update, taken_ns, parkers);
  }
  fresh_ = true;
  ++lane.next;
  lane.ordering = lane.next;
  report_progress(lane, parkers);
}

// Processes an ordering event of the lane on a state of one tree. If the mailbox must wait for others, sets `arrival_`
// and returns false.
bool Mailbox::process_on_tree(Lane& lane, std::int32_t tree_index, std::int32_t owner, const OrderingEvent& event,
                              std::span<Parker> parkers) {
  const Tree& tree = forest_.tree(tree_index);
  const std::int32_t leaf = leaf_of_tree[static_cast<std::size_t>(tree_index)];
  if (owner == leaf) {
    update_state(lane, tree.shape->nodes[static_cast<std::size_t>(leaf)].state_type, tree.states[leaf], event);
    return true;
  }
  const bool timed = counters_.synchronizations % kSyncSampling == 0;
  const std::int64_t start = timed ? now_ns() : 0;
  const Arrival arrival = forest_.arrive(tree, leaf, owner, worker_, event.latest_stamp);
  counters_.moved_bytes += arrival.moved_bytes;
  if (!arrival.won) {
    stamp_credit_ = 0;  // time passes during the wait
    arrival_ = arrival;
    ++counters_.parked;
    return false;
  }
  update_state(lane, tree.shape->nodes[static_cast<std::size_t>(owner)].state_type, tree.states[owner],
               {event.index, arrival.latest_stamp, event.taken_ns});
  forest_.descend(tree, owner, leaf, parkers);
  if (timed) sync_.record(now_ns() - start, 1);
  ++counters_.synchronizations;
  return true;
}

// Processes the lane's ordering event on the states of many trees.
void Mailbox::process_across_trees(Lane& lane, CrossingPart& part, AcrossKernel update, std::int64_t taken_ns,
                                   std::span<Parker> parkers) {
  const bool timed = counters_.synchronizations % kSyncSampling == 0;
  const std::int64_t start = timed ? now_ns() : 0;
  Crossing& crossing = part.crossing();
  if (part.arrive(forest_, latest_stamp_, counters_.moved_bytes)) {
    Emit* emit = out_.open(crossing.max_outputs());
    if (!crossing.update(update, lane.source->stream().columns.data(), lane.ordering, emit)) kernel_failed("across");
    ++counters_.kernel_calls;
    record_outputs(lane, crossing.max_outputs(), {lane.ordering, crossing.latest_stamp(), taken_ns});
    crossing.release(parkers);
    if (timed) sync_.record(now_ns() - start, 1);
    ++counters_.synchronizations;
  } else {
    stamp_credit_ = 0;  // time passes during the wait
    ++counters_.parked;
  }
  bool progress = true;  // of this event
  if (part.resume(forest_, parkers, progress)) return;
  parked_ = true;
  crossing_ = &part;
}

void Mailbox::update_state(Lane& lane, std::int32_t state_type, void* state, const OrderingEvent& event) {
  const StreamView& stream = lane.source->stream();
  Emit* emit = out_.open(max_outputs_per_event);
  const RunKernel update = lane.update[static_cast<std::size_t>(state_type)];
  const std::int64_t processed = update(state, nullptr, stream.columns.data(), event.index, event.index + 1, emit);
  if (processed != event.index + 1) kernel_failed("update");
  ++counters_.kernel_calls;
  record_outputs(lane, max_outputs_per_event, event);
}

// Records the outputs of an ordering event of the lane, of which at most `max_outputs` are allowed.
void Mailbox::record_outputs(const Lane& lane, std::int64_t max_outputs, const OrderingEvent& event) {
  const StreamView& stream = lane.source->stream();
  const std::int64_t outputs = out_.close(id_, stream.index, event.index, true);
  if (outputs == 0) return;
  refuse_beyond(max_outputs, outputs);
  recorder_.tick();
  recorder_.output(event.latest_stamp, outputs);
  if (!stream.due.empty()) recorder_.served(event.latest_stamp, event.taken_ns, outputs);
}

// Counts the lane's processed events, and releases finished blocks to the source.
void Mailbox::report_progress(Lane& lane, std::span<Parker> parkers) {
  recorder_.consumed(static_cast<double>(lane.next - lane.counted) * lane.share);
  counters_.events += lane.next - lane.counted;
  if (lane.direct != 0) {
    recorder_.emitted(lane.next - lane.counted);
    lane.counted = lane.next;
    return;
  }
  lane.counted = lane.next;
  while (lane.block < lane.seen && lane.source->ring.at(lane.block).end <= lane.next) ++lane.block;
  if (lane.block == lane.advanced) return;
  lane.advanced = lane.block;
  lane.source->ring.advance(lane.reader, lane.block);
  if (lane.owner_worker >= 0 && lane.owner_worker != worker_)
    parkers[static_cast<std::size_t>(lane.owner_worker)].notify();
}

}  // namespace lab
