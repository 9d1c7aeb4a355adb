// SORT: keeps the rows of a block, and puts those of each key in order of time, then of their other fields.
//
// Words are sorted by their digits (row_words.h). Where all rows of a block have come as words, or all columns of its rows
// fit into words, these are the rows, and no row is fetched from its place. Where they do not fit, a word ends with the
// number of its row, and what it leaves equal is compared.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dataflow/link.h"
#include "dataflow/row_words.h"
#include "dataflow/spec.h"
#include "run/column_ring.h"
#include "stages/records.h"

namespace lab {

class BlockSorter {
 public:
  explicit BlockSorter(const FlowSpec& spec);

  // Set-up: words that come are packed by these. `packs`: and so are rows.
  void pack_by(std::shared_ptr<WordLayouts> layouts, bool packs) {
    packer_.emplace(spec_, std::move(layouts));
    packs_ = packs;
  }

  // Rows of a block, and words of some. Throw std::runtime_error when the block is larger than can be sorted.
  void keep(const FlowPiece& piece, std::int64_t block);
  void keep(std::span<const std::uint64_t> words);

  // Puts what was kept of a block in order,
  void sort(std::int64_t block);
  // of which rows [from, from + rows) are then written to the begin of some columns.
  void give(std::int64_t from, std::int64_t rows, void* const* to);
  std::int64_t rows() const noexcept { return rows_ + static_cast<std::int64_t>(words_.size()); }
  void clear() noexcept {
    rows_ = 0;
    words_.clear();
  }

 private:
  void check_room(std::size_t more) const;
  void make_room(std::int64_t rows);
  void unpack_words();
  void choose_parts();
  void make_words();
  void sort_words();
  void sort_by_bits(int from, int bits);
  template <int kBits>
  void sort_by_digits(int from, int digits);
  bool insert_words() noexcept;
  void sort_ties();
  int compared(std::size_t column, std::int32_t a, std::int32_t b) const noexcept;
  bool before(std::int32_t a, std::int32_t b) const noexcept;
  std::int32_t row_of(std::uint64_t word) const noexcept {
    return static_cast<std::int32_t>(word & ((std::uint64_t{1} << row_bits_) - 1));
  }

  const FlowSpec& spec_;
  const RowMover mover_;
  std::vector<std::size_t> columns_;  // in the order in which they are compared
  RecordBuffer kept_;
  std::int64_t rows_ = 0;  // in `kept_`
  std::optional<RowPacker> packer_;
  bool packs_ = false;
  std::vector<WordPart> parts_;  // of the block's words, the highest first
  std::size_t decided_ = 0;      // of `columns_`: so many need not be compared where words are equal
  int row_bits_ = 0;             // of the row's number; 0: a word is the row
  std::vector<std::uint64_t> words_, scratch_;
  std::vector<std::uint32_t> places_, ends_;  // by digit: where the words of each of its values begin, and end
  std::vector<std::int32_t> order_;
  int wait_ = 0;   // after rows that were not in order but for their keys: for so many blocks they are not taken to be
  int waits_ = 0;  // of these, still to come
};

}  // namespace lab
