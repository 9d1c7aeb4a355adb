// Implements stages/records.h.
#include "stages/records.h"

#include <bit>
#include <cstring>
#include <utility>

namespace lab {
namespace {

constexpr std::size_t kAlign = 64;  // alignment of columns, a cache line

std::size_t column_bytes(std::int64_t rows, std::size_t itemsize) {
  return (static_cast<std::size_t>(rows) * itemsize + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

std::size_t RecordBuffer::bytes_for(std::int64_t rows) const noexcept {
  std::size_t total = column_bytes(rows, sizeof(std::int32_t));
  for (const std::int32_t size : itemsizes_) total += column_bytes(rows, static_cast<std::size_t>(size));
  return total;
}

void RecordBuffer::allocate(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(bytes);  // so that a slightly larger unit needs no new memory
  memory_.reset(new std::byte[size + kAlign]);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  begin_ = memory_.get() + (kAlign - address % kAlign) % kAlign;
  bytes_ = size;
}

void RecordBuffer::place(std::int64_t rows) {
  columns_.resize(itemsizes_.size());
  std::byte* column = begin_;
  for (std::size_t c = 0; c < itemsizes_.size(); ++c) {
    columns_[c] = column;
    column += column_bytes(rows, static_cast<std::size_t>(itemsizes_[c]));
  }
  sources_ = reinterpret_cast<std::int32_t*>(column);
  capacity_ = rows;
}

void RecordBuffer::shape(std::span<const std::int32_t> itemsizes, std::int64_t rows) {
  itemsizes_ = itemsizes;
  const std::size_t min_bytes = bytes_for(rows);
  if (min_bytes > bytes_) allocate(min_bytes);
  place(rows);
}

void RecordBuffer::grow(std::int64_t used, std::int64_t rows) {
  const std::unique_ptr<std::byte[]> old_memory = std::move(memory_);  // kept until its rows are copied
  const std::vector<void*> columns = columns_;
  const std::int32_t* sources = sources_;
  allocate(bytes_for(rows));
  place(rows);
  copy_records(itemsizes_, columns.data(), 0, columns_.data(), 0, used);
  if (used != 0) std::memcpy(sources_, sources, static_cast<std::size_t>(used) * sizeof(std::int32_t));
}

void RecordBuffer::touch() noexcept {
  if (bytes_ != 0) std::memset(begin_, 0, bytes_);
}

void copy_records(std::span<const std::int32_t> itemsizes, const void* const* source, std::int64_t from,
                  void* const* target, std::int64_t to, std::int64_t rows) noexcept {
  if (rows == 0) return;
  for (std::size_t c = 0; c < itemsizes.size(); ++c) {
    const auto size = static_cast<std::size_t>(itemsizes[c]);
    const auto* first = static_cast<const std::byte*>(source[c]) + static_cast<std::size_t>(from) * size;
    auto* into = static_cast<std::byte*>(target[c]) + static_cast<std::size_t>(to) * size;
    if (rows == 1 && size == 8) {  // a call of memcpy would cost more for one value
      std::memcpy(into, first, 8);
    } else {
      std::memcpy(into, first, static_cast<std::size_t>(rows) * size);
    }
  }
}

}  // namespace lab
