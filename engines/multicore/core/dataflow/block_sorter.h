// SORT: keeps the rows of a block, and puts those of each key in order of time, then of their other fields.
//
// What rows are compared by is packed into one word where a block's values lie close enough to each other (integers
// less the least of their column, key first), and sorted by its bytes; what no longer fits decides among those that the
// word leaves equal.
#pragma once
#include <cstdint>
#include <span>
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

  // The rows of the block, in order; valid until the next call.
  std::span<const std::int32_t> sort();
  void* const* columns() const noexcept { return kept_.columns(); }
  void clear() noexcept { rows_ = 0; }

 private:
  struct Entry {
    std::uint64_t word;
    std::int32_t row;
  };

  void pack(std::size_t column, int bits_left, int& used);
  void sort_by_words(int bits);
  void sort_ties();
  int compared(std::size_t place, std::int32_t a, std::int32_t b) const noexcept;
  bool before(std::int32_t a, std::int32_t b) const noexcept;

  const FlowSpec& spec_;
  const RowMover mover_;
  std::vector<std::size_t> columns_;  // in the order in which they are compared
  std::size_t packed_ = 0;            // of these, in the words
  RecordBuffer kept_;
  std::int64_t rows_ = 0;
  std::vector<Entry> entries_, scratch_;
  std::vector<std::int32_t> order_;
};

}  // namespace lab
