// Which instances the rows on their way through a shared log concern: found out once, by whoever hands a row over, so
// that the others pass over it by looking at a byte instead of evaluating f_MK.
//
// A mark is a byte with a bit for each instance modulo 8: one whose bit is not set has no key of that row, and one whose
// bit is may have some. Marks say what the mapping in force said when the row was handed over; of rows from before a
// switch they say nothing.
//
// Layout: a ring for each source, row r at r mod its size. Written by the holder of the feed's flag before the row is
// published, and read until the row is released; the log bounds how many rows are between the two.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "oplus/instance.h"
#include "run/cacheline.h"
#include "run/feed.h"

namespace lab {

class RowMarks {
 public:
  // `shapes`: of each stream's payload columns; may be empty. `rows_in_flight`: see LogOptions.
  RowMarks(std::span<const OperatorStream> streams, std::span<const std::vector<ColumnShape>> shapes,
           std::int64_t rows_in_flight);

  // The mapping is another, of so many instances, from the next rows of the feeds on. While nobody feeds or reads.
  void switch_over(const std::deque<Feed>& feeds, std::int32_t instances) noexcept;

  // Marks rows [begin, end) of a source by `owner`, that of each bucket. Under its feed's flag.
  void mark(std::size_t source, std::int64_t begin, std::int64_t end, const std::int32_t* owner) noexcept;

  // Whether from these rows on, one of each source, the marks say what the mapping in force says.
  bool hold(std::span<const std::int64_t> rows) const noexcept {
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (rows[s] < sources_[s].from) return false;
    }
    return true;
  }

  // The marks as one instance reads them.
  class Reader {
   public:
    // 1 when the row may concern the instance, else 0.
    std::size_t concerns(std::size_t source, std::int64_t row) const noexcept {
      return rings_[source][static_cast<std::uint64_t>(row) & mask_] >> shift_ & 1U;
    }

   private:
    friend class RowMarks;
    Reader(const std::uint8_t* const* rings, std::uint64_t mask, std::int32_t instance)
        : rings_(rings), mask_(mask), shift_(instance & 7) {}

    const std::uint8_t* const* rings_;
    std::uint64_t mask_;
    int shift_;
  };
  Reader reader(std::int32_t instance) const noexcept { return {rings_.data(), mask_, instance}; }

 private:
  static constexpr std::int64_t kAtOnce = 256;         // rows of one call of a kernel
  static constexpr std::int64_t kLookedAt = 1 << 10;   // rows by which it is judged whether marks are worth their while
  static constexpr std::int64_t kLookAgain = 1 << 16;  // rows after which it is judged anew
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint8_t kAll = 0xff;

  struct Column {
    const std::byte* values;
    std::int64_t itemsize;
  };

  struct alignas(kCacheLine) Source {
    std::int64_t from = kNever;  // first row marked by the mapping in force; written at a barrier
    std::vector<std::uint8_t> ring;
    std::vector<Column> columns;
    // Under the feed's flag: what was seen of rows that most instances may pass over.
    bool worth = true;
    std::int64_t look_at = 0;    // the row from which on it is judged
    std::int64_t looked = 0;     // rows since
    std::int64_t concerned = 0;  // instances, in sum over these
  };

  void ask_for(const Source& one, std::int64_t begin, std::int64_t end) const noexcept;
  void judge(Source& one, std::span<const std::uint64_t> masks, std::int64_t end) noexcept;

  std::span<const OperatorStream> streams_;
  const std::uint64_t mask_;
  std::int32_t instances_ = 1;
  std::vector<Source> sources_;
  std::vector<const std::uint8_t*> rings_;  // of each
};

}  // namespace lab
