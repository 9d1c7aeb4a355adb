// Worklist: the items that wait for one operator of an OrderedRun. The items are units (ordered/unit.h), or for a
// partitioned operator the groups into which a unit is divided (ordered/groups.h).
//
// One thread at a time pushes units, in the order of their serial numbers: the thread at the preceding operator's exit.
// Law: the groups of one partition are processed one at a time, in the order in which they were pushed.
// Some worklists schedule partitions in bundles. There a group has the records of a bundle, and `Group::partition` is
// the bundle's number.
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

#include "ordered/ring.h"
#include "ordered/unit.h"
#include "run/cacheline.h"
#include "run/names.h"

namespace lab {

struct OrderedWorker;

// Processes the items that a worker takes.
class UnitProcessor {
 public:
  virtual ~UnitProcessor() = default;
  // `operate` processes a whole unit, `operate_group` one group. The item then belongs to the callee.
  virtual void operate(Unit& unit, OrderedWorker& worker) = 0;
  virtual void operate_group(Group& group, OrderedWorker& worker) = 0;
  // Hands over the items finished since the last call. Call it soon after the functions above.
  virtual void hand_over(OrderedWorker& worker) = 0;
  virtual bool stopped() const noexcept = 0;  // whether the run has failed; a worker must then not wait
};

class Worklist {
 public:
  virtual ~Worklist() = default;

  // Adds units, each with at least one record. Only the thread at the preceding exit may call it.
  void push(Units units) {
    std::int64_t records = 0;
    for (const Unit* unit : units) records += unit->records;
    // relaxed: statistics, one writer at a time. `put` comes last, since afterwards the units belong to other threads.
    pushed_.store(pushed_.load(std::memory_order_relaxed) + records, std::memory_order_relaxed);
    put(units);
  }

  // Takes and processes one item or more, with about `records` records in all. Returns the number of records, or 0 if
  // no item could be taken. Any thread may call it.
  virtual std::int64_t work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) = 0;

  // Returns whether no item can be taken. Its loads are seq_cst, for the last look before sleep; pairs with the pushes.
  virtual bool empty() const noexcept = 0;

  // Returns the number of bundles of partitions. A unit is divided into at most one group per bundle. Only `split`
  // changes the number. relaxed: the thread at the preceding exit regroups units that were grouped by an earlier
  // number.
  std::int32_t bundles() const noexcept { return bundles_.load(std::memory_order_relaxed); }

  // Doubles the number of bundles. Returns false if this is not possible. Only the thread at the preceding exit may
  // call it.
  virtual bool split() { return false; }

  // Returns the largest bundle's share of all records since the last split. Only for the thread at the preceding exit.
  virtual double heaviest_share() const { return 0; }

  // Returns the estimated number of waiting records.
  std::int64_t queued() const noexcept {
    // relaxed: statistics.
    return std::max<std::int64_t>(0, pushed_.load(std::memory_order_relaxed) - worked_.load(std::memory_order_relaxed));
  }

 protected:
  virtual void put(Units units) = 0;
  void set_bundles(std::int32_t count) noexcept { bundles_.store(count, std::memory_order_relaxed); }  // see `bundles`
  void add_worked(std::int64_t records) noexcept {
    worked_.fetch_add(records, std::memory_order_relaxed);
  }  // statistics

 private:
  alignas(kCacheLine) std::atomic<std::int64_t> pushed_{0};  // records; written at the preceding exit
  alignas(kCacheLine) std::atomic<std::int64_t> worked_{0};  // records; written by workers
  alignas(kCacheLine) std::atomic<std::int32_t> bundles_{1};
};

// Whole units, for operators that are not partitioned.
//
// With several queues, units are distributed by serial number, in runs of consecutive units. Each worker looks into its
// home queue first, and takes from the other queues while the home queue is empty. If the window is a multiple of kRun
// times the number of queues (for example 128, with two workers), a unit object always goes to the same queue. Its
// memory is reused after a window, so the memory stays in one core's cache.
class UnitList final : public Worklist {
 public:
  // `queues`: 1 if units must be taken in order. `alone`: whether the operator has at most one worker at a time.
  UnitList(std::int64_t window, std::int32_t queues, bool alone = false);

  std::int64_t work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) override;
  bool empty() const noexcept override {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue.empty(); });
  }

 private:
  void put(Units units) override;
  std::int64_t take(ItemRing<Unit*>& queue, std::int64_t records, bool is_home, UnitProcessor& processor,
                    OrderedWorker& worker);

  static constexpr std::int64_t kRun = 8;  // consecutive units of one queue

  alignas(kCacheLine) const bool alone_;  // not in a cache line with the counts of the base
  std::deque<ItemRing<Unit*>> queues_;
};

// One queue of groups. When a group is pushed, it gets a ticket: its turn within its partition. A worker that takes a
// group thus knows the group's place in the partition's order without a lock, and waits for the group's turn.
class SharedGroups final : public Worklist {
 public:
  SharedGroups(std::int64_t window, std::int32_t partitions);

  std::int64_t work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) override;
  bool empty() const noexcept override { return groups_.empty(); }

 private:
  struct alignas(kCacheLine) Turn {
    std::int64_t issued = 0;               // written at the preceding exit
    std::atomic<std::int64_t> serving{0};  // written by the worker whose turn it is
  };

  void put(Units units) override;

  ItemRing<Group*> groups_;
  std::vector<Turn> turns_;
};

// One queue per partition. A worker locks a queue that has items; no worker waits for a lock.
class PartitionedGroups final : public Worklist {
 public:
  // `workers`: number of workers, which start at partitions far apart.
  PartitionedGroups(std::int64_t window, std::int32_t partitions, std::int32_t workers, std::size_t stage);

  std::int64_t work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) override;
  bool empty() const noexcept override {
    // relaxed, then seq_cst: as in ItemRing.
    const std::int64_t taken = taken_.load(std::memory_order_relaxed);
    return pushed_groups_.load(std::memory_order_seq_cst) == taken;
  }

 private:
  struct alignas(kCacheLine) Queue {
    std::atomic<std::uint64_t> tail{0};  // written at the preceding exit
    alignas(kCacheLine) std::atomic<bool> locked{false};
    std::atomic<std::uint64_t> head{0};  // written under the lock
  };

  void put(Units units) override;
  Group*& slot(std::size_t partition, std::uint64_t index) noexcept {
    return slots_[partition * (mask_ + 1) + (index & mask_)];
  }

  alignas(kCacheLine) const std::uint64_t mask_;  // not in a cache line with the counts of the base
  const std::int32_t workers_;
  const std::size_t stage_;
  std::vector<Queue> queues_;
  std::vector<Group*> slots_;
  alignas(kCacheLine) std::atomic<std::int64_t> pushed_groups_{0};  // written at the preceding exit
  alignas(kCacheLine) std::atomic<std::int64_t> taken_{0};          // groups; written by workers
};

// Figure 7: one queue per partition, and a master queue. The master queue holds one token per group: the number of the
// group's partition.
//
// Law: `count` of a partition is the number of its tokens that were taken from the master queue and whose groups are
// not done. The worker that raises `count` from zero is the partition's worker until `count` is zero again. A group is
// stored before its token, so every counted token has a group.
//
// Homed: partitions are scheduled in bundles, and the law of a partition holds for a bundle. At first one bundle has
// all partitions, and a unit passes through whole. `split` moves half of each bundle's partitions into a new bundle:
// bundle b of n keeps the partitions p with p mod 2n = b, and bundle b + n gets the rest. Law: before the new bundle
// has a token, its count is raised as if b's worker worked on it, and a mark goes into b's queue. The worker that
// reaches the mark has done all items from before the split. It lowers the new bundle's count, and does the items that
// other workers have left in the new bundle meanwhile.
//
// With several master queues, bundles are distributed over them, and each worker looks into its home master first. So
// the state of a bundle's keys stays in one core's cache. While its home master is empty, a worker takes from the other
// masters, so that no worker idles while there is work. The law does not depend on which worker takes a token.
class HybridGroups final : public Worklist {
 public:
  struct Shape {
    std::int32_t bundles = 1;      // initial number of bundles: 1, or the number of partitions
    std::int32_t max_bundles = 1;  // the number of partitions, or a power of two below it
    std::int32_t masters = 1;
  };

  HybridGroups(std::int64_t window, Shape shape);

  bool split() override;
  double heaviest_share() const override;

  std::int64_t work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) override;
  bool empty() const noexcept override {
    return std::all_of(masters_.begin(), masters_.end(), [](const auto& master) { return master.empty(); });
  }

 private:
  struct alignas(kCacheLine) Queue {
    std::atomic<std::int64_t> count{0};
    std::uint64_t head = 0;  // written by the partition's worker
  };
  struct Turn;

  void put(Units units) override;
  void push(std::int32_t bundle, Group& group);
  void hand_over(Turn& turn);
  void take(ItemRing<std::int32_t>& master, bool is_home, Turn& turn);
  void run(std::int32_t bundle, std::int64_t tokens, Turn& turn);
  Group*& slot(std::int32_t bundle, std::uint64_t index) noexcept {
    return slots_[static_cast<std::size_t>(bundle) * (mask_ + 1) + (index & mask_)];
  }
  std::size_t master_of(std::int32_t bundle) const noexcept {
    return static_cast<std::size_t>(bundle) % masters_.size();
  }

  alignas(kCacheLine) const std::uint64_t mask_;  // not in a cache line with the counts of the base
  const std::int32_t max_bundles_;
  std::deque<ItemRing<std::int32_t>> masters_;
  std::vector<Queue> queues_;
  // By bundle: a window of groups. If bundles can split, another window follows, for the mark of a split. A group is
  // read after its token: the master queue and `count` order the accesses.
  std::vector<Group*> slots_;
  // The thread at the preceding exit writes these fields. They are adjacent because they move from thread to thread
  // with the exit.
  std::vector<std::uint64_t> tails_;
  std::vector<std::int64_t> records_;  // by bundle: number of records since the last split
  std::vector<Group> marks_;           // by new bundle; a mark has no unit
  std::uint64_t touched_ = 0;          // bit mask of the masters with unpublished tokens
  // Number of marks not reached; while it is above 0, `split` refuses. Written at the exit, then by the workers that
  // reach marks.
  alignas(kCacheLine) std::atomic<std::int32_t> marks_left_{0};
};

// Maximum number of groups of all units in flight in the lists above: 128 MiB of pointers.
inline constexpr std::int64_t kMaxGroups = std::int64_t{1} << 24;

// `homed` is HybridGroups with one master per worker; at first all partitions are in one bundle. `hybrid` is
// HybridGroups with a single master, and always one bundle per partition.
inline constexpr Names<4> kWorklists = {"homed", "hybrid", "partitioned", "shared"};

// Makes the worklist named `name` for a partitioned operator. Throws std::invalid_argument for an unknown name, or for
// more than kMaxGroups groups.
std::unique_ptr<Worklist> make_group_list(std::string_view name, std::int64_t window, std::int32_t partitions,
                                          std::int32_t workers, std::size_t stage);

}  // namespace lab
