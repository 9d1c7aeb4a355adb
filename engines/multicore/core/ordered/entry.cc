#include "ordered/entry.h"

#include <algorithm>
#include <utility>

#include "ordered/worker.h"

namespace lab {
namespace {

// As in the ordered log: other threads may keep leaving notes.
constexpr int kPassesInARow = 4;

LogOptions log_options(std::int64_t batch) {
  LogOptions options;
  options.watermarks = false;
  options.rows_in_flight = std::max(options.rows_in_flight, batch);  // a block must fit whole
  return options;
}

}  // namespace

OrderedEntry::OrderedEntry(Options options, std::span<Unit> units, std::deque<Feed>& feeds)
    : options_(std::move(options)), units_(units), feeds_(feeds) {
  if (feeds_.size() > 1) order_ = std::make_unique<LoggedOrder>(feeds_, 1, log_options(options_.batch));
}

bool OrderedEntry::admit(const std::atomic<std::int64_t>& out, std::int64_t most, OrderedExit* to,
                         OrderedWorker& worker) {
  // Law: as in run/merge_flag.h. A thread that made room, found the flag taken and went to sleep has left a note first.
  for (int i = 0; flag_.enter(); ++i) {
    flag_.begin_pass();
    const bool some = pass(out, most, to, worker) != 0;
    if (!flag_.leave()) return some;
    if (some || i + 1 == kPassesInARow) return true;
  }
  return false;
}

std::int64_t OrderedEntry::pass(const std::atomic<std::int64_t>& out, std::int64_t most, OrderedExit* to,
                                OrderedWorker& worker) {
  // relaxed: written by holders of the flag.
  if (end_.load(std::memory_order_relaxed) >= 0) return 0;
  // seq_cst: after the note of the thread that made room; pairs with the stores behind exits.
  const std::int64_t room_until = out.load(std::memory_order_seq_cst) + static_cast<std::int64_t>(units_.size());
  std::int64_t count = 0;
  while (count < most && serial_ < room_until) {
    Unit& unit = units_[static_cast<std::size_t>(serial_) & (units_.size() - 1)];
    const Found found = make(unit, worker);
    if (found == Found::kEnd) {
      end_.store(serial_, std::memory_order_seq_cst);  // before a look at `out`; pairs with the load in `end`
      break;
    }
    if (found == Found::kNothing) break;
    unit.serial = serial_++;
    unit.origins = nullptr;
    unit.input_records = unit.records;
    const std::int64_t before = std::exchange(records_, records_ + unit.records);
    const bool in_range = records_ > options_.timed_begin && before < options_.timed_end;
    unit.timed = in_range && in_range_++ % options_.timed_every == 0;
    unit.taken_ns.store(0, std::memory_order_relaxed);  // see Unit
    ++count;
    worker.admitted.push_back(&unit);
    if (to != nullptr && worker.admitted.size() == kTogether) send(*to, worker);
  }
  if (to != nullptr) send(*to, worker);
  return count;
}

void OrderedEntry::send(OrderedExit& to, OrderedWorker& worker) {
  if (!worker.admitted.empty()) to.send(worker.admitted, worker);
  worker.admitted.clear();
}

OrderedEntry::Found OrderedEntry::make(Unit& unit, OrderedWorker& worker) {
  if (feeds_.empty()) return Found::kEnd;
  return order_ != nullptr ? from_log(unit, worker) : from_block(unit, worker);
}

void OrderedEntry::show(Unit& unit, const StreamView& view, std::int64_t begin, std::int64_t rows) const noexcept {
  unit.columns = view.columns.data();
  unit.base = begin;
  unit.records = rows;
  unit.due = view.due.empty() ? nullptr : view.due.data() + begin;
}

OrderedEntry::Found OrderedEntry::from_block(Unit& unit, OrderedWorker& worker) {
  Feed& feed = feeds_.front();
  for (;;) {
    if (feed.closed) return Found::kEnd;
    const Block* block = feed.block();
    if (block == nullptr) return Found::kNothing;
    const std::int64_t begin = block->begin;
    const std::int64_t rows = block->end - begin;
    feed.closed = block->bound_ts == kEndOfTime;
    feed.pass();
    if (rows == 0) continue;  // a heartbeat: with one stream no other stream waits for it
    show(unit, feed.source->stream(), begin, rows);
    if (feed.pumped) worker.recorder.emitted(rows);
    return Found::kUnit;
  }
}

// Returns the next run of ready rows; null: none now.
const LogRun* OrderedEntry::run(OrderedWorker& worker) {
  bool fed = false;
  for (;;) {
    while (at_ < runs_.size() && runs_[at_].source < 0) ++at_;
    if (at_ < runs_.size()) return &runs_[at_];
    if (!runs_.empty()) order_->release(0, runs_.size());
    at_ = 0;
    runs_ = order_->read(0);
    if (!runs_.empty()) continue;
    if (fed) return nullptr;
    order_->feed(worker.recorder);  // under the entry's flag: no other thread feeds, so no note needs a second look
    fed = true;
  }
}

void OrderedEntry::skip(std::int64_t rows) noexcept {
  skip_ += rows;
  if (runs_[at_].begin + skip_ < runs_[at_].end) return;
  ++at_;
  skip_ = 0;
}

OrderedEntry::Found OrderedEntry::from_log(Unit& unit, OrderedWorker& worker) {
  std::int64_t filled = 0;
  RecordBuffer& own = unit.buffers[unit.in];
  while (filled < options_.batch) {
    const LogRun* next = run(worker);
    if (next == nullptr) break;
    const StreamView& view = feeds_[static_cast<std::size_t>(next->source)].source->stream();
    const std::int64_t begin = next->begin + skip_;
    const std::int64_t rows = std::min(next->end - begin, options_.batch - filled);
    if (filled == 0 && rows == options_.batch) {
      show(unit, view, begin, rows);
      skip(rows);
      return Found::kUnit;
    }
    if (filled == 0) own.shape(options_.itemsizes, options_.batch);
    copy_records(options_.itemsizes, view.columns.data(), begin, own.columns(), filled, rows);
    if (!view.due.empty()) {
      unit.own_due.resize(static_cast<std::size_t>(options_.batch));
      std::copy_n(view.due.data() + begin, rows, unit.own_due.data() + filled);
    }
    filled += rows;
    skip(rows);
  }
  if (filled == 0) return order_->ended(0) ? Found::kEnd : Found::kNothing;
  unit.columns = own.columns();
  unit.base = 0;
  unit.records = filled;
  unit.due = unit.own_due.empty() ? nullptr : unit.own_due.data();
  return Found::kUnit;
}

}  // namespace lab
