// What a run of operators O+ is given, and what it tells about itself.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "log/tuple_buffer.h"
#include "run/settings.h"
#include "run/spill.h"

namespace lab {

// `workers`: instances of every operator that are active at the start.
struct OplusOptions : RunSettings {
  std::int32_t most_instances = 0;  // threads; those that are not active wait in a pool. 0: as many as workers
  std::string tuple_buffer = "order";
  bool shared_nothing = false;     // queues instead of one log, a state for each instance
  std::int32_t map_instances = 0;  // shared-nothing with a map stage (oplus/map_stage.h) of so many; 0: without
  LogOptions log;
  std::int64_t link_rows = 1 << 14;  // rows of one instance in a log behind an operator; a power of two
  // Rows of one instance that may wait beyond these. What one batch of tuples emits counts where it fills a chunk.
  std::int64_t spill_rows = Spill::kMostRows;
  // Instances that read, a thread each, what the last operator emits; 0: its outputs are collected where they are.
  std::int32_t downstream = 0;
  std::vector<std::int32_t> output_itemsizes;  // of the first operator
  std::optional<std::int64_t> end_watermark;   // up to which time has passed at the end; none: the last tuple's
  std::int64_t batch_rows = 4096;              // tuples that an instance processes before it gives log space back
};

// One change of the mapping. Times in ns after the start of the run.
struct Switch {
  std::int64_t called_ns = 0;
  std::int64_t done_ns = -1;  // -1: never applied
  std::int32_t before = 0;
  std::int32_t after = 0;
  std::int64_t event_ts = 0;  // of the watermark before the switch
  std::int64_t moved_bytes = 0;
};

// What the operators have done so far, as another thread may see it: counters read one after another.
struct Snapshot {
  std::int64_t time_ns = 0;           // after the start
  std::int32_t instances = 0;         // active
  std::vector<std::int64_t> busy_ns;  // by thread, with all operators; 0 when nothing is measured
  // Of the first operator.
  std::vector<std::int64_t> processed;  // by input, tuples that every active instance is done with, or has a copy of
  std::vector<std::int64_t> windows;    // by input, tuples in the window; joins only
  std::int64_t compared = 0;
};

}  // namespace lab
