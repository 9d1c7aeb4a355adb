// RowNumber: represents a tuple of an input stream in a query graph; used by layers with operators O+.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lab {

// A row of an input stream that stays in place: its number crosses the graph instead, in one int64 column.
class RowNumber {
 public:
  static constexpr std::size_t kColumn = 1;  // behind the timestamp

  RowNumber(std::int32_t stream, std::int64_t row) noexcept
      : value_(static_cast<std::int64_t>(stream) << kRowBits | row) {}
  explicit RowNumber(std::int64_t value) noexcept : value_(value) {}

  std::int64_t value() const noexcept { return value_; }
  std::int32_t stream() const noexcept { return static_cast<std::int32_t>(value_ >> kRowBits); }
  std::int64_t row() const noexcept { return value_ & ((std::int64_t{1} << kRowBits) - 1); }

 private:
  static constexpr int kRowBits = 48;

  std::int64_t value_;
};

}  // namespace lab
