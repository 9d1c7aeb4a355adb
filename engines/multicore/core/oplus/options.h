// Declares the options of a run of operators O+ and the records that it reports.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "log/tuple_buffer.h"
#include "run/run.h"
#include "run/spill.h"

namespace lab {

// `workers`: instances of every operator that are active at the start.
struct OplusOptions : RunSettings {
  std::int32_t max_instances = 0;  // threads; inactive threads wait in a pool; 0: as many as workers
  std::string tuple_buffer = "order";
  bool shared_nothing = false;     // queues instead of one log, and one state per instance
  std::int32_t map_instances = 0;  // map instances of the shared-nothing map stage (oplus/map_stage.h); 0: no map stage
  LogOptions log;
  std::int64_t link_rows = 1 << 14;  // rows of one instance in an operator's output log; a power of two
  // Maximum number of rows of one instance that wait beyond `link_rows`. The outputs of a batch of tuples count only
  // once they fill a chunk.
  std::int64_t spill_rows = Spill::kMaxRows;
  // Downstream readers of the last operator's outputs, one thread each; 0: its outputs are collected in place.
  std::int32_t downstream = 0;
  std::vector<std::int32_t> output_itemsizes;  // of the first operator
  std::optional<std::int64_t> end_watermark;   // time reached at the end; nullopt: the last tuple's time
  std::int64_t batch_rows = 4096;              // tuples that an instance processes before it releases log space
};

// One change of the mapping. Times in ns after the start of the run.
struct Switch {
  std::int64_t called_ns = 0;
  std::int64_t done_ns = -1;         // -1: never applied
  std::vector<std::int32_t> before;  // active instances, ascending
  std::vector<std::int32_t> after;
  std::int64_t event_ts = 0;  // watermark before the switch
  std::int64_t moved_bytes = 0;
};

// The progress of the operators as another thread may see it: counters read one after another.
struct Snapshot {
  std::int64_t time_ns = 0;           // after the start
  std::vector<std::int32_t> active;   // instances, ascending
  std::vector<std::int64_t> busy_ns;  // by thread, over all operators; 0 when not measured
  // Of the first operator.
  std::vector<std::int64_t> processed;  // by input: tuples processed by every active instance; with queues, delivered
  std::vector<std::int64_t> windows;    // by input, tuples in the window; joins only
  std::int64_t compared = 0;
};

}  // namespace lab
