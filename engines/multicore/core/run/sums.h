// Sums over the threads of a run.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "run/histogram.h"
#include "run/recorder.h"

namespace lab {

// One step of the grid, over all threads.
struct Progress {
  std::int64_t emitted = 0;
  std::int64_t consumed = 0;
  std::int64_t outputs = 0;
  std::int64_t p50_ns = -1;  // -1: no outputs; else the end of a bucket of `CoarseLatency`
  std::int64_t p99_ns = -1;
  std::int64_t max_ns = -1;
};

// Counts by bucket; they end with the last bucket that is used.
std::vector<std::int64_t> sum_counts(std::span<const Histogram* const> histograms);
std::vector<Progress> sum_progress(std::span<const Recorder* const> recorders);

}  // namespace lab
