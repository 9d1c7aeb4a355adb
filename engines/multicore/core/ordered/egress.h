// OrderedEgress: receives the last operator's units, appends their outputs in order and counts them.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ordered/reorder.h"
#include "run/cacheline.h"
#include "run/sink.h"

namespace lab {

class OrderedEgress {
 public:
  // `due`: units carry the due times of their records; set with a load and a measurement.
  OrderedEgress(std::vector<std::int32_t> itemsizes, bool due)
      : due_(due), pool_(std::make_shared<OutputPool>(std::move(itemsizes))), out_(pool_) {}

  void reserve(std::int64_t rows) { pool_->reserve(rows, 0); }

  // Takes the next units in order. One thread at a time: the one at the last operator's exit.
  void take(Units units, OrderedWorker& worker);

  // Notes an input unit without outputs, which ends before the last operator. Any thread.
  void discard_empty(const Unit& unit, OrderedWorker& worker) const;

  // All units before this serial number are out. Readers load it seq_cst; pairs with the store in `take`. Also acquire:
  // the memory of those units is free for reuse.
  const std::atomic<std::int64_t>& done() const noexcept { return done_; }

  const OutputBuffer& outputs() const noexcept { return out_; }

 private:
  void take_one(const Unit& unit, OrderedWorker& worker);
  void append(const Unit& unit);
  static void note_input(const Unit& unit, OrderedWorker& worker);
  void note_latency(const Unit& unit, OrderedWorker& worker) const;

  const bool due_;
  const std::shared_ptr<OutputPool> pool_;
  OutputBuffer out_;                                       // out_ and done_: written by the thread at the exit
  alignas(kCacheLine) std::atomic<std::int64_t> done_{0};  // never decreases
};

}  // namespace lab
