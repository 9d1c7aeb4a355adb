// One map instance's part of one stream (STRETCH, Corollary 1): M, which makes of each tuple one for each of its keys.
//
// Tuples are dealt to the map instances in turn, but those of one time go together: merged by time, tuples of different
// map instances would otherwise lose the order that they had in the stream. Row r is part (f mod m)'s, where f is the first
// row of the same time; so a part finds its own rows without asking the others.
//
// A mapped tuple goes into the queue of the instance that its key's bucket belongs to. A full queue holds up the part, in
// the midst of a tuple if need be, and nobody else: the frontier that all receivers are told is the time of that tuple, so
// what the others have mapped before it is ready everywhere, and the queue is read.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "log/tuple_buffer.h"
#include "oplus/key_columns.h"
#include "oplus/key_repeats.h"
#include "oplus/mapped_queue.h"
#include "run/cacheline.h"

namespace lab {

class alignas(kCacheLine) MapPart {
 public:
  // Part `index` of `parts` of a stream, with a queue of so many rows, a power of two, to each receiver.
  MapPart(const OperatorSpec& spec, const OperatorStream& stream, const MappedStream& mapped, std::int64_t index,
          std::int64_t parts, std::size_t receivers, std::int64_t queue_rows);
  MapPart(const MapPart&) = delete;
  MapPart& operator=(const MapPart&) = delete;

  const MappedQueue& queue(std::size_t receiver) const noexcept { return queues_[receiver]; }

  // Emits what there is room for of the own rows below `handed`, and tells the receivers' logs, in which it is `source`.
  // Later rows have ts >= `bound`; kEndOfTime: there are none. Returns whether it came any further. Throws
  // std::runtime_error when f_MK raised.
  bool run(std::int64_t handed, std::int64_t bound, const std::int32_t* owner, std::span<TupleBuffer* const> logs,
           int source);

  // Own rows below it are done. seq_cst: looked at by who hands over more rows, in a pass (run/merge_flag.h).
  std::int64_t position() const noexcept { return position_.load(std::memory_order_seq_cst); }
  std::int64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }        // rows; a statistic
  std::int64_t emitted() const noexcept { return emitted_.load(std::memory_order_relaxed); }  // tuples; likewise

 private:
  static constexpr std::int64_t kRows = 128;           // of which a kernel is asked for the keys at once, at most
  static constexpr std::int64_t kFirstKeys = 1 << 10;  // likewise keys, unless one tuple has more
  static constexpr std::int64_t kTuples = 1 << 11;     // emitted in one run, about, before another part gets its turn

  std::int64_t ts(std::int64_t row) const noexcept { return stream_.view->ts[static_cast<std::size_t>(row)]; }
  bool gather(std::int64_t handed) noexcept;
  void map();
  void leave_out_repeats();
  bool emit(const std::int32_t* owner, std::span<TupleBuffer* const> logs, int source);
  bool publish(std::int64_t frontier, std::span<TupleBuffer* const> logs, int source);

  const OperatorSpec& spec_;
  const OperatorStream& stream_;
  const MappedStream& mapped_;
  const std::int64_t index_;
  const std::int64_t parts_;
  std::deque<MappedQueue> queues_;       // by receiver; deque: streams point into them
  std::vector<std::int64_t> published_;  // rows, by receiver
  std::int64_t frontier_;                // published last
  bool closed_ = false;

  // Own rows: found up to `next_`; rows_[0, found_) at hand, of which [mapped_from_, mapped_to_) have their keys in `keys_`,
  // and those before `row_`, with the keys before `key_`, are emitted.
  std::int64_t next_;
  bool within_ = false;  // rows of the time of row `next_` - 1 are own
  std::array<std::int64_t, static_cast<std::size_t>(kRows)> rows_;
  std::array<std::int64_t, static_cast<std::size_t>(kRows)> ends_;
  std::int64_t found_ = 0, mapped_from_ = 0, mapped_to_ = 0, row_ = 0, key_ = 0;
  KeyColumns keys_;
  std::vector<std::int32_t> all_mine_;  // owner of each bucket, as f_MK is told: every key counts
  KeyRepeats repeats_;

  // Written by who holds the map instance's flag.
  std::atomic<std::int64_t> position_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> emitted_{0};
};

}  // namespace lab
