// What waits for one operator, and how workers take it.
//
// Units are pushed in the order of their serial numbers by one thread at a time, the one at the exit of the operator
// before. A unit for a partitioned operator comes in groups (ordered/groups.h); what the lists below promise of them:
// the groups of one partition are worked on one at a time and in the order in which they were pushed.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 4.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "run/cacheline.h"
#include "run/names.h"
#include "ordered/ring.h"
#include "ordered/unit.h"

namespace lab {

struct OrderedWorker;

// What is done with what a worker takes.
class Operate {
 public:
  virtual ~Operate() = default;
  virtual void operate(Unit& unit, OrderedWorker& worker) = 0;         // a whole unit; it belongs to the callee then
  virtual void operate_group(Group& group, OrderedWorker& worker) = 0;  // likewise
  // Hands over what the calls since the last one have finished. Called before long by who has called the above.
  virtual void hand_over(OrderedWorker& worker) = 0;
  virtual bool stopped() const noexcept = 0;  // the run has failed: do not wait
};

class Worklist {
 public:
  virtual ~Worklist() = default;

  // Adds units with records. The thread at the exit before only.
  void push(Units units) {
    std::int64_t records = 0;
    for (const Unit* unit : units) records += unit->records;
    // relaxed: statistics, one writer at a time. Before the units go: they are others' then.
    pushed_.store(pushed_.load(std::memory_order_relaxed) + records, std::memory_order_relaxed);
    put(units);
  }

  // Takes and works on items of about `records` records in all, at least one item. Returns how many records there
  // were; 0: nothing could be taken. Any thread.
  virtual std::int64_t work(std::int64_t records, Operate& operate, OrderedWorker& worker) = 0;

  // Whether there is nothing to take. seq_cst (of what it reads): a sleeper's last look, pairs with the pushes.
  virtual bool empty() const noexcept = 0;

  // Records that wait; an estimate.
  std::int64_t queued() const noexcept {
    // relaxed: statistics.
    return std::max<std::int64_t>(
        0, pushed_.load(std::memory_order_relaxed) - worked_.load(std::memory_order_relaxed));
  }

 protected:
  virtual void put(Units units) = 0;
  void worked(std::int64_t records) noexcept { worked_.fetch_add(records, std::memory_order_relaxed); }  // statistics

 private:
  alignas(kCacheLine) std::atomic<std::int64_t> pushed_{0};  // records; written at the exit before
  alignas(kCacheLine) std::atomic<std::int64_t> worked_{0};  // records; written by workers
};

// Whole units, for operators that are not partitioned.
//
// With several queues, units are dealt to them by serial number, in runs, and each worker has one where it looks first;
// where its own is empty it takes from the others'. Where
// the window is a multiple of all runs, two workers at a window of 128 for one, each so meets the same units every time,
// whose memory is used again after a window: its lines stay in a core's cache.
class UnitList final : public Worklist {
 public:
  // `queues`: 1 where units must be taken in order.
  UnitList(std::int64_t window, std::int32_t queues);

  std::int64_t work(std::int64_t records, Operate& operate, OrderedWorker& worker) override;
  bool empty() const noexcept override {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue.empty(); });
  }

 private:
  void put(Units units) override;
  std::int64_t take(ItemRing<Unit*>& queue, std::int64_t records, bool own, Operate& operate, OrderedWorker& worker);

  static constexpr std::int64_t kRun = 8;

  alignas(kCacheLine) std::deque<ItemRing<Unit*>> queues_;  // not beside the counts of the base
};

// One queue of groups. Each has a ticket, its turn within its partition, given as it is pushed: so taking a group and
// getting its place in the partition's order are one step, and no lock spans both. Its worker waits for that turn.
class SharedGroups final : public Worklist {
 public:
  SharedGroups(std::int64_t window, std::int32_t partitions);

  std::int64_t work(std::int64_t records, Operate& operate, OrderedWorker& worker) override;
  bool empty() const noexcept override { return groups_.empty(); }

 private:
  struct alignas(kCacheLine) Turn {
    std::int64_t issued = 0;              // written at the exit before
    std::atomic<std::int64_t> serving{0};  // written by who has the turn
  };

  void put(Units units) override;

  ItemRing<Group*> groups_;
  std::vector<Turn> turns_;
};

// A queue for each partition; a worker locks one that has something. Nobody waits for a lock.
class PartitionedGroups final : public Worklist {
 public:
  // `workers`: they start at partitions apart from each other.
  PartitionedGroups(std::int64_t window, std::int32_t partitions, std::int32_t workers, std::size_t stage);

  std::int64_t work(std::int64_t records, Operate& operate, OrderedWorker& worker) override;
  bool empty() const noexcept override {
    // relaxed, then seq_cst: as in ItemRing.
    const std::int64_t taken = taken_.load(std::memory_order_relaxed);
    return pushed_groups_.load(std::memory_order_seq_cst) == taken;
  }

 private:
  struct alignas(kCacheLine) Queue {
    std::atomic<std::uint64_t> tail{0};  // written at the exit before
    alignas(kCacheLine) std::atomic<bool> locked{false};
    std::atomic<std::uint64_t> head{0};  // written under the lock
  };

  void put(Units units) override;
  Group*& slot(std::size_t partition, std::uint64_t index) noexcept {
    return slots_[partition * (mask_ + 1) + (index & mask_)];
  }

  alignas(kCacheLine) const std::uint64_t mask_;  // not beside the counts of the base
  const std::int32_t workers_;
  const std::size_t stage_;
  std::vector<Queue> queues_;
  std::vector<Group*> slots_;
  alignas(kCacheLine) std::atomic<std::int64_t> pushed_groups_{0};  // written at the exit before
  alignas(kCacheLine) std::atomic<std::int64_t> taken_{0};          // groups; written by workers
};

// Figure 7: a queue for each partition, and a master queue that has the partition's number for each group in them.
//
// Law: `count` of a partition is the number of its tokens, taken from the master queue, whose groups are not done; who
// raises it from zero is the partition's worker until it is zero again. Each token came after its group, so there is a
// group for every token that is counted.
//
// With several masters, partitions are dealt to them, and each worker has one master where it looks first: the state of
// its partitions stays in its core's cache. Where its own is empty it takes from the others', so that nobody is idle
// while there is something to do. The law does not depend on who takes a token.
class HybridGroups final : public Worklist {
 public:
  HybridGroups(std::int64_t window, std::int32_t partitions, std::int32_t masters);

  std::int64_t work(std::int64_t records, Operate& operate, OrderedWorker& worker) override;
  bool empty() const noexcept override {
    return std::all_of(masters_.begin(), masters_.end(), [](const auto& master) { return master.empty(); });
  }

 private:
  struct alignas(kCacheLine) Queue {
    std::atomic<std::int64_t> count{0};
    std::uint64_t head = 0;  // the partition's worker
  };
  struct Taken {
    std::int64_t records = 0;
    bool delegated = false;  // some were left to others
  };

  void put(Units units) override;
  Taken take(ItemRing<std::int32_t>& master, std::int64_t records, bool own, Operate& operate, OrderedWorker& worker);
  std::size_t master_of(std::int32_t partition) const noexcept {
    return static_cast<std::size_t>(partition) % masters_.size();
  }

  alignas(kCacheLine) const std::uint64_t mask_;  // not beside the counts of the base
  std::deque<ItemRing<std::int32_t>> masters_;
  std::vector<Queue> queues_;
  std::vector<std::uint64_t> tails_;  // the exit before; close together: they go from thread to thread with the exit
  // Of each partition one window. A group is read after its token: the master queue, and `count`, order the accesses.
  std::vector<Group*> slots_;
};

// Groups of all units under way that the lists above take: 128 MiB of pointers.
inline constexpr std::int64_t kMostGroups = std::int64_t{1} << 24;

// Homed: HybridGroups with a master for each worker; hybrid: with one.
inline constexpr Names<4> kWorklists = {"homed", "hybrid", "partitioned", "shared"};

// Makes the list of a partitioned operator called `name`. Throws std::invalid_argument for another name, or when there
// would be more than kMostGroups.
std::unique_ptr<Worklist> make_group_list(std::string_view name, std::int64_t window, std::int32_t partitions,
                                          std::int32_t workers, std::size_t stage);

}  // namespace lab
