// Implements one map instance's part of one stream (STRETCH, Corollary 1): M makes one tuple for each key of a tuple.
// `MapStage` runs the parts.
//
// Tuples are assigned to the map instances in turn, but tuples of one time go to the same instance. Otherwise the merge
// by time would lose the order that they had in the stream. Row r belongs to part (f mod m), where f is the first row
// of the same time. So a part finds its own rows without asking the others.
//
// A mapped tuple goes into the queue of the instance that owns its key's bucket. A full queue stops only its part, even
// in the middle of a tuple. The part publishes the time of that tuple as its frontier to all receivers. So the tuples
// that other parts have mapped before it are ready everywhere, and receivers read the queue.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "log/tuple_buffer.h"
#include "oplus/key_columns.h"
#include "oplus/mapped_queue.h"
#include "run/cacheline.h"

namespace lab {

// A table of the keys of one tuple; a new stamp empties it.
class KeyRepeats {
 public:
  // Begins the next tuple, which has at most `keys` keys.
  void begin(std::int64_t keys) {
    const std::size_t least = 2 * std::bit_ceil(static_cast<std::size_t>(keys) + 1);
    if (slots_.size() < least) slots_.assign(least, {});
    ++stamp_;
  }

  // Returns whether the tuple already has the key, and adds it.
  bool has(std::int64_t key, std::uint64_t hash) noexcept {
    const std::size_t mask = slots_.size() - 1;
    // The low bits select the bucket, and so the instance; the middle bits are equally good on all instances.
    for (std::size_t at = static_cast<std::size_t>(hash >> 20) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.stamp != stamp_) {
        slot = {key, stamp_};
        return false;
      }
      if (slot.key == key) return true;
    }
  }

 private:
  struct Slot {
    std::int64_t key = 0;
    std::uint64_t stamp = 0;  // stamp of the key's tuple; 0: empty
  };
  std::vector<Slot> slots_;
  std::uint64_t stamp_ = 0;
};

class alignas(kCacheLine) MapPart {
 public:
  // Part `index` of `parts` of a stream, with a queue of `queue_rows` rows, a power of two, to each receiver.
  MapPart(const OperatorSpec& spec, const OperatorStream& stream, const MappedStream& mapped, std::int64_t index,
          std::int64_t parts, std::size_t receivers, std::int64_t queue_rows);
  MapPart(const MapPart&) = delete;
  MapPart& operator=(const MapPart&) = delete;

  const MappedQueue& queue(std::size_t receiver) const noexcept { return queues_[receiver]; }

  // Emits as many of the part's own rows below `end_row` as have room, and publishes to the receivers' logs, where the
  // part is `source`. Later rows have ts >= `bound`; kEndOfTime: no later rows. Returns whether it made progress.
  // Throws std::runtime_error when f_MK raised.
  bool run(std::int64_t end_row, std::int64_t bound, const std::int32_t* owner, std::span<TupleBuffer* const> logs,
           int source);

  // Own rows below it are done. seq_cst: the thread that hands over more rows reads it, in a pass (run/merge_flag.h).
  std::int64_t position() const noexcept { return position_.load(std::memory_order_seq_cst); }
  std::int64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }        // rows; a statistic
  std::int64_t emitted() const noexcept { return emitted_.load(std::memory_order_relaxed); }  // tuples; likewise

 private:
  static constexpr std::int64_t kRows = 128;           // most rows for which a kernel computes the keys at once
  static constexpr std::int64_t kFirstKeys = 1 << 10;  // likewise for keys, unless one tuple has more
  static constexpr std::int64_t kTuples = 1 << 11;     // emitted in one run, about, before the next part's turn

  std::int64_t ts(std::int64_t row) const noexcept { return stream_.view->ts[static_cast<std::size_t>(row)]; }
  bool gather(std::int64_t end_row) noexcept;
  void map();
  void leave_out_repeats();
  bool emit(const std::int32_t* owner, std::span<TupleBuffer* const> logs, int source);
  bool publish(std::int64_t frontier, std::span<TupleBuffer* const> logs, int source);

  const OperatorSpec& spec_;
  const OperatorStream& stream_;
  const MappedStream& mapped_;
  const std::int64_t index_;
  const std::int64_t parts_;
  std::deque<MappedQueue> queues_;       // by receiver; deque, because streams point into them
  std::vector<std::int64_t> published_;  // rows, by receiver
  std::int64_t frontier_;                // last published
  bool closed_ = false;

  // The part's own rows are found up to `next_`; rows_[0, found_) are at hand. Of these, [mapped_from_, mapped_to_)
  // have their keys in `keys_`. Rows before `row_`, and the keys before `key_`, are emitted.
  std::int64_t next_;
  bool within_ = false;  // rows of the time of row `next_` - 1 belong to this part
  std::array<std::int64_t, static_cast<std::size_t>(kRows)> rows_;
  std::array<std::int64_t, static_cast<std::size_t>(kRows)> ends_;
  std::int64_t found_ = 0, mapped_from_ = 0, mapped_to_ = 0, row_ = 0, key_ = 0;
  KeyColumns keys_;
  std::vector<std::int32_t> all_mine_;  // owner of each bucket for f_MK, so that every key counts
  KeyRepeats repeats_;

  // Written by the holder of the map instance's flag.
  std::atomic<std::int64_t> position_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> emitted_{0};
};

}  // namespace lab
