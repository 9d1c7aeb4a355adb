// Implements the links that dataflow/link.h explains.
#include "dataflow/link.h"

#include <algorithm>
#include <cstring>

namespace lab {

FlowLink::FlowLink(std::span<const std::int32_t> itemsizes, std::int64_t rows, bool has_due, Parker& producer,
                   Parker& consumer)
    : itemsizes_(itemsizes.begin(), itemsizes.end()),
      mover_(itemsizes_),
      full_rows_(std::max(rows, kMinRows)),
      has_due_(has_due),
      producer_(producer),
      consumer_(consumer) {
  chunk_ = &add_chunk();
}

// Appends an empty chunk: the oldest one if the consumer has left it, otherwise a new one.
FlowLink::Chunk& FlowLink::add_chunk() {
  std::unique_ptr<Chunk> chunk;
  if (chunks_.size() > 1) {
    // acquire: the consumer has left the oldest chunk, and read its `next`; pairs with the store in `next`.
    seen_released_ = released_.load(std::memory_order_acquire);
    if (chunks_[1]->first <= seen_released_) {
      chunk = std::move(chunks_.front());
      chunks_.pop_front();
    }
  }
  if (chunk == nullptr) {
    chunk = std::make_unique<Chunk>();
    std::vector<std::size_t> sizes(fields(), sizeof(std::int64_t));
    sizes.insert(sizes.end(), itemsizes_.begin(), itemsizes_.end());
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += size * kChunkRows;
    // Zeroed, so that its pages exist. kChunkRows is a multiple of the size of a cache line, so columns stay aligned.
    chunk->memory.reset(new std::byte[total]());
    std::byte* column = chunk->memory.get();
    for (const std::size_t size : sizes) {
      chunk->columns.push_back(column);
      column += size * kChunkRows;
    }
  }
  chunk->first = appended_;
  chunk->next = nullptr;
  if (!chunks_.empty()) chunks_.back()->next = chunk.get();
  chunks_.push_back(std::move(chunk));
  return *chunks_.back();
}

void FlowLink::append(const FlowPiece& piece, const std::int32_t* list, std::int64_t rows, std::int64_t block) {
  for (std::int64_t done = 0; done < rows;) {
    Chunk* chunk = chunks_.back().get();
    if (appended_ - chunk->first == kChunkRows) chunk = &add_chunk();
    const std::int64_t to = appended_ - chunk->first;
    const std::int64_t count = std::min(rows - done, kChunkRows - to);
    void* const* target = chunk->columns.data();
    std::fill_n(static_cast<std::int64_t*>(target[0]) + to, count, block);
    void* const* columns = target + fields();
    if (list == nullptr) {
      if (has_due_) std::copy_n(piece.due + done, count, static_cast<std::int64_t*>(target[1]) + to);
      mover_.copy(columns, to, piece.columns, piece.base + done, count);
    } else {
      auto* due = static_cast<std::int64_t*>(target[1]) + to;
      for (std::int64_t i = 0; has_due_ && i < count; ++i) due[i] = piece.due[list[done + i]];
      mover_.copy(columns, to, piece.columns, piece.base, list + done, count);
    }
    appended_ += count;
    done += count;
  }
}

void FlowLink::flush(std::int64_t promise) noexcept {
  if (flushed_rows_ == appended_ && flushed_promise_ == promise) return;
  // release: publishes the rows, and chunks' `next`; pairs with the loads in `next`. seq_cst, before the notify: a
  // consumer that is about to sleep sees the stores, or `notify` sees the consumer asleep. Rows go first, so a thread
  // that sees a promise sees all rows before the promise.
  if (flushed_rows_ != appended_) published_.store(flushed_rows_ = appended_, std::memory_order_seq_cst);
  if (flushed_promise_ != promise) promise_.store(flushed_promise_ = promise, std::memory_order_seq_cst);
  consumer_.notify();
}

bool FlowLink::full() noexcept {
  if (appended_ - seen_released_ <= full_rows_) return false;
  // seq_cst: a producer that then sleeps sees the store in `next`, or the notify there sees the producer asleep.
  seen_released_ = released_.load(std::memory_order_seq_cst);
  return appended_ - seen_released_ > full_rows_;
}

FlowPiece FlowLink::next(std::int64_t block, std::int64_t max_rows) noexcept {
  if (row_ == end_) {
    // seq_cst: pairs with the stores in `flush`, in the opposite order.
    seen_promise_ = promise_.load(std::memory_order_seq_cst);
    end_ = published_.load(std::memory_order_seq_cst);
    if (row_ == end_) return {};
  }
  if (row_ - chunk_->first == kChunkRows) {
    chunk_ = chunk_->next;
    // release: `next` and the rows before it were read; pairs with the load in `add_chunk`. seq_cst, with the
    // notify after it, for a producer that found the link full.
    released_.store(chunk_->first, std::memory_order_seq_cst);
    producer_.notify();
  }
  const std::int64_t base = row_ - chunk_->first;
  const std::int64_t rows = std::min({end_ - row_, kChunkRows - base, max_rows});
  const std::int64_t* blocks = static_cast<const std::int64_t*>(chunk_->columns[0]) + base;
  // Gallop, since small blocks are much shorter than the available rows, and later rows are in another core's cache.
  std::int64_t count = 0;  // number of rows that are known to be of the block
  std::int64_t next = 0;   // the next row to test
  while (next < rows && blocks[next] <= block) {
    count = next + 1;
    next = 2 * count;
  }
  count = std::upper_bound(blocks + count, blocks + std::min(next, rows), block) - blocks;
  if (count == 0) return {};
  row_ += count;
  FlowPiece piece;
  piece.columns = chunk_->columns.data() + fields();
  piece.base = base;
  piece.rows = count;
  if (has_due_) piece.due = static_cast<const std::int64_t*>(chunk_->columns[1]) + base;
  return piece;
}

bool FlowLink::passed(std::int64_t block) const noexcept { return row_ != end_ || seen_promise_ > block; }

}  // namespace lab
