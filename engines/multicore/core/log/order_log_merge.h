// Merges what is ready into runs, in the order (timestamp, source, row). One thread at a time: the holder of the
// merge flag.
//
// The horizon H is the lowest (bound, source) of all open sources, where a source's bound is its frontier or the
// timestamp of its last published row, whichever is later: a row is ready iff (ts, source) <= H. It is computed
// once per pass; below it nothing is looked up per row but the row.
//
// Keys are packed, (ts - base) << 6 | place, so that a tie is broken by the comparison itself; `base` is the lowest
// timestamp at hand, which leaves 58 bits for the distance; rows further ahead wait for a later base.
// Long runs are found by galloping (one search per run), short ones by a loser tree without branches (log2 k
// minima per row); the observed run length chooses. Where rows are interleaved, runs play no part (log/interleaver.h).
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "log/interleaver.h"
#include "log/tuple_buffer.h"
#include "run/cacheline.h"

namespace lab {

// What a source says. Written by its owner; read by the holder of the merge flag.
// The owner stores `end` first and `frontier` last, the merge loads `frontier` first: rows from the end that it then
// sees have ts >= the frontier that it has seen.
struct alignas(kCacheLine) SourceLine {
  std::atomic<std::int64_t> frontier{kEndOfTime};  // kEndOfTime: closed
  std::atomic<std::int64_t> end{0};                // first row not published
  // The owner's own.
  std::int64_t room_end = 0;  // rows below this may be published without looking at the readers
};

class RunMerger {
 public:
  explicit RunMerger(bool interleaved = false)
      : interleaver_(interleaved ? std::make_unique<Interleaver>() : nullptr) {}

  // `first`: row that it begins with. `line` and `rows` must outlive the source. Holder of the flag.
  void add(int source, const SourceLine* line, const LogColumns* rows, std::int64_t first = 0) noexcept;

  // Looks at all sources; leaves out those that are closed and merged. Holder of the flag.
  void gather() noexcept;

  // Merges ready rows of the last `gather` into at most `capacity` runs of at most `max_rows` rows in sum. Returns
  // the number of runs; 0: no more is ready (or no capacity). Call until 0 before the next `gather`.
  std::size_t merge(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept;

  // As `merge`, but writes the source of each row, at most `capacity` of them, and returns how many. For short runs, of a
  // merger that is made for it.
  std::size_t interleave(std::uint8_t* out, std::size_t capacity) noexcept;

  // Whether the last runs were short, of more than one source.
  bool short_runs() const noexcept { return short_runs_ && count_ > 1; }

  // Whether rows that the last `gather` found ready are not merged yet.
  bool ready() const noexcept;

  int open() const noexcept { return count_; }  // sources that are not through
  bool has(int source) const noexcept;
  std::int64_t horizon_ts() const noexcept { return horizon_ts_; }  // of the last `gather`; kEndOfTime: all closed
  // First row of the source that is not merged, whether or not it is through.
  std::int64_t merged(int source) const noexcept;

 private:
  struct Input {
    const std::int64_t* ts = nullptr;
    std::uint64_t mask = 0;
    std::int64_t next = 0;  // first row not merged
    std::int64_t end = 0;   // first row not seen
    std::int32_t source = 0;
    std::int32_t kind = 0;
    const SourceLine* line = nullptr;

    std::int64_t at(std::int64_t row) const noexcept { return ts[static_cast<std::uint64_t>(row) & mask]; }
  };

  std::uint64_t pack(std::int64_t ts, std::size_t place) const noexcept;
  std::uint64_t head(std::size_t place) const noexcept;
  std::int64_t run_end(const Input& input, std::int64_t last_ts, std::int64_t end) const noexcept;
  std::size_t gallop(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept;
  bool set_horizon() noexcept;
  template <unsigned kLevels>
  std::size_t tree(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept;
  std::int64_t ready_end(std::size_t place) const noexcept;
  std::size_t interleave_two(std::uint8_t* out, std::size_t capacity) noexcept;
  void observe(const std::uint8_t* places, std::size_t count) noexcept;

  std::array<Input, static_cast<std::size_t>(kMaxLogSources)> inputs_;  // the first count_, ascending by source
  std::array<std::int64_t, static_cast<std::size_t>(kMaxLogSources)> through_{};  // rows of sources that are through
  std::unique_ptr<Interleaver> interleaver_;
  int count_ = 0;
  std::int64_t horizon_ts_ = std::numeric_limits<std::int64_t>::min();
  std::size_t horizon_place_ = 0;
  std::int64_t base_ = 0;
  std::uint64_t limit_ = 0;  // the horizon, packed
  bool short_runs_ = false;  // what was observed last
  std::int64_t seen_rows_ = 0;
  std::int64_t seen_runs_ = 0;
};

}  // namespace lab
