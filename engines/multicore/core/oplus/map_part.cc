// Implements MapPart; see oplus/map_part.h.
#include "oplus/map_part.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "run/event_key.h"

namespace lab {

MapPart::MapPart(const OperatorSpec& spec, const OperatorStream& stream, const MappedStream& mapped, std::int64_t index,
                 std::int64_t parts, std::size_t receivers, std::int64_t queue_rows)
    : spec_(spec),
      stream_(stream),
      mapped_(mapped),
      index_(index),
      parts_(parts),
      published_(receivers, 0),
      frontier_(std::numeric_limits<std::int64_t>::min()),
      next_(index),
      keys_(kFirstKeys, 0),
      all_mine_(static_cast<std::size_t>(spec.buckets), 0) {
  for (std::size_t i = 0; i < receivers; ++i) queues_.emplace_back(stream, mapped.carried, queue_rows);
  keys_.set.owner = all_mine_.data();
}

// Finds the part's next own rows, as many as fit. Returns whether any are at hand.
bool MapPart::gather(std::int64_t end_row) noexcept {
  if (row_ < found_) return true;
  found_ = mapped_from_ = mapped_to_ = row_ = key_ = 0;
  while (found_ < kRows && next_ < end_row) {
    const bool has_same_time = next_ != 0 && ts(next_) == ts(next_ - 1);
    if (within_ && !has_same_time) {
      within_ = false;
      next_ += (index_ - next_ % parts_ + parts_) % parts_;  // the next row in turn, possibly this one
      continue;
    }
    if (within_ || !has_same_time) {
      within_ = true;
      rows_[static_cast<std::size_t>(found_++)] = next_++;
    } else {
      next_ += parts_;
    }
  }
  return found_ != 0;
}

// Evaluates f_MK for the rows at hand, or for as many as have room for their keys.
void MapPart::map() {
  mapped_from_ = mapped_to_;
  key_ = 0;
  KeySet& keys = keys_.set;
  for (;;) {
    keys.count = keys.refused = 0;
    const std::int64_t count = mapped_.map(&keys, stream_.view->columns.data(), rows_.data() + mapped_from_,
                                           found_ - mapped_from_, ends_.data()) -
                               1;
    if (count < 0) throw std::runtime_error("keys raised an exception");
    mapped_to_ = mapped_from_ + count;
    if (count != 0) break;
    keys_.grow(2 * (keys.count + keys.refused));
  }
  if (!spec_.bag) remove_repeats();
}

// Removes the repeated keys of each mapped row from `keys_`, and lowers `ends_` accordingly.
void MapPart::remove_repeats() {
  std::int64_t unique_count = 0, begin = 0;
  for (std::int64_t r = 0; r < mapped_to_ - mapped_from_; ++r) {
    std::int64_t& row_end = ends_[static_cast<std::size_t>(r)];
    const std::int64_t end = row_end;
    if (end - begin > 1) repeats_.begin(end - begin);
    for (std::int64_t k = begin; k < end; ++k) {
      if (end - begin > 1 && repeats_.has(keys_.keys()[k], keys_.hashes()[k])) continue;
      keys_.keys()[unique_count] = keys_.keys()[k];
      keys_.buckets()[unique_count++] = keys_.buckets()[k];
    }
    row_end = unique_count;
    begin = end;
  }
}

// Emits the tuples of the mapped rows. Returns whether all tuples found room.
bool MapPart::emit(const std::int32_t* owner, std::span<TupleBuffer* const> logs, int source) {
  const std::int64_t* const keys = keys_.keys();
  const std::int32_t* const buckets = keys_.buckets();
  for (; row_ < mapped_to_; ++row_) {
    const std::int64_t row = rows_[static_cast<std::size_t>(row_)];
    const std::int64_t end = ends_[static_cast<std::size_t>(row_ - mapped_from_)];
    for (; key_ < end; ++key_) {
      const auto to = static_cast<std::size_t>(owner[buckets[key_]]);
      MappedQueue& queue = queues_[to];
      if (queue.full()) {
        queue.consumed(logs[to]->consumed(source));
        if (queue.full()) return false;
      }
      queue.add(keys[key_], row);
    }
  }
  return true;
}

// Publishes new tuples, and a higher frontier, to the receivers' logs. Returns whether there was anything to publish.
bool MapPart::publish(std::int64_t frontier, std::span<TupleBuffer* const> logs, int source) {
  const bool is_higher = frontier > frontier_;
  frontier_ = std::max(frontier, frontier_);
  bool news = false;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::int64_t rows = queues_[i].rows();
    if (!is_higher && rows == published_[i]) continue;
    logs[i]->publish(source, rows, frontier_);
    published_[i] = rows;
    news = true;
  }
  return news;
}

bool MapPart::run(std::int64_t end_row, std::int64_t bound, const std::int32_t* owner,
                  std::span<TupleBuffer* const> logs, int source) {
  if (closed_) return false;
  const std::int64_t old_position = position_.load(std::memory_order_relaxed);  // relaxed: own store, as the two below
  std::int64_t done = 0;
  std::int64_t emitted = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    queues_[i].consumed(logs[i]->consumed(source));
    emitted -= queues_[i].rows();
  }
  std::int64_t tuples = 0;
  for (bool room = true; room && tuples < kTuples && gather(end_row);) {
    if (row_ == mapped_to_) map();
    const std::int64_t row = row_, key = key_;
    room = emit(owner, logs, source);
    done += row_ - row;
    tuples += key_ - key + row_ - row;
  }
  // All later rows, of this part and of other parts, are at or after this row.
  std::int64_t position = row_ < found_ ? rows_[static_cast<std::size_t>(row_)] : next_;
  const bool all_done = row_ == found_ && next_ >= end_row;
  const bool is_last = all_done && bound == kEndOfTime;
  // Rows of one time belong to one part, so the other parts pass that time. Otherwise the rows of a higher part would
  // wait for a lower part, which waits for the feed, which waits for the higher part.
  const bool is_over = all_done && !within_ && end_row != 0 && ts(end_row - 1) == bound;
  if (is_over && bound < kEndOfTime - 1) ++bound;
  position = std::max(position, old_position);
  bool news = position != old_position;
  if (!is_last) news |= publish(all_done ? bound : ts(position), logs, source);
  for (const MappedQueue& queue : queues_) emitted += queue.rows();
  done_.store(done_.load(std::memory_order_relaxed) + done, std::memory_order_relaxed);
  emitted_.store(emitted_.load(std::memory_order_relaxed) + emitted, std::memory_order_relaxed);
  position_.store(position, std::memory_order_seq_cst);  // pairs with `position`
  if (is_last) {
    publish(frontier_, logs, source);
    closed_ = true;
    for (TupleBuffer* const log : logs) log->close(source);
  }
  return news || is_last;
}

}  // namespace lab
