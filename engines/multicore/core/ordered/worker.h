// What one worker of a pipeline has for itself: its counts, its clock, its scratch memory.
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

// One writer, read when the worker has ended.
struct OrderedCounts {
  std::int64_t kernel_calls = 0;
  std::int64_t adds = 0;         // units given to a reordering buffer,
  std::int64_t sends = 0;        // and sent on from one,
  std::int64_t found_taken = 0;  // times that a thread left what it had added to one that was sending already
  std::int64_t handed_over = 0;  // turns at an exit that ended with something left to send
  std::int64_t delegated = 0;    // groups left to the worker that was at their partition
  std::int64_t decisions = 0;    // of the scheduler, that gave this worker something to do
  std::int64_t decision_ns = 0;
  std::int64_t empty_polls = 0;  // turns that found nothing to do
  std::int64_t waits = 0;        // for the turn of a group within its partition; the shared worklist only
  std::int64_t refused = 0;      // times that a reordering buffer had no slot yet for a unit,
  std::int64_t put_aside = 0;    // and that its worker turned to other work; serials of operators only
  std::int64_t events = 0;       // input records of which nothing is under way any more
  std::int64_t splits = 0;       // times that an operator got more bundles of partitions; the homed worklist only
};

struct alignas(kCacheLine) OrderedWorker {
  OrderedWorker(std::int32_t number, Recorder& records_in, std::size_t stages)
      : index(number), recorder(records_in), rows(stages, 0), outputs(stages, 0), cursor(stages, -1) {}

  std::int32_t index;
  Recorder& recorder;
  FastClock clock;
  OrderedCounts counts;
  Histogram processing;               // of timed units: from when the first operator took one until it was out
  std::vector<std::int64_t> rows;     // by operator, records that it has read since these were last reported
  std::vector<std::int64_t> outputs;  // and made
  std::vector<std::int64_t> cursor;   // by operator, the partition where the worker goes on; -1: not yet
  std::vector<Unit*> admitted;        // units on their way from the entry
  std::vector<Unit*> finished;        // by the operator it works on; on their way to the reordering buffer
  std::vector<std::pair<std::size_t, Unit*>> aside;  // by operators; refused by their reordering buffers

  // A buffer for what a group writes apart, and back: a few are kept, mostly by who will need them.
  std::unique_ptr<RecordBuffer> spare() {
    if (spares.empty()) return std::make_unique<RecordBuffer>();
    std::unique_ptr<RecordBuffer> one = std::move(spares.back());
    spares.pop_back();
    return one;
  }
  void keep(std::unique_ptr<RecordBuffer>& used) {
    if (used != nullptr && spares.size() < kMostSpares) spares.push_back(std::move(used));
    used.reset();
  }

  // Scratch.
  RecordBuffer made;  // of a group
  static constexpr std::size_t kMostSpares = 8;
  std::vector<std::unique_ptr<RecordBuffer>> spares;
  std::vector<void*> columns;          // where a group writes
  std::vector<std::int32_t> group_of;  // by partition: valid where `mark` is `epoch`
  std::vector<std::uint64_t> mark;
  std::uint64_t epoch = 0;
  std::vector<std::int64_t> positions;  // by record
  std::vector<std::int64_t> targets;    // by output
};

}  // namespace lab
