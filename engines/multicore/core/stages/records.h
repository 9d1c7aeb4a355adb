// RecordBuffer: a buffer of records in columns. Pipelines reuse its memory for many units; it grows on demand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lab {

class RecordBuffer {
 public:
  // Makes room for `rows` records and discards the present records. `itemsizes` must outlive the use of the buffer.
  void shape(std::span<const std::int32_t> itemsizes, std::int64_t rows);

  // Makes room for `rows` records and keeps the first `used` records.
  void grow(std::int64_t used, std::int64_t rows);

  // Writes to all of the buffer's memory, so that its pages exist.
  void touch() noexcept;

  void* const* columns() const noexcept { return columns_.data(); }
  std::int32_t* sources() const noexcept { return sources_; }  // by record: the number of its source record
  std::int64_t capacity() const noexcept { return capacity_; }

 private:
  std::size_t bytes_for(std::int64_t rows) const noexcept;
  void allocate(std::size_t bytes);
  void place(std::int64_t rows);

  std::span<const std::int32_t> itemsizes_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* begin_ = nullptr;  // aligned to a cache line
  std::size_t bytes_ = 0;
  std::int64_t capacity_ = 0;
  std::vector<void*> columns_;
  std::int32_t* sources_ = nullptr;
};

// Copies `rows` records, from record `from` of one set of columns to record `to` of another.
void copy_records(std::span<const std::int32_t> itemsizes, const void* const* source, std::int64_t from,
                  void* const* target, std::int64_t to, std::int64_t rows) noexcept;

}  // namespace lab
