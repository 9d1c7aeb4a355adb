// Who works where. The streams and mailboxes of a worker are a place; it is worked at by its own worker or, while places
// are gathered, by the first worker, which then works at all of them. docs/decisions/0014-gathered-places.md.
//
// Law. Of a place only the thread that works there touches anything. Epochs are counted by the first worker: in even ones
// each worker has its place, in odd ones they are gathered. In an odd epoch a worker gives its place, after its last turn,
// by writing down the epoch; the first worker works there from then on, until it counts on. So a worker that slept through
// an even epoch gives its place again. Each of these is a sequentially consistent store with a notify behind it, and is
// looked at between Parker::prepare and commit: nobody sleeps for ever for a place (run/parker.h). A worker that has ended
// has given its place for good. What other headers call an owner's or a worker's own is, of a place, whose who works
// there: it changes hands with the place.
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
  // `parkers`: of the workers, by index.
  Places(std::int32_t count, std::span<Parker> parkers) : parkers_(parkers), places_(static_cast<std::size_t>(count)) {}

  // Any worker but the first, before each turn: whether its place is its own. Gives it away where places are gathered.
  bool mine(std::int32_t index) noexcept {
    // acquires the place when it is given back; pairs with the stores in `scatter` and `gather`
    const std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    if (epoch % 2 == 0) return true;
    std::atomic<std::uint32_t>& given = at(index).given;
    if (given.load(std::memory_order_relaxed) != epoch) {  // relaxed: own store
      given.store(epoch, std::memory_order_seq_cst);       // releases the place; pairs with the load in `free`
      parkers_.front().notify();
    }
    return false;
  }

  // The worker has ended: its place is done. Any worker but the first.
  void leave(std::int32_t index) noexcept {
    at(index).left.store(true, std::memory_order_seq_cst);  // releases the place; pairs with the load in `free`
    parkers_.front().notify();
  }

  // Events done at a place until now, for the first worker's information. Who works there.
  void tell(std::int32_t index, std::int64_t events) noexcept {
    at(index).events.store(events, std::memory_order_relaxed);  // relaxed: statistics
  }

  // The first worker's: ----------------------------------------------------------------------------------------------

  bool gathered() const noexcept { return epoch() % 2 != 0; }

  // Whether it may work at another's place, while places are gathered.
  bool free(std::int32_t index) const noexcept {
    const Place& place = places_[static_cast<std::size_t>(index)];
    return place.given.load(std::memory_order_seq_cst) == epoch() || place.left.load(std::memory_order_seq_cst);
  }

  void gather() noexcept { next_epoch(); }

  // Gives all places back. Returns false where a worker has not given its yet, and changes nothing.
  bool scatter() noexcept {
    const auto count = static_cast<std::int32_t>(places_.size());
    for (std::int32_t i = 1; i < count; ++i) {
      if (!free(i)) return false;
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
    std::atomic<std::uint32_t> given{0};                      // in which epoch; written by its worker
    std::atomic<bool> left{false};                            // written by its worker, once
    alignas(kCacheLine) std::atomic<std::int64_t> events{0};  // written by who works there, read by the first worker
  };

  Place& at(std::int32_t index) noexcept { return places_[static_cast<std::size_t>(index)]; }
  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }  // relaxed: its own store
  void next_epoch() noexcept {
    epoch_.store(epoch() + 1, std::memory_order_seq_cst);  // releases the places; pairs with the load in `mine`
    for (Parker& parker : parkers_) parker.notify();
  }

  const std::span<Parker> parkers_;
  std::vector<Place> places_;
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};  // written by the first worker, read by all
};

}  // namespace lab
