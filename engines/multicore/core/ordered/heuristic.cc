// Implements the scheduling policies of ordered/heuristic.h. Numbers of formulas are those of the paper's section 6.
#include "ordered/heuristic.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace lab {
namespace {

// Formula (3); `selectivity` is the cs_i of the formula.
double effective_throughput(const OperatorLoad& load, double slice_ns, double selectivity) noexcept {
  const double spent_ns = load.window_ns + load.workers * slice_ns;
  if (spent_ns == 0) return 0;
  const double record_ns = load.cost_ns * selectivity;
  return record_ns > 0 ? spent_ns / record_ns : std::numeric_limits<double>::infinity();
}

// Queue-size throttling, formula (1): selects the first operator whose output queue holds less than its share of the
// capacity. Every share is at least one record, so that an operator that has forwarded nothing yet stays eligible.
std::int32_t queue_size_throttling(std::span<const OperatorLoad> operators, const HeuristicOptions& options) noexcept {
  double total = 0;
  double cumulative = 1;
  for (const OperatorLoad& load : operators) total += cumulative *= load.selectivity;
  cumulative = 1;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    cumulative *= operators[i].selectivity;
    if (!operators[i].schedulable) continue;
    const double share = total > 0 ? options.capacity * cumulative / total : 0;
    const double output_queue = i + 1 < operators.size() ? operators[i + 1].queued : 0;  // the last operator has none
    if (output_queue < std::max(1.0, share)) return static_cast<std::int32_t>(i);
  }
  return -1;
}

// Estimated time, formula (2): selects the operator whose queue would take longest with one more worker.
std::int32_t estimated_time(std::span<const OperatorLoad> operators, const HeuristicOptions&) noexcept {
  std::int32_t best = -1;
  double longest = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OperatorLoad& load = operators[i];
    if (!load.schedulable) continue;  // formula (2) gives priority 0 to an operator without room for a worker
    const double time = load.queued * load.cost_ns / (load.workers + 1);
    if (best < 0 || time > longest) {
      best = static_cast<std::int32_t>(i);
      longest = time;
    }
  }
  return best;
}

// Current throughput, formula (3): selects the operator with the lowest throughput in the current window. Throughput is
// divided by the cumulative selectivity up to and including the operator's own. Ties go to the later operator.
std::int32_t current_throughput(std::span<const OperatorLoad> operators, const HeuristicOptions& options) noexcept {
  std::int32_t best = -1;
  double lowest = 0;
  double cumulative = 1;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    cumulative *= operators[i].selectivity;
    if (!operators[i].schedulable) continue;
    const double throughput = effective_throughput(operators[i], options.slice_ns, cumulative);
    if (best < 0 || throughput <= lowest) {
      best = static_cast<std::int32_t>(i);
      lowest = throughput;
    }
  }
  return best;
}

struct Entry {
  std::string_view name;
  Heuristic heuristic;
};
constexpr std::array kHeuristics{
    Entry{"ct", &current_throughput},
    Entry{"lp", &last_in_pipeline},
    Entry{"et", &estimated_time},
    Entry{"qst", &queue_size_throttling},
};

}  // namespace

std::int32_t last_in_pipeline(std::span<const OperatorLoad> operators, const HeuristicOptions&) noexcept {
  for (std::size_t i = operators.size(); i > 0; --i) {
    if (operators[i - 1].schedulable) return static_cast<std::int32_t>(i - 1);
  }
  return -1;
}

Heuristic heuristic_of(std::string_view name) {
  for (const Entry& entry : kHeuristics) {
    if (entry.name == name) return entry.heuristic;
  }
  std::string names;
  for (const std::string& known_name : heuristic_names()) names += (names.empty() ? "" : ", ") + known_name;
  throw std::invalid_argument("unknown scheduler " + std::string(name) + "; expected one of " + names);
}

std::vector<std::string> heuristic_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kHeuristics) names.emplace_back(entry.name);
  return names;
}

}  // namespace lab
