#include "ordered/heuristic.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace lab {
namespace {

// Formula (3); `selectivity` is the cs_i of the formula.
double effective(const OperatorLoad& load, double slice_ns, double selectivity) noexcept {
  const double spent = load.window_ns + load.workers * slice_ns;
  if (spent == 0) return 0;
  const double each = load.cost_ns * selectivity;
  return each > 0 ? spent / each : std::numeric_limits<double>::infinity();
}

std::int32_t slowest(std::span<const OperatorLoad> operators, double slice_ns, bool own) noexcept {
  std::int32_t best = -1;
  double least = 0;
  double cumulative = 1;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const double before = cumulative;
    cumulative *= operators[i].selectivity;
    if (!operators[i].schedulable) continue;
    const double n = effective(operators[i], slice_ns, own ? cumulative : before);
    if (best < 0 || n <= least) {
      best = static_cast<std::int32_t>(i);
      least = n;
    }
  }
  return best;
}

template <typename T>
std::unique_ptr<Heuristic> make(const HeuristicOptions& options) {
  return std::make_unique<T>(options);
}

struct Entry {
  std::string_view name;
  std::unique_ptr<Heuristic> (*make)(const HeuristicOptions&);
};
constexpr std::array kHeuristics{
    Entry{"ct", &make<CurrentThroughput>},    Entry{"ct_input", &make<InputThroughput>},
    Entry{"lp", &make<LastInPipeline>},       Entry{"et", &make<EstimatedTime>},
    Entry{"qst", &make<QueueSizeThrottling>},
};

}  // namespace

std::int32_t QueueSizeThrottling::pick(std::span<const OperatorLoad> operators) const noexcept {
  double total = 0;
  double cumulative = 1;
  for (const OperatorLoad& load : operators) total += cumulative *= load.selectivity;
  cumulative = 1;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    cumulative *= operators[i].selectivity;
    if (!operators[i].schedulable) continue;
    const double share = total > 0 ? capacity_ * cumulative / total : 0;
    const double behind = i + 1 < operators.size() ? operators[i + 1].queued : 0;  // the last has no queue behind
    if (behind < std::max(1.0, share)) return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::int32_t LastInPipeline::pick(std::span<const OperatorLoad> operators) const noexcept {
  for (std::size_t i = operators.size(); i > 0; --i) {
    if (operators[i - 1].schedulable) return static_cast<std::int32_t>(i - 1);
  }
  return -1;
}

std::int32_t EstimatedTime::pick(std::span<const OperatorLoad> operators) const noexcept {
  std::int32_t best = -1;
  double longest = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OperatorLoad& load = operators[i];
    if (!load.schedulable) continue;  // also true without room for a worker, where the priority is 0
    const double time = load.queued * load.cost_ns / (load.workers + 1);
    if (best < 0 || time > longest) {
      best = static_cast<std::int32_t>(i);
      longest = time;
    }
  }
  return best;
}

std::int32_t CurrentThroughput::pick(std::span<const OperatorLoad> operators) const noexcept {
  return slowest(operators, slice_ns_, true);
}

std::int32_t InputThroughput::pick(std::span<const OperatorLoad> operators) const noexcept {
  return slowest(operators, slice_ns_, false);
}

std::unique_ptr<Heuristic> make_heuristic(std::string_view name, const HeuristicOptions& options) {
  for (const Entry& entry : kHeuristics) {
    if (entry.name == name) return entry.make(options);
  }
  std::string known;
  for (const std::string& each : heuristic_names()) known += (known.empty() ? "" : ", ") + each;
  throw std::invalid_argument("there is no scheduler " + std::string(name) + "; there are " + known);
}

std::vector<std::string> heuristic_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kHeuristics) names.emplace_back(entry.name);
  return names;
}

}  // namespace lab
