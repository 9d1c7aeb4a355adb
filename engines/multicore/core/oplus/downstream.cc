// Implements Downstream; see oplus/downstream.h.
#include "oplus/downstream.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "run/key_table.h"

namespace lab {

Downstream::Downstream(const OplusOptions& options, InstanceThreads& threads, OutputLog& log, const OperatorStage& last)
    : options_(options),
      threads_(threads),
      log_(log),
      last_(last),
      mover_(log.itemsizes()),
      pool_(std::make_shared<OutputPool>(log.itemsizes())),
      out_(std::make_unique<OutputBuffer>(pool_)),
      readers_(static_cast<std::size_t>(options.downstream)) {
  for (std::int32_t r = 0; r < options.downstream; ++r) log_.log(copy_of(r)).add_reader();
}

bool Downstream::take_turn(std::int32_t reader) {
  TupleBuffer& log = log_.log(copy_of(reader));
  const int place = place_of(reader);
  const std::span<const LogRun> runs = log.read(place);
  if (!runs.empty()) {
    std::size_t taken = 0;
    std::int64_t rows = 0;
    for (; taken < runs.size() && rows < options_.batch_rows; ++taken) {
      if (runs[taken].source >= 0) rows += runs[taken].end - runs[taken].begin;
    }
    take(reader, runs.first(taken));
    log.release(place, taken);
    if (log_.starved()) threads_.notify(last_.reach());
    return true;
  }
  if (log.ended(place)) {
    Reader& mine = readers_[static_cast<std::size_t>(reader)];
    if (mine.done) return false;
    mine.done = true;
    // acq_rel: the reader of the results sees the stores of each reader.
    if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == options_.downstream) threads_.finish();
    return true;
  }
  if (log.advance()) {  // new entries for all readers of the log
    threads_.notify(options_.max_instances, options_.max_instances + options_.downstream);
    return true;
  }
  return !log.read(place).empty();
}

void Downstream::take(std::int32_t reader, std::span<const LogRun> runs) {
  WorkMeter& meter = threads_.meter(options_.max_instances + reader);
  const std::int64_t before = meter.recorder.tick();
  for (const LogRun& run : runs) {
    if (run.source < 0) continue;
    const OutputLog::Ring& ring = log_.ring(copy_of(reader), run.source);
    for (std::int64_t row = run.begin; row < run.end;) {
      const std::int64_t rows = std::min(run.end - row, ring.memory.in_one_piece(row));
      take_rows(reader, ring, ring.memory.item_of(row), rows);
      row += rows;
    }
  }
  if (!meter.on()) return;
  const std::int64_t after = meter.recorder.tick();
  meter.worked(before, after, 0);
  if (reader != 0) return;
  for (const LogRun& run : runs) {
    if (run.source >= 0) account(meter.recorder, log_.ring(copy_of(reader), run.source), run);
  }
}

// Counts rows and checks the order of their times. Reader 0 also stores them. Several readers also hash them.
void Downstream::take_rows(std::int32_t reader, const OutputLog::Ring& ring, std::int64_t item, std::int64_t rows) {
  Reader& mine = readers_[static_cast<std::size_t>(reader)];
  const std::int64_t* const ts = ring.memory.ts() + item;
  for (std::int64_t i = 0; i < rows; ++i) {
    mine.disordered += ts[i] < mine.last_ts ? 1 : 0;
    mine.last_ts = ts[i];
  }
  mine.rows += rows;
  if (readers_.size() > 1) mine.sum += sum_of(ring, item, rows);
  if (reader == 0) keep(ring, item, rows);
}

// Appends rows to the answer.
void Downstream::keep(const OutputLog::Ring& ring, std::int64_t item, std::int64_t rows) {
  while (rows > 0) {
    Emit* const to = out_->open(1);
    const std::int64_t count = std::min(rows, to->capacity - to->count);
    mover_.copy(to->columns, to->count, ring.memory.columns(), item, count);
    to->count += count;
    out_->close(0, 0, 0, false);
    item += count;
    rows -= count;
  }
}

// Records the latency of the outputs in a run of the log; it ends here. At full speed, only counts the outputs.
void Downstream::account(Recorder& recorder, const OutputLog::Ring& ring, const LogRun& run) {
  if (ring.due.empty()) {
    recorder.made(run.end - run.begin);
    return;
  }
  const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(ring.memory.item_of(row)); };
  for (std::int64_t row = run.begin; row < run.end;) {
    const std::int64_t due = ring.due[at(row)], taken = ring.taken[at(row)];
    std::int64_t end = row + 1;
    while (end < run.end && ring.due[at(end)] == due && ring.taken[at(end)] == taken) ++end;
    recorder.output(recorder.start() + due, end - row);
    recorder.served(recorder.start() + due, taken, end - row);
    row = end;
  }
}

// Returns a sum of row hashes. The sum ignores the order of the rows: logs may order rows of one time differently.
std::uint64_t Downstream::sum_of(const OutputLog::Ring& ring, std::int64_t item, std::int64_t rows) const noexcept {
  std::uint64_t sum = 0;
  const std::vector<std::int32_t>& itemsizes = log_.itemsizes();
  for (std::int64_t i = item; i < item + rows; ++i) {
    std::uint64_t hash = 0;
    for (std::size_t c = 0; c < itemsizes.size(); ++c) {
      const auto size = static_cast<std::size_t>(itemsizes[c]);
      const auto* from = static_cast<const std::byte*>(ring.memory.columns()[c]) + static_cast<std::size_t>(i) * size;
      for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + at, std::min(sizeof word, size - at));
        hash = mix_key(static_cast<std::int64_t>(hash ^ word)) + c;
      }
    }
    sum += hash;
  }
  return sum;
}

void Downstream::check() const {
  const Reader& first = readers_.front();
  for (std::size_t r = 0; r < readers_.size(); ++r) {
    const Reader& reader = readers_[r];
    const std::string prefix = "downstream reader " + std::to_string(r) + " took ";
    if (reader.disordered != 0) {
      throw std::runtime_error(prefix + std::to_string(reader.disordered) +
                               " records behind later ones: an operator does "
                               "not emit in order of time");
    }
    if (reader.rows == first.rows && reader.sum == first.sum) continue;
    throw std::runtime_error(prefix + "other records than reader 0: " + std::to_string(reader.rows) +
                             ", where that took " + std::to_string(first.rows) +
                             (reader.rows == first.rows ? ", of another content" : ""));
  }
}

}  // namespace lab
