// What reaches a thread: rows of one link or of several, in order or as they are found.
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
  // `links`: to this consumer, by producer.
  explicit LayerIn(std::vector<LayerLink*> links) : links_(std::move(links)) {}
  LayerIn(const LayerIn&) = delete;
  LayerIn& operator=(const LayerIn&) = delete;
  virtual ~LayerIn() = default;

  // Returns the next rows, at most `most`; none: there are none now. Then all before them are released, and the thread
  // may sleep if it has been so between `prepare` and `commit` of its parker.
  virtual LayerPiece next(std::int64_t most) = 0;

  // The thread is done with the rows that `next` returned last.
  virtual void pass() = 0;

  // Once `next` has returned nothing: later rows have ts >= this.
  virtual std::int64_t frontier() const noexcept = 0;

  // Once `next` has returned nothing: whether it always will.
  virtual bool ended() noexcept = 0;

  // Before the thread sleeps: wakes producers that wait for more room than there is.
  void relieve() noexcept {
    for (LayerLink* link : links_) link->relieve();
  }

 protected:
  // Rows are given back by so many, or when there are no more.
  std::int64_t portion() const noexcept { return std::max<std::int64_t>(1, links_.front()->size() / 8); }

  const std::vector<LayerLink*> links_;
};

// Queues, looked at in turn: with one link its order, with several none.
class QueueIn final : public LayerIn {
 public:
  explicit QueueIn(std::vector<LayerLink*> links);

  LayerPiece next(std::int64_t most) override;
  void pass() override;
  std::int64_t frontier() const noexcept override;
  bool ended() noexcept override;

 private:
  struct Cursor {
    std::int64_t at = 0;  // first row not passed
    std::int64_t released = 0;
    std::int64_t end = 0;  // first row not seen
    std::int64_t frontier = LayerLink::kNothingPromised;
  };

  std::vector<Cursor> cursors_;
  std::size_t turn_ = 0;   // the link whose turn it is
  std::int64_t rows_ = 0;  // of the last `next`
};

// An ordered log, of which this is the only reader.
class LogIn final : public LayerIn {
 public:
  LogIn(std::vector<LayerLink*> links, TupleBuffer& log);

  LayerPiece next(std::int64_t most) override;
  void pass() override;
  std::int64_t frontier() const noexcept override { return frontier_; }
  bool ended() noexcept override { return log_.ended(reader_); }
  std::int64_t merges() const noexcept { return merges_; }  // that found something

 private:
  void release(std::size_t runs);

  TupleBuffer& log_;
  const int reader_;
  std::span<const LogRun> runs_;  // at hand
  std::size_t at_ = 0;            // of these, passed
  std::int64_t skip_ = 0;         // rows of the next that are passed
  std::int64_t rows_ = 0;         // of the last `next`
  std::int64_t passed_ = 0;       // rows since some were released
  std::int64_t frontier_ = LayerLink::kNothingPromised;
  std::int64_t merges_ = 0;
};

// Queues that the thread merges by itself, in the order (timestamp, link, row): a merge-sorting operator's.
class MergeIn final : public LayerIn {
 public:
  explicit MergeIn(std::vector<LayerLink*> links);

  LayerPiece next(std::int64_t most) override;
  void pass() override;
  std::int64_t frontier() const noexcept override { return merger_.horizon_ts(); }
  bool ended() noexcept override { return ended_; }

 private:
  static constexpr std::size_t kRuns = 256;

  void release() noexcept;

  RunMerger merger_;
  std::array<LogRun, kRuns> runs_;
  std::size_t count_ = 0;
  std::size_t at_ = 0;
  std::int64_t skip_ = 0;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> passed_;  // by link: first row not passed
  std::vector<std::int64_t> released_;
  bool ended_ = false;
};

// Likewise a tuple at a time, as the operator of Viper's section 3: for each a comparison with every queue's first, and a
// queue operation that gives its room back.
class TupleMergeIn final : public LayerIn {
 public:
  explicit TupleMergeIn(std::vector<LayerLink*> links);

  LayerPiece next(std::int64_t most) override;
  void pass() override;
  std::int64_t frontier() const noexcept override;
  bool ended() noexcept override;

 private:
  struct Head {
    std::int64_t at = 0;                            // first row not passed
    std::int64_t end = 0;                           // first row not seen
    std::int64_t ts = LayerLink::kNothingPromised;  // of row `at`; of an empty queue: of later rows, at least
  };

  std::vector<Head> heads_;
  std::size_t least_ = 0;  // the link of the last `next`
};

}  // namespace lab
