// TB_out of STRETCH (section 5, figure 3): what the instances of an operator publish into, each as a source of its own,
// and what is behind them reads in one total order: all instances of the next operator (oplus/chain_log.h), or
// downstream readers (oplus/downstream.h). Shared-nothing, each downstream reader has a copy of everything, in queues
// of its own from each instance, and merge-sorts them: a log for each.
//
// What an instance emits goes into its OutputBuffer, which grows, and from there into a ring of columns, the rows of
// its source, as far as the log has room (`move`). Nobody waits for room without a reader that has work at hand
// (`at_hand`), because that could be for ever: a row is ready once all instances have passed its time, and it is they
// who would wait. Outputs of one time, such as those of a whole window, may be more than a ring holds.
//
// The frontier. An instance that has processed everything up to a watermark W emits nothing timed at or before W
// any more (Observation 1), so it promises W + 1; while rows wait, no more than the time of the first of
// them. Instances emit in order of time (Lemma 2), so that is no less than what was promised before.
//
// Sources: instance i is source i for ever, whether or not it is active; one that is not has left, holds nothing back,
// and may join again (from which time on it is trusted: `join`).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
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
    std::int64_t rows = 0;        // of a ring, a power of two, at least 2, or `start` throws std::invalid_argument
    std::int64_t spill_rows = 0;  // see OplusOptions
    bool timed = false;           // rows say what caused them
    std::int32_t copies = 1;      // logs, each with all rows
  };

  // Throws std::invalid_argument on the name of a tuple buffer, or options, out of range.
  OutputLog(std::string_view tuple_buffer, const LogOptions& options, Shape shape);

  // Before the run. `most`: instances that may ever publish, the first `active` of them from the start.
  void start(std::int32_t most, std::int32_t active);

  std::int32_t copies() const noexcept { return shape_.copies; }
  TupleBuffer& log(std::int32_t copy = 0) noexcept { return *logs_[static_cast<std::size_t>(copy)]; }
  const std::vector<std::int32_t>& itemsizes() const noexcept { return shape_.itemsizes; }

  // Rows of one source. Written by the thread of its instance; the log publishes them to the readers.
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

  // Moves waiting outputs of instance `source` into the log, as many as fit, and promises what follows from its
  // `watermark` (`kNever`: nothing). Returns whether it published anything: then `advance` is due. The
  // instance's thread, as all of its source. Throws std::runtime_error when more wait then than may.
  bool move(std::int32_t source, OutputBuffer& outputs, Causes& causes, std::int64_t watermark);

  // Whether outputs that found no room will have some without this instance's doing: readers have ready rows at hand
  // in its ring, will release them, and then find the source `starved`.
  bool at_hand(std::int32_t source);

  bool advance() noexcept;

  // The instance leaves, or has emitted its last; nothing waits.
  void close(std::int32_t source);
  // An instance that has left, or was not active yet, publishes from now on. While it and the first `active` instances, which
  // it is behind, stand at a barrier. Throws as TupleBuffer::rejoin.
  void join(std::int32_t source, std::int32_t active);

  // Of instance `source`: what found no room. Its thread, or afterwards.
  const Spill& spill(std::int32_t source) const noexcept { return sources_[static_cast<std::size_t>(source)].spill; }

  // Whether an instance has outputs that found no room: after each `release` of a log its thread, which may sleep, is
  // to be told.
  bool starved() const noexcept {
    return starved_.load(std::memory_order_seq_cst) != 0;  // pairs with `move`: see there
  }

 private:
  struct alignas(kCacheLine) Source {
    explicit Source(std::int64_t spill_rows) : spill(spill_rows) {}

    std::int64_t rows = 0;  // ever written
    bool starved = false;
    Spill spill;
    std::int64_t spilled_to = 0;  // outputs, ever, of which it is known whether they found room at once
    // Published last; kEndOfTime: has left. Written by the owner behind the log's, read by other owners (`at_hand`).
    std::atomic<std::int64_t> frontier{kNever};
  };

  Ring& ring_of(std::size_t copy, std::int32_t source) noexcept {
    return rings_[copy * sources_.size() + static_cast<std::size_t>(source)];
  }
  std::int64_t room(std::int32_t source, std::int64_t wanted);
  std::int64_t time_of_last(std::int32_t source) const noexcept;  // row; `kNever` before there is one

  const Shape shape_;
  std::vector<std::unique_ptr<TupleBuffer>> logs_;  // by copy
  std::deque<Source> sources_;
  std::deque<Ring> rings_;  // by copy and source; deque: others point to the views
  // Sources whose outputs found no room. Written by their threads, read by who releases rows.
  alignas(kCacheLine) std::atomic<std::int32_t> starved_{0};
};

}  // namespace lab
