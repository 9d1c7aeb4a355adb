// What is behind the last operator: outputs are appended in order, and counted.
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
  // `due`: with a load and something measured, so that units say when their records were due.
  OrderedEgress(std::vector<std::int32_t> itemsizes, bool due)
      : due_(due), pool_(std::make_shared<OutputPool>(std::move(itemsizes))), out_(pool_) {}

  void reserve(std::int64_t rows) { pool_->reserve(rows, 0); }

  // Takes the next units in order. One thread at a time: whoever is at the last operator's exit.
  void take(Units units, OrderedWorker& worker);

  // Nothing comes of the input that a unit answers for; it ends before the last operator. Any thread.
  void came_to_nothing(const Unit& unit, OrderedWorker& worker) const;

  // Units that are out: all before this serial number. To be read seq_cst: pairs with the store in `take`; also acquire:
  // their memory may be used again.
  const std::atomic<std::int64_t>& done() const noexcept { return done_; }

  const OutputBuffer& outputs() const noexcept { return out_; }

 private:
  void take_one(const Unit& unit, OrderedWorker& worker);
  void append(const Unit& unit);
  static void note_input(const Unit& unit, OrderedWorker& worker);
  void note_latency(const Unit& unit, OrderedWorker& worker) const;

  const bool due_;
  const std::shared_ptr<OutputPool> pool_;
  OutputBuffer out_;                                       // these two: whoever is at the exit
  alignas(kCacheLine) std::atomic<std::int64_t> done_{0};  // written at the exit, never decreases
};

}  // namespace lab
