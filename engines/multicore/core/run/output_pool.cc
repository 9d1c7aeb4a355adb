#include "run/output_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lab {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// The largest item: the end of a chunk may be too short for one more.
constexpr std::size_t kMostItem = 64;

// Most reserved bytes of small data. More chunks grow during the run, and the pool counts them.
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

// Returned chunks that a pool without reservations keeps.
constexpr std::size_t kSpares = 2;

}  // namespace

void check_output(std::span<const std::int32_t> itemsizes) {
  if (!itemsizes.empty() && itemsizes.front() == 8) return;
  throw std::invalid_argument("the first output field must be an int64 timestamp");
}

OutputPool::OutputPool(std::vector<std::int32_t> itemsizes, std::int64_t largest, std::size_t chunk_bytes)
    : itemsizes_(std::move(itemsizes)), page_(chunk_bytes < kHugePage ? kPage : kHugePage), kept_(kSpares) {
  // Columns start on 64-byte boundaries, so a multiple of 64 rows keeps every column aligned.
  std::size_t row = 0;
  for (const std::int32_t size : itemsizes_) row += static_cast<std::size_t>(size);
  const std::size_t least = (static_cast<std::size_t>(largest) + 63) / 64 * 64;
  const std::size_t rows = std::max(chunk_bytes / row / 64 * 64, least);
  chunk_rows_ = static_cast<std::int64_t>(rows);
  chunk_bytes_ = (rows * row + page_ - 1) / page_ * page_;
}

void OutputPool::reserve(std::int64_t rows, std::int64_t unused) {
  // Every chunk except the last of a buffer has at least `at_least` rows, and the first of each buffer exists already.
  // This bound is weak if one event may fill a chunk. Then the second one holds: chunks are more than half full if
  // every event emits its maximum.
  const std::int64_t at_least = std::max<std::int64_t>(1, chunk_rows_ - unused);
  add(std::min(rows / at_least, 2 * rows / chunk_rows_ + 1));
}

void OutputPool::reserve_bytes(std::int64_t bytes, std::int64_t buffers) {
  add(std::min(bytes, kMostBytes) / static_cast<std::int64_t>(chunk_bytes_ - kMostItem) + buffers);
}

void OutputPool::add(std::int64_t chunks) {
  const std::lock_guard lock(mutex_);
  for (std::int64_t i = 0; i < chunks; ++i) {
    spare_.push_back(fresh());
    std::memset(spare_.back().get(), 0, chunk_bytes_);
  }
  kept_ = std::max(kept_, spare_.size());
}

OutputPool::Memory OutputPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      Memory memory = std::move(spare_.back());
      spare_.pop_back();
      return memory;
    }
    ++grown_;
  }
  return fresh();
}

void OutputPool::give(Memory memory) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() < kept_) spare_.push_back(std::move(memory));
}

std::int64_t OutputPool::grown() const noexcept {
  const std::lock_guard lock(mutex_);
  return grown_;
}

OutputPool::Memory OutputPool::fresh() const {
  void* memory = std::aligned_alloc(page_, chunk_bytes_);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (page_ == kHugePage) madvise(memory, chunk_bytes_, MADV_HUGEPAGE);  // a hint: failure only costs speed
#endif
  return {static_cast<std::byte*>(memory), &std::free};
}

}  // namespace lab
