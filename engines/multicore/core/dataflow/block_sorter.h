// SORT: keeps the rows of a block, and puts those of each key in order of time, then of their other fields.
//
// What rows are compared by is packed into a word of 64 bits, the key first, integers less the least of their column in
// the block, and words are sorted by their digits. Where all columns fit, the words are the rows, and no row is fetched
// from its place. Where they do not, a word ends with the number of its row, and what it leaves equal is compared.
#pragma once
#include <cstdint>
#include <vector>

#include "dataflow/link.h"
#include "dataflow/spec.h"
#include "run/column_ring.h"
#include "stages/records.h"

namespace lab {

class BlockSorter {
 public:
  explicit BlockSorter(const FlowSpec& spec);

  // Throws std::runtime_error when the block is larger than can be sorted.
  void keep(const FlowPiece& piece);

  // Puts what was kept in order,
  void sort();
  // of which rows [from, from + rows) are then written to the begin of some columns.
  void give(std::int64_t from, std::int64_t rows, void* const* to);
  std::int64_t rows() const noexcept { return rows_; }
  void clear() noexcept { rows_ = 0; }

 private:
  // What a column has in a block: values from `low` on, whose differences to it take so many bits.
  struct Range {
    std::uint64_t low = 0;
    int bits = 0;
  };

  // What a word has of a column: the upper `bits` of these differences, without `dropped` ones, from bit `shift` on.
  struct Part {
    std::size_t column;
    std::uint64_t low;
    int bits;
    int dropped;
    int shift;
  };

  Range range_of(std::size_t column) const;
  void choose_parts();
  void make_words();
  void sort_words();
  void sort_ties();
  int compared(std::size_t column, std::int32_t a, std::int32_t b) const noexcept;
  bool before(std::int32_t a, std::int32_t b) const noexcept;
  std::int32_t row_of(std::uint64_t word) const noexcept {
    return static_cast<std::int32_t>(word & ((std::uint64_t{1} << row_bits_) - 1));
  }

  const FlowSpec& spec_;
  const RowMover mover_;
  std::vector<std::size_t> columns_;  // in the order in which they are compared
  bool floats_ = false;               // whether there are columns that words cannot have
  RecordBuffer kept_;
  std::int64_t rows_ = 0;
  std::vector<Part> parts_;     // of the block's words, the highest first
  std::size_t decided_ = 0;     // of `columns_`: so many need not be compared where words are equal
  int row_bits_ = 0;            // of the row's number; 0: a word is the row
  std::vector<std::uint64_t> words_, scratch_;
  std::vector<std::uint32_t> places_, ends_;  // by digit: where the words of each of its values begin, and end
  std::vector<std::int32_t> order_;
};

}  // namespace lab
