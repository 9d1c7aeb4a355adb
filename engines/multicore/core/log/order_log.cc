// Implements OrderLog; see log/order_log.h.
#include "log/order_log.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <stdexcept>
#include <string>

namespace lab {
namespace {

// The flag holder leaves after this number of passes, even if other threads keep leaving notes. `advance` then returns
// true, so its caller continues the merge.
constexpr int kPassesInARow = 4;

std::size_t ring_size(std::int64_t min_size, const char* name) {
  if (min_size < 2 || min_size > std::int64_t{1} << 40) {
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(min_size) + ", wanted 2 to 2^40");
  }
  return std::bit_ceil(static_cast<std::size_t>(min_size));
}

}  // namespace

OrderLog::OrderLog(const LogOptions& options)
    : options_(options),
      readers_(options.readers),
      merger_(options.interleaved),
      rows_(static_cast<std::size_t>(kMaxLogSources)),
      lines_(static_cast<std::size_t>(kMaxLogSources)),
      entries_(ring_size(options.entries, "entries")),
      order_(options.interleaved ? ring_size(std::clamp(options.rows_in_flight, kMinPlaces, kMaxPlaces), "places") : 0),
      seen_(static_cast<std::size_t>(options.readers)) {
  if (options.rows_in_flight < 1) {
    throw std::invalid_argument("rows_in_flight is " + std::to_string(options.rows_in_flight) + ", wanted at least 1");
  }
}

void OrderLog::check(const LogColumns& rows) const {
  if (rows.ts == nullptr) throw std::invalid_argument("a source has no timestamps");
  if (rows.mask == 0 || (rows.mask & (rows.mask + 1)) != 0) {
    throw std::invalid_argument("the mask of a source is " + std::to_string(rows.mask) +
                                ", wanted a power of two, at least 2, less one");
  }
}

bool OrderLog::reusable(int source, std::int64_t rows) const noexcept {
  return readers_.released(source, rows) == rows;
}

// Returns whether (from_ts, source) is above the last entry of the log. Call under the flag.
bool OrderLog::above_all(std::int64_t from_ts, int source) const noexcept {
  return from_ts >= watermark_ && (from_ts > last_ts_ || (from_ts == last_ts_ && source > last_source_));
}

int OrderLog::add_source(const LogColumns& rows, std::int64_t from_ts) {
  check(rows);
  flag_.enter_waiting();
  int chosen = -1;
  bool ordered = true;
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    ended = final_.load(std::memory_order_relaxed);  // relaxed: written under the mutex
    for (int slot = 0; !ended && slot < kMaxLogSources; ++slot) {
      const auto s = static_cast<std::size_t>(slot);
      if (merger_.has(slot) || (used_[s] && !reusable(slot, merger_.merged(slot)))) continue;
      ordered = above_all(from_ts, slot);
      if (!ordered) continue;
      chosen = slot;
      break;
    }
    if (chosen >= 0) {
      const auto s = static_cast<std::size_t>(chosen);
      reset(chosen);
      rows_[s] = rows;
      // relaxed: this call passes the slot to the owner; the merge reads it under the flag.
      lines_[s].end.store(0, std::memory_order_relaxed);
      lines_[s].frontier.store(from_ts, std::memory_order_relaxed);
      lines_[s].room_end = 0;
      used_[s] = true;
      merger_.add(chosen, &lines_[s], &rows_[s]);
      drained_.store(false, std::memory_order_seq_cst);  // pairs with the load in `ended`
    }
  }
  const std::int64_t last = std::max(last_ts_, watermark_);
  leave_changed();
  if (chosen >= 0) return chosen;
  if (ended) throw std::logic_error("a source was added to a log that has ended");
  if (!ordered) {
    throw std::logic_error("a source was added from timestamp " + std::to_string(from_ts) + ", but the log is at " +
                           std::to_string(last) + " already: keep another source's frontier at it meanwhile");
  }
  throw std::length_error("a log has at most " + std::to_string(kMaxLogSources) + " sources at a time");
}

void OrderLog::publish(int source, std::int64_t end_row, std::int64_t frontier, bool more) {
  SourceLine& mine = line(source);
  assert(frontier < kEndOfTime);
  // relaxed: own stores
  assert(end_row >= mine.end.load(std::memory_order_relaxed));
  assert(frontier >= mine.frontier.load(std::memory_order_relaxed));
  mine.end.store(end_row, std::memory_order_release);  // publishes the rows; pairs with the acquire in `gather`
  // The frontier is stored last: a merging thread that sees it sees the rows. seq_cst: if that thread misses it and
  // sleeps, this thread sees the sleeper (run/parker.h). With `more`, a later store wakes the sleeper.
  if (more) {
    mine.frontier.store(frontier, std::memory_order_release);
  } else {
    mine.frontier.store(frontier, std::memory_order_seq_cst);
  }
}

void OrderLog::close(int source) {
  line(source).frontier.store(kEndOfTime, std::memory_order_seq_cst);  // pairs with the load in `gather`
}

void OrderLog::rejoin(int source, std::int64_t from_ts) {
  const auto s = static_cast<std::size_t>(source);
  flag_.enter_waiting();
  const std::int64_t at = std::max(last_ts_, watermark_);
  const char* problem = nullptr;
  {
    const std::lock_guard lock(mutex_);
    // relaxed, both: the owner does not use the source meanwhile, and `final_` is written under the mutex.
    if (!used_[s] || lines_[s].frontier.load(std::memory_order_relaxed) != kEndOfTime) {
      problem = ", which has not left";
    } else if (final_.load(std::memory_order_relaxed)) {
      problem = ": the log has ended";
    } else if (from_ts < at) {
      problem = ": keep another source's frontier at it meanwhile";
    } else {
      // relaxed: the merge reads it under the flag; the owner is notified after this call.
      lines_[s].frontier.store(from_ts, std::memory_order_relaxed);
      // If earlier rows of the source are not merged yet, the merger still has it.
      if (!merger_.has(source)) merger_.add(source, &lines_[s], &rows_[s], merger_.merged(source));
      drained_.store(false, std::memory_order_seq_cst);  // pairs with the load in `ended`
    }
  }
  leave_changed();
  if (problem == nullptr) return;
  throw std::logic_error("source " + std::to_string(source) + " was to join again from timestamp " +
                         std::to_string(from_ts) + ", and the log is at " + std::to_string(at) + problem);
}

std::int64_t OrderLog::rows_in_flight(int source) const noexcept {
  const std::uint64_t mask = rows_[static_cast<std::size_t>(source)].mask;
  const std::int64_t ring =
      mask < static_cast<std::uint64_t>(kEndOfTime) ? static_cast<std::int64_t>(mask) + 1 : kEndOfTime;
  return std::min(ring, options_.rows_in_flight);
}

std::int64_t OrderLog::room(int source, std::int64_t min_rows) {
  SourceLine& mine = line(source);
  const std::int64_t end = mine.end.load(std::memory_order_relaxed);  // relaxed: own store
  if (mine.room_end - end >= min_rows) return mine.room_end - end;
  const std::int64_t released = readers_.released(source, end);
  mine.room_end = released + rows_in_flight(source);
  return std::max<std::int64_t>(0, mine.room_end - end);
}

std::int64_t OrderLog::consumed(int source) {
  const std::int64_t end = line(source).end.load(std::memory_order_relaxed);  // relaxed: own store
  return readers_.released(source, end);
}

bool OrderLog::advance() noexcept {
  // relaxed: the load only avoids the exchange. seq_cst: as for the store; both are rare.
  bool news = unannounced_.load(std::memory_order_relaxed) && unannounced_.exchange(false, std::memory_order_seq_cst);
  for (int i = 0; flag_.enter(); ++i) {
    news = pass() || news;
    if (!flag_.leave()) return news;
    if (i + 1 == kPassesInARow) return true;
  }
  return news;
}

// Releases the flag after a change of membership, then advances for threads that left a note meanwhile.
void OrderLog::leave_changed() noexcept {
  flag_.leave();
  if (advance()) unannounced_.store(true, std::memory_order_seq_cst);  // the caller's next `advance` reports it
}

// Appends waiting control entries and ready rows, or else a watermark entry. Returns whether readers have news: a new
// entry, or the end of the log.
bool OrderLog::pass() noexcept {
  flag_.begin_pass();
  bool news = false;
  if (waiting_controls_.load(std::memory_order_seq_cst) > 0) news = append_controls();  // pairs with `control`
  merger_.gather();
  const bool rows = append_rows();
  news = news || rows;
  const std::int64_t horizon = merger_.horizon_ts();
  if (options_.watermarks && !rows && horizon != kEndOfTime && horizon > std::max(last_ts_, watermark_) &&
      !merger_.ready()) {  // not if ready rows have found no room
    if (const std::span<LogRun> free_slots = free_entries(); !free_slots.empty()) {
      free_slots[0] = {horizon, horizon, kWatermarkEntry, 0};
      watermark_ = horizon;
      commit(1);
      news = true;
    }
  }
  // relaxed: written under the flag
  if (merger_.open() == 0 && used_[0] && !drained_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    drained_.store(true, std::memory_order_seq_cst);  // pairs with the load in `ended`
    news = true;
  }
  return news;
}

bool OrderLog::append_rows() noexcept {
  bool appended = false;
  for (;;) {
    const std::span<LogRun> free_slots = free_entries();
    if (free_slots.empty()) return appended;
    if (merger_.interleaves()) {
      if (append_interleaved(free_slots[0]) == 0) return appended;
      appended = true;
      continue;
    }
    const std::size_t runs = merger_.merge(free_slots.data(), free_slots.size(), kEndOfTime);
    if (runs == 0) return appended;
    const LogRun& last = free_slots[runs - 1];
    const LogColumns& rows = columns(last.source);
    merged_up_to(rows.ts[static_cast<std::uint64_t>(last.end - 1) & rows.mask], last.source);
    commit(runs);
    appended = true;
  }
}

std::size_t OrderLog::append_interleaved(LogRun& entry) noexcept {
  const std::int64_t size = std::ssize(order_);
  if (size - (placed_ - places_released_) < kPlacesAtOnce) places_released_ = readers_.places(placed_);
  const std::int64_t at = placed_ & (size - 1);
  const std::int64_t room = std::min({size - (placed_ - places_released_), size - at, kPlacesAtOnce});
  if (room == 0) return 0;
  std::uint8_t* const places = order_.data() + at;
  const std::size_t count = merger_.interleave(places, static_cast<std::size_t>(room));
  if (count == 0) return 0;
  const std::int32_t source = places[count - 1];
  const LogColumns& rows = columns(source);
  merged_up_to(rows.ts[static_cast<std::uint64_t>(merger_.merged(source) - 1) & rows.mask], source);
  entry = {placed_, placed_ + static_cast<std::int64_t>(count), kInterleavedEntry, 0};
  placed_ += static_cast<std::int64_t>(count);
  commit(1);
  return count;
}

std::span<LogRun> OrderLog::free_entries() noexcept {
  const std::uint64_t capacity = entries_.size();
  if (capacity - (head_ - slowest_) < kPiece) slowest_ = readers_.slowest(head_);
  const std::uint64_t at = head_ & (capacity - 1);
  const std::uint64_t free_count = std::min(capacity - (head_ - slowest_), capacity - at);
  return {entries_.data() + at, static_cast<std::size_t>(std::min<std::uint64_t>(free_count, kPiece))};
}

void OrderLog::commit(std::size_t entries) noexcept {
  head_ += entries;
  // release: publishes the entries, and the rows that the merge acquired. seq_cst: for sleeping readers (run/parker.h).
  tail_.store(head_, std::memory_order_seq_cst);
}

bool OrderLog::control(std::int64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (final_.load(std::memory_order_relaxed)) return false;  // relaxed: written under the mutex
    controls_.push_back(id);
    // seq_cst: a holder of the flag that misses this store finds the note of the caller's `advance`.
    waiting_controls_.store(static_cast<int>(controls_.size()), std::memory_order_seq_cst);
  }
  return true;
}

bool OrderLog::append_controls() noexcept {
  const std::lock_guard lock(mutex_);
  const std::span<LogRun> free_slots = free_entries();
  const std::size_t count = std::min(free_slots.size(), controls_.size());
  if (count == 0) return false;
  const std::int64_t bound = std::max(last_ts_, watermark_);
  for (std::size_t i = 0; i < count; ++i) free_slots[i] = {controls_[i], bound, kControlEntry, 0};
  commit(count);  // before `waiting_controls_` falls, see `ended`
  controls_.erase(controls_.begin(), controls_.begin() + static_cast<std::ptrdiff_t>(count));
  waiting_controls_.store(static_cast<int>(controls_.size()), std::memory_order_seq_cst);
  return true;
}

void OrderLog::add_reader_at(int reader, int like) {
  flag_.enter_waiting();
  try {
    readers_.add_at(reader, like);
    seen_[static_cast<std::size_t>(reader)].tail = readers_.position(like);
    slowest_ = std::min(slowest_, readers_.position(like));
    places_released_ = std::min(places_released_, readers_.places_of(like));
  } catch (...) {
    leave_changed();
    throw;
  }
  leave_changed();
}

void OrderLog::remove_reader(int reader) {
  flag_.enter_waiting();
  readers_.remove(reader);
  leave_changed();
}

std::span<const LogRun> OrderLog::read(int reader) {
  const std::uint64_t next = readers_.position(reader);
  std::uint64_t& seen = seen_[static_cast<std::size_t>(reader)].tail;
  if (seen == next) {
    seen = tail_.load(std::memory_order_seq_cst);  // acquires entries and rows; pairs with `commit`
    if (seen == next) return {};
  }
  const std::uint64_t capacity = entries_.size();
  const std::uint64_t at = next & (capacity - 1);
  // Return at most a quarter of the ring: a reader that takes the whole ring releases nothing meanwhile.
  const std::uint64_t count = std::min({seen - next, capacity - at, std::max<std::uint64_t>(1, capacity / 4)});
  return {entries_.data() + at, static_cast<std::size_t>(count)};
}

void OrderLog::release(int reader, std::size_t runs) {
  const std::uint64_t next = readers_.position(reader);
  assert(next + runs <= seen_[static_cast<std::size_t>(reader)].tail);
  const std::uint64_t at = next & (entries_.size() - 1);
  readers_.release(reader, {entries_.data() + at, runs}, next + runs, order());
}

bool OrderLog::ended(int reader) {
  if (!drained_.load(std::memory_order_seq_cst)) return false;  // pairs with the store in `pass`
  const std::lock_guard lock(mutex_);
  // relaxed: once the log is drained, all of these are written under the mutex.
  if (!drained_.load(std::memory_order_relaxed)) return false;
  if (tail_.load(std::memory_order_relaxed) != readers_.position(reader)) return false;
  if (waiting_controls_.load(std::memory_order_relaxed) > 0) return false;
  final_.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace lab
