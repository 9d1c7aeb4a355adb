// Implements LogFeeder; see log/log_feeder.h.
#include "log/log_feeder.h"

#include <algorithm>
#include <limits>

#include "run/clock.h"

namespace lab {
namespace {

// A change of the mapping of keys to instances waits for the rows that are already in the log. So the feeder moves rows
// for at most some milliseconds of the instances' work at once, in whole blocks. It doubles the rows per move after a
// move that took less than kShortNs, and halves them after a move that took more than kLongNs. Rows that wait in the
// sources do not delay a change.
constexpr std::int64_t kMinRows = 64;
constexpr std::int64_t kShortNs = 2'000'000;
constexpr std::int64_t kLongNs = 8'000'000;

constexpr std::int64_t kNoTimes[1] = {0};  // timestamps of a stream without rows, which may have no memory

}  // namespace

void LogFeeder::start() {
  for (const Feed& feed : feeds_) {
    const StreamView& view = feed.source->stream();
    const std::int64_t* ts = view.size() == 0 ? kNoTimes : view.ts.data();
    log_.add_source(ts, ~std::uint64_t{0}, std::numeric_limits<std::int64_t>::min());
  }
}

bool LogFeeder::feed(Recorder& recorder, RowMarker* marker) {
  bool progress = false;
  for (Feed& feed : feeds_) {
    progress |= move_blocks(feed, [&] { return !feed.closed && move_rows(feed, recorder, marker); });
  }
  return log_.advance() || progress;
}

// Adapts `feed.max_rows` to the time that the instances took for the last move, if more rows were available.
void LogFeeder::adapt(Feed& feed, std::int64_t moved) {
  if (moved < feed.max_rows) {
    feed.filled_ns = 0;
    return;
  }
  const std::int64_t now = now_ns();
  const std::int64_t took = feed.filled_ns == 0 ? kShortNs : now - feed.filled_ns;
  if (took > kLongNs) feed.max_rows = std::max(kMinRows, feed.max_rows / 2);
  if (took < kShortNs) feed.max_rows = std::min(Feed::kMaxRows, feed.max_rows * 2);
  feed.filled_ns = now;
}

// Moves up to `feed.max_rows` rows of one source into the log; closes the source after its last row. Returns whether it
// moved rows or a promise.
bool LogFeeder::move_rows(Feed& feed, Recorder& recorder, RowMarker* marker) {
  const StreamView& view = feed.source->stream();
  std::int64_t moved = 0;
  std::int64_t room = 0;  // a lower bound
  std::int64_t frontier = 0;
  bool progress = false;
  while (moved < feed.max_rows && !feed.closed) {
    const Block* block = feed.block();
    if (block == nullptr) break;
    // The feeder may move a block in parts: a log with room for some of its rows may report no more room until these
    // come.
    if (room < block->end - feed.row) room = log_.room(view.index);
    const std::int64_t count = std::min(block->end - feed.row, room);
    if (count == 0 && feed.row != block->end) break;
    room -= count;
    if (marker != nullptr) marker->mark(static_cast<std::size_t>(view.index), feed.row, feed.row + count);
    feed.row += count;
    const bool is_complete = feed.row == block->end;
    const bool is_last = is_complete && block->bound_ts == kEndOfTime;
    frontier = is_complete ? block->bound_ts : view.ts[static_cast<std::size_t>(feed.row)];
    if (is_last) frontier = view.size() == 0 ? std::numeric_limits<std::int64_t>::min() : view.ts.back();
    if (count != 0 || !is_last) log_.publish(view.index, feed.row, frontier, true);
    if (is_last) {
      log_.close(view.index);
      feed.closed = true;
    }
    if (is_complete) feed.pass();
    moved += count;
    progress = true;
  }
  if (progress && !feed.closed) log_.publish(view.index, feed.row, frontier);
  if (feed.pumped) recorder.emitted(moved);
  adapt(feed, moved);
  return progress;
}

}  // namespace lab
