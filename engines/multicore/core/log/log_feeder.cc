#include "log/log_feeder.h"

#include <algorithm>
#include <limits>

#include "run/clock.h"

namespace lab {
namespace {

// Rows in the log precede every later change of the mapping. So the feeder moves at most some milliseconds' work of the
// instances at once, in whole blocks. Rows that wait in the sources do not delay a change.
constexpr std::int64_t kFewestRows = 64;
constexpr std::int64_t kShortNs = 2'000'000;
constexpr std::int64_t kLongNs = 8'000'000;

constexpr std::int64_t kNoTimes[1] = {0};  // of a stream without rows, which may have no memory

}  // namespace

void LogFeeder::start() {
  for (const Feed& one : feeds_) {
    const StreamView& view = one.source->stream();
    const std::int64_t* ts = view.size() == 0 ? kNoTimes : view.ts.data();
    log_.add_source(ts, ~std::uint64_t{0}, std::numeric_limits<std::int64_t>::min());
  }
}

bool LogFeeder::feed(Recorder& recorder, RowMarker* marker) {
  bool progress = false;
  for (Feed& one : feeds_) {
    progress |= move_blocks(one, [&] { return !one.closed && feed_one(one, recorder, marker); });
  }
  return log_.advance() || progress;
}

// Adapts `one.most` to the time the instances took for the rows moved last, where more rows were available.
void LogFeeder::adapt(Feed& one, std::int64_t moved) {
  if (moved < one.most) {
    one.filled_ns = 0;
    return;
  }
  const std::int64_t now = now_ns();
  const std::int64_t took = one.filled_ns == 0 ? kShortNs : now - one.filled_ns;
  if (took > kLongNs) one.most = std::max(kFewestRows, one.most / 2);
  if (took < kShortNs) one.most = std::min(Feed::kMostRows, one.most * 2);
  one.filled_ns = now;
}

bool LogFeeder::feed_one(Feed& one, Recorder& recorder, RowMarker* marker) {
  const StreamView& view = one.source->stream();
  std::int64_t moved = 0;
  std::int64_t room = 0;  // at least
  std::int64_t frontier = 0;
  bool progress = false;
  while (moved < one.most && !one.closed) {
    const Block* block = one.block();
    if (block == nullptr) break;
    // The feeder may move blocks in parts: a log may have room for some rows, and report that until these have come.
    if (room < block->end - one.row) room = log_.room(view.index);
    const std::int64_t count = std::min(block->end - one.row, room);
    if (count == 0 && one.row != block->end) break;
    room -= count;
    if (marker != nullptr) marker->mark(static_cast<std::size_t>(view.index), one.row, one.row + count);
    one.row += count;
    const bool whole = one.row == block->end;
    const bool last = whole && block->bound_ts == kEndOfTime;
    frontier = whole ? block->bound_ts : view.ts[static_cast<std::size_t>(one.row)];
    if (last) frontier = view.size() == 0 ? std::numeric_limits<std::int64_t>::min() : view.ts.back();
    if (count != 0 || !last) log_.publish(view.index, one.row, frontier, true);
    if (last) {
      log_.close(view.index);
      one.closed = true;
    }
    if (whole) one.pass();
    moved += count;
    progress = true;
  }
  if (progress && !one.closed) log_.publish(view.index, one.row, frontier);
  if (one.pumped) recorder.emitted(moved);
  adapt(one, moved);
  return progress;
}

}  // namespace lab
