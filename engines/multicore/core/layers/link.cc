// Implements LayerLink; see layers/link.h.
#include "layers/link.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lab {
namespace {

constexpr std::size_t kSpillBytes = std::size_t{64} << 10;  // growth step of the memory for spilled rows

}  // namespace

LayerLink::LayerLink(Kind kind, std::vector<std::int32_t> itemsizes, std::int64_t rows, TupleBuffer* log,
                     Parker& producer, Parker& consumer, Spill spill, std::int64_t acknowledged_rows)
    : kind_(kind),
      itemsizes_(std::move(itemsizes)),
      log_(log),
      acknowledged_rows_(std::max<std::int64_t>(1, acknowledged_rows)),
      producer_(producer),
      consumer_(consumer),
      ring_(itemsizes_, rows, "channel_rows"),
      spill_(std::move(spill)) {
  rows_.ts = ring_.ts();
  rows_.mask = ring_.mask();
  // Without this store the line would count as closed. relaxed: set-up is single-threaded.
  line_.frontier.store(kNoPromise, std::memory_order_relaxed);
  if (log_ != nullptr) source_ = log_->add_source(rows_, kNoPromise);
}

// Returns the first row that the consumer has not released.
std::int64_t LayerLink::released() noexcept {
  if (log_ != nullptr) return log_->consumed(source_);
  // acquire: the consumer has read the rows; seq_cst: a thread that sleeps after this load is woken. Pairs with
  // `release`.
  return released_.load(std::memory_order_seq_cst);
}

std::int64_t LayerLink::room(std::int64_t min_rows) noexcept {
  if (room_end_ - end_ < min_rows) room_end_ = released() + size();
  return room_end_ - end_;
}

void LayerLink::append(const void* const* columns, std::int64_t from, std::int64_t rows) noexcept {
  assert(room_end_ - end_ >= rows);
  ring_.write(end_, columns, from, rows);
  end_ += rows;
}

void LayerLink::append(const void* const* columns, std::int64_t from, const std::int32_t* list,
                       std::int64_t rows) noexcept {
  assert(room_end_ - end_ >= rows);
  ring_.write(end_, columns, from, list, rows);
  end_ += rows;
}

void LayerLink::publish() {
  if (published_ == end_) return;
  published_ = end_;
  unannounced_ = true;
  if (kind_ != Kind::kUnordered) frontier_ = ts_at(end_ - 1);
  if (log_ != nullptr) {
    log_->publish(source_, end_, frontier_);
    return;
  }
  line_.end.store(end_, std::memory_order_release);            // publishes the rows; pairs with the reader's load
  line_.frontier.store(frontier_, std::memory_order_release);  // last: a thread that sees it sees the rows before it
}

// Returns the strongest promise up to `promised` that spilled rows permit: at most the time of the first spilled row.
std::int64_t LayerLink::promisable(std::int64_t promised) const noexcept {
  if (spilled_rows() == 0) return promised;
  const OutputBuffer::Piece first = spilled_->oldest();
  return std::min(promised, static_cast<const std::int64_t*>(first.columns[0])[first.row]);
}

void LayerLink::wake(std::int64_t promised, bool help) {
  if (closed_) return;
  const std::int64_t promise = promisable(promised);
  const bool is_last = promise == kEndOfTime;
  if (kind_ != Kind::kUnordered && promise > frontier_ && !is_last) {
    frontier_ = promise;
    unannounced_ = true;
    if (log_ != nullptr) log_->publish(source_, end_, frontier_);
  }
  closed_ = is_last;
  if (!unannounced_ && !is_last) return;
  unannounced_ = false;
  if (log_ == nullptr) {
    // seq_cst: the consumer sees the promise before it sleeps, or `notify` sees the consumer asleep. Pairs with the
    // loads in layers/in.cc.
    line_.frontier.store(is_last ? kEndOfTime : frontier_, std::memory_order_seq_cst);
    consumer_.notify();
    return;
  }
  if (is_last) log_->close(source_);
  // An awake reader merges before it sleeps. In this merge it loads the values that `publish` and `close` have stored;
  // all of these accesses are sequentially consistent.
  const bool is_behind = help && end_ - released() > size() / 2;
  if ((is_behind || consumer_.asleep()) && log_->advance()) {
    ++merges_;
    consumer_.notify();
  }
}

bool LayerLink::may_wait(std::int64_t ts) noexcept {
  if (kind_ == Kind::kQueue || kind_ == Kind::kUnordered) return true;
  const std::int64_t oldest = released();
  if (oldest == end_) return true;
  // This thread owns the slot, so it may read the row even if the row is released.
  return ts_at(std::min(oldest + acknowledged_rows_, end_) - 1) < ts;
}

void LayerLink::spill(const void* const* columns, std::int64_t from, std::int64_t rows) {
  if (spilled_ == nullptr) spilled_ = std::make_unique<OutputBuffer>(itemsizes_, 1, kSpillBytes);
  spill_.add(rows, spilled_->waiting() + rows);
  while (rows > 0) {
    Emit* emit = spilled_->open(1);
    const std::int64_t count = std::min(rows, emit->capacity - emit->count);
    ring_.mover().copy(emit->columns, emit->count, columns, from, count);
    emit->count += count;
    spilled_->close(0, 0, 0, false);
    from += count;
    rows -= count;
  }
}

std::int64_t LayerLink::drain() {
  std::int64_t moved = 0;
  while (spilled_rows() != 0) {
    const OutputBuffer::Piece piece = spilled_->oldest();
    const std::int64_t count = std::min(piece.rows, room(1));
    if (count <= 0) break;
    append(piece.columns, piece.row, count);
    spilled_->take(count);
    publish();
    moved += count;
  }
  return moved;
}

void LayerLink::relieve() noexcept {
  // relaxed: this thread's own store
  released_to(log_ != nullptr ? released_in_log_ : released_.load(std::memory_order_relaxed), 1);
}

}  // namespace lab
