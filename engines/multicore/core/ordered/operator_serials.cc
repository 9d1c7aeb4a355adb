#include "ordered/operator_serials.h"

#include <algorithm>
#include <utility>

#include "ordered/worker.h"
#include "run/parker.h"
#include "stages/records.h"

namespace lab {
namespace {

// Tries of a refused unit before the worker puts it aside: some microseconds. Where workers share cores, the owner of
// the next unit may be waiting for this worker's core. A worker with a unit aside has already waited in vain.
constexpr int kTries = 64;

// Makes a unit of the next operator from some of a unit's output records.
void fill(Unit& piece, const Unit& unit, std::span<const std::int32_t> itemsizes, std::int64_t from,
          std::int64_t records) {
  RecordBuffer& own = piece.buffers[piece.in];
  own.shape(itemsizes, records);
  copy_records(itemsizes, unit.columns, unit.base + from, own.columns(), 0, records);
  piece.columns = own.columns();
  piece.base = 0;
  piece.records = records;
  piece.origins = nullptr;
  piece.due = nullptr;
  if (unit.due != nullptr && unit.origins != nullptr) {  // latencies are measured
    piece.own_due.resize(static_cast<std::size_t>(records));
    for (std::int64_t i = 0; i < records; ++i) {
      piece.own_due[static_cast<std::size_t>(i)] = unit.due[unit.origins[from + i]];
    }
    piece.due = piece.own_due.data();
  }
  // relaxed, both: see Unit.
  piece.taken_ns.store(unit.taken_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // The last piece answers for the input: when it is out, all outputs of that input are out.
  const bool last = from + records == unit.records;
  piece.input_records = last ? unit.input_records : 0;
  piece.timed = last && unit.timed;
}

}  // namespace

void OperatorSerials::add(OrderedStage& stage, Worklist& list) {
  Line& line = lines_.emplace_back(*this, lines_.size(), stage, list, kWindows * options_.window);
  line.order = make_bounded(options_.reordering, options_.window, line);
}

bool OperatorSerials::Line::has_room() const {
  const Line& next = all.lines_[index + 1];  // the last exit always has room
  // relaxed: only grows, so a stale value shows too much room. seq_cst: the law of the offer; pairs with `advance`.
  return next.issued.load(std::memory_order_relaxed) - next.order->next().load(std::memory_order_seq_cst) <
         static_cast<std::int64_t>(next.units.size());
}

std::deque<std::vector<Unit>*> OperatorSerials::units() noexcept {
  std::deque<std::vector<Unit>*> all;
  for (Line& line : lines_) all.push_back(&line.units);
  return all;
}

void OperatorSerials::wake_for(const Line& line, const OrderedWorker& worker) noexcept {
  // Do not wake a sleeper that could not join the operator.
  if (staff_.idle.any(worker.index) && staff_.scheduler.has_room(line.index)) {
    staff_.idle.wake_one(staff_.parkers, worker.index);
  }
}

// Figure 7's addInput: the unit's partition, then its place in the worklist.
void OperatorSerials::push(Line& line, Unit& unit, OrderedWorker& worker) {
  if (line.stage.partitioned()) line.stage.group(unit, line.list.bundles(), worker);
  Unit* one = &unit;
  line.list.push({&one, 1});
}

void OperatorSerials::Entrance::send(Units units, OrderedWorker& worker) {
  Line& first = all.lines_.front();
  for (Unit* unit : units) all.push(first, *unit, worker);
  all.wake_for(first, worker);
}

bool OperatorSerials::send(Line& line, Unit& unit, OrderedWorker& worker) {
  if (line.index + 1 == lines_.size()) {
    Unit* one = &unit;
    egress_.take({&one, 1}, worker);
    return true;
  }
  if (unit.records == 0) {
    egress_.discard_empty(unit, worker);
    return true;
  }
  return pass_on(line, unit, worker);
}

bool OperatorSerials::pass_on(Line& line, Unit& unit, OrderedWorker& worker) {
  Line& next = lines_[line.index + 1];
  const auto room = static_cast<std::int64_t>(next.units.size());
  std::int64_t serial = next.issued.load(std::memory_order_relaxed);  // relaxed: only this exit writes it
  while (line.sent_records < unit.records) {
    // seq_cst: a thread that makes room looks for an offer before this load; also acquire: the unit is free for reuse.
    if (serial - next.order->next().load(std::memory_order_seq_cst) >= room) return false;
    Unit& piece = next.units[static_cast<std::size_t>(serial & (room - 1))];
    const std::int64_t records = std::min(options_.batch, unit.records - line.sent_records);
    fill(piece, unit, line.stage.spec().itemsizes, line.sent_records, records);
    line.sent_records += records;
    piece.serial = serial++;
    // relaxed: read once all units of this exit are sent, which `next` of its buffer publishes.
    next.issued.store(serial, std::memory_order_relaxed);
    push(next, piece, worker);
    wake_for(next, worker);
  }
  line.sent_records = 0;
  return true;
}

void OperatorSerials::completed(std::size_t stage, Unit& unit, OrderedWorker& worker) {
  BoundedReordering& order = *lines_[stage].order;
  const int tries = options_.waits && worker.deferred.empty() ? kTries : 1;
  for (int i = 0; i < tries; ++i) {
    if (order.send(unit, worker)) return;
    spin_pause();
  }
  ++worker.counts.deferrals;
  worker.deferred.emplace_back(stage, &unit);
}

bool OperatorSerials::resume(OrderedWorker& worker) {
  bool some = false;
  for (Line& line : lines_) some |= line.order->resume(worker);
  const std::size_t taken = std::erase_if(worker.deferred, [&](const auto& one) {
    BoundedReordering& order = *lines_[one.first].order;
    return order.takes(one.second->serial) && order.send(*one.second, worker);
  });
  return some || taken != 0;
}

bool OperatorSerials::finished(std::int64_t end) const noexcept {
  for (const Line& line : lines_) {
    // seq_cst: the thread that makes the last of these true sees the others here; pairs with the store behind each
    // exit.
    if (line.order->next().load(std::memory_order_seq_cst) != end) return false;
    if (line.index + 1 == lines_.size()) break;
    end = lines_[line.index + 1].issued.load(std::memory_order_relaxed);  // see Line
  }
  return true;
}

}  // namespace lab
