// RowPacker, WordLayouts: represent rows of a SORT as words of 64 bits that compare like the rows. From the highest bit
// on, a word holds the columns in the order of comparison; each column is stored as its difference from a lowest value.
//
// If a whole row fits into a word, the word is sent in place of the row. The word has a fifth of the bytes, and is
// packed only once, while the row is in the first-level cache. All senders to one SORT must pack the rows of a block
// alike, so `WordLayouts` fixes the layout of each block. The layout has room for rows like the earlier rows; times are
// relative to the block's end. Rows that do not fit are sent as rows, and later blocks get more bits. A layout holds
// for a span of blocks. The first spans are single blocks, later spans are longer.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dataflow/link.h"
#include "dataflow/markers.h"
#include "dataflow/spec.h"

namespace lab {

constexpr int kWordBits = 64;

// A column's part of a word: `bits` bits, from bit `shift` on. They hold the difference between the value and `low`,
// without the lowest `dropped` bits.
struct WordPart {
  std::size_t column;
  std::uint64_t low;
  int bits;
  int dropped;
  int shift;
};

// Sets the shifts of the parts. The first part gets the highest bits; the lowest `free_bits` bits of a word stay free.
void place_parts(std::span<WordPart> parts, int free_bits) noexcept;

// Writes a word for each row. Returns false if some rows do not fit; in that case the words are meaningless.
bool pack(const FlowSpec& sort, std::span<const WordPart> parts, const FlowPiece& piece, std::uint64_t* words) noexcept;

// Writes the rows of words to `columns`, from row `begin` on. The parts must have all columns, with no bits dropped.
void unpack(const FlowSpec& sort, std::span<const WordPart> parts, std::span<const std::uint64_t> words,
            void* const* columns, std::int64_t begin) noexcept;

// The lowest and the highest value of an integer column, mapped to unsigned numbers in the same order.
struct ValueRange {
  std::uint64_t lowest;
  std::uint64_t highest;

  int bits() const noexcept;
};
ValueRange range_of(const FlowSpec& sort, std::size_t column, const FlowPiece& piece) noexcept;

// Returns the part for a range of values, with no bits dropped and `shift` not set.
WordPart part_of(const FlowSpec& sort, std::size_t column, const ValueRange& range) noexcept;

// Returns whether the differences of a column's values from the lowest value compare like the column. Those of floats
// and descending columns do not.
bool compares_as_word(const FlowSpec& sort, std::size_t column) noexcept;

// The layouts of the blocks of one SORT, shared by all its instances and senders. Any thread may use it.
class WordLayouts {
 public:
  WordLayouts(const FlowSpec& sort, const Markers& markers) : sort_(sort), markers_(markers) {}
  WordLayouts(const WordLayouts&) = delete;
  WordLayouts& operator=(const WordLayouts&) = delete;

  static bool can_pack(const FlowSpec& sort) noexcept;  // returns whether a word can hold all columns

  // The layout of blocks [first, end). Without parts, the rows are sent as rows. Times are relative to the block's end.
  struct Span {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::vector<WordPart> parts = {};
  };

  // Returns the span that contains a block; the result for a block never changes. A thread should call it only once per
  // span, because with small blocks one call per block would make threads wait for one another.
  Span span_of(std::int64_t block);

  // Adapts the parts of a span to one of its blocks: adds the block's end to the lowest time. Returns false if the rows
  // of the block must be sent as rows.
  bool shift_times(std::int64_t block, std::span<WordPart> parts) const noexcept;

  // Reports rows of a block that did not fit, so that blocks whose span is not yet requested get room for such rows.
  void widen(const FlowPiece& piece, std::int64_t block);

 private:
  struct Layout {
    std::int64_t first;              // first block
    std::vector<ValueRange> ranges;  // by column in the order of comparison; times are relative to the block's end
  };

  std::uint64_t end_of(std::int64_t block) const noexcept;  // unsigned, as the end of the last block may overflow

  const FlowSpec& sort_;
  const Markers& markers_;
  std::mutex mutex_;             // guards the fields below
  std::vector<Layout> layouts_;  // by block
  std::int64_t requested_ = -1;  // the last block of the spans returned so far
  bool closed_ = false;          // whether rows have too many bits, so that rows of later blocks are sent as rows
};

// Packs rows by the layouts of their blocks. Only one thread uses it.
class RowPacker {
 public:
  RowPacker(const FlowSpec& sort, std::shared_ptr<WordLayouts> layouts) : sort_(sort), layouts_(std::move(layouts)) {}

  // Returns the words of rows of a block, valid until the next call, or no words if some rows do not fit.
  std::span<const std::uint64_t> pack(const FlowPiece& piece, std::int64_t block);
  // Returns the parts of a block's words, or no parts if the block's rows are sent as rows.
  std::span<const WordPart> parts(std::int64_t block);

 private:
  const FlowSpec& sort_;
  std::shared_ptr<WordLayouts> layouts_;
  WordLayouts::Span span_;
  std::int64_t block_ = -1;
  std::vector<WordPart> parts_;  // parts of the words of block `block_`
  std::vector<std::uint64_t> words_;
};

}  // namespace lab
