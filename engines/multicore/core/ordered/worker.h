// OrderedWorker: the private state of one worker of an OrderedRun: counts, clock and scratch memory.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "run/cacheline.h"
#include "run/fast_clock.h"
#include "run/histogram.h"
#include "run/recorder.h"
#include "stages/records.h"

namespace lab {

struct Unit;

// Written only by the worker, and read when the worker has ended.
struct OrderedCounts {
  std::int64_t kernel_calls = 0;
  std::int64_t adds = 0;         // units added to a reordering buffer
  std::int64_t sends = 0;        // units sent on from a reordering buffer
  std::int64_t found_taken = 0;  // number of times that a thread left its units to a thread that was already sending
  std::int64_t handed_over = 0;  // turns at an exit that ended with units left to send
  std::int64_t delegated = 0;    // groups left to the worker that was already at their partition
  std::int64_t decisions = 0;    // scheduler decisions that gave this worker an operator
  std::int64_t decision_ns = 0;
  std::int64_t empty_polls = 0;  // turns that found no work
  std::int64_t waits = 0;        // waits for a group's turn within its partition; SharedGroups only
  std::int64_t refused = 0;      // times that a reordering buffer had no slot for a unit; serials of operators only
  std::int64_t deferrals = 0;    // times that a worker put a refused unit aside; serials of operators only
  std::int64_t events = 0;       // input records that are no longer in flight
  std::int64_t splits = 0;       // times that an operator's bundles of partitions were split; homed HybridGroups only
};

struct alignas(kCacheLine) OrderedWorker {
  OrderedWorker(std::int32_t number, Recorder& records_in, std::size_t stages)
      : index(number), recorder(records_in), rows(stages, 0), outputs(stages, 0), cursor(stages, -1) {}

  std::int32_t index;
  Recorder& recorder;
  FastClock clock;
  OrderedCounts counts;
  Histogram processing;               // of timed units: ns from the first operator's start until the unit is out
  std::vector<std::int64_t> rows;     // by operator: records read since the last report
  std::vector<std::int64_t> outputs;  // by operator: records emitted since the last report
  std::vector<std::int64_t> cursor;   // by operator: the partition where the worker resumes; -1 before its first work
  std::vector<Unit*> admitted;        // units just admitted by the entry
  std::vector<Unit*> finished;        // units finished at the current operator, not yet in the reordering buffer
  std::vector<std::pair<std::size_t, Unit*>> deferred;  // operators and the units that their buffers refused

  // `borrow_buffer` returns a buffer for the outputs of a group that exceed its part; `return_buffer` takes the buffer
  // back for reuse.
  std::unique_ptr<RecordBuffer> borrow_buffer() {
    if (spares.empty()) return std::make_unique<RecordBuffer>();
    std::unique_ptr<RecordBuffer> buffer = std::move(spares.back());
    spares.pop_back();
    return buffer;
  }
  void return_buffer(std::unique_ptr<RecordBuffer>& buffer) {
    if (buffer != nullptr && spares.size() < kMaxSpares) spares.push_back(std::move(buffer));
    buffer.reset();
  }

  // Scratch memory.
  RecordBuffer group_outputs;
  static constexpr std::size_t kMaxSpares = 8;
  std::vector<std::unique_ptr<RecordBuffer>> spares;
  std::vector<void*> columns;          // output columns of a group
  std::vector<std::int32_t> group_of;  // by partition; valid where `mark` is `epoch`
  std::vector<std::uint64_t> mark;
  std::uint64_t epoch = 0;
  std::vector<std::int64_t> positions;  // by record
  std::vector<std::int64_t> targets;    // by output
};

}  // namespace lab
