// What every run is given, whatever its family. A family's options derive from this and add their own.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "run/generator.h"
#include "run/recorder.h"

namespace lab {

struct RunSettings {
  static constexpr std::int32_t kMostWorkers = 64;  // sleeping threads, and readers of a log, are bits of a word
  static constexpr std::uint64_t kMostRingBlocks = std::uint64_t{1} << 20;  // they take 32 MiB

  std::int32_t workers = 1;         // threads, or instances of operators, at the start
  std::int64_t batch = 1;           // events that are handed over at once, at most
  std::uint64_t ring_blocks = 64;   // blocks that a source may be ahead of its slowest reader
  std::vector<std::int32_t> cores;  // on which threads begin, in turn; empty: wherever
  bool pinned = false;              // and stay there
  // That the process may use; 0: one for each thread. With fewer than threads nobody spins; one that is left over is
  // for the generator to spin on.
  std::int32_t core_count = 0;
  std::optional<LoadOptions> load;             // hand events over when they are due; none: at full speed
  std::int64_t reserved_rows = 0;              // output rows of all threads for which memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;  // of 100 ms; what comes later counts for the last
  bool measure = true;                         // false: no latency, no counts over time; for measuring what these cost
};

// Throws std::invalid_argument.
void check(const RunSettings& settings);

}  // namespace lab
