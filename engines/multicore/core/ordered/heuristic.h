// Heuristics: how OrderedScheduler chooses the operator for a worker.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 6, with its names.
//
// A new policy is a function and a line in the table of ordered/heuristic.cc.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// A heuristic's view of one operator: measured values, slightly out of date.
struct OperatorLoad {
  bool schedulable = false;  // whether records wait and there is room for one more worker
  double queued = 0;         // I: records in its worklist
  double workers = 0;        // w: workers at the operator now
  double limit = 1;          // M: maximum number of workers
  double cost_ns = 1;        // c: cost of one record; above 0
  double selectivity = 1;    // s: output records per record
  double window_ns = 0;      // T: worker time spent on it in the current window
};

struct HeuristicOptions {
  double slice_ns = 100'000;  // s: time that a worker stays at an operator
  double capacity = 8192;     // C of QST, in records
};

// Returns the index of a schedulable operator, or -1 if it selects none. Operators are in pipeline order.
using Heuristic = std::int32_t (*)(std::span<const OperatorLoad> operators, const HeuristicOptions& options) noexcept;

// Last in pipeline: selects the last schedulable operator.
std::int32_t last_in_pipeline(std::span<const OperatorLoad> operators, const HeuristicOptions& options) noexcept;

// Throws std::invalid_argument for an unknown name; the message lists the known names.
Heuristic heuristic_of(std::string_view name);
std::vector<std::string> heuristic_names();

}  // namespace lab
