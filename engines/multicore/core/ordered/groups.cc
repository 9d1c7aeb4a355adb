// Implements the division of units into groups; see ordered/groups.h.
#include "ordered/groups.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lab {
namespace {

template <typename T>
void scatter_as(const void* source, std::int64_t from, const std::int64_t* targets, std::int64_t rows, void* column) {
  const auto* values = static_cast<const T*>(source) + from;
  auto* into = static_cast<T*>(column);
  for (std::int64_t i = 0; i < rows; ++i) into[targets[i]] = values[i];
}

// Copies item `from + i` of a column to item targets[i] of another.
void scatter(std::int32_t itemsize, const void* source, std::int64_t from, const std::int64_t* targets,
             std::int64_t rows, void* column) {
  switch (itemsize) {
    case 1:
      return scatter_as<std::uint8_t>(source, from, targets, rows, column);
    case 2:
      return scatter_as<std::uint16_t>(source, from, targets, rows, column);
    case 4:
      return scatter_as<std::uint32_t>(source, from, targets, rows, column);
    case 8:
      return scatter_as<std::uint64_t>(source, from, targets, rows, column);
    default:
      break;
  }
  const auto size = static_cast<std::size_t>(itemsize);
  const auto* values = static_cast<const std::byte*>(source) + static_cast<std::size_t>(from) * size;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(static_cast<std::byte*>(column) + static_cast<std::size_t>(targets[i]) * size,
                values + static_cast<std::size_t>(i) * size, size);
  }
}

// The place of a group's outputs: rows [begin, begin + rows) of a buffer.
struct GroupOutputs {
  const RecordBuffer* buffer;
  std::int64_t begin;
  std::int64_t rows;
};

GroupOutputs outputs_of(const Unit& unit, const Group& group) {
  if (group.overflow != nullptr) return {group.overflow.get(), 0, group.outputs};
  return {&unit.buffers[Unit::parts], group.begin * unit.part_room, group.outputs};
}

}  // namespace

void make_one_group(Unit& unit) {
  if (unit.groups.empty()) unit.groups.emplace_back();
  Group& group = unit.groups.front();
  group.unit = &unit;
  group.partition = 0;
  group.begin = 0;
  group.end = static_cast<std::int32_t>(unit.records);
  unit.group_count = 1;
}

bool make_groups(Unit& unit, const GroupShape& shape, OrderedWorker& worker) {
  const auto records = static_cast<std::size_t>(unit.records);
  if (unit.partition_of.size() < records) {
    unit.partition_of.resize(records);
    unit.order.resize(records);
  }
  if (worker.mark.size() < static_cast<std::size_t>(shape.partitions)) {
    worker.mark.resize(static_cast<std::size_t>(shape.partitions), 0);
    worker.group_of.resize(static_cast<std::size_t>(shape.partitions), 0);
  }
  std::int32_t* partition_of = unit.partition_of.data();
  if (shape.kernel(unit.columns, unit.base, unit.records, shape.partitions, partition_of) <= unit.records) {
    return false;
  }
  if (shape.bundles < shape.partitions) {
    const std::int32_t mask = shape.bundles - 1;
    for (std::size_t i = 0; i < records; ++i) partition_of[i] &= mask;
  }
  // Groups are in the order of their first records. Since marks are valid for one epoch only, the entries of all
  // partitions need not be cleared for a few records.
  ++worker.epoch;
  std::int32_t count = 0;
  for (std::size_t i = 0; i < records; ++i) {
    const auto partition = static_cast<std::size_t>(partition_of[i]);
    if (worker.mark[partition] != worker.epoch) {
      worker.mark[partition] = worker.epoch;
      worker.group_of[partition] = count;
      if (static_cast<std::size_t>(count) == unit.groups.size()) unit.groups.emplace_back();
      Group& group = unit.groups[static_cast<std::size_t>(count)];
      group.unit = &unit;
      group.partition = partition_of[i];
      group.end = 0;
      group.outputs = 0;
      ++count;
    }
    const std::int32_t group = worker.group_of[partition];
    partition_of[i] = group;
    ++unit.groups[static_cast<std::size_t>(group)].end;  // counts the records here; becomes a position below
  }
  std::int32_t position = 0;
  for (std::int32_t g = 0; g < count; ++g) {
    Group& group = unit.groups[static_cast<std::size_t>(g)];
    group.begin = position;
    position += group.end;
    group.end = group.begin;  // position of the group's next record
  }
  for (std::size_t i = 0; i < records; ++i) {
    std::int32_t& next = unit.groups[static_cast<std::size_t>(partition_of[i])].end;
    unit.order[static_cast<std::size_t>(next++)] = static_cast<std::int32_t>(i);
  }
  unit.group_count = count;
  unit.groups_left.store(count, std::memory_order_relaxed);  // relaxed: the way into the worklist publishes it
  return true;
}

std::int64_t join_groups(Unit& unit, std::span<const std::int32_t> itemsizes, OrderedWorker& worker) {
  // Count the outputs of each record, then compute the position of each record's first output.
  auto& positions = worker.positions;
  positions.assign(static_cast<std::size_t>(unit.records) + 1, 0);
  std::int64_t total = 0;
  for (std::int32_t g = 0; g < unit.group_count; ++g) {
    const GroupOutputs outputs = outputs_of(unit, unit.groups[static_cast<std::size_t>(g)]);
    const std::int32_t* sources = outputs.buffer->sources() + outputs.begin;
    for (std::int64_t i = 0; i < outputs.rows; ++i) ++positions[static_cast<std::size_t>(sources[i]) + 1];
    total += outputs.rows;
  }
  for (std::size_t i = 1; i < positions.size(); ++i) positions[i] += positions[i - 1];
  RecordBuffer& out = unit.buffers[unit.out];
  out.shape(itemsizes, std::max<std::int64_t>(total, unit.records));
  if (worker.targets.size() < static_cast<std::size_t>(total)) worker.targets.resize(static_cast<std::size_t>(total));
  std::int64_t* targets = worker.targets.data();
  for (std::int32_t g = 0; g < unit.group_count; ++g) {
    const GroupOutputs outputs = outputs_of(unit, unit.groups[static_cast<std::size_t>(g)]);
    if (outputs.rows == 0) continue;
    const std::int32_t* sources = outputs.buffer->sources() + outputs.begin;
    for (std::int64_t i = 0; i < outputs.rows; ++i) {
      targets[i] = positions[static_cast<std::size_t>(sources[i])]++;  // outputs of one record are adjacent
      out.sources()[targets[i]] = sources[i];
    }
    for (std::size_t c = 0; c < itemsizes.size(); ++c) {
      scatter(itemsizes[c], outputs.buffer->columns()[c], outputs.begin, targets, outputs.rows, out.columns()[c]);
    }
  }
  for (std::int32_t g = 0; g < unit.group_count; ++g)
    worker.return_buffer(unit.groups[static_cast<std::size_t>(g)].overflow);
  return total;
}

}  // namespace lab
