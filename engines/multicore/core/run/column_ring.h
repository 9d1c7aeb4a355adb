// ColumnRing: a ring of columns with one writer, which passes rows between two threads. RowMover: copies rows between
// columns. Logs and links use both. The copy is fast for few rows, since it dominates the cost of small blocks.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab {

// Copies records between columns, which it groups by width. Each width has a loop of loads and stores of a constant
// size. A memcpy call for each column, or a branch on its width, takes longer than the copy.
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
      if (std::find(kWidths.begin(), kWidths.end(), width) == kWidths.end()) others_.push_back({c, width});
    }
  }

  // Copies `rows` records, from record `from` of one set of columns to record `to` of another.
  void copy(void* const* target, std::int64_t to, const void* const* source, std::int64_t from,
            std::int64_t rows) const noexcept {
    each([=]<std::size_t kWidth>(std::size_t c, std::size_t width) {
      std::byte* out = item(target[c], to, width);
      const std::byte* in = item(source[c], from, width);
      if (kWidth == 0 || rows >= kFewRows) {
        std::memcpy(out, in, static_cast<std::size_t>(rows) * width);
        return;
      }
      for (std::int64_t i = 0; i < rows; ++i, out += kWidth, in += kWidth) std::memcpy(out, in, kWidth);
    });
  }

  // Copies the records `from + list[i]`.
  void copy(void* const* target, std::int64_t to, const void* const* source, std::int64_t from,
            const std::int32_t* list, std::int64_t rows) const noexcept {
    each([=]<std::size_t kWidth>(std::size_t c, std::size_t width) {
      std::byte* out = item(target[c], to, width);
      const std::byte* in = item(source[c], from, width);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::size_t size = kWidth == 0 ? width : kWidth;
        std::memcpy(out + static_cast<std::size_t>(i) * size, in + static_cast<std::size_t>(list[i]) * size, size);
      }
    });
  }

 private:
  static constexpr std::array<std::size_t, 5> kWidths{1, 2, 4, 8, 16};
  static constexpr std::int64_t kFewRows = 16;  // with more rows, one memcpy of a column is faster

  struct Other {
    std::size_t column;
    std::size_t width;
  };

  static std::byte* item(void* column, std::int64_t row, std::size_t width) noexcept {
    return static_cast<std::byte*>(column) + static_cast<std::size_t>(row) * width;
  }
  static const std::byte* item(const void* column, std::int64_t row, std::size_t width) noexcept {
    return static_cast<const std::byte*>(column) + static_cast<std::size_t>(row) * width;
  }

  // Calls f<width>(column, width) for each column, and f<0> for a width outside `kWidths`.
  template <typename F>
  void each(F f) const noexcept {
    for (const std::size_t c : columns_[0]) f.template operator()<1>(c, 1);
    for (const std::size_t c : columns_[1]) f.template operator()<2>(c, 2);
    for (const std::size_t c : columns_[2]) f.template operator()<4>(c, 4);
    for (const std::size_t c : columns_[3]) f.template operator()<8>(c, 8);
    for (const std::size_t c : columns_[4]) f.template operator()<16>(c, 16);
    for (const Other& other : others_) f.template operator()<0>(other.column, other.width);
  }

  std::array<std::vector<std::size_t>, kWidths.size()> columns_;  // the columns of each width
  std::vector<Other> others_;                                     // the columns of other widths
};

// The memory of a ring of rows: row r is item r modulo the size of every column. The first column is the int64
// timestamp. The user of the ring stores the positions and decides which thread may write or read which rows.
class ColumnRing {
 public:
  // Throws std::invalid_argument unless `rows` is a power of two, at least 2. `option`: the option that sets `rows`.
  ColumnRing(std::span<const std::int32_t> itemsizes, std::int64_t rows, const char* option)
      : mask_(static_cast<std::uint64_t>(rows) - 1), mover_(itemsizes) {
    if (rows < 2 || !std::has_single_bit(static_cast<std::uint64_t>(rows))) {
      throw std::invalid_argument(option + (" is " + std::to_string(rows)) + "; expected a power of two, at least 2");
    }
    for (const std::int32_t size : itemsizes) {
      // Zeroes the memory, so that its pages exist before the clock starts.
      memory_.emplace_back(static_cast<std::size_t>(rows) * static_cast<std::size_t>(size));
      columns_.push_back(memory_.back().data());
    }
  }
  ColumnRing(const ColumnRing&) = delete;
  ColumnRing& operator=(const ColumnRing&) = delete;

  std::uint64_t mask() const noexcept { return mask_; }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(mask_) + 1; }
  std::int64_t item_of(std::int64_t row) const noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(row) & mask_);
  }
  // Returns the number of contiguous rows from `row` on.
  std::int64_t in_one_piece(std::int64_t row) const noexcept { return size() - item_of(row); }
  void* const* columns() const noexcept { return columns_.data(); }
  const std::int64_t* ts() const noexcept { return static_cast<const std::int64_t*>(columns_.front()); }
  const RowMover& mover() const noexcept { return mover_; }

  // Writes rows [row, row + rows), at most `size()`, from the records of `columns` at `from` and after it.
  void write(std::int64_t row, const void* const* columns, std::int64_t from, std::int64_t rows) noexcept {
    while (rows > 0) {
      const std::int64_t count = std::min(rows, in_one_piece(row));
      mover_.copy(columns_.data(), item_of(row), columns, from, count);
      row += count;
      from += count;
      rows -= count;
    }
  }
  // Writes rows [row, row + rows) from the records `from + list[i]`.
  void write(std::int64_t row, const void* const* columns, std::int64_t from, const std::int32_t* list,
             std::int64_t rows) noexcept {
    while (rows > 0) {
      const std::int64_t count = std::min(rows, in_one_piece(row));
      mover_.copy(columns_.data(), item_of(row), columns, from, list, count);
      row += count;
      list += count;
      rows -= count;
    }
  }

 private:
  const std::uint64_t mask_;
  const RowMover mover_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<void*> columns_;
};

}  // namespace lab
