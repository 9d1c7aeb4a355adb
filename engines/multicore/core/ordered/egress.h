// What is behind the last operator: outputs are appended in order, and counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "run/cacheline.h"
#include "ordered/reorder.h"
#include "run/sink.h"

namespace lab {

class OrderedEgress {
 public:
  // `due`: with a load and something measured, so that units say when their records were due.
  OrderedEgress(std::vector<std::int32_t> itemsizes, bool due) : due_(due), pool_(std::make_shared<OutputPool>(std::move(itemsizes))), out_(pool_) {}

  void reserve(std::int64_t rows) { pool_->reserve(rows, 0); }

  // Takes the next units in order. One thread at a time: whoever is at the last operator's exit.
  void take(Units units, OrderedWorker& worker);

  // Units that are out: all before this serial number. seq_cst: pairs with the store in `take`; also acquire: their
  // memory may be used again.
  std::int64_t done() const noexcept { return done_.load(std::memory_order_seq_cst); }

  const OutputBuffer& outputs() const noexcept { return out_; }
  std::int64_t events() const noexcept { return events_; }

 private:
  void take_one(const Unit& unit, OrderedWorker& worker);
  void append(const Unit& unit);
  void note_latency(const Unit& unit, OrderedWorker& worker) const;

  const bool due_;
  const std::shared_ptr<OutputPool> pool_;
  OutputBuffer out_;                             // these three: whoever is at the exit
  std::int64_t events_ = 0;
  alignas(kCacheLine) std::atomic<std::int64_t> done_{0};  // written at the exit, never decreases
};

}  // namespace lab
