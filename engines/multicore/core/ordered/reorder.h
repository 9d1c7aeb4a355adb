// The reordering buffer of one operator: units are added when they are done, in any order, and sent on in the order
// of their serial numbers. Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 3.
//
// There is room for every unit that is under way: a unit is admitted only when the one a window before it has left the
// last operator, and it left this one before. So adding never fails.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "ordered/unit.h"
#include "run/cacheline.h"
#include "run/names.h"

namespace lab {

struct OrderedWorker;

// What is behind a reordering buffer. Called by one thread at a time, with some units each time, in order.
class OrderedExit {
 public:
  virtual ~OrderedExit() = default;
  virtual void send(Units units, OrderedWorker& worker) = 0;
  // A turn has ended although there is more to send: `resume` is to be called by somebody.
  virtual void offer(OrderedWorker& worker) = 0;
};

class Reordering {
 public:
  virtual ~Reordering() = default;

  // Adds units that this thread has finished, in any order, and sends what is next unless another thread does. Any
  // thread.
  virtual void add(Units units, OrderedWorker& worker) = 0;

  // Takes a turn at the exit if one has ended with something left. Returns whether there was one. Any thread.
  virtual bool resume(OrderedWorker& worker) = 0;
};

// Figure 4, with a loop in place of the recursion, and a bound on what one thread sends in a turn.
//
// The law of the pair: who adds stores slots and then tries the flag, who sends clears the flag and then looks at the
// slot, and both change the flag by an exchange. So either the one who adds gets the flag; or its exchange comes before
// the sender's clearing, which reads what it has written, and the sender sees the slots: no unit stays behind.
class NonBlockingReordering final : public Reordering {
 public:
  // `window`: units under way at most, rounded up to a power of two. `most_sends`: of one turn.
  NonBlockingReordering(std::int64_t window, OrderedExit& exit, std::int64_t most_sends = kMostSends);

  void add(Units units, OrderedWorker& worker) override;
  bool resume(OrderedWorker& worker) override;

  // Units before the next one's turn to be handed on: a few microseconds for units of 64 light records.
  static constexpr std::int64_t kMostSends = 32;

 private:
  void turn(OrderedWorker& worker);

  const std::uint64_t mask_;
  OrderedExit& exit_;
  const std::int64_t most_sends_;
  // Slot of unit s is s mod size; null: EMPTY. Written by who adds and emptied by who holds the flag.
  std::vector<std::atomic<Unit*>> slots_;
  // Guarded by the flag: the serial number that is sent next, and what is being sent.
  alignas(kCacheLine) std::int64_t next_ = 0;
  std::vector<Unit*> going_;
  alignas(kCacheLine) std::atomic<bool> taken_{false};    // true: some thread sends
  alignas(kCacheLine) std::atomic<bool> offered_{false};  // true: a turn has ended with something left
};

// Figure 3: everything under one lock.
class LockedReordering final : public Reordering {
 public:
  LockedReordering(std::int64_t window, OrderedExit& exit);

  void add(Units units, OrderedWorker& worker) override;
  bool resume(OrderedWorker&) override { return false; }

 private:
  static constexpr std::size_t kMostTogether = 32;  // then those behind may begin

  const std::uint64_t mask_;
  OrderedExit& exit_;
  std::mutex mutex_;  // guards all below
  std::vector<Unit*> slots_;
  std::int64_t next_ = 0;
  std::vector<Unit*> going_;
};

inline constexpr Names<2> kReorderings = {"nonblocking", "lock"};

// Makes the one called `name`. Throws std::invalid_argument for another name.
std::unique_ptr<Reordering> make_reordering(std::string_view name, std::int64_t window, OrderedExit& exit);

}  // namespace lab
