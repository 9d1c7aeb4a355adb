// Marks the rows of a shared log with the instances that they concern. The thread that hands a row over computes its
// mark once. Other instances then skip the row after loading one byte, instead of evaluating f_MK. (Where that is
// faster, an instance still evaluates f_MK for the rows between its own.)
//
// A mark is one byte; its bit i stands for all instances whose index is i modulo 8. If the bit is clear, the instance
// has no key of the row; if it is set, the instance may have one. If all active instances have indices below 7, a set
// bit is certain, unless all bits are set. Marks follow the mapping in force when the row was handed over, so a switch
// invalidates earlier marks.
//
// Layout: one ring per source, with the mark of row r at r mod size. The holder of the feed's flag writes a mark before
// the row is published; instances read it until the row is released. The log bounds the number of unreleased rows.
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
  // `shapes`: the payload columns of each stream; may be empty. `rows_in_flight`: see LogOptions.
  RowMarks(std::span<const OperatorStream> streams, std::span<const std::vector<ColumnShape>> shapes,
           std::int64_t rows_in_flight);

  // Switches to a new assignment, from the next rows of the feeds on. No thread may feed or read.
  void switch_over(const std::deque<Feed>& feeds, const InstanceMapping& next) noexcept;

  // Marks rows [begin, end) of a source by `owner`, the owner of each bucket. Call under the flag of the source's feed.
  void mark(std::size_t source, std::int64_t begin, std::int64_t end, const std::int32_t* owner) noexcept;

  // Returns whether marks follow the mapping in force from these rows on. `rows`: one row per source.
  bool hold(std::span<const std::int64_t> rows) const noexcept {
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (rows[s] < sources_[s].from) return false;
    }
    return true;
  }

  // Gives one instance access to the marks.
  class Reader {
   public:
    std::uint8_t of(std::size_t source, std::int64_t row) const noexcept {
      return rings_[source][static_cast<std::uint64_t>(row) & mask_];
    }
    // Returns 1 if a row with this mark may concern the instance, else 0.
    std::int64_t concerns(std::uint8_t mark) const noexcept { return mark >> shift_ & 1; }
    // Returns whether set bits are certain in marks whose union is `union_of_marks`.
    bool certain(std::uint8_t union_of_marks) const noexcept { return (union_of_marks & doubtful_) == 0; }

   private:
    friend class RowMarks;
    Reader(const std::uint8_t* const* rings, std::uint64_t mask, std::int32_t instance, std::uint8_t doubtful)
        : rings_(rings), mask_(mask), shift_(instance & 7), doubtful_(doubtful) {}

    const std::uint8_t* const* rings_;
    std::uint64_t mask_;
    int shift_;
    std::uint8_t doubtful_;  // bits that make a mark uncertain
  };
  Reader reader(std::int32_t instance) const noexcept {
    return {rings_.data(), mask_, instance, reach_ < 8 ? std::uint8_t{1 << 7} : kAll};
  }

 private:
  static constexpr std::int64_t kAtOnce = 256;                   // rows per kernel call
  static constexpr std::int64_t kJudgedRows = 1 << 10;           // rows from which the benefit of marks is judged
  static constexpr std::int64_t kRowsToNextJudgement = 1 << 16;  // rows until the next judgement
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
    // Under the feed's flag: statistics of the rows that instances may skip. They decide whether marks pay off.
    bool pays_off = true;
    std::int64_t judge_from = 0;        // the first row of the next judgement
    std::int64_t judged_rows = 0;       // rows judged since `judge_from`
    std::int64_t judged_instances = 0;  // sum over these rows of the number of instances that a row concerns
  };

  void prefetch(const Source& source, std::int64_t begin, std::int64_t end) const noexcept;
  bool evaluate(std::size_t source, std::int64_t begin, std::int64_t end, const std::int32_t* owner,
                std::uint8_t* marks) noexcept;
  void judge(Source& source, std::int64_t rows, std::int64_t end) noexcept;

  std::span<const OperatorStream> streams_;
  const std::uint64_t mask_;
  std::int32_t instances_ = 1;  // active
  std::int32_t reach_ = 1;      // see InstanceMapping
  std::vector<Source> sources_;
  std::vector<const std::uint8_t*> rings_;  // of each source
};

}  // namespace lab
