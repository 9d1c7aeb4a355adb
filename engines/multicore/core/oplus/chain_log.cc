#include "oplus/chain_log.h"

#include <algorithm>

namespace lab {

ChainLog::ChainLog(std::unique_ptr<TupleBuffer> log, std::vector<std::int32_t> itemsizes, std::int64_t rows,
                   std::int64_t spill_rows, bool timed, ProcessKernel process, std::unique_ptr<WindowState> state)
    : log_(std::move(log)),
      itemsizes_(std::move(itemsizes)),
      size_(rows),
      spill_rows_(spill_rows),
      timed_(timed),
      process_(process),
      state_(std::move(state)) {}

void ChainLog::start(std::int32_t, std::int32_t active) {
  for (std::int32_t i = 0; i < active; ++i) {
    Ring& ring = rings_.emplace_back(itemsizes_, size_, spill_rows_);
    if (timed_) ring.due.resize(static_cast<std::size_t>(size_));
    ring.view.index = i;
    ring.view.ts = {ring.memory.ts(), static_cast<std::size_t>(size_)};
    ring.view.due = ring.due;
    ring.view.columns.assign(ring.memory.columns(), ring.memory.columns() + itemsizes_.size());
    streams_.push_back({&ring.view, 0, process_, nullptr, ring.memory.mask()});
    log_->add_source(ring.memory.ts(), ring.memory.mask(), kNever);
    log_->add_reader();
  }
}

bool ChainLog::move(std::int32_t source, OutputBuffer& outputs, Causes& causes, std::int64_t watermark) {
  Ring& ring = rings_[static_cast<std::size_t>(source)];
  std::int64_t room = 0;
  const std::int64_t before = ring.rows;
  if (outputs.waiting() != 0) room = log_->room(source, std::min(outputs.waiting(), size_));
  while (room > 0 && outputs.waiting() != 0) {
    const OutputBuffer::Piece piece = outputs.oldest();
    const std::int64_t rows = std::min({room, piece.rows, ring.memory.in_one_piece(ring.rows)});
    ring.memory.write(ring.rows, piece.columns, piece.row, rows);
    if (timed_) causes.take(ring.due.data() + ring.memory.item_of(ring.rows), rows);
    outputs.take(rows);
    ring.rows += rows;
    room -= rows;
  }
  const bool starved = outputs.waiting() != 0;
  if (outputs.rows() != ring.spilled_to) {
    if (starved) ring.spill.add(std::min(outputs.waiting(), outputs.rows() - ring.spilled_to), outputs.waiting());
    ring.spilled_to = outputs.rows();
  }
  if (starved != ring.starved) {
    ring.starved = starved;
    // seq_cst: comes before the look for room that the thread takes before it sleeps, as a release of rows comes
    // before the look at this (run/parker.h): one of the two sees the other. Pairs with the load in `starved`.
    starved_.fetch_add(starved ? 1 : -1, std::memory_order_seq_cst);
  }
  std::int64_t frontier = watermark == kNever ? kNever : watermark + 1;
  if (starved) {
    const OutputBuffer::Piece first = outputs.oldest();
    frontier = static_cast<const std::int64_t*>(first.columns[0])[first.row];
  }
  frontier = std::max(frontier, ring.frontier);
  if (ring.rows == before && frontier == ring.frontier) return false;
  ring.frontier = frontier;
  log_->publish(source, ring.rows, frontier);
  return true;
}

}  // namespace lab
