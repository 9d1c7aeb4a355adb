// The log between two operators of a query: instance i of the one before is its source i, and all instances of the
// one behind read it.
//
// What an instance emits goes into its OutputBuffer, which grows, and from there into a ring of columns, the rows of
// its source, as far as the log has room (`move`). Nobody ever waits for room, because that could be for ever:
// a row is ready once all instances before have passed its time, and it is they who would wait. Outputs of one time,
// such as those of a whole window, may be more than a ring holds.
//
// The frontier. An instance that has processed everything up to a watermark W emits nothing timed at or before W
// any more (Observation 1 of STRETCH), so it promises W + 1; while rows wait, no more than the time of the first of
// them. Instances emit in order of time (Lemma 2), so that is no less than what was promised before.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "oplus/causes.h"
#include "oplus/handover.h"
#include "run/column_ring.h"
#include "run/sink.h"

namespace lab {

class ChainLog final : public Handover {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  // `itemsizes`: of the records of the operator before; `timed`: rows say when their causes were due; `rows`: of a
  // ring, a power of two, at least 2, or `start` throws std::invalid_argument; `spill_rows`: see OplusOptions.
  ChainLog(std::unique_ptr<TupleBuffer> log, std::vector<std::int32_t> itemsizes, std::int64_t rows,
           std::int64_t spill_rows, bool timed, ProcessKernel process, std::unique_ptr<WindowState> state);

  void start(std::int32_t most, std::int32_t active) override;
  TupleBuffer& log(std::int32_t) override { return *log_; }
  int reader(std::int32_t instance) override { return instance; }
  std::span<const OperatorStream> streams(std::int32_t) override { return streams_; }
  WindowState* state(std::int32_t) override { return state_.get(); }
  bool feed(Recorder&, const std::int32_t*, std::int32_t) override { return log_->advance(); }
  // The number of instances of chains is fixed.
  bool call(std::int64_t) override { return false; }
  bool by_decree() const noexcept override { return false; }
  bool decreed(std::int64_t*) const noexcept override { return false; }
  std::int64_t delivered() const noexcept override { return -1; }
  std::int64_t change(const Change&, std::span<OperatorInstance* const>) override { return 0; }

  // Moves waiting outputs of instance `source` into the log, as many as fit, and promises what follows from its
  // `watermark` (`kNever`: nothing). Returns whether it published anything: then `log().advance()` is due. The
  // instance's thread, as `close`. Throws std::runtime_error when more wait then than may.
  bool move(std::int32_t source, OutputBuffer& outputs, Causes& causes, std::int64_t watermark);

  // Of instance `source`: what found no room. Its thread, or afterwards.
  const Spill& spill(std::int32_t source) const noexcept { return rings_[static_cast<std::size_t>(source)].spill; }

  // The instance has emitted its last, and nothing waits.
  void close(std::int32_t source) { log_->close(source); }

  // Whether an instance before has outputs that found no room: after each `release` of this log its thread, which
  // may sleep, is to be told.
  bool starved() const noexcept {
    return starved_.load(std::memory_order_seq_cst) != 0;  // pairs with `move`: see there
  }

 private:
  // Rows of one source. Written by the thread of its instance; the log publishes them to the readers.
  struct alignas(kCacheLine) Ring {
    Ring(std::span<const std::int32_t> itemsizes, std::int64_t size, std::int64_t spill_rows)
        : memory(itemsizes, size, "link_rows"), spill(spill_rows) {}

    ColumnRing memory;
    std::vector<std::int64_t> due;  // `timed` only
    StreamView view;
    std::int64_t rows = 0;          // ever written
    std::int64_t frontier = kNever;  // published last
    bool starved = false;
    Spill spill;
    std::int64_t spilled_to = 0;     // outputs, ever, of which it is known whether they found room at once
  };

  std::unique_ptr<TupleBuffer> log_;
  const std::vector<std::int32_t> itemsizes_;
  const std::int64_t size_;
  const std::int64_t spill_rows_;
  const bool timed_;
  const ProcessKernel process_;
  std::unique_ptr<WindowState> state_;
  std::deque<Ring> rings_;                // by source; deque: streams point to the views
  std::vector<OperatorStream> streams_;
  // Sources whose outputs found no room. Written by their threads, read by who releases rows.
  alignas(kCacheLine) std::atomic<std::int32_t> starved_{0};
};

}  // namespace lab
