// RowPacker, WordLayouts: represent rows of SORT as words of 64 bits that compare like the rows. From the highest bit
// on, a word holds the columns in the order of comparison, each less a lowest value.
//
// If a whole row fits, its word is sent instead: a fifth of the bytes, packed once, while in the first-level cache. All
// senders of rows of a block to one SORT must pack them alike, so `WordLayouts` fixes the layout of each block. It fits
// the earlier rows, with times relative to the block's end. Rows that do not fit go as rows, and later blocks get more
// bits. A layout holds for a span of blocks: at first for single blocks, later for ever longer spans.
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

// A column's part of a word. The part holds the difference between value and `low`, without its lowest `dropped` bits,
// in `bits` bits from bit `shift` on.
struct WordPart {
  std::size_t column;
  std::uint64_t low;
  int bits;
  int dropped;
  int shift;
};

// Sets the shifts of parts, the first highest; the lowest `lowest` bits of a word stay free.
void place_parts(std::span<WordPart> parts, int lowest) noexcept;

// Writes a word for each row. Returns false if some rows do not fit; the words are then meaningless.
bool pack(const FlowSpec& sort, std::span<const WordPart> parts, const FlowPiece& piece, std::uint64_t* words) noexcept;

// Writes the rows of words to `columns`, from row `begin` on. The parts must have all columns, with no bits dropped.
void unpack(const FlowSpec& sort, std::span<const WordPart> parts, std::span<const std::uint64_t> words,
            void* const* columns, std::int64_t begin) noexcept;

// The lowest and the highest value of an integer column, as numbers that compare unsigned.
struct ValueRange {
  std::uint64_t lowest;
  std::uint64_t highest;

  int bits() const noexcept;
};
ValueRange range_of(const FlowSpec& sort, std::size_t column, const FlowPiece& piece) noexcept;

// Returns the part for a range, with no bits dropped and `shift` not set.
WordPart part_of(const FlowSpec& sort, std::size_t column, const ValueRange& range) noexcept;

// Returns whether a column's values less the lowest compare like the column. Floats and descending columns do not.
bool compares_as_word(const FlowSpec& sort, std::size_t column) noexcept;

// The layouts of the blocks of one SORT, shared by all its instances and senders. Any thread.
class WordLayouts {
 public:
  WordLayouts(const FlowSpec& sort, const Markers& markers) : sort_(sort), markers_(markers) {}
  WordLayouts(const WordLayouts&) = delete;
  WordLayouts& operator=(const WordLayouts&) = delete;

  static bool can_pack(const FlowSpec& sort) noexcept;  // whether words can have all columns

  // The layout of the rows of blocks [first, end). Without parts, they go as rows. Times are relative to the block's
  // end.
  struct Span {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::vector<WordPart> parts = {};
  };

  // Returns the span of a block, from then on always the same. A thread calls it once for a span, because with small
  // blocks a call for each block would make threads wait for one another.
  Span span_of(std::int64_t block);

  // Moves the times in the parts of a span to those of one of its blocks. Returns false if its rows go as rows.
  bool shift_times(std::int64_t block, std::span<WordPart> parts) const noexcept;

  // Reports rows of a block that did not fit, so that blocks not requested yet get room for such rows.
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
  bool closed_ = false;          // whether rows have too many bits, so that rows of later blocks go as rows
};

// Packs rows by the layouts of their blocks, for one thread.
class RowPacker {
 public:
  RowPacker(const FlowSpec& sort, std::shared_ptr<WordLayouts> layouts) : sort_(sort), layouts_(std::move(layouts)) {}

  // Returns the words of rows of a block, valid until the next call, or no words if the rows do not fit.
  std::span<const std::uint64_t> pack(const FlowPiece& piece, std::int64_t block);
  // Returns the parts of a block's words; none if its rows go as rows.
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
