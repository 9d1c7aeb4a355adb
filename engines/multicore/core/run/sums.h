// Sums of measurements over the threads of a run. `Run` returns them as its results.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "run/histogram.h"
#include "run/recorder.h"

namespace lab {

// One step of the grid, summed over all threads.
struct Progress {
  std::int64_t emitted = 0;
  std::int64_t consumed = 0;
  std::int64_t outputs = 0;
  std::int64_t p50_ns = -1;  // -1: no outputs; otherwise the end of a bucket of `CoarseLatency`
  std::int64_t p99_ns = -1;
  std::int64_t max_ns = -1;
};

// Returns counts by bucket, up to the last used bucket.
std::vector<std::int64_t> sum_counts(std::span<const Histogram* const> histograms);
std::vector<Progress> sum_progress(std::span<const Recorder* const> recorders);

}  // namespace lab
