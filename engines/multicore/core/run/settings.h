// The settings of every run. The options of a family derive from them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "run/generator.h"
#include "run/recorder.h"

namespace lab {

struct RunSettings {
  static constexpr std::int32_t kMostWorkers = 64;  // sleeping threads and readers of a log are bits of a word
  static constexpr std::uint64_t kMostRingBlocks = std::uint64_t{1} << 20;  // they take 32 MiB

  std::int32_t workers = 1;         // threads, or instances of operators, at the start
  std::int64_t batch = 1;           // most events published together
  std::uint64_t ring_blocks = 64;   // most blocks of a source ahead of its slowest reader
  std::vector<std::int32_t> cores;  // starting cores of the threads, in turn; empty: any
  bool pinned = false;              // whether threads stay on these cores
  // Cores that the process may use; 0: one a thread. With fewer cores than threads, no thread spins. With more, the
  // generator spins on a free one.
  std::int32_t core_count = 0;
  std::optional<LoadOptions> load;  // publish events at their due times; without: at full speed
  std::int64_t reserved_rows = 0;   // output rows of all threads; the run touches their memory before it starts
  std::int64_t grid_steps = Recorder::kSteps;  // steps of 100 ms; later records count in the last one
  bool measure = true;                         // false: no latency and no counts over time, to measure their cost
};

// Throws std::invalid_argument.
void check(const RunSettings& settings);

}  // namespace lab
