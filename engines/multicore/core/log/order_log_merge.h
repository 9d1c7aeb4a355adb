// RunMerger: merges the ready rows of all sources into runs, in the order (timestamp, source, row). `OrderLog` and
// layers/in.h use it. One thread at a time calls it: in an OrderLog, the holder of the merge flag (run/merge_flag.h).
//
// The horizon H is the lowest (bound, source) of all open sources. A source's bound is the later of its frontier and
// the timestamp of its last published row. A row is ready iff (ts, source) <= H. The merger computes H once per pass;
// one comparison then tells whether a row is ready.
//
// The next row of input `place` has the packed key (ts - base) << 8 | place, so comparing keys also breaks ties. `base`
// is the lowest timestamp of the rows to merge, which leaves 56 bits for the distance. A row at a greater distance
// waits for a later base.
//
// Galloping finds long runs with one search per run. A loser tree without branches merges short runs of k sources, with
// log2 k minima per row. The observed run length selects the method. Interleaved merging does not form runs
// (log/interleaver.h).
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

// The progress that a source publishes. Its owner writes it; the holder of the merge flag reads it. The owner stores
// `end` first and `frontier` last; the merge loads `frontier` first. So the rows after the `end` that the merge loads
// have ts >= the `frontier` that it loaded.
struct alignas(kCacheLine) SourceLine {
  std::atomic<std::int64_t> frontier{kEndOfTime};  // kEndOfTime if the source is closed
  std::atomic<std::int64_t> end{0};                // first row not published
  // Only the owner uses it.
  std::int64_t room_end = 0;  // rows before this may be published without checking the readers
};

class RunMerger {
 public:
  explicit RunMerger(bool interleaved = false)
      : interleaver_(interleaved ? std::make_unique<Interleaver>() : nullptr) {}

  // Adds a source whose first row is `first`. `line` and `rows` must outlive the source.
  void add(int source, const SourceLine* line, const LogColumns* rows, std::int64_t first = 0) noexcept;

  // Reads the progress of all sources; drops those that are closed and merged.
  void gather() noexcept;

  // Merges ready rows of the last `gather` into at most `capacity` runs with at most `max_rows` rows in total. Returns
  // the number of runs; 0 if no row is ready or fits. Call it until it returns 0 before the next `gather`.
  std::size_t merge(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept;

  // Like `merge`, but writes the source of each row and returns the number of rows, at most `capacity`, which is below
  // 2^16. Call only if `interleaves()`.
  std::size_t interleave(std::uint8_t* out, std::size_t capacity) noexcept;

  // Returns whether `interleave` is the better method: the last runs were short, and there are 2 to kMaxInputs
  // sources.
  bool interleaves() const noexcept {
    return interleaver_ != nullptr && short_runs_ && count_ > 1 && count_ <= static_cast<int>(Interleaver::kMaxInputs);
  }

  // Returns whether rows that the last `gather` found ready are not merged yet.
  bool ready() const noexcept;

  int open() const noexcept { return count_; }  // number of sources not yet closed and merged
  bool has(int source) const noexcept;
  // Returns the time of the horizon of the last `gather`; kEndOfTime if all sources are closed.
  std::int64_t horizon_ts() const noexcept { return horizon_ts_; }
  // Returns the first row of the source that is not merged, also for a source that is closed and merged.
  std::int64_t merged(int source) const noexcept;

 private:
  struct Input {
    const std::int64_t* ts = nullptr;
    std::uint64_t mask = 0;
    std::int64_t next = 0;  // first row not merged
    std::int64_t end = 0;   // end of the rows that `gather` saw
    std::int32_t source = 0;
    std::int32_t kind = 0;
    const SourceLine* line = nullptr;

    std::int64_t ts_at(std::int64_t row) const noexcept { return ts[static_cast<std::uint64_t>(row) & mask]; }
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

  // The first `count_` are used, ascending by source.
  std::array<Input, static_cast<std::size_t>(kMaxLogSources)> inputs_;
  std::array<std::int64_t, static_cast<std::size_t>(kMaxLogSources)> finished_rows_{};  // by finished source
  std::unique_ptr<Interleaver> interleaver_;
  int count_ = 0;
  std::int64_t horizon_ts_ = std::numeric_limits<std::int64_t>::min();
  std::size_t horizon_place_ = 0;
  std::int64_t base_ = 0;
  std::uint64_t limit_ = 0;         // the horizon, packed
  bool short_runs_ = false;         // whether the last observed runs were short
  std::int64_t observed_rows_ = 0;  // rows and runs merged since `short_runs_` was set
  std::int64_t observed_runs_ = 0;
};

}  // namespace lab
