// Implements the shared-nothing hand-over (Algorithm 1): every instance has its own queue from each source. The queue
// holds copies of the tuples that have a key of the instance. The instance merges its queues by time and has its own
// state.
//
// A change of the mapping halts the operator. Every source hands over its tuples up to `until`, the latest time that
// any source has handed over. The instances meet after they have processed these tuples. Then the states of the moving
// buckets are serialised and given to their new owners.
#pragma once
#include <limits>
#include <string>

#include "oplus/handover.h"
#include "oplus/instance.h"

namespace lab {

// Queues copies of tuples from one source to one instance, in rings of columns. A ColumnRing does not suffice: the
// rings of list elements have other sizes, which also decide whether a tuple fits, and the source's rows are not
// adjacent.
class TupleQueue {
 public:
  TupleQueue(const OperatorStream& source, std::span<const ColumnShape> shapes, std::int64_t rows);
  TupleQueue(const TupleQueue&) = delete;
  TupleQueue& operator=(const TupleQueue&) = delete;

  // Returns how many of `rows`, from the first on, have room. `consumed`: number of rows that the reader has released.
  // Call it before each `copy`, which may copy at most that many of the same rows.
  std::size_t fit(std::span<const std::int64_t> rows, std::int64_t consumed) noexcept;
  void copy(std::span<const std::int64_t> rows) noexcept;
  std::int64_t rows() const noexcept { return rows_; }
  std::uint64_t mask() const noexcept { return mask_; }
  const OperatorStream& stream() const noexcept { return stream_; }

 private:
  struct Column {
    ColumnShape shape;
    std::size_t from = 0;  // first pointer in the source's columns
    bool present = false;
    std::vector<std::byte> values;  // a ring of `mask_` + 1 items, or of `elements` list elements
    std::vector<std::int64_t> begins, ends;
    std::vector<std::int64_t> starts;  // like `begins`, but counted over all elements ever queued
    std::int64_t head = 0;             // start of the next list, counted like `starts`
    std::int64_t elements = 0;         // a power of two
  };

  std::size_t place(std::size_t i) const noexcept {  // of the row that is `i` rows after the next one
    return static_cast<std::size_t>((static_cast<std::uint64_t>(rows_) + i) & mask_);
  }
  template <typename Item>
  void gather(Item* to, const void* from, std::span<const std::int64_t> rows) const noexcept;
  void copy_lists(Column& column, std::span<const std::int64_t> rows) noexcept;

  const OperatorStream& source_;
  std::uint64_t mask_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> ts_, due_;
  std::vector<Column> columns_;
  StreamView view_;
  OperatorStream stream_;
};

class Queues final : public PrivateLogs {
 public:
  static constexpr std::int64_t kRows = 1 << 12;  // of a queue

  Queues(const OperatorSpec& spec, std::string tuple_buffer, LogOptions options,
         std::span<const OperatorStream> streams, std::span<const std::vector<ColumnShape>> shapes,
         std::deque<Feed>& feeds);

  void start(std::int32_t max_instances, const InstanceMapping& initial) override;
  bool feed(Recorder& recorder, const InstanceMapping& now) override;
  bool append_switch(std::int64_t number) override;
  bool switch_time(std::int64_t* until) const noexcept override {
    *until = until_;
    return true;
  }
  std::int64_t delivered() const noexcept override;
  std::int64_t delivered_of(std::size_t source) const noexcept override {
    return routed_[source].load(std::memory_order_relaxed);  // relaxed: a statistic
  }
  std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) override;

 private:
  struct Share {                     // the rows with a key of an instance
    std::vector<std::int64_t> rows;  // has room for one more row than `distribute` handles at once
    std::size_t count = 0;
    std::span<const std::int64_t> all() const noexcept { return {rows.data(), count}; }
  };
  struct Router {  // by source; used under its feed's flag
    // The bits of rows [masked_begin, masked_end) under the current owners: first for instances 0 to 63, then for the
    // next 64, and so on up to the highest active instance (`route_rows`).
    std::vector<std::uint64_t> masks;
    std::int64_t masked_begin = 0;
    std::int64_t masked_end = 0;
    std::vector<Share> shares;                                         // by instance
    std::int64_t last_ts = std::numeric_limits<std::int64_t>::min();   // time of the last row handed over
    std::int64_t frontier = std::numeric_limits<std::int64_t>::min();  // the last frontier published
    bool halted = false;  // has handed over all tuples that the current switch permits
  };

  bool route(std::size_t source, const InstanceMapping& now, Recorder& recorder);
  std::int64_t evaluate(std::size_t source, std::int64_t begin, std::int64_t end, const InstanceMapping& now);
  static void distribute(Router& router, std::int64_t begin, std::int64_t end, const InstanceMapping& now) noexcept;
  std::int64_t copy_rows(std::size_t source, std::int64_t begin, std::int64_t end, const InstanceMapping& now);
  void halt(std::size_t source, const InstanceMapping& now);
  void publish(std::size_t source, std::int64_t frontier, const InstanceMapping& now);

  const OperatorSpec& spec_;
  std::string tuple_buffer_;
  LogOptions options_;
  std::span<const OperatorStream> streams_;
  std::span<const std::vector<ColumnShape>> shapes_;
  std::deque<Feed>& feeds_;
  std::deque<std::deque<TupleQueue>> queues_;  // by instance and source
  std::vector<Router> routers_;
  std::unique_ptr<std::atomic<std::int64_t>[]> routed_;  // rows by source; written under its feed's flag, read by all
  // Written with all feeds' flags held, or by the performer of a switch. Read under a flag, or after the switch's log
  // entry.
  std::int64_t number_ = -1;  // current switch
  std::int64_t until_ = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int32_t> halted_{0};  // sources that have halted; the last one notifies the instances
};

}  // namespace lab
