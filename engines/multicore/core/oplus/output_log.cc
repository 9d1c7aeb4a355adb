// Implements OutputLog; see oplus/output_log.h.
#include "oplus/output_log.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace lab {

OutputLog::OutputLog(std::string_view tuple_buffer, const LogOptions& options, Shape shape) : shape_(std::move(shape)) {
  if (options.acknowledged_rows != 0) {
    throw std::invalid_argument("acknowledged_rows is " + std::to_string(options.acknowledged_rows) +
                                "; expected 0: `will_have_room` counts on the release of single rows");
  }
  for (std::int32_t i = 0; i < shape_.copies; ++i) logs_.push_back(make_tuple_buffer(tuple_buffer, options));
}

void OutputLog::start(std::int32_t max_instances, std::span<const std::int32_t> active) {
  for (std::int32_t i = 0; i < max_instances; ++i) sources_.emplace_back(shape_.spill_rows);
  for (const std::unique_ptr<TupleBuffer>& log : logs_) {
    for (std::int32_t i = 0; i < max_instances; ++i) {
      Ring& ring = rings_.emplace_back(shape_.itemsizes, shape_.rows);
      ring.view.index = i;
      ring.view.ts = {ring.memory.ts(), static_cast<std::size_t>(shape_.rows)};
      if (shape_.timed) {
        ring.due.resize(static_cast<std::size_t>(shape_.rows));
        ring.taken.resize(static_cast<std::size_t>(shape_.rows));
        ring.view.due = ring.due;
      }
      ring.view.columns.assign(ring.memory.columns(), ring.memory.columns() + shape_.itemsizes.size());
      log->add_source(ring.memory.ts(), ring.memory.mask(), kNever);
    }
  }
  for (std::int32_t i = 0; i < max_instances; ++i) {
    if (!std::ranges::binary_search(active, i)) close(i);
  }
}

std::int64_t OutputLog::room(std::int32_t source, std::int64_t max_rows) {
  std::int64_t rows = max_rows;
  for (const std::unique_ptr<TupleBuffer>& log : logs_) rows = std::min(rows, log->room(source, rows));
  return rows;
}

bool OutputLog::move(std::int32_t source, OutputBuffer& outputs, Causes& causes, std::int64_t watermark) {
  Source& mine = sources_[static_cast<std::size_t>(source)];
  const Ring& first = ring(0, source);
  std::int64_t free_rows = 0;
  const std::int64_t before = mine.rows;
  if (outputs.waiting() != 0) free_rows = room(source, std::min(outputs.waiting(), shape_.rows));
  while (free_rows > 0 && outputs.waiting() != 0) {
    const OutputBuffer::Piece piece = outputs.oldest();
    const std::int64_t rows = std::min({free_rows, piece.rows, first.memory.in_one_piece(mine.rows)});
    const std::int64_t item = first.memory.item_of(mine.rows);
    for (std::size_t copy = 0; copy < logs_.size(); ++copy) {
      ring_of(copy, source).memory.write(mine.rows, piece.columns, piece.row, rows);
    }
    if (shape_.timed) {
      Ring& to = ring_of(0, source);
      causes.take(to.due.data() + item, to.taken.data() + item, rows);
      for (std::size_t copy = 1; copy < logs_.size(); ++copy) {
        std::copy_n(to.due.data() + item, rows, ring_of(copy, source).due.data() + item);
        std::copy_n(to.taken.data() + item, rows, ring_of(copy, source).taken.data() + item);
      }
    }
    outputs.take(rows);
    mine.rows += rows;
    free_rows -= rows;
  }
  const bool starved = outputs.waiting() != 0;
  if (outputs.rows() != mine.spilled_to) {
    if (starved) mine.spill.add(std::min(outputs.waiting(), outputs.rows() - mine.spilled_to), outputs.waiting());
    mine.spilled_to = outputs.rows();
  }
  const bool newly_starved = starved && !mine.starved;
  if (starved != mine.starved) {
    mine.starved = starved;
    // seq_cst: the thread stores this, then looks for room in its next call, then sleeps. A reader releases rows before
    // it loads this (run/parker.h). So one of the two sees the other. Pairs with the load in `starved`.
    starved_.fetch_add(starved ? 1 : -1, std::memory_order_seq_cst);
  }
  std::int64_t frontier = watermark == kNever ? kNever : watermark + 1;
  if (starved) {
    const OutputBuffer::Piece next = outputs.oldest();
    frontier = static_cast<const std::int64_t*>(next.columns[0])[next.row];
  }
  const std::int64_t promised = mine.frontier.load(std::memory_order_relaxed);  // relaxed: own store
  frontier = std::max(frontier, promised);
  if (mine.rows == before && frontier == promised) return newly_starved;
  for (const std::unique_ptr<TupleBuffer>& log : logs_) log->publish(source, mine.rows, frontier);
  mine.frontier.store(frontier, std::memory_order_release);  // the log has it already; pairs with `will_have_room`
  return true;
}

bool OutputLog::will_have_room(std::int32_t source) {
  const std::int64_t rows = sources_[static_cast<std::size_t>(source)].rows;
  for (std::size_t copy = 0; copy < logs_.size(); ++copy) {
    TupleBuffer& log = *logs_[copy];
    const std::int64_t oldest = log.consumed(source);
    if (oldest == rows || log.room(source) > 0) continue;  // room is available now
    const Ring& ring = ring_of(copy, source);
    const std::int64_t ts = ring.memory.ts()[ring.memory.item_of(oldest)];
    const bool at_join = ts == joined_ts(source, oldest);
    for (std::int32_t other = 0; other < static_cast<std::int32_t>(sources_.size()); ++other) {
      if (other == source) continue;
      // acquire: the rows before its promise are published; pairs with `move`, `close` and `join`. If this load misses
      // a promise, the instance merely continues to read.
      const std::int64_t frontier = sources_[static_cast<std::size_t>(other)].frontier.load(std::memory_order_acquire);
      // Rows of one time are sorted by source. But rows at the time of a join may come behind those of any source
      // (TupleBuffer::rejoin).
      if (frontier < ts || (frontier == ts && (other < source || at_join))) return false;
    }
  }
  return true;
}

bool OutputLog::advance() noexcept {
  bool news = false;
  for (const std::unique_ptr<TupleBuffer>& log : logs_) news = log->advance() || news;
  return news;
}

void OutputLog::close(std::int32_t source) {
  for (const std::unique_ptr<TupleBuffer>& log : logs_) log->close(source);
  sources_[static_cast<std::size_t>(source)].frontier.store(kEndOfTime,
                                                            std::memory_order_release);  // with `will_have_room`
}

// Returns the time of the source's last join before it published `row`; `kNever` without one.
std::int64_t OutputLog::joined_ts(std::int32_t source, std::int64_t row) const noexcept {
  const std::vector<Join>& joins = sources_[static_cast<std::size_t>(source)].joins;
  const auto after = std::ranges::upper_bound(joins, row, {}, &Join::first_row);
  return after == joins.begin() ? kNever : std::prev(after)->ts;
}

std::int64_t OutputLog::time_of_last(std::int32_t source) const noexcept {
  const std::int64_t rows = sources_[static_cast<std::size_t>(source)].rows;
  const ColumnRing& ring = this->ring(0, source).memory;
  return rows == 0 ? kNever : ring.ts()[ring.item_of(rows - 1)];
}

// The source joins from the lowest time that an active instance has reached, by its promise or by its last row. An
// earlier time is impossible, since readers may have reached this time. Lemma 3 permits a later time (all later rows
// end a window behind the watermark), but the next operator takes a promise as passed time, and would pass too far if
// no row follows. The log has not passed the chosen time, since all active instances are still its sources.
//
// Readers of different copies may have reached different rows. Yet all copies must give the sources one order at the
// chosen time. Otherwise one copy could wait for one instance and another copy for a second instance, and neither
// instance would have room in both. OrderLog orders the rows that it has not yet merged by source. ScaleGate orders all
// rows at the time of a join by its number.
void OutputLog::join(std::int32_t source, std::span<const std::int32_t> active) {
  std::int64_t from_ts = kEndOfTime;
  for (const std::int32_t i : active) {
    // relaxed: the barrier orders it
    const std::int64_t promised = sources_[static_cast<std::size_t>(i)].frontier.load(std::memory_order_relaxed);
    from_ts = std::min(from_ts, std::max(promised, time_of_last(i)));
  }
  from_ts = std::max(from_ts, time_of_last(source));
  for (const std::unique_ptr<TupleBuffer>& log : logs_) log->rejoin(source, from_ts);
  Source& joined = sources_[static_cast<std::size_t>(source)];
  joined.joins.push_back({from_ts, joined.rows});
  joined.frontier.store(from_ts, std::memory_order_release);  // with `will_have_room`
}

}  // namespace lab
