// Heuristics: the policies by which OrderedScheduler chooses an operator for a worker.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 6; names are those of the paper.
//
// To add a policy, write a function and add a line to the table in ordered/heuristic.cc.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// A heuristic's view of one operator: measured values, slightly out of date.
struct OperatorLoad {
  bool schedulable = false;  // whether records wait and one more worker may join
  double queued = 0;         // I: number of records in the worklist
  double workers = 0;        // w: current number of workers
  double limit = 1;          // M: maximum number of workers
  double cost_ns = 1;        // c: cost of one record; above 0
  double selectivity = 1;    // s: number of output records per input record
  double window_ns = 0;      // T: worker time spent at the operator in the current window
};

struct HeuristicOptions {
  double slice_ns = 100'000;  // s: time for which a worker stays at an operator
  double capacity = 8192;     // C of QST, in records
};

// Returns the index of a schedulable operator, or -1 to select none. `operators` are in pipeline order.
using Heuristic = std::int32_t (*)(std::span<const OperatorLoad> operators, const HeuristicOptions& options) noexcept;

// Last in pipeline: selects the last schedulable operator.
std::int32_t last_in_pipeline(std::span<const OperatorLoad> operators, const HeuristicOptions& options) noexcept;

// Throws std::invalid_argument for an unknown name; the message lists the known names.
Heuristic heuristic_of(std::string_view name);
std::vector<std::string> heuristic_names();

}  // namespace lab
