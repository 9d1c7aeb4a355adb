// Implements MergedOrder; see log/merged_streams.h.
#include "log/merged_streams.h"

#include <limits>

namespace lab {

MergedOrder::MergedOrder(std::deque<Feed>& feeds, std::int64_t rows_ahead)
    : rows_ahead_(rows_ahead),
      inputs_{{&feeds[0], 0, std::numeric_limits<std::int64_t>::min()},
              {&feeds[1], 0, std::numeric_limits<std::int64_t>::min()}} {
  runs_.reserve(static_cast<std::size_t>(rows_ahead));
}

bool MergedOrder::feed(Recorder& recorder) {
  if (released_ != runs_.size()) return false;
  for (Input& input : inputs_) {
    const std::int64_t moved = take(input);
    if (input.feed->pumped) recorder.emitted(moved);
  }
  runs_.clear();
  released_ = 0;
  merge();
  return !runs_.empty();
}

// Takes the blocks that the input's source has delivered. Returns the number of rows.
std::int64_t MergedOrder::take(Input& input) {
  Feed& feed = *input.feed;
  const std::int64_t before = feed.row;
  // At full speed, take no more than needed. Under a load, take all rows: the columns hold them anyway.
  while (!feed.closed && (!feed.pumped || feed.row - input.merged_rows < rows_ahead_)) {
    const Block* block = feed.block();
    if (block == nullptr) break;
    feed.row = block->end;
    input.frontier = block->bound_ts;
    feed.closed = block->bound_ts == kEndOfTime;
    feed.pass();
  }
  return feed.row - before;
}

// Appends the ready rows of both inputs to `runs_`, at most `rows_ahead_` rows.
void MergedOrder::merge() {
  const std::int64_t* ts[2];
  for (std::size_t i = 0; i < 2; ++i) ts[i] = inputs_[i].feed->source->stream().ts.data();
  std::int64_t row[2] = {inputs_[0].merged_rows, inputs_[1].merged_rows};
  const std::int64_t end[2] = {inputs_[0].feed->row, inputs_[1].feed->row};
  const std::int64_t end_row = row[0] + row[1] + rows_ahead_;
  while (row[0] + row[1] < end_row) {
    std::size_t next = 0;
    if (row[0] < end[0] && row[1] < end[1]) {
      next = ts[0][row[0]] <= ts[1][row[1]] ? 0 : 1;
    } else if (row[0] < end[0] && ts[0][row[0]] <= inputs_[1].frontier) {
      next = 0;
    } else if (row[1] < end[1] && ts[1][row[1]] < inputs_[0].frontier) {
      next = 1;
    } else {
      break;
    }
    if (runs_.empty() || runs_.back().source != static_cast<std::int32_t>(next)) {
      runs_.push_back({row[next], row[next], static_cast<std::int32_t>(next), 0});
    }
    runs_.back().end = ++row[next];
  }
  for (std::size_t i = 0; i < 2; ++i) inputs_[i].merged_rows = row[i];
}

bool MergedOrder::ended(std::int32_t) {
  if (released_ != runs_.size()) return false;
  for (const Input& input : inputs_) {
    if (!input.feed->closed || input.merged_rows != input.feed->row) return false;
  }
  return true;
}

}  // namespace lab
