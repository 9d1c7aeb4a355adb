// Implements the end of the pipeline; see ordered/egress.h.
#include "ordered/egress.h"

#include <algorithm>

#include "ordered/worker.h"
#include "stages/records.h"

namespace lab {

void OrderedEgress::take(Units units, OrderedWorker& worker) {
  for (const Unit* unit : units) take_unit(*unit, worker);
  // release: frees the units for reuse; pairs with the loads of `done`. seq_cst: a load of the entry's end follows.
  done_.store(units.back()->serial + 1, std::memory_order_seq_cst);
}

void OrderedEgress::take_unit(const Unit& unit, OrderedWorker& worker) {
  Recorder& recorder = worker.recorder;
  if (recorder.on() && (unit.timed || has_due_)) recorder.observe(worker.clock.now());
  if (unit.records != 0) {
    append(unit);
    if (has_due_) {
      note_latency(unit, worker);
    } else {
      recorder.made(unit.records);
    }
  }
  note_input(unit, worker);
}

void OrderedEgress::discard_empty(const Unit& unit, OrderedWorker& worker) const {
  if (worker.recorder.on() && (unit.timed || has_due_)) worker.recorder.observe(worker.clock.now());
  note_input(unit, worker);
}

void OrderedEgress::note_input(const Unit& unit, OrderedWorker& worker) {
  Recorder& recorder = worker.recorder;
  const std::int64_t taken_ns = unit.taken_ns.load(std::memory_order_relaxed);  // see Unit
  // Every input record has passed the first operator, so `taken_ns` is set.
  if (unit.timed && recorder.on()) worker.processing.record(recorder.now() - taken_ns, 1);
  recorder.consumed(static_cast<double>(unit.input_records));
  worker.counts.events += unit.input_records;
}

void OrderedEgress::append(const Unit& unit) {
  std::int64_t copied = 0;
  while (copied < unit.records) {
    Emit* emit = out_.open(1);
    const std::int64_t rows = std::min(unit.records - copied, emit->capacity - emit->count);
    copy_records(out_.itemsizes(), unit.columns, copied, emit->columns, emit->count, rows);
    emit->count += rows;
    out_.close(0, 0, 0, false);
    copied += rows;
  }
}

void OrderedEgress::note_latency(const Unit& unit, OrderedWorker& worker) const {
  Recorder& recorder = worker.recorder;
  const std::int64_t taken_ns = unit.taken_ns.load(std::memory_order_relaxed);  // see Unit
  for (std::int64_t i = 0; i < unit.records;) {
    const std::int32_t origin = unit.origins[i];
    std::int64_t end = i + 1;
    while (end < unit.records && unit.origins[end] == origin) ++end;
    const std::int64_t due_ns = recorder.start() + unit.due[origin];
    recorder.output(due_ns, end - i);
    recorder.served(due_ns, taken_ns, end - i);
    i = end;
  }
}

}  // namespace lab
