// Implements one map instance's part of one stream (STRETCH, Corollary 1): M turns a tuple into one tuple per key.
// `MapStage` runs the parts.
//
// Tuples are assigned to the map instances in turn, but tuples of one time go to the same instance. Otherwise the merge
// by time would lose their order in the stream. Row r belongs to part (f mod m), where f is the first row of the same
// time. So a part finds its own rows without other parts.
//
// A mapped tuple goes into the queue of the instance that owns its key's bucket. A full queue stops only its part, even
// in the middle of a tuple. The part publishes the time of that tuple as its frontier to all receivers. So the tuples
// that other parts have mapped for earlier times are ready everywhere, and receivers empty the queue. A part that owns
// no tuple of a time passes that time even if the stream may have more tuples of it.
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

// Finds repeated keys of one tuple. A new stamp empties the table.
class KeyRepeats {
 public:
  // Begins the next tuple, which has at most `keys` keys.
  void begin(std::int64_t keys) {
    const std::size_t min_slots = 2 * std::bit_ceil(static_cast<std::size_t>(keys) + 1);
    if (slots_.size() < min_slots) slots_.assign(min_slots, {});
    ++stamp_;
  }

  // Returns whether the tuple already has the key, and adds it.
  bool has(std::int64_t key, std::uint64_t hash) noexcept {
    const std::size_t mask = slots_.size() - 1;
    // Use the middle bits, which are equally good for all instances: the low bits select the bucket, and so the
    // instance.
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

  // Emits as many of the part's own rows below `end_row` as have room, and publishes them to the receivers' logs as
  // `source`. `bound`: lower bound of the ts of later rows; kEndOfTime if none follow. Returns whether it made
  // progress. Throws std::runtime_error when f_MK raised.
  bool run(std::int64_t end_row, std::int64_t bound, const std::int32_t* owner, std::span<TupleBuffer* const> logs,
           int source);

  // Returns the row before which all own rows are done. seq_cst: the thread that hands over more rows reads it, in a
  // pass (run/merge_flag.h).
  std::int64_t position() const noexcept { return position_.load(std::memory_order_seq_cst); }
  std::int64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }        // rows; a statistic
  std::int64_t emitted() const noexcept { return emitted_.load(std::memory_order_relaxed); }  // tuples; likewise

 private:
  static constexpr std::int64_t kRows = 128;           // maximum number of rows whose keys a kernel computes at once
  static constexpr std::int64_t kFirstKeys = 1 << 10;  // initial room for their keys; one tuple may have more
  static constexpr std::int64_t kTuples = 1 << 11;     // about this many tuples are emitted per run

  std::int64_t ts(std::int64_t row) const noexcept { return stream_.view->ts[static_cast<std::size_t>(row)]; }
  bool gather(std::int64_t end_row) noexcept;
  void map();
  void remove_repeats();
  bool emit(const std::int32_t* owner, std::span<TupleBuffer* const> logs, int source);
  bool publish(std::int64_t frontier, std::span<TupleBuffer* const> logs, int source);

  const OperatorSpec& spec_;
  const OperatorStream& stream_;
  const MappedStream& mapped_;
  const std::int64_t index_;
  const std::int64_t parts_;
  std::deque<MappedQueue> queues_;       // by receiver; deque, because streams point into them
  std::vector<std::int64_t> published_;  // rows published, by receiver
  std::int64_t frontier_;                // last frontier published
  bool closed_ = false;

  // `gather` has found the part's own rows up to `next_`; rows_[0, found_) are at hand. The keys of rows_[mapped_from_,
  // mapped_to_) are in `keys_`. The rows before `row_`, and the keys before `key_`, are emitted.
  std::int64_t next_;
  bool within_ = false;  // whether rows with the time of row `next_` - 1 belong to this part
  std::array<std::int64_t, static_cast<std::size_t>(kRows)> rows_;
  std::array<std::int64_t, static_cast<std::size_t>(kRows)> ends_;
  std::int64_t found_ = 0, mapped_from_ = 0, mapped_to_ = 0, row_ = 0, key_ = 0;
  KeyColumns keys_;
  std::vector<std::int32_t> all_mine_;  // gives f_MK the same owner for all buckets, so that it adds every key
  KeyRepeats repeats_;

  // Written by the holder of the map instance's flag.
  std::atomic<std::int64_t> position_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> emitted_{0};
};

}  // namespace lab
