// Implements the workers' loop of OrderedRun (ordered/ordered_run.h): resume exits, admit units, work at the scheduled
// operator.
#include <algorithm>
#include <array>
#include <thread>

#include "ordered/ordered_run.h"

namespace lab {
namespace {

// Maximum numbers of units and records that a worker admits before it looks for other work.
constexpr std::int64_t kAdmitUnits = 64;
constexpr std::int64_t kAdmitRecords = 1 << 14;

// Maximum number of units delivered at once, so that downstream work can begin early.
constexpr std::size_t kDeliverAtOnce = 32;

// A bundle overloads its worker when it takes more than kOverload of one worker's time, and more than kFairShares times
// the average time of all workers. Splitting a unit costs a quarter of its work (docs/performance.md), so a bundle
// slightly above the average is better left whole.
constexpr double kOverload = 0.7;
constexpr double kFairShares = 1.2;
constexpr std::int32_t kOverloadedWindows = 2;  // a single overloaded window may be due to an interruption

}  // namespace

bool OrderedRun::finished() const noexcept {
  // seq_cst, both: the thread that makes the later of the two conditions true sees the other as true here.
  const std::int64_t end = entry_->end();
  if (end < 0) return false;
  return operator_serials_ != nullptr ? operator_serials_->finished(end)
                                      : egress_->done().load(std::memory_order_seq_cst) == end;
}

void OrderedRun::work(std::int32_t index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  bool announced = false;
  const auto take_one_turn = [&](bool before_sleep) {
    if (announced) idle_.withdraw(index);  // this worker has slept, or found work at its last look
    announced = before_sleep;
    if (before_sleep) idle_.announce(index);
    return take_turn(slot, before_sleep);
  };
  take_turns(
      threads().backoff(), threads().meter(index).counters, take_one_turn,
      [&] { return threads().failed() || threads().finished(); }, [] { return false; },
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
  if (announced) idle_.withdraw(index);
}

// Takes one turn of a worker. Returns whether there was any work. `any`: see OrderedScheduler::choose; true in the last
// turn before sleep.
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
  // Do not sleep: no thread would wake this worker for its deferred units. The owner of the next unit may wait for this
  // core.
  std::this_thread::yield();
  return true;
}

bool OrderedRun::resume(OrderedWorker& worker) {
  if (operator_serials_ != nullptr) return operator_serials_->resume(worker);
  bool progress = front_.order != nullptr && front_.order->resume(worker);
  for (Line& line : lines_) progress |= line.order->resume(worker);
  return progress;
}

// Admits units from the sources. Returns whether the worker must take another turn before it sleeps.
bool OrderedRun::admit(OrderedWorker& worker) {
  const std::int64_t max_units = std::clamp<std::int64_t>(kAdmitRecords / options_.batch, 1, kAdmitUnits);
  if (operator_serials_ != nullptr)
    return entry_->admit(operator_serials_->sent(), max_units, &operator_serials_->entrance(), worker);
  if (front_.order == nullptr) return entry_->admit(egress_->done(), max_units, &entrance_, worker);
  // Units that must be grouped first pass through a reordering buffer, like the outputs of an operator.
  const bool must_return = entry_->admit(egress_->done(), max_units, nullptr, worker);
  for (Units left = worker.admitted; !left.empty();) {
    const Units together = left.first(std::min(left.size(), OrderedEntry::kUnitsPerSend));
    for (Unit* unit : together) stages_.front()->group(*unit, lines_.front().list->bundles(), worker);
    front_.order->add(together, worker);
    left = left.subspan(together.size());
  }
  worker.admitted.clear();
  return must_return;
}

// Works for about a slice at the operator that the scheduler chooses. Returns whether there was any work. `any`: see
// OrderedScheduler::choose.
bool OrderedRun::schedule(Slot& slot, bool any) {
  OrderedWorker& worker = *slot.worker;
  std::uint64_t skip = 0;
  std::int64_t decision_begin_ns = worker.clock.now();
  for (;;) {
    const Assignment assignment = scheduler_.choose(decision_begin_ns, skip, any, slot.table);
    if (assignment.stage < 0) return false;
    if (assignment.has_more) wake_one(worker);
    const std::int64_t begin_ns = worker.clock.now();
    worker.recorder.observe(begin_ns);
    const auto index = static_cast<std::size_t>(assignment.stage);
    const std::int64_t done_records = lines_[index].list->work(assignment.records, *stages_[index], worker);
    const std::int64_t end_ns = worker.clock.now();
    scheduler_.leave(assignment.stage, end_ns - begin_ns, worker.rows[index], worker.outputs[index]);
    worker.rows[index] = 0;
    worker.outputs[index] = 0;
    if (done_records != 0) {
      ++worker.counts.decisions;
      worker.counts.decision_ns += begin_ns - decision_begin_ns;
      return true;
    }
    if (any && !lines_[index].list->empty()) {
      // One of two cases. Either an item was pushed while this worker was at the operator, so no sleeper was woken
      // (`deliver`). Law: the pusher makes the list non-empty, then looks for room; the leaver makes room, then looks
      // at the list. All four steps are sequentially consistent. Or other workers have locked the items: yield the core
      // to them.
      std::this_thread::yield();
      return true;
    }
    skip |= std::uint64_t{1} << index;
    decision_begin_ns = end_ns;
  }
}

void OrderedRun::take_finished(std::size_t stage, Unit& unit, OrderedWorker& worker) {
  if (operator_serials_ != nullptr) return operator_serials_->take_finished(stage, unit, worker);
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

// Returns whether the operator's heaviest bundle has overloaded its worker for kOverloadedWindows windows.
bool OrderedRun::is_overloaded(std::size_t stage) {
  Line& line = lines_[stage];
  const std::int64_t windows = scheduler_.windows();
  if (windows == line.examined_windows) return false;
  line.examined_windows = windows;
  const OrderedScheduler::Busy busy = scheduler_.busy(stage);
  const double bundle_share = busy.at_stage * line.list->heaviest_share();
  const bool overloads = bundle_share > kOverload && bundle_share * options_.workers > kFairShares * busy.total;
  line.overloaded_windows = overloads ? line.overloaded_windows + 1 : 0;
  return line.overloaded_windows >= kOverloadedWindows;
}

// Splits the bundles of an overloaded operator, and regroups units that were grouped before a split.
void OrderedRun::rebundle(std::size_t stage, Units units, OrderedWorker& worker) {
  Line& line = lines_[stage];
  if (is_overloaded(stage) && line.list->split()) {
    ++worker.counts.splits;
    line.overloaded_windows = 0;
    scheduler_.raise_limit(stage, std::min(options_.workers, line.list->bundles()));
  }
  const std::int32_t bundles = line.list->bundles();
  for (Unit* unit : units) {
    if (unit->bundles != bundles) stages_[stage]->group(*unit, bundles, worker);
  }
}

// Sends units to operator `stage`, or out of the pipeline if `stage` is one past the last operator.
void OrderedRun::deliver(std::size_t stage, Units units, OrderedWorker& worker) {
  if (stage == stages_.size()) {
    egress_->take(units, worker);
    return;
  }
  while (!units.empty()) {
    const Units portion = units.first(std::min(units.size(), kDeliverAtOnce));
    units = units.subspan(portion.size());
    std::array<Unit*, kDeliverAtOnce> full, empty;
    std::size_t full_count = 0, empty_count = 0;
    for (Unit* unit : portion) (unit->records == 0 ? empty[empty_count++] : full[full_count++]) = unit;
    if (full_count != 0) {
      if (stages_[stage]->partitioned()) rebundle(stage, {full.data(), full_count}, worker);
      lines_[stage].list->push({full.data(), full_count});
      // Do not wake a sleeper that could not join the operator.
      if (idle_.has_others(worker.index) && scheduler_.has_room(stage)) wake_one(worker);
    }
    // The operator has nothing to do for empty units, but they keep their places in the order.
    if (empty_count != 0) lines_[stage].order->add({empty.data(), empty_count}, worker);
  }
}

}  // namespace lab
