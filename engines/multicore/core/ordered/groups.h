// Divides a unit (ordered/unit.h) into groups by the partitions of the next operator, and joins the outputs of the
// groups.
//
// Normally the worker that owns the unit does both, since several workers can do so at once. At an exit, only one
// thread works at a time.
#pragma once
#include <cstdint>
#include <span>

#include "ordered/unit.h"
#include "ordered/worker.h"
#include "stages/kernel.h"

namespace lab {

struct GroupShape {
  PartitionKernel kernel = nullptr;
  std::int32_t partitions = 1;
  // The number of partitions, or a smaller power of two. Partition p is in bundle p mod `bundles`.
  std::int32_t bundles = 1;
};

// Makes one group of the whole unit.
void make_one_group(Unit& unit);

// Divides the unit's records into groups; each group keeps its records in order. Returns false if the kernel raised an
// error.
bool make_groups(Unit& unit, const GroupShape& shape, OrderedWorker& worker);

// Fills the unit's `buffers[out]` with the outputs of all groups, in the order of the records that caused them, and
// returns the number of outputs. The buffer's `sources` refer to records of the unit. `itemsizes`: item sizes of the
// outputs.
std::int64_t join_groups(Unit& unit, std::span<const std::int32_t> itemsizes, OrderedWorker& worker);

}  // namespace lab
