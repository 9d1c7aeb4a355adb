// BlockSorter: stores the rows of a block (dataflow/markers.h) for a SORT vertex, and sorts them by key, then by the
// other fields in the vertex's order.
//
// The rows are represented by words (dataflow/row_words.h), which are sorted by their digits. If all rows of a block
// arrived as words, or all columns fit into words, each word holds its whole row, and no row is fetched. Otherwise a
// word holds the first columns and ends with the number of its row; rows whose words differ only in this number are
// compared by their other columns. A column of floats or a descending column does not fit into words, so it and the
// columns after it are always compared.
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

  // Sets the layouts of arriving words, before the run. `packs`: whether this sorter also packs arriving rows.
  void pack_by(std::shared_ptr<WordLayouts> layouts, bool packs) {
    packer_.emplace(spec_, std::move(layouts));
    packs_ = packs;
  }

  // Both functions store rows of a block: from columns, or as words. They throw std::runtime_error if the block is too
  // large to be sorted.
  void store(const FlowPiece& piece, std::int64_t block);
  void store(std::span<const std::uint64_t> words);

  // Sorts the stored rows of a block.
  void sort(std::int64_t block);
  // Copies the sorted rows [from, from + rows) to the beginning of the columns `to`.
  void copy_sorted(std::int64_t from, std::int64_t rows, void* const* to);
  std::int64_t rows() const noexcept { return rows_ + static_cast<std::int64_t>(words_.size()); }
  void clear() noexcept {
    rows_ = 0;
    words_.clear();
  }

 private:
  void check_room(std::size_t new_rows) const;
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
  int compare_rows(std::size_t column, std::int32_t a, std::int32_t b) const noexcept;
  bool is_before(std::int32_t a, std::int32_t b) const noexcept;
  std::int32_t row_of(std::uint64_t word) const noexcept {
    return static_cast<std::int32_t>(word & ((std::uint64_t{1} << row_bits_) - 1));
  }

  const FlowSpec& spec_;
  const RowMover mover_;
  std::vector<std::size_t> columns_;  // in the order of comparison
  RecordBuffer buffer_;
  std::int64_t rows_ = 0;  // number of rows in `buffer_`
  std::optional<RowPacker> packer_;
  bool packs_ = false;
  std::vector<WordPart> parts_;   // parts of the block's words, the highest first
  std::size_t word_columns_ = 0;  // number of columns, in the order of `columns_`, that are wholly in words
  int row_bits_ = 0;              // number of bits of the row's number in a word; 0 if the word is the row
  std::vector<std::uint64_t> words_, scratch_;
  std::vector<std::uint32_t> places_, ends_;  // by digit and value: begin and end of the words with this value
  std::vector<std::int32_t> order_;
  // After a block in which the rows of a key came unordered, the next `backoff_blocks_` blocks are sorted without
  // assuming an order. `backoff_left_` of these blocks remain.
  int backoff_blocks_ = 0;
  int backoff_left_ = 0;
};

}  // namespace lab
