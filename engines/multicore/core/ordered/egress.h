// OrderedEgress: the end of an OrderedRun's pipeline. It receives the last operator's units (ordered/unit.h), appends
// their outputs in order and counts them.
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
  // `has_due`: whether units carry the due times of their records; true with a load and a measurement.
  OrderedEgress(std::vector<std::int32_t> itemsizes, bool has_due)
      : has_due_(has_due), pool_(std::make_shared<OutputPool>(std::move(itemsizes))), out_(pool_) {}

  void reserve(std::int64_t rows) { pool_->reserve(rows, 0); }

  // Takes the next units in order. Only the thread at the last operator's exit may call it.
  void take(Units units, OrderedWorker& worker);

  // Counts the input records of a unit whose records were all dropped before the last operator. Any thread may call it.
  void discard_empty(const Unit& unit, OrderedWorker& worker) const;

  // Returns the serial number before which all units are out of the pipeline. Readers load it seq_cst; pairs with the
  // store in `take`. The load is also an acquire: the memory of those units is free for reuse.
  const std::atomic<std::int64_t>& done() const noexcept { return done_; }

  const OutputBuffer& outputs() const noexcept { return out_; }

 private:
  void take_unit(const Unit& unit, OrderedWorker& worker);
  void append(const Unit& unit);
  static void note_input(const Unit& unit, OrderedWorker& worker);
  void note_latency(const Unit& unit, OrderedWorker& worker) const;

  const bool has_due_;
  const std::shared_ptr<OutputPool> pool_;
  OutputBuffer out_;                                       // written by the thread at the exit, as is `done_`
  alignas(kCacheLine) std::atomic<std::int64_t> done_{0};  // never decreases
};

}  // namespace lab
