// Implements TB_out of STRETCH (section 5, figure 3): each instance of an operator publishes its outputs as one source.
// All instances of the next operator (oplus/chain_log.h), or downstream readers (oplus/downstream.h), read the outputs
// in one total order. In shared-nothing runs, each downstream reader has its own log: it gets a copy of every output,
// through a queue from each instance, and merge-sorts the copies.
//
// An instance emits into its OutputBuffer, which grows. While the log has room, `move` copies the outputs into a ring
// of columns, which has the rows of the instance's source. An instance waits for room only if a reader has ready rows
// at hand (`will_have_room`). Otherwise the wait could last forever: a row is ready once all instances have passed its
// time, and a waiting instance does not pass it. The outputs of one time, such as a whole window, may exceed a ring.
//
// The frontier. After processing everything up to a watermark W, an instance emits no more outputs timed at or before W
// (Observation 1). So it promises W + 1. While rows wait, it promises at most the first waiting row's time. Instances
// emit in order of time (Lemma 2), so a promise never decreases.
//
// Sources: instance i is always source i, active or not. The source of an inactive instance has left and delays no
// reader; it may join again (`join` gives the time from which its promises count).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "log/tuple_buffer.h"
#include "oplus/causes.h"
#include "run/cacheline.h"
#include "run/column_ring.h"
#include "run/sink.h"
#include "run/source.h"
#include "run/spill.h"

namespace lab {

class OutputLog {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  struct Shape {
    std::vector<std::int32_t> itemsizes;  // of a record
    std::int64_t rows = 0;        // of a ring; `start` throws std::invalid_argument unless a power of two, at least 2
    std::int64_t spill_rows = 0;  // see OplusOptions
    bool timed = false;           // rows carry the times of their cause
    std::int32_t copies = 1;      // number of logs, each with all rows
  };

  // Throws std::invalid_argument for an unknown tuple buffer, options out of range, or acknowledged rows.
  OutputLog(std::string_view tuple_buffer, const LogOptions& options, Shape shape);

  // Call before the run. `max_instances`: number of instances that may ever publish; those in `active`, ascending,
  // publish from the start.
  void start(std::int32_t max_instances, std::span<const std::int32_t> active);

  std::int32_t copies() const noexcept { return shape_.copies; }
  TupleBuffer& log(std::int32_t copy = 0) noexcept { return *logs_[static_cast<std::size_t>(copy)]; }
  const std::vector<std::int32_t>& itemsizes() const noexcept { return shape_.itemsizes; }

  // The rows of one source. Its instance's thread writes them; the log publishes them to the readers.
  struct alignas(kCacheLine) Ring {
    Ring(std::span<const std::int32_t> itemsizes, std::int64_t size) : memory(itemsizes, size, "link_rows") {}

    ColumnRing memory;
    std::vector<std::int64_t> due;    // `timed` only: when the cause was due, in ns after the start,
    std::vector<std::int64_t> taken;  // and when it was taken, on the clock
    StreamView view;
  };
  const Ring& ring(std::int32_t copy, std::int32_t source) const noexcept {
    return rings_[static_cast<std::size_t>(copy) * sources_.size() + static_cast<std::size_t>(source)];
  }

  // Moves waiting outputs of instance `source` into the log, as many as fit, and promises the frontier that follows
  // from its `watermark` (`kNever`: no promise). Returns whether it published anything, or newly lacks room; the caller
  // must then call `advance`, and must call `move` again before it sleeps. Only the instance's thread may call it.
  // Throws std::runtime_error when more outputs still wait than `spill_rows` allows.
  bool move(std::int32_t source, OutputBuffer& outputs, Causes& causes, std::int64_t watermark);

  // Returns whether waiting outputs have room, or will get it without further action by this instance: readers have
  // ready rows of its ring at hand: the readers will release these rows, and then find the source `starved`. Only the
  // instance's thread may call it.
  bool will_have_room(std::int32_t source);

  bool advance() noexcept;

  // Closes the source of an instance that leaves or has emitted its last output; no outputs may wait.
  void close(std::int32_t source);
  // Makes an instance that has left, or was never active, publish again. Call while it and the `active` instances stand
  // at a barrier; it starts from their progress. Throws as TupleBuffer::rejoin.
  void join(std::int32_t source, std::span<const std::int32_t> active);

  // Returns the outputs of instance `source` that found no room. During the run, only the instance's thread may call
  // it.
  const Spill& spill(std::int32_t source) const noexcept { return sources_[static_cast<std::size_t>(source)].spill; }

  // Returns whether any instance has outputs that found no room. After each `release` of a log, the reader must then
  // notify the instances' threads, which may sleep.
  bool starved() const noexcept {
    return starved_.load(std::memory_order_seq_cst) != 0;  // pairs with `move`: see there
  }

 private:
  struct Join {
    std::int64_t ts;
    std::int64_t first_row;  // number of rows that the source had published
  };

  struct alignas(kCacheLine) Source {
    explicit Source(std::int64_t spill_rows) : spill(spill_rows) {}

    std::int64_t rows = 0;  // total written
    bool starved = false;
    Spill spill;
    std::int64_t spilled_to = 0;  // total outputs already counted as placed at once or spilled
    // All calls of `join`, which writes them. The barrier orders them for the owner, which reads them.
    std::vector<Join> joins;
    // The last frontier published; kEndOfTime if the source has left. The owner writes it after the log's frontier;
    // other owners read it (`will_have_room`).
    std::atomic<std::int64_t> frontier{kNever};
  };

  Ring& ring_of(std::size_t copy, std::int32_t source) noexcept {
    return rings_[copy * sources_.size() + static_cast<std::size_t>(source)];
  }
  std::int64_t room(std::int32_t source, std::int64_t max_rows);
  std::int64_t joined_ts(std::int32_t source, std::int64_t row) const noexcept;
  std::int64_t time_of_last(std::int32_t source) const noexcept;  // `kNever` before the first row

  const Shape shape_;
  std::vector<std::unique_ptr<TupleBuffer>> logs_;  // by copy
  std::deque<Source> sources_;
  std::deque<Ring> rings_;  // by copy and source; deque, because readers point to the views
  // Number of sources whose outputs found no room. Their threads write it; readers that release rows read it.
  alignas(kCacheLine) std::atomic<std::int32_t> starved_{0};
};

}  // namespace lab
