// Units for tests of the parts of a pipeline.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "ordered/unit.h"
#include "ordered/worker.h"

namespace lab::test {

inline std::unique_ptr<OrderedWorker> make_worker(std::int32_t index = 0) {
  static Recorder recorder(false);
  return std::make_unique<OrderedWorker>(index, recorder, 1);
}

// Units of groups for a worklist; `partition_of[u]` lists the partitions of unit u's groups, one each.
struct Units {
  explicit Units(const std::vector<std::vector<std::int32_t>>& partition_of) : units(partition_of.size()) {
    for (std::size_t u = 0; u < units.size(); ++u) {
      Unit& unit = units[u];
      unit.serial = static_cast<std::int64_t>(u);
      unit.records = static_cast<std::int64_t>(partition_of[u].size());
      unit.groups.resize(partition_of[u].size());
      unit.group_count = static_cast<std::int32_t>(partition_of[u].size());
      for (std::size_t g = 0; g < partition_of[u].size(); ++g) {
        Group& group = unit.groups[g];
        group.unit = &unit;
        group.partition = partition_of[u][g];
        group.begin = static_cast<std::int32_t>(g);
        group.end = group.begin + 1;
      }
    }
  }
  std::vector<Unit> units;
};

}  // namespace lab::test
