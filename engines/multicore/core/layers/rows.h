// How rows are copied between columns, few at a time: what blocks of a tuple or two cost; and rows by number.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace lab {

// Columns by width, so that a record is copied by as many loops as there are widths, each of loads and stores of a
// constant size: a call of memcpy for each column, or a choice by its width, takes longer than the copy.
class RowMover {
 public:
  explicit RowMover(std::span<const std::int32_t> itemsizes) {
    for (std::size_t w = 0; w < kWidths.size(); ++w) {
      for (std::size_t c = 0; c < itemsizes.size(); ++c) {
        if (static_cast<std::size_t>(itemsizes[c]) == kWidths[w]) columns_[w].push_back(c);
      }
    }
    for (std::size_t c = 0; c < itemsizes.size(); ++c) {
      const auto width = static_cast<std::size_t>(itemsizes[c]);
      bool usual = false;
      for (const std::size_t one : kWidths) usual = usual || one == width;
      if (!usual) others_.push_back({c, width});
    }
  }

  // Copies `rows` records, from record `from` of one set of columns to record `to` of another.
  void copy(void* const* target, std::int64_t to, const void* const* source, std::int64_t from,
            std::int64_t rows) const noexcept {
    each([=]<std::size_t kWidth>(std::size_t c, std::size_t width) {
      std::byte* out = at(target[c], to, width);
      const std::byte* in = at(source[c], from, width);
      if (kWidth == 0 || rows >= kFewRows) {
        std::memcpy(out, in, static_cast<std::size_t>(rows) * width);
        return;
      }
      for (std::int64_t i = 0; i < rows; ++i, out += kWidth, in += kWidth) std::memcpy(out, in, kWidth);
    });
  }

  // Copies the records from + list[i].
  void copy(void* const* target, std::int64_t to, const void* const* source, std::int64_t from,
            const std::int32_t* list, std::int64_t rows) const noexcept {
    each([=]<std::size_t kWidth>(std::size_t c, std::size_t width) {
      std::byte* out = at(target[c], to, width);
      const std::byte* in = at(source[c], from, width);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::size_t size = kWidth == 0 ? width : kWidth;
        std::memcpy(out + static_cast<std::size_t>(i) * size, in + static_cast<std::size_t>(list[i]) * size, size);
      }
    });
  }

 private:
  static constexpr std::array<std::size_t, 5> kWidths{1, 2, 4, 8, 16};
  static constexpr std::int64_t kFewRows = 16;

  struct Other {
    std::size_t column;
    std::size_t width;
  };

  static std::byte* at(void* column, std::int64_t row, std::size_t width) noexcept {
    return static_cast<std::byte*>(column) + static_cast<std::size_t>(row) * width;
  }
  static const std::byte* at(const void* column, std::int64_t row, std::size_t width) noexcept {
    return static_cast<const std::byte*>(column) + static_cast<std::size_t>(row) * width;
  }

  // Calls f<width>(column, width) for each column; f<0> where the width is an unusual one.
  template <typename F>
  void each(F f) const noexcept {
    for (const std::size_t c : columns_[0]) f.template operator()<1>(c, 1);
    for (const std::size_t c : columns_[1]) f.template operator()<2>(c, 2);
    for (const std::size_t c : columns_[2]) f.template operator()<4>(c, 4);
    for (const std::size_t c : columns_[3]) f.template operator()<8>(c, 8);
    for (const std::size_t c : columns_[4]) f.template operator()<16>(c, 16);
    for (const Other& other : others_) f.template operator()<0>(other.column, other.width);
  }

  std::array<std::vector<std::size_t>, kWidths.size()> columns_;  // of each width
  std::vector<Other> others_;
};

// A row of an input stream that stays where it is: what goes through a graph in its place, in one int64 column.
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
