// Places: assigns the places of a DGS run to threads. A place holds the streams and mailboxes of one worker, which
// normally serves the place. While places are gathered, the first worker serves all of them.
// docs/decisions/0014-gathered-places.md gives the reasons.
//
// Law. Only the thread that serves a place touches its data. The first worker increments the epoch. In even epochs each
// worker serves its place; in odd epochs the places are gathered. In an odd epoch a worker hands over its place after
// its last turn, by storing the epoch. From then on the first worker serves the place until the next epoch. So a worker
// that slept through an even epoch hands over its place again. Each of these steps is a sequentially consistent store,
// followed by a notify. Threads load these values between Parker::prepare and commit, so no thread misses a step and
// sleeps forever (run/parker.h). A worker that has ended has handed over its place permanently. Where another header
// says that a worker owns data of a place, the owner is the thread that serves the place at that time.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/parker.h"

namespace lab {

class Places {
 public:
  // `parkers`: the parkers of the workers, by index.
  Places(std::int32_t count, std::span<Parker> parkers) : parkers_(parkers), places_(static_cast<std::size_t>(count)) {}

  // Returns whether the worker serves its place; if places are gathered, hands the place over. Every worker except the
  // first must call it before each turn.
  bool serves(std::int32_t index) noexcept {
    // acquires the place that comes back; pairs with the stores in `scatter` and `gather`
    const std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    if (epoch % 2 == 0) return true;
    std::atomic<std::uint32_t>& grant = place_of(index).grant;
    if (grant.load(std::memory_order_relaxed) != epoch) {  // relaxed: own store
      grant.store(epoch, std::memory_order_seq_cst);       // releases the place; pairs with the load in `is_free`
      parkers_.front().notify();
    }
    return false;
  }

  // Notes that the worker has ended, so that its place needs no more work. For every worker except the first.
  void leave(std::int32_t index) noexcept {
    // seq_cst: releases the place; pairs with the load in `is_free`
    place_of(index).ended.store(true, std::memory_order_seq_cst);
    parkers_.front().notify();
  }

  // Stores the number of processed events of a place for the first worker. Only the serving thread calls it.
  void set_events(std::int32_t index, std::int64_t events) noexcept {
    place_of(index).events.store(events, std::memory_order_relaxed);  // relaxed: statistics
  }

  // For the first worker: --------------------------------------------------------------------------------------------

  bool gathered() const noexcept { return epoch() % 2 != 0; }

  // Returns whether the first worker may serve another worker's place, while places are gathered.
  bool is_free(std::int32_t index) const noexcept {
    const Place& place = places_[static_cast<std::size_t>(index)];
    return place.grant.load(std::memory_order_seq_cst) == epoch() || place.ended.load(std::memory_order_seq_cst);
  }

  void gather() noexcept { next_epoch(); }

  // Returns all places to their workers. Until all workers have handed over their places, it only returns false.
  bool scatter() noexcept {
    const auto count = static_cast<std::int32_t>(places_.size());
    for (std::int32_t i = 1; i < count; ++i) {
      if (!is_free(i)) return false;
    }
    next_epoch();
    return true;
  }

  std::int64_t events() const noexcept {
    std::int64_t total = 0;
    for (const Place& place : places_) total += place.events.load(std::memory_order_relaxed);  // relaxed: statistics
    return total;
  }

 private:
  struct alignas(kCacheLine) Place {
    std::atomic<std::uint32_t> grant{0};                      // epoch of the latest handover; written by the worker
    std::atomic<bool> ended{false};                           // written by the worker, once
    alignas(kCacheLine) std::atomic<std::int64_t> events{0};  // written by the serving thread, read by the first worker
  };

  Place& place_of(std::int32_t index) noexcept { return places_[static_cast<std::size_t>(index)]; }
  // relaxed: own store of the first worker
  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }
  void next_epoch() noexcept {
    epoch_.store(epoch() + 1, std::memory_order_seq_cst);  // releases the places; pairs with the load in `serves`
    for (Parker& parker : parkers_) parker.notify();
  }

  const std::span<Parker> parkers_;
  std::vector<Place> places_;
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};  // written by the first worker, read by all
};

}  // namespace lab
