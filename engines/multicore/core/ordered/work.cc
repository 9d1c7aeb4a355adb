// The workers' loop of OrderedRun: resume exits, admit units, work at the scheduled operator.
#include <algorithm>
#include <array>
#include <thread>

#include "ordered/ordered_run.h"

namespace lab {
namespace {

// Most units, and most records in them, that a worker admits before it looks for other work.
constexpr std::int64_t kAdmitUnits = 64;
constexpr std::int64_t kAdmitRecords = 1 << 14;

constexpr std::size_t kDeliverAtOnce = 32;

// A bundle's worker is behind when the bundle takes this share of one worker's time, and this multiple of a worker's
// share of all time. Splitting a unit costs a quarter of its work (docs/performance.md), so a bundle slightly above a
// worker's share is better kept whole.
constexpr double kBehind = 0.7;
constexpr double kOwnShare = 1.2;
constexpr std::int32_t kWindowsBehind = 2;  // one may be an interruption

}  // namespace

bool OrderedRun::finished() const noexcept {
  // seq_cst, both: the thread that makes the later of the two true sees the other here.
  const std::int64_t end = entry_->end();
  if (end < 0) return false;
  return by_operator_ != nullptr ? by_operator_->finished(end) : egress_->done().load(std::memory_order_seq_cst) == end;
}

void OrderedRun::work(std::int32_t index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  bool announced = false;
  const auto turn_of = [&](bool last) {
    if (announced) idle_.withdraw(index);  // it has slept, or found work at the last look
    announced = last;
    if (last) idle_.announce(index);
    return take_turn(slot, last);
  };
  take_turns(
      threads().backoff(), threads().meter(index).counters, turn_of,
      [&] { return threads().failed() || threads().finished(); }, [] { return false; },
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
  if (announced) idle_.withdraw(index);
}

bool OrderedRun::take_turn(Slot& slot, bool any) {
  OrderedWorker& worker = *slot.worker;
  bool progress = resume(worker);
  progress |= admit(worker);
  if (finished()) {
    threads().finish();
    return true;
  }
  progress |= schedule(slot, any);
  if (progress) return true;
  ++worker.counts.empty_polls;
  if (worker.deferred.empty()) return false;
  std::this_thread::yield();  // no thread would wake this one for it; and the owner of the next unit may want this core
  return true;
}

bool OrderedRun::resume(OrderedWorker& worker) {
  if (by_operator_ != nullptr) return by_operator_->resume(worker);
  bool progress = front_.order != nullptr && front_.order->resume(worker);
  for (Line& line : lines_) progress |= line.order->resume(worker);
  return progress;
}

bool OrderedRun::admit(OrderedWorker& worker) {
  const std::int64_t most = std::clamp<std::int64_t>(kAdmitRecords / options_.batch, 1, kAdmitUnits);
  if (by_operator_ != nullptr) return entry_->admit(by_operator_->sent(), most, &by_operator_->entrance(), worker);
  if (front_.order == nullptr) return entry_->admit(egress_->done(), most, &entrance_, worker);
  // Units that must be grouped first pass through a reordering buffer, like the outputs of an operator.
  const bool some = entry_->admit(egress_->done(), most, nullptr, worker);
  for (Units left = worker.admitted; !left.empty();) {
    const Units together = left.first(std::min(left.size(), OrderedEntry::kTogether));
    for (Unit* unit : together) stages_.front()->group(*unit, lines_.front().list->bundles(), worker);
    front_.order->add(together, worker);
    left = left.subspan(together.size());
  }
  worker.admitted.clear();
  return some;
}

bool OrderedRun::schedule(Slot& slot, bool any) {
  OrderedWorker& worker = *slot.worker;
  std::uint64_t skip = 0;
  std::int64_t asked_ns = worker.clock.now();
  for (;;) {
    const Assignment given = scheduler_.choose(asked_ns, skip, any, slot.table);
    if (given.stage < 0) return false;
    if (given.more) wake_one(worker);
    const std::int64_t begin_ns = worker.clock.now();
    worker.recorder.observe(begin_ns);
    const auto index = static_cast<std::size_t>(given.stage);
    const std::int64_t done = lines_[index].list->work(given.records, *stages_[index], worker);
    const std::int64_t end_ns = worker.clock.now();
    scheduler_.leave(given.stage, end_ns - begin_ns, worker.rows[index], worker.outputs[index]);
    worker.rows[index] = 0;
    worker.outputs[index] = 0;
    if (done != 0) {
      ++worker.counts.decisions;
      worker.counts.decision_ns += begin_ns - asked_ns;
      return true;
    }
    if (any && !lines_[index].list->empty()) {
      // The item was pushed while this worker was at the operator, so no sleeper was woken (`deliver`). Law: the pusher
      // makes the list non-empty, then looks for room; the leaver makes room, then looks at the list. All four are
      // sequentially consistent. Otherwise other workers have locked the items: yield the core to them.
      std::this_thread::yield();
      return true;
    }
    skip |= std::uint64_t{1} << index;
    asked_ns = end_ns;
  }
}

void OrderedRun::completed(std::size_t stage, Unit& unit, OrderedWorker& worker) {
  if (by_operator_ != nullptr) return by_operator_->completed(stage, unit, worker);
  if (stage + 1 < stages_.size() && unit.records != 0 && stages_[stage + 1]->partitioned()) {
    stages_[stage + 1]->group(unit, lines_[stage + 1].list->bundles(), worker);
  }
  worker.finished.push_back(&unit);
}

void OrderedRun::hand_over(std::size_t stage, OrderedWorker& worker) {
  if (worker.finished.empty()) return;
  lines_[stage].order->add(worker.finished, worker);
  worker.finished.clear();
}

// Returns whether, for some windows, the operator's heaviest bundle has kept a worker busy while others waited for it.
// The bundle then took more than its share of all workers' time, and most of one worker's time.
bool OrderedRun::behind(std::size_t to) {
  Line& line = lines_[to];
  const std::int64_t windows = scheduler_.windows();
  if (windows == line.windows) return false;
  line.windows = windows;
  const OrderedScheduler::Busy busy = scheduler_.busy(to);
  const double own = busy.own * line.list->heaviest();
  const bool too_much = own > kBehind && own * options_.workers > kOwnShare * busy.all;
  line.behind = too_much ? line.behind + 1 : 0;
  return line.behind >= kWindowsBehind;
}

// Splits the bundles of an operator that is behind, and regroups units that were grouped before a split.
void OrderedRun::rebundle(std::size_t to, Units units, OrderedWorker& worker) {
  Line& line = lines_[to];
  if (behind(to) && line.list->split()) {
    ++worker.counts.splits;
    line.behind = 0;
    scheduler_.allow(to, std::min(options_.workers, line.list->bundles()));
  }
  const std::int32_t bundles = line.list->bundles();
  for (Unit* unit : units) {
    if (unit->bundles != bundles) stages_[to]->group(*unit, bundles, worker);
  }
}

void OrderedRun::deliver(std::size_t to, Units units, OrderedWorker& worker) {
  if (to == stages_.size()) {
    egress_->take(units, worker);
    return;
  }
  while (!units.empty()) {
    const Units some = units.first(std::min(units.size(), kDeliverAtOnce));
    units = units.subspan(some.size());
    std::array<Unit*, kDeliverAtOnce> full, empty;
    std::size_t fulls = 0, empties = 0;
    for (Unit* unit : some) (unit->records == 0 ? empty[empties++] : full[fulls++]) = unit;
    if (fulls != 0) {
      if (stages_[to]->partitioned()) rebundle(to, {full.data(), fulls}, worker);
      lines_[to].list->push({full.data(), fulls});
      // Do not wake a sleeper that could not join the operator.
      if (idle_.any(worker.index) && scheduler_.has_room(to)) wake_one(worker);
    }
    // Empty units are no work for the operator, but they keep their places in the order.
    if (empties != 0) lines_[to].order->add({empty.data(), empties}, worker);
  }
}

}  // namespace lab
