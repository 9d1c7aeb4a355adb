#include "pipeline_worklist.h"

#include <array>
#include <stdexcept>
#include <string>
#include <thread>

#include "parker.h"
#include "pipeline_worker.h"

namespace lab {
namespace {

// Units, or tokens, that a worker takes at once where each is light: the queue's head is shared by all workers.
constexpr std::int64_t kAtOnce = 8;

// How long a worker spins for its turn before it lets others have the core.
constexpr int kTurnSpins = 100;

std::uint64_t slots_for(std::int64_t window) { return std::bit_ceil(static_cast<std::uint64_t>(window)); }

std::uint64_t all_groups(std::int64_t window, std::int32_t partitions) {
  return slots_for(window) * static_cast<std::uint64_t>(partitions);
}

// Items of `size` records each to take for `left` records.
std::int64_t at_once(std::int64_t left, std::int64_t size) {
  return std::clamp<std::int64_t>(left / std::max<std::int64_t>(1, size), 1, kAtOnce);
}

}  // namespace

std::int64_t UnitList::work(std::int64_t records, Operate& operate, PipelineWorker& worker) {
  std::array<Unit*, kAtOnce> units{};
  std::int64_t done = 0;
  std::int64_t wanted = 1;
  while (done < records) {
    const std::int64_t count = units_.pop(units.data(), wanted);
    if (count == 0) break;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += units[static_cast<std::size_t>(i)]->records;
    worked(sum);
    done += sum;
    for (std::int64_t i = 0; i < count; ++i) operate.operate(*units[static_cast<std::size_t>(i)], worker);
    wanted = at_once(records - done, sum / count);
  }
  return done;
}

SharedGroups::SharedGroups(std::int64_t window, std::int32_t partitions)
    : groups_(all_groups(window, partitions)), turns_(static_cast<std::size_t>(partitions)) {}

void SharedGroups::put(Unit& unit) {
  for (std::int32_t g = 0; g < unit.group_count; ++g) {
    Group& group = unit.groups[static_cast<std::size_t>(g)];
    group.ticket = turns_[static_cast<std::size_t>(group.partition)].issued++;
    groups_.put(&group);
  }
  groups_.publish();
}

std::int64_t SharedGroups::work(std::int64_t records, Operate& operate, PipelineWorker& worker) {
  std::int64_t done = 0;
  while (done < records) {
    Group* group = nullptr;
    if (groups_.pop(&group, 1) == 0) break;
    Turn& turn = turns_[static_cast<std::size_t>(group->partition)];
    const std::int64_t ticket = group->ticket;
    const std::int64_t size = group->end - group->begin;
    worked(size);
    done += size;
    // Who holds an earlier ticket has taken its group before, and waits only for still earlier ones: the first is
    // never kept waiting. acquire: the partition's state; pairs with the store below.
    for (int spins = 0; turn.serving.load(std::memory_order_acquire) != ticket; ++spins) {
      if (spins == 0) ++worker.counts.waits;
      if (operate.stopped()) return done;
      if (spins < kTurnSpins) {
        spin_pause();
      } else {
        std::this_thread::yield();
      }
    }
    operate.operate_group(*group, worker);
    turn.serving.store(ticket + 1, std::memory_order_release);  // release: the state; pairs with the load above
  }
  return done;
}

PartitionedGroups::PartitionedGroups(std::int64_t window, std::int32_t partitions, std::int32_t workers,
                                     std::size_t stage)
    : mask_(slots_for(window) - 1),
      workers_(workers),
      stage_(stage),
      queues_(static_cast<std::size_t>(partitions)),
      slots_(all_groups(window, partitions), nullptr) {}

void PartitionedGroups::put(Unit& unit) {
  const std::int32_t count = unit.group_count;  // with its last group the unit is another's
  for (std::int32_t g = 0; g < count; ++g) {
    Group& group = unit.groups[static_cast<std::size_t>(g)];
    const auto partition = static_cast<std::size_t>(group.partition);
    Queue& queue = queues_[partition];
    const std::uint64_t tail = queue.tail.load(std::memory_order_relaxed);  // relaxed: only this side writes it
    slot(partition, tail) = &group;
    queue.tail.store(tail + 1, std::memory_order_release);  // release: the slot; pairs with the load in `work`
  }
  // relaxed: one writer at a time. seq_cst: the producer looks for sleepers behind it (pipeline_idle.h).
  const std::int64_t pushed = pushed_groups_.load(std::memory_order_relaxed);
  pushed_groups_.store(pushed + count, std::memory_order_seq_cst);
}

std::int64_t PartitionedGroups::work(std::int64_t records, Operate& operate, PipelineWorker& worker) {
  const std::size_t count = queues_.size();
  std::int64_t& cursor = worker.cursor[stage_];
  if (cursor < 0) cursor = static_cast<std::int64_t>(count) * worker.index / workers_;
  std::int64_t done = 0;
  for (std::size_t looked = 0; looked < count && done < records; ++looked) {
    const auto partition = static_cast<std::size_t>(cursor);
    Queue& queue = queues_[partition];
    // relaxed: looks whether it is worth a lock.
    const bool some = queue.tail.load(std::memory_order_relaxed) != queue.head.load(std::memory_order_relaxed);
    // acquire: the state and the head; pairs with the release below.
    if (some && !queue.locked.exchange(true, std::memory_order_acquire)) {
      std::uint64_t head = queue.head.load(std::memory_order_relaxed);  // relaxed: written under the lock
      while (done < records && head != queue.tail.load(std::memory_order_acquire)) {  // acquire: pairs with `put`
        Group& group = *slot(partition, head);
        queue.head.store(++head, std::memory_order_relaxed);  // relaxed: read by others as a guess
        const std::int64_t size = group.end - group.begin;
        worked(size);
        // relaxed: who sees it late looks in vain.
        taken_.fetch_add(1, std::memory_order_relaxed);
        done += size;
        operate.operate_group(group, worker);
      }
      queue.locked.store(false, std::memory_order_release);  // release: pairs with the exchange above
      if (done >= records) break;                            // goes on here the next time
    }
    cursor = cursor + 1 == static_cast<std::int64_t>(count) ? 0 : cursor + 1;
  }
  return done;
}

HybridGroups::HybridGroups(std::int64_t window, std::int32_t partitions)
    : mask_(slots_for(window) - 1),
      master_(all_groups(window, partitions)),
      queues_(static_cast<std::size_t>(partitions)),
      slots_(all_groups(window, partitions), nullptr) {}

void HybridGroups::put(Unit& unit) {
  for (std::int32_t g = 0; g < unit.group_count; ++g) {
    Group& group = unit.groups[static_cast<std::size_t>(g)];
    const auto partition = static_cast<std::size_t>(group.partition);
    slots_[partition * (mask_ + 1) + (queues_[partition].tail++ & mask_)] = &group;
    master_.put(group.partition);
  }
  master_.publish();  // after the partitions' queues: a token is never without its group
}

std::int64_t HybridGroups::work(std::int64_t records, Operate& operate, PipelineWorker& worker) {
  std::array<std::int32_t, kAtOnce> tokens{};
  std::int64_t done = 0;
  std::int64_t groups = 0;
  std::int64_t wanted = 1;
  bool delegated = false;
  while (done < records) {
    const std::int64_t count = master_.pop(tokens.data(), wanted);
    if (count == 0) break;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto partition = static_cast<std::size_t>(tokens[static_cast<std::size_t>(i)]);
      Queue& queue = queues_[partition];
      // acq_rel: acquires the partition's state and head from who brought the count to zero, and releases what the
      // token has brought, the group in its slot, to who may be at the partition. Pairs with the other below.
      if (queue.count.fetch_add(1, std::memory_order_acq_rel) != 0) {
        ++worker.counts.delegated;
        delegated = true;
        continue;
      }
      do {
        Group& group = *slots_[partition * (mask_ + 1) + (queue.head++ & mask_)];
        const std::int64_t size = group.end - group.begin;
        worked(size);
        done += size;
        ++groups;
        operate.operate_group(group, worker);
        // acq_rel: releases the state to the next at the partition; acquires the groups of tokens left to this one.
      } while (queue.count.fetch_sub(1, std::memory_order_acq_rel) > 1);
    }
    if (groups != 0) wanted = at_once(records - done, done / groups);
  }
  // To have left all of it to others is to have done something: what is there is in hand.
  return done == 0 && delegated ? 1 : done;
}

std::unique_ptr<Worklist> make_group_list(std::string_view name, std::int64_t window, std::int32_t partitions,
                                          std::int32_t workers, std::size_t stage) {
  if (static_cast<std::int64_t>(slots_for(window)) > kMostGroups / partitions) {
    throw std::invalid_argument("a window of " + std::to_string(window) + " units by " + std::to_string(partitions) +
                                " partitions is more than " + std::to_string(kMostGroups) +
                                " groups; give fewer partitions or a smaller window");
  }
  if (name == "hybrid") return std::make_unique<HybridGroups>(window, partitions);
  if (name == "partitioned") return std::make_unique<PartitionedGroups>(window, partitions, workers, stage);
  if (name == "shared") return std::make_unique<SharedGroups>(window, partitions);
  throw std::invalid_argument("worklist is hybrid, partitioned or shared, not " + std::string(name));
}

}  // namespace lab
