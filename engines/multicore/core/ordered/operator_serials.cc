// Implements the serial numbers that ordered/operator_serials.h explains.
#include "ordered/operator_serials.h"

#include <algorithm>
#include <utility>

#include "ordered/worker.h"
#include "run/parker.h"
#include "stages/records.h"

namespace lab {
namespace {

// Number of tries, some microseconds in all, before a worker puts a refused unit aside. If workers share cores, a
// worker tries only once, because the owner of the next unit may wait for this worker's core. A worker that has put a
// unit aside has already waited in vain, so it also tries only once.
constexpr int kTries = 64;

// Makes `piece`, a unit of the next operator, from `records` output records of `unit`.
void fill_piece(Unit& piece, const Unit& unit, std::span<const std::int32_t> itemsizes, std::int64_t from,
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
  // The last piece counts the input: when it is out, all outputs of that input are out.
  const bool is_last = from + records == unit.records;
  piece.input_records = is_last ? unit.input_records : 0;
  piece.timed = is_last && unit.timed;
}

}  // namespace

void OperatorSerials::add(OrderedStage& stage, Worklist& list) {
  Line& line = lines_.emplace_back(*this, lines_.size(), stage, list, kWindows * options_.window);
  line.order = make_bounded(options_.reordering, options_.window, line);
}

bool OperatorSerials::Line::has_room() const {
  const Line& next = owner.lines_[index + 1];  // the last exit always has room
  // relaxed: never decreases, so a stale value shows too much room. seq_cst: the law of the offer; pairs with
  // `advance`.
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
  if (staff_.idle.has_others(worker.index) && staff_.scheduler.has_room(line.index)) {
    staff_.idle.wake_one(staff_.parkers, worker.index);
  }
}

// Groups the unit by partition and appends it to the worklist, like addInput of figure 7.
void OperatorSerials::push(Line& line, Unit& unit, OrderedWorker& worker) {
  if (line.stage.partitioned()) line.stage.group(unit, line.list.bundles(), worker);
  Unit* units[] = {&unit};
  line.list.push(units);
}

void OperatorSerials::Entrance::send(Units units, OrderedWorker& worker) {
  Line& first = owner.lines_.front();
  for (Unit* unit : units) owner.push(first, *unit, worker);
  owner.wake_for(first, worker);
}

// Sends a unit from an operator's exit to the next operator, or out of the pipeline. Returns false if there was no room
// for the whole unit.
bool OperatorSerials::send(Line& line, Unit& unit, OrderedWorker& worker) {
  if (line.index + 1 == lines_.size()) {
    Unit* units[] = {&unit};
    egress_.take(units, worker);
    return true;
  }
  if (unit.records == 0) {
    egress_.discard_empty(unit, worker);
    return true;
  }
  return send_pieces(line, unit, worker);
}

// Does the same as `send`, between two operators: divides the outputs of the unit into units of the next operator.
bool OperatorSerials::send_pieces(Line& line, Unit& unit, OrderedWorker& worker) {
  Line& next = lines_[line.index + 1];
  const auto room = static_cast<std::int64_t>(next.units.size());
  std::int64_t serial = next.issued.load(std::memory_order_relaxed);  // relaxed: only this exit writes it
  while (line.sent_records < unit.records) {
    // seq_cst: a thread that makes room looks for an offer before this load; also acquire: the unit is free for reuse.
    if (serial - next.order->next().load(std::memory_order_seq_cst) >= room) return false;
    Unit& piece = next.units[static_cast<std::size_t>(serial & (room - 1))];
    const std::int64_t records = std::min(options_.batch, unit.records - line.sent_records);
    fill_piece(piece, unit, line.stage.spec().itemsizes, line.sent_records, records);
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

void OperatorSerials::take_finished(std::size_t stage, Unit& unit, OrderedWorker& worker) {
  BoundedReordering& order = *lines_[stage].order;
  const int tries = options_.may_wait && worker.deferred.empty() ? kTries : 1;
  for (int i = 0; i < tries; ++i) {
    if (order.send(unit, worker)) return;
    spin_pause();
  }
  ++worker.counts.deferrals;
  worker.deferred.emplace_back(stage, &unit);
}

bool OperatorSerials::resume(OrderedWorker& worker) {
  bool has_resumed = false;
  for (Line& line : lines_) has_resumed |= line.order->resume(worker);
  const std::size_t sent = std::erase_if(worker.deferred, [&](const auto& deferred) {
    const auto [stage, unit] = deferred;
    BoundedReordering& order = *lines_[stage].order;
    return order.takes(unit->serial) && order.send(*unit, worker);
  });
  return has_resumed || sent != 0;
}

bool OperatorSerials::finished(std::int64_t end) const noexcept {
  for (const Line& line : lines_) {
    // seq_cst: the thread that makes the last of these conditions true sees the others as true here; pairs with the
    // store behind each exit.
    if (line.order->next().load(std::memory_order_seq_cst) != end) return false;
    if (line.index + 1 == lines_.size()) break;
    end = lines_[line.index + 1].issued.load(std::memory_order_relaxed);  // see Line
  }
  return true;
}

}  // namespace lab
