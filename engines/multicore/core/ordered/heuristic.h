// Which operator a worker should turn to: one small class for each way to choose.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 6; names as there.
//
// A new one is a class with `pick`, and a line in the table of ordered/heuristic.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// What a heuristic sees of one operator: measured values, a moment old.
struct OperatorLoad {
  bool schedulable = false;  // something waits, and there is room for one more worker
  double queued = 0;         // I: records in its worklist
  double workers = 0;        // w: at it now
  double limit = 1;          // M: at most at it
  double cost_ns = 1;        // c: of one record; above 0
  double selectivity = 1;    // s: records that one becomes
  double window_ns = 0;      // T: worker time spent on it in the current window
};

struct HeuristicOptions {
  double slice_ns = 100'000;  // s: for how long a worker stays at an operator
  double capacity = 8192;     // C of QST, in records
};

class Heuristic {
 public:
  virtual ~Heuristic() = default;

  // Returns the index of a schedulable operator, or -1: none now. Operators are in the order of the pipeline.
  virtual std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept = 0;
};

// Queue-size throttling, formula (1): the first operator behind which less than its share of the capacity waits.
// Every share is at least one record, so that an operator that has forwarded nothing yet is not barred for ever.
class QueueSizeThrottling final : public Heuristic {
 public:
  explicit QueueSizeThrottling(const HeuristicOptions& options) : capacity_(options.capacity) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;

 private:
  double capacity_;
};

// Last in pipeline: the last operator for which something waits.
class LastInPipeline final : public Heuristic {
 public:
  explicit LastInPipeline(const HeuristicOptions&) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;
};

// Estimated time, formula (2): the operator whose queue would take longest with one worker more.
class EstimatedTime final : public Heuristic {
 public:
  explicit EstimatedTime(const HeuristicOptions&) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;
};

// Current throughput, formula (3): the operator that would have processed least in the current window, normalised by
// the cumulative selectivity up to and including its own. At a tie the later one.
class CurrentThroughput final : public Heuristic {
 public:
  explicit CurrentThroughput(const HeuristicOptions& options) : slice_ns_(options.slice_ns) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;

 private:
  double slice_ns_;
};

// The same, normalised by the selectivity of the operators before: in records of the input that what was processed
// stands for. Formula (3) divides by an operator's own selectivity too, and so has one that forwards almost nothing
// wait until nobody else has work.
class InputThroughput final : public Heuristic {
 public:
  explicit InputThroughput(const HeuristicOptions& options) : slice_ns_(options.slice_ns) {}
  std::int32_t pick(std::span<const OperatorLoad> operators) const noexcept override;

 private:
  double slice_ns_;
};

// Throws std::invalid_argument for an unknown name, with those that there are.
std::unique_ptr<Heuristic> make_heuristic(std::string_view name, const HeuristicOptions& options);
std::vector<std::string> heuristic_names();

}  // namespace lab
