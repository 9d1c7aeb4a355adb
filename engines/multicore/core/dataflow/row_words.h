// RowPacker, WordLayouts: represent rows of SORT as words of 64 bits that compare like the rows. From the highest bit
// on: the columns in the order of comparison, each less a least value.
//
// If a whole row fits, its word is passed on instead: a fifth of the bytes, packed once, while in the first cache. All
// senders of rows of a block to one SORT must pack them alike, so `WordLayouts` fixes the layout of each block. It fits
// the earlier rows, with times relative to the block's end. Rows that do not fit go as rows, and later blocks get more
// bits. A layout holds for several blocks at a time: single blocks at first, later ever longer spans.
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

// A column's part of a word: the difference to `low`, without its lowest `dropped` bits, in `bits` bits from `shift`
// on.
struct WordPart {
  std::size_t column;
  std::uint64_t low;
  int bits;
  int dropped;
  int shift;
};

// Moves parts to their places in a word, the first highest, above `lowest` bits.
void place_parts(std::span<WordPart> parts, int lowest) noexcept;

// Writes a word for each row. False: some rows do not fit, and the words are meaningless.
bool pack(const FlowSpec& sort, std::span<const WordPart> parts, const FlowPiece& piece, std::uint64_t* words) noexcept;

// Writes rows to columns, from row `at` on; parts must have all columns, with nothing dropped.
void unpack(const FlowSpec& sort, std::span<const WordPart> parts, std::span<const std::uint64_t> words,
            void* const* to, std::int64_t at) noexcept;

// The least and the greatest value of an integer column, as numbers that compare unsigned.
struct ValueRange {
  std::uint64_t least;
  std::uint64_t most;

  int bits() const noexcept;
};
ValueRange range_of(const FlowSpec& sort, std::size_t column, const FlowPiece& piece) noexcept;

// The initial part for a range: nothing dropped, not placed yet.
WordPart part_of(const FlowSpec& sort, std::size_t column, const ValueRange& range) noexcept;

// Whether a column's values, less a least one, compare like the column: those of floats and of falling columns do not.
bool rises_in_words(const FlowSpec& sort, std::size_t column) noexcept;

// The layouts of the blocks of one SORT, shared by all its instances and senders. Any thread.
class WordLayouts {
 public:
  WordLayouts(const FlowSpec& sort, const Markers& markers) : sort_(sort), markers_(markers) {}
  WordLayouts(const WordLayouts&) = delete;
  WordLayouts& operator=(const WordLayouts&) = delete;

  static bool possible(const FlowSpec& sort) noexcept;  // whether all columns may be in words

  // The layout of the rows of blocks [first, beyond); no parts: they go as rows. Times are relative to the block's end.
  struct Span {
    std::int64_t first = 0;
    std::int64_t beyond = 0;
    std::vector<WordPart> parts = {};
  };

  // Returns the span of a block, from then on always the same. A thread calls it once for several blocks: with small
  // blocks, one call for each would make threads wait for one another.
  Span of(std::int64_t block);

  // Sets the times in the parts of a span to those of one of its blocks. False: its rows go as rows.
  bool at(std::int64_t block, std::span<WordPart> parts) const noexcept;

  // Reports rows of a block that did not fit: blocks not requested yet get room for such rows.
  void widen(const FlowPiece& piece, std::int64_t block);

 private:
  struct Layout {
    std::int64_t first;              // first block
    std::vector<ValueRange> ranges;  // by column in the order of comparison; times are relative to the block's end
  };

  std::uint64_t end_of(std::int64_t block) const noexcept;  // unsigned, of the last block too

  const FlowSpec& sort_;
  const Markers& markers_;
  std::mutex mutex_;             // guards the fields below
  std::vector<Layout> layouts_;  // by block
  std::int64_t asked_ = -1;      // the last block requested so far; a span ends there
  bool closed_ = false;          // rows have too many bits: later blocks' rows go as rows
};

// Packs rows by the layouts of their blocks, for one thread.
class RowPacker {
 public:
  RowPacker(const FlowSpec& sort, std::shared_ptr<WordLayouts> layouts) : sort_(sort), layouts_(std::move(layouts)) {}

  // Returns the words of rows of a block, valid until the next call; empty: they do not fit.
  std::span<const std::uint64_t> pack(const FlowPiece& piece, std::int64_t block);
  std::span<const WordPart> parts(std::int64_t block);

 private:
  const FlowSpec& sort_;
  std::shared_ptr<WordLayouts> layouts_;
  WordLayouts::Span span_;
  std::int64_t block_ = -1;
  std::vector<WordPart> parts_;  // of the block
  std::vector<std::uint64_t> words_;
};

}  // namespace lab
