// Heuristic: chooses the operator for a worker; one small class for each policy, used by OrderedScheduler.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 6, with its names.
//
// A new policy is a class with `pick` and a line in the table of ordered/heuristic.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// A heuristic's view of one operator: measured values, slightly out of date.
struct OperatorLoad {
  bool schedulable = false;  // records wait, and there is room for one more worker
  double queued = 0;         // I: records in its worklist
  double workers = 0;        // w: workers at the operator now
  double limit = 1;          // M: most workers allowed at it
  double cost_ns = 1;        // c: cost of one record; above 0
  double selectivity = 1;    // s: output records per record
  double window_ns = 0;      // T: worker time spent on it in the current window
};

struct HeuristicOptions {
  double slice_ns = 100'000;  // s: time that a worker stays at an operator
  double capacity = 8192;     // C of QST, in records
};

class Heuristic {
 public:
  virtual ~Heuristic() = default;

  // Returns the index of a schedulable operator, or -1 for none now. Operators are in pipeline order.
  virtual std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept = 0;
};

// Queue-size throttling, formula (1): the first operator whose output queue holds less than its share of the capacity.
// Every share is at least one record, so that an operator that has forwarded nothing yet is never barred.
class QueueSizeThrottling final : public Heuristic {
 public:
  explicit QueueSizeThrottling(const HeuristicOptions& options) : capacity_(options.capacity) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;

 private:
  double capacity_;
};

// Last in pipeline: the last operator with waiting records.
class LastInPipeline final : public Heuristic {
 public:
  explicit LastInPipeline(const HeuristicOptions&) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;
};

// Estimated time, formula (2): the operator whose queue would take longest with one more worker.
class EstimatedTime final : public Heuristic {
 public:
  explicit EstimatedTime(const HeuristicOptions&) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;
};

// Current throughput, formula (3): the operator that would have processed least in the current window, normalised by
// the cumulative selectivity up to and including its own. Ties go to the later operator.
class CurrentThroughput final : public Heuristic {
 public:
  explicit CurrentThroughput(const HeuristicOptions& options) : slice_ns_(options.slice_ns) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;

 private:
  double slice_ns_;
};

// Current throughput normalised by the selectivity of the preceding operators only: it counts records of the input.
// Formula (3) also divides by the operator's own selectivity. An operator that forwards almost nothing would therefore
// wait until no other operator has work.
class InputThroughput final : public Heuristic {
 public:
  explicit InputThroughput(const HeuristicOptions& options) : slice_ns_(options.slice_ns) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;

 private:
  double slice_ns_;
};

// Throws std::invalid_argument for an unknown name; the message lists the known names.
std::unique_ptr<Heuristic> make_heuristic(std::string_view name, const HeuristicOptions& options);
std::vector<std::string> heuristic_names();

}  // namespace lab
