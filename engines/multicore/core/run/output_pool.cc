// Implements OutputPool; see run/output_pool.h.
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

// The largest item of small data; up to this many bytes at the end of a chunk stay unused.
constexpr std::size_t kMaxItem = 64;

// Limit of the reserved bytes of small data. Further chunks are allocated during the run, and the pool counts them.
constexpr std::int64_t kMaxBytes = std::int64_t{256} << 20;

// Minimum number of returned chunks that a pool keeps.
constexpr std::size_t kMinSpares = 2;

}  // namespace

void check_output(std::span<const std::int32_t> itemsizes) {
  if (!itemsizes.empty() && itemsizes.front() == 8) return;
  throw std::invalid_argument("the first output field must be an int64 timestamp");
}

OutputPool::OutputPool(std::vector<std::int32_t> itemsizes, std::int64_t largest, std::size_t chunk_bytes)
    : itemsizes_(std::move(itemsizes)), page_(chunk_bytes < kHugePage ? kPage : kHugePage), spare_limit_(kMinSpares) {
  // Columns start on 64-byte boundaries, so a multiple of 64 rows keeps every column aligned.
  std::size_t row = 0;
  for (const std::int32_t size : itemsizes_) row += static_cast<std::size_t>(size);
  const std::size_t min_chunk_rows = (static_cast<std::size_t>(largest) + 63) / 64 * 64;
  const std::size_t rows = std::max(chunk_bytes / row / 64 * 64, min_chunk_rows);
  chunk_rows_ = static_cast<std::int64_t>(rows);
  chunk_bytes_ = (rows * row + page_ - 1) / page_ * page_;
}

void OutputPool::reserve(std::int64_t rows, std::int64_t unused) {
  // First bound: every chunk except the last of a buffer has at least `min_rows` rows, and the first of each buffer
  // already exists. It is weak if one event may fill a chunk. Second bound: chunks are more than half full if every
  // event emits its maximum.
  const std::int64_t min_rows = std::max<std::int64_t>(1, chunk_rows_ - unused);
  add(std::min(rows / min_rows, 2 * rows / chunk_rows_ + 1));
}

void OutputPool::reserve_bytes(std::int64_t bytes, std::int64_t buffers) {
  add(std::min(bytes, kMaxBytes) / static_cast<std::int64_t>(chunk_bytes_ - kMaxItem) + buffers);
}

void OutputPool::add(std::int64_t chunks) {
  const std::lock_guard lock(mutex_);
  for (std::int64_t i = 0; i < chunks; ++i) {
    spare_.push_back(allocate());
    std::memset(spare_.back().get(), 0, chunk_bytes_);
  }
  spare_limit_ = std::max(spare_limit_, spare_.size());
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
  return allocate();
}

void OutputPool::give(Memory memory) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() < spare_limit_) spare_.push_back(std::move(memory));
}

std::int64_t OutputPool::grown() const noexcept {
  const std::lock_guard lock(mutex_);
  return grown_;
}

OutputPool::Memory OutputPool::allocate() const {
  void* memory = std::aligned_alloc(page_, chunk_bytes_);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (page_ == kHugePage) madvise(memory, chunk_bytes_, MADV_HUGEPAGE);  // a hint, whose failure only costs speed
#endif
  return {static_cast<std::byte*>(memory), &std::free};
}

}  // namespace lab
