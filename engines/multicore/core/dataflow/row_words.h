// Rows as words of 64 bits, which compare as SORT compares the rows: from the highest bit on the key, the time, the other
// fields, each less a least value.
//
// Where all of a row fits, words are handed on instead of rows: a fifth of the bytes, packed once, while they are in the
// first cache. Everyone who sends rows of a block to one SORT must pack them alike, so `WordLayouts` says how for each
// block: as earlier rows would have fitted, times relative to the block's end. Rows that do not fit go as rows, and
// later blocks get more bits. It says so for several blocks at a time, the first ones alone, later ones in ever longer spans.
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

// What words have of a column: the difference to `low`, without its lowest `dropped` bits, in `bits` bits from `shift` on.
struct WordPart {
  std::size_t column;
  std::uint64_t low;
  int bits;
  int dropped;
  int shift;
};

// Moves parts to where they are in a word, the first highest, above `lowest` bits.
void place_parts(std::span<WordPart> parts, int lowest) noexcept;

// Writes a word for each row; false: some do not fit, and words mean nothing.
bool pack(const FlowSpec& sort, std::span<const WordPart> parts, const FlowPiece& piece, std::uint64_t* words) noexcept;

// Writes rows to columns, from row `at` on; parts must have all columns, and have dropped nothing.
void unpack(const FlowSpec& sort, std::span<const WordPart> parts, std::span<const std::uint64_t> words,
            void* const* to, std::int64_t at) noexcept;

// The least and the greatest of a column of integers, as numbers that compare without a sign.
struct ValueRange {
  std::uint64_t least;
  std::uint64_t most;

  int bits() const noexcept;
};
ValueRange range_of(const FlowSpec& sort, std::size_t column, const FlowPiece& piece) noexcept;

// The first part for a range: nothing dropped, not placed yet.
WordPart part_of(const FlowSpec& sort, std::size_t column, const ValueRange& range) noexcept;

// The columns of SORT in the order in which they are compared.
std::vector<std::size_t> compared_columns(const FlowSpec& sort);

// How the rows of each block are packed: of one SORT, for all instances and all who send to them. Any thread.
class WordLayouts {
 public:
  WordLayouts(const FlowSpec& sort, const Markers& markers) : sort_(sort), markers_(markers) {}
  WordLayouts(const WordLayouts&) = delete;
  WordLayouts& operator=(const WordLayouts&) = delete;

  static bool possible(const FlowSpec& sort) noexcept;  // whether all columns are integers

  // How the rows of blocks [first, beyond) are packed; no parts: they go as rows. Times are relative to the block's end.
  struct Span {
    std::int64_t first = 0;
    std::int64_t beyond = 0;
    std::vector<WordPart> parts = {};
  };

  // That a block is in, from then on always the same. Each asks once for some blocks, not for each: small blocks would
  // wait for one another.
  Span of(std::int64_t block);

  // Makes the times of parts of a span those of one of its blocks. False: its rows go as rows.
  bool at(std::int64_t block, std::span<WordPart> parts) const noexcept;

  // Rows of a block did not fit: blocks that nobody has asked for yet get room for such.
  void widen(const FlowPiece& piece, std::int64_t block);

 private:
  struct Layout {
    std::int64_t first;              // block
    std::vector<ValueRange> ranges;  // by column as compared; times are relative to the block's end
  };

  std::uint64_t end_of(std::int64_t block) const noexcept;  // as a number without a sign, of the last block too

  const FlowSpec& sort_;
  const Markers& markers_;
  std::mutex mutex_;             // guards what follows
  std::vector<Layout> layouts_;  // by block
  std::int64_t asked_ = -1;      // the last block of those that somebody has asked for; a span ends there
  bool closed_ = false;          // rows have too many bits: later blocks' go as rows
};

// Packs rows by the layouts of their blocks, for one thread.
class RowPacker {
 public:
  RowPacker(const FlowSpec& sort, std::shared_ptr<WordLayouts> layouts) : sort_(sort), layouts_(std::move(layouts)) {}

  // The words of rows of a block, until the next call; none: they do not fit.
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
