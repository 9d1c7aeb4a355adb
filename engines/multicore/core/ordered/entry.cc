// Implements the start of the pipeline; see ordered/entry.h.
#include "ordered/entry.h"

#include <algorithm>
#include <utility>

#include "ordered/worker.h"

namespace lab {
namespace {

// Maximum number of passes in a row, since other threads may keep leaving notes. The ordered log has the same limit.
constexpr int kPassesInARow = 4;

LogOptions log_options(std::int64_t batch) {
  LogOptions options;
  options.watermarks = false;
  options.rows_in_flight = std::max(options.rows_in_flight, batch);  // a whole block must fit
  return options;
}

}  // namespace

OrderedEntry::OrderedEntry(Options options, std::span<Unit> units, std::deque<Feed>& feeds)
    : options_(std::move(options)), units_(units), feeds_(feeds) {
  if (feeds_.size() > 1) order_ = std::make_unique<LoggedOrder>(feeds_, 1, log_options(options_.batch));
}

bool OrderedEntry::admit(const std::atomic<std::int64_t>& done, std::int64_t max_units, OrderedExit* exit,
                         OrderedWorker& worker) {
  // Law: as in run/merge_flag.h. A thread that makes room and finds the flag taken leaves a note before it sleeps.
  for (int i = 0; flag_.enter(); ++i) {
    flag_.begin_pass();
    const bool has_units = pass(done, max_units, exit, worker) != 0;
    if (!flag_.leave()) return has_units;
    if (has_units || i + 1 == kPassesInARow) return true;
  }
  return false;
}

// Admits up to `max_units` units while there is room and rows are ready, and returns their number. The caller holds the
// flag.
std::int64_t OrderedEntry::pass(const std::atomic<std::int64_t>& done, std::int64_t max_units, OrderedExit* exit,
                                OrderedWorker& worker) {
  // relaxed: written by holders of the flag.
  if (end_.load(std::memory_order_relaxed) >= 0) return 0;
  // seq_cst: this load follows the note of the thread that made room; pairs with the stores behind exits.
  const std::int64_t room_until = done.load(std::memory_order_seq_cst) + static_cast<std::int64_t>(units_.size());
  std::int64_t count = 0;
  while (count < max_units && serial_ < room_until) {
    Unit& unit = units_[static_cast<std::size_t>(serial_) & (units_.size() - 1)];
    const Outcome outcome = make_unit(unit, worker);
    if (outcome == Outcome::kEnd) {
      end_.store(serial_, std::memory_order_seq_cst);  // precedes a look at `done`; pairs with the load in `end`
      break;
    }
    if (outcome == Outcome::kNothing) break;
    unit.serial = serial_++;
    unit.origins = nullptr;
    unit.input_records = unit.records;
    const std::int64_t before = std::exchange(records_, records_ + unit.records);
    const bool in_range = records_ > options_.timed_begin && before < options_.timed_end;
    unit.timed = in_range && units_in_range_++ % options_.timed_every == 0;
    unit.taken_ns.store(0, std::memory_order_relaxed);  // see Unit
    ++count;
    worker.admitted.push_back(&unit);
    if (exit != nullptr && worker.admitted.size() == kUnitsPerSend) send(*exit, worker);
  }
  if (exit != nullptr) send(*exit, worker);
  return count;
}

void OrderedEntry::send(OrderedExit& exit, OrderedWorker& worker) {
  if (!worker.admitted.empty()) exit.send(worker.admitted, worker);
  worker.admitted.clear();
}

OrderedEntry::Outcome OrderedEntry::make_unit(Unit& unit, OrderedWorker& worker) {
  if (feeds_.empty()) return Outcome::kEnd;
  return order_ != nullptr ? fill_from_log(unit, worker) : fill_from_block(unit, worker);
}

void OrderedEntry::point_columns(Unit& unit, const StreamView& view, std::int64_t begin,
                                 std::int64_t rows) const noexcept {
  unit.columns = view.columns.data();
  unit.base = begin;
  unit.records = rows;
  unit.due = view.due.empty() ? nullptr : view.due.data() + begin;
}

OrderedEntry::Outcome OrderedEntry::fill_from_block(Unit& unit, OrderedWorker& worker) {
  Feed& feed = feeds_.front();
  for (;;) {
    if (feed.closed) return Outcome::kEnd;
    const Block* block = feed.block();
    if (block == nullptr) return Outcome::kNothing;
    const std::int64_t begin = block->begin;
    const std::int64_t rows = block->end - begin;
    feed.closed = block->bound_ts == kEndOfTime;
    feed.pass();
    if (rows == 0) continue;  // a heartbeat: with one stream, no other stream waits for it
    point_columns(unit, feed.source->stream(), begin, rows);
    if (feed.pumped) worker.recorder.emitted(rows);
    return Outcome::kUnit;
  }
}

// Returns the next run of ready rows, or null if no rows are ready.
const LogRun* OrderedEntry::next_run(OrderedWorker& worker) {
  bool fed = false;
  for (;;) {
    while (passed_runs_ < runs_.size() && runs_[passed_runs_].source < 0) ++passed_runs_;
    if (passed_runs_ < runs_.size()) return &runs_[passed_runs_];
    if (!runs_.empty()) order_->release(0, runs_.size());
    passed_runs_ = 0;
    runs_ = order_->read(0);
    if (!runs_.empty()) continue;
    if (fed) return nullptr;
    order_->feed(worker.recorder);  // this thread holds the entry's flag, so no other thread feeds and leaves a note
    fed = true;
  }
}

// Moves past `rows` rows of the next run.
void OrderedEntry::pass_rows(std::int64_t rows) noexcept {
  run_offset_ += rows;
  if (runs_[passed_runs_].begin + run_offset_ < runs_[passed_runs_].end) return;
  ++passed_runs_;
  run_offset_ = 0;
}

OrderedEntry::Outcome OrderedEntry::fill_from_log(Unit& unit, OrderedWorker& worker) {
  std::int64_t filled = 0;
  RecordBuffer& own = unit.buffers[unit.in];
  while (filled < options_.batch) {
    const LogRun* next = next_run(worker);
    if (next == nullptr) break;
    const StreamView& view = feeds_[static_cast<std::size_t>(next->source)].source->stream();
    const std::int64_t begin = next->begin + run_offset_;
    const std::int64_t rows = std::min(next->end - begin, options_.batch - filled);
    if (filled == 0 && rows == options_.batch) {
      point_columns(unit, view, begin, rows);
      pass_rows(rows);
      return Outcome::kUnit;
    }
    if (filled == 0) own.shape(options_.itemsizes, options_.batch);
    copy_records(options_.itemsizes, view.columns.data(), begin, own.columns(), filled, rows);
    if (!view.due.empty()) {
      unit.own_due.resize(static_cast<std::size_t>(options_.batch));
      std::copy_n(view.due.data() + begin, rows, unit.own_due.data() + filled);
    }
    filled += rows;
    pass_rows(rows);
  }
  if (filled == 0) return order_->ended(0) ? Outcome::kEnd : Outcome::kNothing;
  unit.columns = own.columns();
  unit.base = 0;
  unit.records = filled;
  unit.due = unit.own_due.empty() ? nullptr : unit.own_due.data();
  return Outcome::kUnit;
}

}  // namespace lab
