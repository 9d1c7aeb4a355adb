// Takes a unit apart into groups, by the partitions of the operator that is next, and puts together what came of them.
//
// Both is done by the worker that has the unit, beside others with other units, and not at the exit, where only one
// works at a time.
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
  std::int32_t bundles = 1;  // as many, or a power of two below: then partition p is in bundle p mod that
};

// Makes one group of the unit, which is worked on as a whole.
void one_group(Unit& unit);

// Groups the unit's records: within a group they keep their order. Returns false when the kernel raised.
bool make_groups(Unit& unit, const GroupShape& shape, OrderedWorker& worker);

// Fills `buffers[out]` with what all groups have made, in the order of the records that it came from, and returns how
// much that is. Sources are then records of the unit. `itemsizes`: of the outputs.
std::int64_t join_groups(Unit& unit, std::span<const std::int32_t> itemsizes, OrderedWorker& worker);

}  // namespace lab
