#include "ordered/stage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "ordered/worker.h"

namespace lab {
namespace {

// Up to this many outputs of a record, a group writes to their final place; otherwise through the worker's scratch.
constexpr std::int64_t kFewOutputs = 4;

// Notes the time at which the first operator took a unit: its first group counts.
void note_taken(Unit& unit, std::size_t stage, OrderedWorker& worker) noexcept {
  if (stage != 0 || !unit.timed) return;
  std::int64_t none = 0;
  if (unit.taken_ns.load(std::memory_order_relaxed) != 0) return;
  unit.taken_ns.compare_exchange_strong(none, worker.clock.now(), std::memory_order_relaxed);  // see Unit
}

}  // namespace

OrderedStage::OrderedStage(StageSpec spec, std::size_t index, bool track, Next& next, const OrderedScheduler& scheduler,
                           const std::atomic<bool>& stop)
    : spec_(checked(std::move(spec))), index_(index), track_(track), next_(next), scheduler_(scheduler), stop_(stop) {
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
    throw std::invalid_argument(spec_.called() + "its states have other sizes");
  }
  if (!partitioned()) std::copy(states[0].begin(), states[0].end(), own.begin());
  for (std::size_t i = 0; i < keys_.size(); ++i) keys_[i].assign(states[i]);
}

// Estimated number of outputs of `records` records, and never less than one record may need.
std::int64_t OrderedStage::room_for(std::int64_t records) const noexcept {
  const auto most = static_cast<double>(records) * static_cast<double>(spec_.max_outputs);
  const double likely = static_cast<double>(records) * scheduler_.selectivity(index_) * 1.25 + 16;
  return static_cast<std::int64_t>(std::min(most, likely + static_cast<double>(spec_.max_outputs)));
}

std::int64_t OrderedStage::run(const StageCall& call, std::int64_t begin, std::int64_t end, Emit& out,
                               OrderedWorker& worker) const {
  ++worker.counts.kernel_calls;
  return spec_.run(call, begin, end, out);
}

// Processes entries [begin, end) into a buffer, which grows. Returns the number of records in it.
std::int64_t OrderedStage::fill(StageCall& call, std::int64_t begin, std::int64_t end, RecordBuffer& buffer,
                                OrderedWorker& worker) {
  Emit out{};
  std::int64_t at = begin;
  for (;;) {
    out.columns = buffer.columns();
    out.capacity = buffer.capacity();
    call.sources = buffer.sources();
    const std::int64_t next = run(call, at, end, out, worker);
    if (next >= end) break;
    if (next == at && out.capacity - out.count >= spec_.max_outputs) {
      spec_.fail_without_progress();
    }
    at = next;
    if (out.count > std::numeric_limits<std::int32_t>::max() / 2) {
      throw std::runtime_error(spec_.called() + "more than 2^30 records of one unit; give a smaller batch");
    }
    buffer.grow(out.count, out.count + std::max(out.count / 2, room_for(end - at)));
  }
  return out.count;
}

void OrderedStage::group(Unit& unit, std::int32_t bundles, OrderedWorker& worker) const {
  unit.bundles = bundles;
  if (bundles == 1) {
    one_group(unit);
    return;
  }
  if (!make_groups(unit, {spec_.partition, spec_.partitions, bundles}, worker)) spec_.fail_by_key();
  if (unit.group_count == 1) return;  // it writes to the same place as a whole unit
  const std::int64_t most = spec_.max_outputs;
  unit.part_room = most <= kFewOutputs
                       ? most
                       : std::min(most, static_cast<std::int64_t>(std::ceil(scheduler_.selectivity(index_))) + 1);
  unit.buffers[Unit::parts].shape(spec_.itemsizes, unit.records * unit.part_room);
}

void OrderedStage::operate(Unit& unit, OrderedWorker& worker) {
  StageCall call{};
  call.columns = unit.columns;
  call.base = unit.base;
  if (!state_.empty()) call.state = state_.data();
  whole(unit, call, worker);
}

void OrderedStage::operate_group(Group& group, OrderedWorker& worker) {
  Unit& unit = *group.unit;
  StageCall call{};
  call.columns = unit.columns;
  call.base = unit.base;
  keys_.front().serve(call, spec_.partitions);
  if (unit.group_count == 1) return whole(unit, call, worker);
  call.order = unit.order.data();
  named([&] { part(group, call, worker); });
  // acq_rel: releases the writes of this group, acquires those of the others.
  if (unit.groups_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  complete(unit, named([&] { return join_groups(unit, spec_.itemsizes, worker); }), worker);
}

void OrderedStage::whole(Unit& unit, StageCall& call, OrderedWorker& worker) {
  note_taken(unit, index_, worker);
  RecordBuffer& out = unit.buffers[unit.out];
  const std::int64_t records = unit.records;
  const std::int64_t made = named([&] {
    out.shape(spec_.itemsizes, room_for(records));
    return fill(call, 0, records, out, worker);
  });
  worker.rows[index_] += records;
  worker.outputs[index_] += made;
  complete(unit, made, worker);
}

void OrderedStage::part(Group& group, StageCall& call, OrderedWorker& worker) {
  Unit& unit = *group.unit;
  note_taken(unit, index_, worker);
  const RecordBuffer& parts = unit.buffers[Unit::parts];
  const std::int64_t room = (group.end - group.begin) * unit.part_room;
  const std::int64_t first = group.begin * unit.part_room;
  const auto place = [&] {
    worker.columns.resize(spec_.itemsizes.size());
    for (std::size_t c = 0; c < worker.columns.size(); ++c) {
      worker.columns[c] = static_cast<std::byte*>(parts.columns()[c]) +
                          static_cast<std::size_t>(first) * static_cast<std::size_t>(spec_.itemsizes[c]);
    }
  };
  if (spec_.max_outputs <= kFewOutputs) {
    place();
    Emit out{};
    out.columns = worker.columns.data();
    out.capacity = room;  // enough for its records
    call.sources = parts.sources() + first;
    if (run(call, group.begin, group.end, out, worker) != group.end) {
      spec_.fail_without_progress();
    }
    group.made = out.count;
  } else {
    worker.made.shape(spec_.itemsizes, room_for(group.end - group.begin));
    group.made = fill(call, group.begin, group.end, worker.made, worker);
    if (group.made <= room) {
      place();
      copy_records(spec_.itemsizes, worker.made.columns(), 0, worker.columns.data(), 0, group.made);
      std::copy_n(worker.made.sources(), group.made, parts.sources() + first);
    } else {
      group.overflow = worker.spare();
      std::swap(*group.overflow, worker.made);
    }
  }
  worker.rows[index_] += group.end - group.begin;
  worker.outputs[index_] += group.made;
}

void OrderedStage::complete(Unit& unit, std::int64_t made, OrderedWorker& worker) {
  RecordBuffer& out = unit.buffers[unit.out];
  if (track_ && unit.origins != nullptr) {
    std::int32_t* sources = out.sources();
    for (std::int64_t i = 0; i < made; ++i) sources[i] = unit.origins[sources[i]];
  }
  unit.columns = out.columns();
  unit.base = 0;
  unit.records = made;
  unit.origins = track_ ? out.sources() : nullptr;
  std::swap(unit.in, unit.out);
  next_.completed(index_, unit, worker);
}

}  // namespace lab
