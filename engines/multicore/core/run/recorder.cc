// Implements the sums over recorders; see run/recorder.h.
#include "run/recorder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace lab {

std::vector<std::int64_t> sum_counts(std::span<const Histogram* const> histograms) {
  std::int64_t highest = -1;
  for (const Histogram* histogram : histograms) highest = std::max(highest, histogram->highest());
  std::vector<std::int64_t> total(static_cast<std::size_t>(highest) + 1, 0);
  for (const Histogram* histogram : histograms) {
    for (std::int64_t i = histogram->lowest(); i <= histogram->highest(); ++i) {
      total[static_cast<std::size_t>(i)] += histogram->counts()[static_cast<std::size_t>(i)];
    }
  }
  return total;
}

std::vector<Progress> sum_progress(std::span<const Recorder* const> recorders) {
  std::int64_t steps = 0;
  for (const Recorder* recorder : recorders) steps = std::max(steps, recorder->used());
  std::vector<Progress> result(static_cast<std::size_t>(steps));
  double consumed = 0;  // shares of events sum to whole events over the run, not in each step
  std::int64_t reported = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    Progress& total = result[static_cast<std::size_t>(i)];
    std::array<std::int64_t, CoarseLatency::kBuckets> latency{};
    std::int64_t largest = 0;
    for (const Recorder* recorder : recorders) {
      if (i >= recorder->used()) continue;
      const Step& step = recorder->at(i);
      consumed += step.consumed;
      total.emitted += step.emitted;
      total.outputs += step.outputs;
      largest = std::max(largest, step.max_ns);
      for (std::size_t k = 0; k < latency.size(); ++k) latency[k] += step.latency[k];
    }
    // Not every output has a latency: a run at full speed may only count its outputs.
    const std::int64_t timed = std::accumulate(latency.begin(), latency.end(), std::int64_t{0});
    if (timed != 0) total.max_ns = largest;
    total.consumed = std::llround(consumed) - reported;
    reported += total.consumed;
    std::int64_t below = 0;
    for (int k = 0; k < CoarseLatency::kBuckets; ++k) {
      below += latency[static_cast<std::size_t>(k)];
      if (total.p50_ns < 0 && below != 0 && below * 100 >= timed * 50) total.p50_ns = CoarseLatency::highest_in(k);
      if (total.p99_ns < 0 && below != 0 && below * 100 >= timed * 99) total.p99_ns = CoarseLatency::highest_in(k);
    }
  }
  // A worker may finish an event just before the generator records its publication. It counts once both are recorded.
  std::int64_t waiting = 0;
  std::int64_t uncounted = 0;
  for (Progress& step : result) {
    waiting += step.emitted;
    uncounted += step.consumed;
    step.consumed = &step == &result.back() ? uncounted : std::min(uncounted, waiting);
    waiting -= step.consumed;
    uncounted -= step.consumed;
  }
  return result;
}

}  // namespace lab
