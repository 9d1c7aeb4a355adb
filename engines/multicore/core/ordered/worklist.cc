// Implements the worklists that ordered/worklist.h explains.
#include "ordered/worklist.h"

#include <array>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "ordered/worker.h"
#include "run/parker.h"

namespace lab {
namespace {

// Maximum number of light units, or tokens, that a worker takes at once. It is above 1 because workers compete for the
// queue's head at each take.
constexpr std::int64_t kMaxItems = 16;

// Light items are handed over at least this many times per slice of work.
constexpr std::int64_t kHandOversPerSlice = 8;

// Maximum number of queues of a worklist, since a 64-bit word has one bit per queue. With more workers, several workers
// share a queue.
constexpr std::int32_t kMaxQueues = 64;

// Number of spins of a worker that waits for its turn, before it yields the core.
constexpr int kTurnSpins = 100;

std::uint64_t all_groups(std::int64_t window, std::int32_t partitions) {
  return slots_for(window) * static_cast<std::uint64_t>(partitions);
}

// Returns how many items of `size` records each to take next, when `left` records of a slice are left.
std::int64_t items_to_take(std::int64_t left, std::int64_t size) {
  return std::clamp<std::int64_t>(left / std::max<std::int64_t>(1, size), 1, kMaxItems);
}

// Returns the number of items of `size` records to finish before a hand-over, when `left` records of a slice are left.
// These items take some microseconds.
std::int64_t items_per_hand_over(std::int64_t left, std::int64_t size) {
  return std::clamp<std::int64_t>(left / std::max<std::int64_t>(1, size) / kHandOversPerSlice, 1, kMaxItems);
}

// Publishes the queues whose bits are set.
template <typename Queues>
void publish(Queues& queues, std::uint64_t touched) {
  for (; touched != 0; touched &= touched - 1) queues[static_cast<std::size_t>(std::countr_zero(touched))].publish();
}

}  // namespace

UnitList::UnitList(std::int64_t window, std::int32_t queues, bool alone) : alone_(alone) {
  queues = std::clamp(queues, 1, kMaxQueues);
  for (std::int32_t q = 0; q < queues; ++q) queues_.emplace_back(static_cast<std::uint64_t>(window));
}

void UnitList::put(Units units) {
  std::uint64_t touched = 0;
  for (Unit* unit : units) {
    const std::size_t queue = static_cast<std::size_t>(unit->serial / kRun) % queues_.size();
    queues_[queue].put(unit);
    touched |= std::uint64_t{1} << queue;
  }
  publish(queues_, touched);
}

// Takes units from one queue and processes them, about `records` records in all. Returns the number of records.
std::int64_t UnitList::take(ItemRing<Unit*>& queue, std::int64_t records, bool is_home, UnitProcessor& processor,
                            OrderedWorker& worker) {
  std::array<Unit*, kMaxItems> units{};
  std::int64_t done = 0;
  std::int64_t max_items = 1;
  for (bool first = true; done < records; first = false) {
    const std::int64_t count = queue.pop(units.data(), max_items, alone_);
    if (count == 0) break;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += units[static_cast<std::size_t>(i)]->records;
    add_worked(sum);
    const std::int64_t items = items_per_hand_over(records, sum / count);
    done += sum;
    for (std::int64_t i = 0; i < count; ++i) {
      processor.operate(*units[static_cast<std::size_t>(i)], worker);
      if (i % items == items - 1) processor.hand_over(worker);
    }
    processor.hand_over(worker);
    // From another worker's queue, take one unit to learn its weight, then up to half of the rest, since each visit
    // costs a scheduler decision. Then stop, because this worker's home queue may have units.
    if (!is_home && !first) break;
    max_items = items_to_take(records - done, sum / count);
  }
  return done;
}

std::int64_t UnitList::work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) {
  const std::size_t own = static_cast<std::size_t>(worker.index) % queues_.size();
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    const std::int64_t done = take(queues_[(own + q) % queues_.size()], records, q == 0, processor, worker);
    if (done != 0) return done;
  }
  return 0;
}

SharedGroups::SharedGroups(std::int64_t window, std::int32_t partitions)
    : groups_(all_groups(window, partitions)), turns_(static_cast<std::size_t>(partitions)) {
  set_bundles(partitions);
}

void SharedGroups::put(Units units) {
  for (Unit* unit : units) {
    for (std::int32_t g = 0; g < unit->group_count; ++g) {
      Group& group = unit->groups[static_cast<std::size_t>(g)];
      group.ticket = turns_[static_cast<std::size_t>(group.partition)].issued++;
      groups_.put(&group);
    }
  }
  groups_.publish();
}

std::int64_t SharedGroups::work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) {
  std::int64_t done = 0;
  while (done < records) {
    Group* group = nullptr;
    if (groups_.pop(&group, 1) == 0) break;
    Turn& turn = turns_[static_cast<std::size_t>(group->partition)];
    const std::int64_t ticket = group->ticket;
    const std::int64_t size = group->end - group->begin;
    add_worked(size);
    done += size;
    // The holder of an earlier ticket has already taken its group, and waits only for even earlier tickets. The holder
    // of the first ticket never waits. acquire: the partition's state; pairs with the store below.
    for (int spins = 0; turn.serving.load(std::memory_order_acquire) != ticket; ++spins) {
      if (spins == 0) ++worker.counts.waits;
      if (processor.stopped()) return done;
      if (spins < kTurnSpins) {
        spin_pause();
      } else {
        std::this_thread::yield();
      }
    }
    processor.operate_group(*group, worker);
    turn.serving.store(ticket + 1, std::memory_order_release);  // release: the state; pairs with the load above
    processor.hand_over(worker);
  }
  return done;
}

PartitionedGroups::PartitionedGroups(std::int64_t window, std::int32_t partitions, std::int32_t workers,
                                     std::size_t stage)
    : mask_(slots_for(window) - 1),
      workers_(workers),
      stage_(stage),
      queues_(static_cast<std::size_t>(partitions)),
      slots_(all_groups(window, partitions), nullptr) {
  set_bundles(partitions);
}

void PartitionedGroups::put(Units units) {
  std::int64_t pushed = 0;
  for (Unit* unit : units) {
    const std::int32_t count = unit->group_count;  // after its last group the unit belongs to another thread
    pushed += count;
    for (std::int32_t g = 0; g < count; ++g) {
      Group& group = unit->groups[static_cast<std::size_t>(g)];
      const auto partition = static_cast<std::size_t>(group.partition);
      Queue& queue = queues_[partition];
      const std::uint64_t tail = queue.tail.load(std::memory_order_relaxed);  // relaxed: only this side writes it
      slot(partition, tail) = &group;
      queue.tail.store(tail + 1, std::memory_order_release);  // release: the slot; pairs with the load in `work`
    }
  }
  // relaxed: one writer at a time. seq_cst: the producer then looks for sleepers (ordered/idle.h).
  pushed += pushed_groups_.load(std::memory_order_relaxed);
  pushed_groups_.store(pushed, std::memory_order_seq_cst);
}

std::int64_t PartitionedGroups::work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) {
  const std::size_t count = queues_.size();
  std::int64_t& cursor = worker.cursor[stage_];
  if (cursor < 0) cursor = static_cast<std::int64_t>(count) * worker.index / workers_;
  std::int64_t done = 0;
  for (std::size_t looked = 0; looked < count && done < records; ++looked) {
    const auto partition = static_cast<std::size_t>(cursor);
    Queue& queue = queues_[partition];
    // relaxed: only tests whether a lock is worth trying.
    const bool has_groups = queue.tail.load(std::memory_order_relaxed) != queue.head.load(std::memory_order_relaxed);
    // acquire: the state and the head; pairs with the release below.
    if (has_groups && !queue.locked.exchange(true, std::memory_order_acquire)) {
      std::uint64_t head = queue.head.load(std::memory_order_relaxed);  // relaxed: written under the lock
      std::uint64_t first = head;
      std::int64_t before = done;
      std::int64_t unpublished_groups = 0;
      const auto hand_over = [&] {
        processor.hand_over(worker);
        add_worked(done - before);  // not after each group, since all workers share these counts
        before = done;
        // relaxed: a thread that sees the count late makes one useless look.
        taken_.fetch_add(static_cast<std::int64_t>(head - first), std::memory_order_relaxed);
        first = head;
        unpublished_groups = 0;
      };
      while (done < records && head != queue.tail.load(std::memory_order_acquire)) {  // acquire: pairs with `put`
        Group& group = *slot(partition, head);
        const std::int64_t size = group.end - group.begin;
        if (unpublished_groups >= items_per_hand_over(records - done, size)) hand_over();
        ++unpublished_groups;
        queue.head.store(++head, std::memory_order_relaxed);  // relaxed: read by others as a guess
        done += size;
        processor.operate_group(group, worker);
      }
      hand_over();
      queue.locked.store(false, std::memory_order_release);  // release: pairs with the exchange above
      if (done >= records) break;                            // the next call resumes here
    }
    cursor = cursor + 1 == static_cast<std::int64_t>(count) ? 0 : cursor + 1;
  }
  return done;
}

HybridGroups::HybridGroups(std::int64_t window, Shape shape)
    : mask_((shape.bundles < shape.max_bundles ? 2 : 1) * slots_for(window) - 1),
      max_bundles_(shape.max_bundles),
      queues_(static_cast<std::size_t>(max_bundles_)),
      slots_(all_groups(static_cast<std::int64_t>(mask_ + 1), max_bundles_), nullptr),
      tails_(static_cast<std::size_t>(max_bundles_), 0),
      records_(static_cast<std::size_t>(max_bundles_), 0),
      marks_(static_cast<std::size_t>(max_bundles_)) {
  set_bundles(shape.bundles);
  const std::int32_t masters = std::clamp<std::int32_t>(shape.masters, 1, std::min(max_bundles_, kMaxQueues));
  for (std::int32_t m = 0; m < masters; ++m) {
    const std::int32_t share = (max_bundles_ - m + masters - 1) / masters;
    masters_.emplace_back(all_groups(static_cast<std::int64_t>(mask_ + 1), share));
  }
}

// Appends a group to its bundle's queue, and its token to the bundle's master queue. `publish` must follow.
void HybridGroups::push(std::int32_t bundle, Group& group) {
  slot(bundle, tails_[static_cast<std::size_t>(bundle)]++) = &group;
  const std::size_t master = master_of(bundle);
  masters_[master].put(bundle);
  touched_ |= std::uint64_t{1} << master;
}

void HybridGroups::put(Units units) {
  for (Unit* unit : units) {
    for (std::int32_t g = 0; g < unit->group_count; ++g) {
      Group& group = unit->groups[static_cast<std::size_t>(g)];
      records_[static_cast<std::size_t>(group.partition)] += group.end - group.begin;
      push(group.partition, group);
    }
  }
  publish(masters_, std::exchange(touched_, 0));  // after the bundles' queues: a token always has its group
}

bool HybridGroups::split() {
  const std::int32_t before = bundles();
  // acquire: the worker that reached the last mark no longer reads the slots of the preceding split.
  if (before == max_bundles_ || marks_left_.load(std::memory_order_acquire) != 0) return false;
  const std::int32_t after = std::min(2 * before, max_bundles_);
  marks_left_.store(after - before, std::memory_order_relaxed);  // relaxed: published with the marks
  for (std::int32_t new_bundle = before; new_bundle < after; ++new_bundle) {
    // relaxed: a worker that takes a token of the new bundle has seen the token, which is published after this.
    queues_[static_cast<std::size_t>(new_bundle)].count.fetch_add(1, std::memory_order_relaxed);
    Group& mark = marks_[static_cast<std::size_t>(new_bundle)];
    mark.partition = new_bundle;
    push(new_bundle - before, mark);
  }
  publish(masters_, std::exchange(touched_, 0));
  set_bundles(after);
  std::fill(records_.begin(), records_.end(), 0);
  return true;
}

double HybridGroups::heaviest_share() const {
  std::int64_t sum = 0, heaviest = 0;
  for (const std::int64_t records : records_) {
    sum += records;
    heaviest = std::max(heaviest, records);
  }
  return sum == 0 ? 0 : static_cast<double>(heaviest) / static_cast<double>(sum);
}

// The state of one call of `work`.
struct HybridGroups::Turn {
  const std::int64_t target_records;
  UnitProcessor& processor;
  OrderedWorker& worker;
  std::int64_t records = 0;
  std::int64_t groups = 0;
  std::int64_t counted = 0;             // number of records already added to the list's count
  std::int64_t unpublished_groups = 0;  // number of groups since the last hand-over
  bool has_other_work = false;          // whether groups were left to other workers, or a mark was reached
};

// Works on a bundle until its count is zero again. The caller has raised the count from zero to `tokens`.
void HybridGroups::run(std::int32_t bundle, std::int64_t tokens, Turn& turn) {
  Queue& queue = queues_[static_cast<std::size_t>(bundle)];
  while (tokens > 0) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      Group& group = *slot(bundle, queue.head++);
      if (group.unit == nullptr) {
        turn.has_other_work = true;
        marks_left_.fetch_sub(1, std::memory_order_release);  // release: pairs with the load in `split`
        // acq_rel: as below. Work on this bundle before the mark precedes work on the new bundle.
        const std::int64_t left =
            queues_[static_cast<std::size_t>(group.partition)].count.fetch_sub(1, std::memory_order_acq_rel) - 1;
        run(group.partition, left, turn);
        continue;
      }
      const std::int64_t size = group.end - group.begin;
      if (turn.unpublished_groups >= items_per_hand_over(turn.target_records, size)) hand_over(turn);
      ++turn.unpublished_groups;
      ++turn.groups;
      turn.records += size;
      turn.processor.operate_group(group, turn.worker);
    }
    // acq_rel: releases the state to the bundle's next worker; acquires the groups of the tokens left to this worker.
    tokens = queue.count.fetch_sub(tokens, std::memory_order_acq_rel) - tokens;
  }
}

void HybridGroups::hand_over(Turn& turn) {
  turn.processor.hand_over(turn.worker);
  add_worked(turn.records - turn.counted);  // not after each group, since all workers share the count
  turn.counted = turn.records;
  turn.unpublished_groups = 0;
}

// Takes tokens from one master queue. Works on the bundles that no worker is at, and leaves the other tokens' groups to
// the workers that are at their bundles.
void HybridGroups::take(ItemRing<std::int32_t>& master, bool is_home, Turn& turn) {
  std::array<std::int32_t, kMaxItems> tokens{};
  // From another worker's master, take fewer tokens if records are heavy and the target thus is small.
  std::int64_t max_items = is_home ? 1 : std::clamp<std::int64_t>(turn.target_records, 1, kMaxItems);
  while (turn.records < turn.target_records) {
    const std::int64_t count = master.pop(tokens.data(), max_items, bundles() == 1);
    if (count == 0) break;
    const auto end = tokens.begin() + count;
    for (auto first = tokens.begin(); first != end;) {
      const auto next = std::find_if(first, end, [&](std::int32_t bundle) { return bundle != *first; });
      // acq_rel: acquires the bundle's state and head from the worker that brought the count to zero. Releases the
      // groups in the tokens' slots to the worker that may be at the bundle. Pairs with the `fetch_sub` in `run`.
      if (queues_[static_cast<std::size_t>(*first)].count.fetch_add(next - first, std::memory_order_acq_rel) == 0) {
        run(*first, next - first, turn);
      } else {
        turn.worker.counts.delegated += next - first;
        turn.has_other_work = true;
      }
      first = next;
    }
    hand_over(turn);
    if (!is_home) break;  // this worker's home master may have tokens by now
    if (turn.groups != 0) max_items = items_to_take(turn.target_records - turn.records, turn.records / turn.groups);
  }
}

std::int64_t HybridGroups::work(std::int64_t records, UnitProcessor& processor, OrderedWorker& worker) {
  Turn turn{records, processor, worker};
  const std::size_t own = static_cast<std::size_t>(worker.index) % masters_.size();
  for (std::size_t m = 0; m < masters_.size(); ++m) {
    take(masters_[(own + m) % masters_.size()], m == 0 || bundles() == 1, turn);
    if (turn.records != 0) return turn.records;
    // Leaving all tokens to other workers also counts as work: those workers have the groups.
    if (turn.has_other_work) return 1;
  }
  return 0;
}

std::unique_ptr<Worklist> make_group_list(std::string_view name, std::int64_t window, std::int32_t partitions,
                                          std::int32_t workers, std::size_t stage) {
  if (static_cast<std::int64_t>(slots_for(window)) > kMaxGroups / partitions) {
    throw std::invalid_argument("a window of " + std::to_string(window) + " units by " + std::to_string(partitions) +
                                " partitions is more than " + std::to_string(kMaxGroups) +
                                " groups; give fewer partitions or a smaller window");
  }
  switch (index_of("worklist", kWorklists, name)) {
    case 0: {
      const auto enough_bundles = static_cast<std::int32_t>(std::bit_ceil(2 * static_cast<std::uint32_t>(workers)));
      const std::int32_t max_bundles = workers == 1 ? 1 : std::min(partitions, enough_bundles);
      return std::make_unique<HybridGroups>(window, HybridGroups::Shape{1, max_bundles, workers});
    }
    case 1:
      return std::make_unique<HybridGroups>(window, HybridGroups::Shape{partitions, partitions, 1});
    case 2:
      return std::make_unique<PartitionedGroups>(window, partitions, workers, stage);
    default:
      return std::make_unique<SharedGroups>(window, partitions);
  }
}

}  // namespace lab
