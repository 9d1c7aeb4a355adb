// OrderLog: implements the ordered log as a bounded ring of runs over the sources' own columns. Rows are never copied.
//
// Layout: only the holder of the merge flag (run/merge_flag.h) writes `entries_`; entry i is in slot i mod capacity.
// Validity: a reader may read entry i iff i < tail_. The slot of i may be overwritten iff every active reader's
// position > i. Hence tail_ - slowest <= capacity. A run of any length costs 24 bytes.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "log/order_log_merge.h"
#include "log/readers.h"
#include "log/tuple_buffer.h"
#include "run/cacheline.h"
#include "run/merge_flag.h"

namespace lab {

class OrderLog : public TupleBuffer {
 public:
  explicit OrderLog(const LogOptions& options);

  using TupleBuffer::add_source;
  using TupleBuffer::publish;
  int add_source(const LogColumns& rows, std::int64_t from_ts) override;
  void publish(int source, std::int64_t end_row, std::int64_t frontier, bool more) override;
  std::int64_t room(int source, std::int64_t min_rows) override;
  void close(int source) override;
  void rejoin(int source, std::int64_t from_ts) override;
  std::int64_t consumed(int source) override;
  bool advance() noexcept override;
  bool control(std::int64_t id) override;
  int add_reader() override { return readers_.add(); }
  void add_reader_at(int reader, int like) override;
  void remove_reader(int reader) override;
  std::span<const LogRun> read(int reader) override;
  void release(int reader, std::size_t runs) override;
  bool ended(int reader) override;
  std::int64_t next_row(int reader, int source) const override { return readers_.rows(reader, source); }
  const LogColumns& columns(std::int32_t source) const override { return rows_[static_cast<std::size_t>(source)]; }
  LogOrder order() const override { return {order_.data(), order_.size() - 1}; }

 protected:
  static constexpr std::size_t kPiece = 256;                                // runs appended before readers see them
  static constexpr std::int64_t kMinPlaces = 1 << 6, kMaxPlaces = 1 << 16;  // size of `order_`
  static constexpr std::int64_t kPlacesAtOnce = 1 << 10;  // places appended before readers see them, below 2^16

  // Appends the rows that the last `merger_.gather` found ready, until the log has no more room. Returns whether it
  // appended any.
  virtual bool append_rows() noexcept;
  // Returns whether a closed slot may get a new owner, once all its `rows` rows are merged.
  virtual bool reusable(int source, std::int64_t rows) const noexcept;
  virtual void reset(int source) noexcept { readers_.reset(source); }
  // Throws std::invalid_argument if the log cannot use these columns.
  virtual void check(const LogColumns& rows) const;

  std::span<LogRun> free_entries() noexcept;               // free slots up to where the ring wraps, at most kPiece
  void commit(std::size_t entries) noexcept;               // publishes the next slots to the readers
  std::size_t append_interleaved(LogRun& entry) noexcept;  // returns the number of rows; 0 if none is ready or fits
  void merged_up_to(std::int64_t ts, std::int32_t source) noexcept {
    last_ts_ = ts;
    last_source_ = source;
  }
  SourceLine& line(int source) noexcept { return lines_[static_cast<std::size_t>(source)]; }
  std::int64_t rows_in_flight(int source) const noexcept;  // maximum number of published, unreleased rows

  const LogOptions options_;
  LogReaders readers_;
  RunMerger merger_;              // guarded by the flag
  std::vector<LogColumns> rows_;  // by slot; written under the flag before the slot's first run

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  void leave_changed() noexcept;
  bool above_all(std::int64_t from_ts, int source) const noexcept;
  bool pass() noexcept;
  bool append_controls() noexcept;

  std::vector<SourceLine> lines_;
  MergeFlag flag_;
  std::vector<LogRun> entries_;

  // Guarded by the flag.
  alignas(kCacheLine) std::uint64_t slowest_ = 0;  // a lower bound of the readers' positions
  std::uint64_t head_ = 0;                         // the flag holder's copy of tail_
  std::vector<std::uint8_t> order_;                // see LogOrder; a ring, valid from the first unreleased place
  std::int64_t placed_ = 0;                        // places ever written
  std::int64_t places_released_ = 0;               // a lower bound of the places that all readers have released
  std::int64_t last_ts_ = kNever;                  // time of the last row merged
  std::int32_t last_source_ = -1;
  std::int64_t watermark_ = kNever;                                    // time of the last watermark entry
  std::array<bool, static_cast<std::size_t>(kMaxLogSources)> used_{};  // slots that ever had an owner

  // Total entries appended. The holder of the flag writes it, all readers read it; it never decreases.
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_{0};

  // Whether a change of membership appended entries, so that the next `advance` returns true.
  std::atomic<bool> unannounced_{false};

  // Control entries that wait for their place, and the end of the log.
  alignas(kCacheLine) std::atomic<int> waiting_controls_{0};  // size of controls_; written under the mutex
  std::atomic<bool> drained_{false};  // all sources are closed and merged; written under the flag and the mutex
  std::atomic<bool> final_{false};    // a reader has seen the end, so no append may follow; written under the mutex
  std::mutex mutex_;
  std::vector<std::int64_t> controls_;

  // The value of tail_ that each reader loaded last, on its own cache line.
  struct alignas(kCacheLine) Seen {
    std::uint64_t tail = 0;
  };
  std::vector<Seen> seen_;
};

}  // namespace lab
