// LayerIn: the input of a thread of a query graph. It reads the rows of one or several links, in order or as they
// arrive.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/link.h"
#include "log/order_log_merge.h"
#include "log/tuple_buffer.h"

namespace lab {

// Rows [base, base + rows) of columns, consecutive in the order in which the thread takes them.
struct LayerPiece {
  const void* const* columns = nullptr;
  std::int64_t base = 0;
  std::int64_t rows = 0;
};

class LayerIn {
 public:
  // `links[p]`: the link from producer p to this consumer.
  explicit LayerIn(std::vector<LayerLink*> links) : links_(std::move(links)) {}
  LayerIn(const LayerIn&) = delete;
  LayerIn& operator=(const LayerIn&) = delete;
  virtual ~LayerIn() = default;

  // Returns the next rows, at most `max_rows`, or an empty piece if no rows are ready. An empty piece also means that
  // all earlier rows are released. The thread may then sleep if it made this call between `prepare` and `commit` of its
  // parker.
  virtual LayerPiece next(std::int64_t max_rows) = 0;

  // Passes the rows that `next` returned last: the thread needs them no longer.
  virtual void pass() = 0;

  // After an empty `next`, returns a lower bound of the times of later rows.
  virtual std::int64_t frontier() const noexcept = 0;

  // After an empty `next`, returns whether no rows will ever follow.
  virtual bool ended() noexcept = 0;

  virtual std::int64_t merges() const noexcept { return 0; }  // number of merges of a log that found rows

  // Wakes the producers that wait for room. The thread must call it before it sleeps.
  void relieve() noexcept {
    for (LayerLink* link : links_) link->relieve();
  }

 protected:
  // Returns the number of passed rows after which these rows are released. Passed rows are also released when no rows
  // are ready.
  std::int64_t release_interval() const noexcept { return std::max<std::int64_t>(1, links_.front()->size() / 8); }

  const std::vector<LayerLink*> links_;
};

// Reads queues in turn. With one link, rows come in its order; with several, in no order.
class QueueIn final : public LayerIn {
 public:
  explicit QueueIn(std::vector<LayerLink*> links);

  LayerPiece next(std::int64_t max_rows) override;
  void pass() override;
  std::int64_t frontier() const noexcept override;
  bool ended() noexcept override;

 private:
  struct Cursor {
    std::int64_t row = 0;       // first row not passed
    std::int64_t released = 0;  // first row not released
    std::int64_t end = 0;       // first row not seen
    std::int64_t frontier = LayerLink::kNoPromise;
  };

  std::vector<Cursor> cursors_;
  std::size_t turn_ = 0;         // the link whose turn it is
  std::int64_t piece_rows_ = 0;  // number of rows that `next` returned last
};

// Reads an ordered log, as its only reader.
class LogIn final : public LayerIn {
 public:
  LogIn(std::vector<LayerLink*> links, TupleBuffer& log);

  LayerPiece next(std::int64_t max_rows) override;
  void pass() override;
  std::int64_t frontier() const noexcept override { return frontier_; }
  bool ended() noexcept override { return log_.ended(reader_); }
  std::int64_t merges() const noexcept override { return merges_; }

 private:
  void release(std::size_t runs);

  TupleBuffer& log_;
  const int reader_;
  std::span<const LogRun> runs_;  // runs that are read and not released
  std::size_t passed_runs_ = 0;   // number of runs in `runs_` that are passed
  std::int64_t run_offset_ = 0;   // number of rows of the next run that are passed
  std::int64_t piece_rows_ = 0;   // number of rows that `next` returned last
  std::int64_t passed_ = 0;       // number of rows passed since the last release
  std::int64_t frontier_ = LayerLink::kNoPromise;
  std::int64_t merges_ = 0;
};

// Reads queues and merges them in the order (timestamp, link, row); for a merge-sorting operator.
class MergeIn final : public LayerIn {
 public:
  explicit MergeIn(std::vector<LayerLink*> links);

  LayerPiece next(std::int64_t max_rows) override;
  void pass() override;
  std::int64_t frontier() const noexcept override { return merger_.horizon_ts(); }
  bool ended() noexcept override { return ended_; }

 private:
  static constexpr std::size_t kRuns = 256;

  void release() noexcept;

  RunMerger merger_;
  std::array<LogRun, kRuns> runs_;  // the first `run_count_` runs are merged
  std::size_t run_count_ = 0;
  std::size_t passed_runs_ = 0;         // number of merged runs that are passed
  std::int64_t run_offset_ = 0;         // number of rows of the next run that are passed
  std::int64_t piece_rows_ = 0;         // number of rows that `next` returned last
  std::vector<std::int64_t> passed_;    // by link: first row not passed
  std::vector<std::int64_t> released_;  // by link: first row not released
  bool ended_ = false;
};

// Reads queues and merges them in the same order, but one tuple at a time, like the operator of Viper's section 3. Each
// tuple costs a comparison with the first tuple of every queue, and a queue operation that releases the tuple's room.
class TupleMergeIn final : public LayerIn {
 public:
  explicit TupleMergeIn(std::vector<LayerLink*> links);

  LayerPiece next(std::int64_t max_rows) override;
  void pass() override;
  std::int64_t frontier() const noexcept override;
  bool ended() noexcept override;

 private:
  struct Head {
    std::int64_t row = 0;                     // first row not passed
    std::int64_t end = 0;                     // first row not seen
    std::int64_t ts = LayerLink::kNoPromise;  // ts of `row`; for an empty queue, a lower bound of later rows' ts
  };

  std::vector<Head> heads_;
  std::size_t current_link_ = 0;  // the link of the row that `next` returned last
};

}  // namespace lab
