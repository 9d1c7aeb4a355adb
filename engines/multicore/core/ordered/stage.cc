// Implements the operators of an ordered pipeline; see ordered/stage.h.
#include "ordered/stage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "ordered/worker.h"

namespace lab {
namespace {

// If a record may have at most this many outputs, a group's outputs are written directly to their place in
// `buffers[parts]`. Otherwise they are written to the worker's scratch memory first.
constexpr std::int64_t kDirectOutputs = 4;

// Notes the time at which the first operator took a unit, or the first of its groups.
void note_taken(Unit& unit, std::size_t stage, OrderedWorker& worker) noexcept {
  if (stage != 0 || !unit.timed) return;
  std::int64_t none = 0;
  if (unit.taken_ns.load(std::memory_order_relaxed) != 0) return;
  unit.taken_ns.compare_exchange_strong(none, worker.clock.now(), std::memory_order_relaxed);  // see Unit
}

}  // namespace

OrderedStage::OrderedStage(StageSpec spec, std::size_t index, bool tracks_origins, Next& next,
                           const OrderedScheduler& scheduler, const std::atomic<bool>& stop)
    : spec_(checked(std::move(spec))),
      index_(index),
      tracks_origins_(tracks_origins),
      next_(next),
      scheduler_(scheduler),
      stop_(stop) {
  if (spec_.kind == StageSpec::Kind::kStateful) state_.resize(spec_.words(), 0);
  if (!partitioned()) return;
  for (std::int32_t i = 0; i < spec_.partitions; ++i) keys_.emplace_back(spec_);
}

std::vector<std::span<const std::byte>> OrderedStage::states() const {
  if (!partitioned()) return {std::as_bytes(std::span(state_))};
  std::vector<std::span<const std::byte>> states;
  for (const KeyStates& keys : keys_) states.push_back(keys.entries());
  return states;
}

void OrderedStage::restore(std::span<const std::span<const std::byte>> states) {
  const auto own = std::as_writable_bytes(std::span(state_));
  if (partitioned() ? states.size() != keys_.size() : states.size() != 1 || states[0].size() != own.size()) {
    throw std::invalid_argument(spec_.called() + "the stored states do not have the sizes of this operator's");
  }
  if (!partitioned()) std::copy(states[0].begin(), states[0].end(), own.begin());
  for (std::size_t i = 0; i < keys_.size(); ++i) keys_[i].assign(states[i]);
}

// Returns the estimated number of outputs of `records` records. So that buffers rarely grow, it adds a quarter, 16, and
// the outputs of one record.
std::int64_t OrderedStage::room_for(std::int64_t records) const noexcept {
  const auto limit = static_cast<double>(records) * static_cast<double>(spec_.max_outputs);
  const double likely = static_cast<double>(records) * scheduler_.selectivity(index_) * 1.25 + 16;
  return static_cast<std::int64_t>(std::min(limit, likely + static_cast<double>(spec_.max_outputs)));
}

std::int64_t OrderedStage::run(const StageCall& call, std::int64_t begin, std::int64_t end, Emit& out,
                               OrderedWorker& worker) const {
  ++worker.counts.kernel_calls;
  return spec_.run(call, begin, end, out);
}

// Processes entries [begin, end) into a buffer, which grows on demand. Returns the number of records in the buffer.
std::int64_t OrderedStage::fill(StageCall& call, std::int64_t begin, std::int64_t end, RecordBuffer& buffer,
                                OrderedWorker& worker) {
  Emit out{};
  std::int64_t entry = begin;
  for (;;) {
    out.columns = buffer.columns();
    out.capacity = buffer.capacity();
    call.sources = buffer.sources();
    const std::int64_t next = run(call, entry, end, out, worker);
    if (next >= end) break;
    if (next == entry && out.capacity - out.count >= spec_.max_outputs) {
      spec_.fail_without_progress();
    }
    entry = next;
    if (out.count > std::numeric_limits<std::int32_t>::max() / 2) {
      throw std::runtime_error(spec_.called() + "more than 2^30 records of one unit; give a smaller batch");
    }
    buffer.grow(out.count, out.count + std::max(out.count / 2, room_for(end - entry)));
  }
  return out.count;
}

void OrderedStage::group(Unit& unit, std::int32_t bundles, OrderedWorker& worker) const {
  unit.bundles = bundles;
  if (bundles == 1) {
    make_one_group(unit);
    return;
  }
  if (!make_groups(unit, {spec_.partition, spec_.partitions, bundles}, worker)) spec_.fail_by_key();
  if (unit.group_count == 1) return;  // a single group writes its outputs where a whole unit does
  const std::int64_t max_outputs = spec_.max_outputs;
  unit.part_room =
      max_outputs <= kDirectOutputs
          ? max_outputs
          : std::min(max_outputs, static_cast<std::int64_t>(std::ceil(scheduler_.selectivity(index_))) + 1);
  unit.buffers[Unit::parts].shape(spec_.itemsizes, unit.records * unit.part_room);
}

void OrderedStage::operate(Unit& unit, OrderedWorker& worker) {
  StageCall call{};
  call.columns = unit.columns;
  call.base = unit.base;
  if (!state_.empty()) call.state = state_.data();
  process_unit(unit, call, worker);
}

void OrderedStage::operate_group(Group& group, OrderedWorker& worker) {
  Unit& unit = *group.unit;
  StageCall call{};
  call.columns = unit.columns;
  call.base = unit.base;
  keys_.front().serve(call, spec_.partitions);
  if (unit.group_count == 1) return process_unit(unit, call, worker);
  call.order = unit.order.data();
  call_named([&] { process_part(group, call, worker); });
  // acq_rel: releases the writes of this group, acquires those of the others.
  if (unit.groups_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  complete(unit, call_named([&] { return join_groups(unit, spec_.itemsizes, worker); }), worker);
}

// Processes all records of a unit, and passes the unit on.
void OrderedStage::process_unit(Unit& unit, StageCall& call, OrderedWorker& worker) {
  note_taken(unit, index_, worker);
  RecordBuffer& out = unit.buffers[unit.out];
  const std::int64_t records = unit.records;
  const std::int64_t outputs = call_named([&] {
    out.shape(spec_.itemsizes, room_for(records));
    return fill(call, 0, records, out, worker);
  });
  worker.rows[index_] += records;
  worker.outputs[index_] += outputs;
  complete(unit, outputs, worker);
}

// Processes one group of a unit. Its outputs go to the group's part of `buffers[parts]`, or to `overflow`.
void OrderedStage::process_part(Group& group, StageCall& call, OrderedWorker& worker) {
  Unit& unit = *group.unit;
  note_taken(unit, index_, worker);
  const RecordBuffer& parts = unit.buffers[Unit::parts];
  const std::int64_t room = (group.end - group.begin) * unit.part_room;
  const std::int64_t first = group.begin * unit.part_room;
  const auto point_to_part = [&] {
    worker.columns.resize(spec_.itemsizes.size());
    for (std::size_t c = 0; c < worker.columns.size(); ++c) {
      worker.columns[c] = static_cast<std::byte*>(parts.columns()[c]) +
                          static_cast<std::size_t>(first) * static_cast<std::size_t>(spec_.itemsizes[c]);
    }
  };
  if (spec_.max_outputs <= kDirectOutputs) {
    point_to_part();
    Emit out{};
    out.columns = worker.columns.data();
    out.capacity = room;  // enough for the records of the group
    call.sources = parts.sources() + first;
    if (run(call, group.begin, group.end, out, worker) != group.end) {
      spec_.fail_without_progress();
    }
    group.outputs = out.count;
  } else {
    worker.group_outputs.shape(spec_.itemsizes, room_for(group.end - group.begin));
    group.outputs = fill(call, group.begin, group.end, worker.group_outputs, worker);
    if (group.outputs <= room) {
      point_to_part();
      copy_records(spec_.itemsizes, worker.group_outputs.columns(), 0, worker.columns.data(), 0, group.outputs);
      std::copy_n(worker.group_outputs.sources(), group.outputs, parts.sources() + first);
    } else {
      group.overflow = worker.borrow_buffer();
      std::swap(*group.overflow, worker.group_outputs);
    }
  }
  worker.rows[index_] += group.end - group.begin;
  worker.outputs[index_] += group.outputs;
}

// Makes the `outputs` output records the unit's records, and passes the unit on.
void OrderedStage::complete(Unit& unit, std::int64_t outputs, OrderedWorker& worker) {
  RecordBuffer& out = unit.buffers[unit.out];
  if (tracks_origins_ && unit.origins != nullptr) {
    std::int32_t* sources = out.sources();
    for (std::int64_t i = 0; i < outputs; ++i) sources[i] = unit.origins[sources[i]];
  }
  unit.columns = out.columns();
  unit.base = 0;
  unit.records = outputs;
  unit.origins = tracks_origins_ ? out.sources() : nullptr;
  std::swap(unit.in, unit.out);
  next_.take_finished(index_, unit, worker);
}

}  // namespace lab
