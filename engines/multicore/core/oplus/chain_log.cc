#include "oplus/chain_log.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lab {

ChainLog::ChainLog(std::unique_ptr<TupleBuffer> log, std::vector<std::int32_t> itemsizes, std::int64_t rows, bool timed,
                   ProcessKernel process, std::unique_ptr<WindowState> state)
    : log_(std::move(log)),
      itemsizes_(std::move(itemsizes)),
      size_(rows),
      timed_(timed),
      process_(process),
      state_(std::move(state)) {
  if (rows < 2 || (rows & (rows - 1)) != 0) {
    throw std::invalid_argument("link_rows is " + std::to_string(rows) + ", wanted a power of two, at least 2");
  }
}

void ChainLog::start(std::int32_t, std::int32_t active) {
  const auto size = static_cast<std::size_t>(size_);
  for (std::int32_t i = 0; i < active; ++i) {
    Ring& ring = rings_.emplace_back();
    ring.ts.resize(size);
    if (timed_) ring.due.resize(size);
    ring.view.index = i;
    ring.view.ts = ring.ts;
    ring.view.due = ring.due;
    ring.view.columns = {ring.ts.data()};
    for (std::size_t c = 1; c < itemsizes_.size(); ++c) {
      ring.fields.emplace_back(size * static_cast<std::size_t>(itemsizes_[c]));
      ring.view.columns.push_back(ring.fields.back().data());
    }
    streams_.push_back({&ring.view, 0, process_, nullptr});
    log_->add_source(ring.ts.data(), static_cast<std::uint64_t>(size_ - 1), kNever);
    log_->add_reader();
  }
}

LogRun ChainLog::place(const LogRun& part) const noexcept {
  LogRun placed = part;
  placed.begin = part.begin & (size_ - 1);
  placed.end = std::min(placed.begin + (part.end - part.begin), size_);
  return placed;
}

bool ChainLog::move(std::int32_t source, OutputBuffer& outputs, Causes& causes, std::int64_t watermark) {
  Ring& ring = rings_[static_cast<std::size_t>(source)];
  std::int64_t room = 0;
  const std::int64_t before = ring.rows;
  if (outputs.waiting() != 0) room = log_->room(source, std::min(outputs.waiting(), size_));
  while (room > 0 && outputs.waiting() != 0) {
    const OutputBuffer::Piece piece = outputs.oldest();
    const std::int64_t rows = std::min({room, piece.rows, size_ - (ring.rows & (size_ - 1))});
    copy(ring, piece, rows, causes);
    outputs.take(rows);
    ring.rows += rows;
    room -= rows;
  }
  const bool starved = outputs.waiting() != 0;
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

void ChainLog::copy(Ring& ring, const OutputBuffer::Piece& piece, std::int64_t rows, Causes& causes) const {
  const auto to = static_cast<std::size_t>(ring.rows & (size_ - 1));
  const auto from = static_cast<std::size_t>(piece.row);
  const auto count = static_cast<std::size_t>(rows);
  std::memcpy(ring.ts.data() + to, static_cast<const std::int64_t*>(piece.columns[0]) + from, count * sizeof(std::int64_t));
  for (std::size_t c = 1; c < itemsizes_.size(); ++c) {
    const auto width = static_cast<std::size_t>(itemsizes_[c]);
    std::memcpy(ring.fields[c - 1].data() + to * width, static_cast<const std::byte*>(piece.columns[c]) + from * width,
                count * width);
  }
  if (timed_) causes.take(ring.due.data() + to, rows);
}

}  // namespace lab
