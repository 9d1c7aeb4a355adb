// Reordering: the buffer after one operator. Workers add finished units in any order; the buffer sends them on in the
// order of serial numbers. Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 3.
//
// The buffer has room for every unit in flight. A unit is admitted only when the unit one window before it has left the
// last operator, and thus this buffer. So adding never fails.
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

// The receiver of a reordering buffer's units. One thread at a time calls `send`, in order, with several units at once.
class OrderedExit {
 public:
  virtual ~OrderedExit() = default;
  virtual void send(Units units, OrderedWorker& worker) = 0;
  // Called when a thread has ended its turn at the exit with units left to send. Some thread must then call `resume`.
  virtual void offer(OrderedWorker& worker) = 0;
};

class Reordering {
 public:
  virtual ~Reordering() = default;

  // Adds finished units in any order, and sends the next units unless another thread is sending. Any thread may call
  // it.
  virtual void add(Units units, OrderedWorker& worker) = 0;

  // Takes a turn at the exit if the last turn ended with units left to send. Returns whether it took a turn. Any thread
  // may call it.
  virtual bool resume(OrderedWorker& worker) = 0;
};

// Figure 4, with a loop in place of the recursion, and a limit to the units that one thread sends in a turn.
//
// Law of the flag: an adder stores slots, then tries to take the flag; the sender clears the flag, then reads the next
// slot. Both change the flag by an exchange. Either the adder gets the flag, or its exchange comes before the sender's
// clearing exchange, which reads the adder's value. In the second case the sender sees the slots, so no unit is left.
class NonBlockingReordering final : public Reordering {
 public:
  // `window`: maximum number of units in flight, rounded up to a power of two. `max_sends`: maximum number of units
  // sent in one turn.
  NonBlockingReordering(std::int64_t window, OrderedExit& exit, std::int64_t max_sends = kMaxSends);

  void add(Units units, OrderedWorker& worker) override;
  bool resume(OrderedWorker& worker) override;

  // Number of units that a thread sends before it offers the turn to other threads. Units of 64 light records take a
  // few microseconds.
  static constexpr std::int64_t kMaxSends = 32;

 private:
  void take_turn(OrderedWorker& worker);

  const std::uint64_t mask_;
  OrderedExit& exit_;
  const std::int64_t max_sends_;
  // The slot of unit s is s mod size; null is the paper's EMPTY. Written by adding threads, emptied by the holder of
  // the flag.
  std::vector<std::atomic<Unit*>> slots_;
  // Guarded by the flag: the next serial number to send, and the units being sent.
  alignas(kCacheLine) std::int64_t next_ = 0;
  std::vector<Unit*> batch_;
  alignas(kCacheLine) std::atomic<bool> taken_{false};    // whether some thread sends
  alignas(kCacheLine) std::atomic<bool> offered_{false};  // whether a turn has ended with units left
};

// Figure 3: one lock around everything.
class LockedReordering final : public Reordering {
 public:
  LockedReordering(std::int64_t window, OrderedExit& exit);

  void add(Units units, OrderedWorker& worker) override;
  bool resume(OrderedWorker&) override { return false; }

 private:
  static constexpr std::size_t kMaxTogether = 32;  // units sent at once; downstream work can begin after them

  const std::uint64_t mask_;
  OrderedExit& exit_;
  std::mutex mutex_;  // guards the fields below
  std::vector<Unit*> slots_;
  std::int64_t next_ = 0;
  std::vector<Unit*> batch_;
};

inline constexpr Names<2> kReorderings = {"nonblocking", "lock"};

// Makes the buffer named `name`. Throws std::invalid_argument for an unknown name.
std::unique_ptr<Reordering> make_reordering(std::string_view name, std::int64_t window, OrderedExit& exit);

}  // namespace lab
