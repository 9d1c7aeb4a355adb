// Implements the readers that dataflow/readers.h explains.
#include "dataflow/readers.h"

#include <algorithm>

namespace lab {

bool FlowLinkReader::ended() const noexcept {
  return std::all_of(links_.begin(), links_.end(), [](const Input& input) { return input.link->ended(); });
}

bool FlowLinkReader::take_aligned() {
  if (finished()) return false;
  std::int64_t rows = 0;
  std::int64_t markers = 0;
  while (rows < kMaxRows && markers < kMaxMarkers && !instance_.full()) {
    bool passed = true;
    std::int64_t taken = 0;
    for (const Input& input : links_) {
      const FlowPiece piece = input.link->next(instance_.block(), kMaxRows);
      if (piece.rows != 0) input.has_words ? instance_.take_words(piece) : instance_.take(piece);
      taken += piece.rows;
      passed = passed && piece.rows == 0 && input.link->passed(instance_.block());
    }
    rows += taken;
    if (taken != 0) continue;
    if (!passed) break;
    if (last_block()) {  // only the end follows
      if (!ended()) break;
      finish();
      return true;
    }
    instance_.end_block();
    ++markers;
  }
  return rows != 0 || markers != 0;
}

bool FlowLinkReader::take_unaligned() {
  if (finished() || instance_.full()) return false;
  bool has_progress = false;
  for (Input& input : links_) {
    const FlowPiece piece = input.link->next(input.block, kMaxRows);
    if (piece.rows != 0) {
      instance_.take(piece);
      has_progress = true;
    } else if (input.block != markers_.count && input.link->passed(input.block)) {
      if (input.block++ == instance_.block()) instance_.end_block();
      has_progress = true;
    }
  }
  if (has_progress || !last_block() || !ended()) return has_progress;
  finish();
  return true;
}

void FlowStreamReader::add(const StreamView& view, std::int64_t batch, Feed* feed) {
  lanes_.push_back({&view, Replay(view, batch, feed)});
}

// Passes the next `rows` rows of the lane's block to the instance.
void FlowStreamReader::take(Lane& lane, std::int64_t rows) {
  FlowPiece piece;
  piece.columns = lane.view->columns.data();
  piece.base = lane.block.begin;
  piece.rows = rows;
  if (has_due_) {
    dues_.resize(static_cast<std::size_t>(rows));
    for (std::int64_t i = 0; i < rows; ++i) {
      dues_[static_cast<std::size_t>(i)] =
          meter_.recorder.start() + lane.view->due[static_cast<std::size_t>(piece.base + i)];
    }
    piece.due = dues_.data();
  }
  instance_.take(piece);
  lane.block.begin += rows;
  rows_ += rows;
  meter_.recorder.consumed(static_cast<double>(rows));
}

// Takes the rows of the lane's block with a time below `end_ts`. Returns whether it took rows or finished the block.
bool FlowStreamReader::read(Lane& lane, std::int64_t end_ts) {
  if (!lane.has_block) {
    if (lane.ended || !lane.replay.next(lane.block)) return false;
    lane.has_block = true;
    meter_.recorder.tick();
    if (lane.replay.at_full_speed()) meter_.recorder.emitted(lane.block.end - lane.block.begin);
  }
  const Block& block = lane.block;
  const auto ts = lane.view->ts;
  std::int64_t end = block.end;
  if (block.begin != end && ts[static_cast<std::size_t>(end) - 1] >= end_ts) {
    const auto from = ts.begin() + block.begin;
    end = block.begin + (std::lower_bound(from, ts.begin() + end, end_ts) - from);
  }
  const bool has_progress = end != block.begin;
  if (has_progress) take(lane, end - block.begin);
  if (lane.block.begin != lane.block.end) {
    lane.passed = true;
    return has_progress;
  }
  lane.has_block = false;
  lane.ended = block.bound_ts == kEndOfTime;
  lane.passed = lane.ended || block.bound_ts >= end_ts;
  return true;
}

bool FlowStreamReader::take_turn() {
  if (finished()) return false;
  const std::int64_t before = rows_;
  std::int64_t markers = 0;
  bool has_progress = false;
  while (markers < kMaxMarkers && rows_ - before < kMaxRows && !instance_.full()) {
    const std::int64_t end_ts = markers_.end_of(instance_.block());
    bool has_read = false;
    bool passed = true;
    for (Lane& lane : lanes_) {
      if (!lane.passed && read(lane, end_ts)) has_read = true;
      passed = passed && lane.passed;
    }
    has_progress = has_progress || has_read;
    if (!passed) {
      if (!has_read) return has_progress;
      continue;
    }
    if (last_block()) {
      finish();
      return true;
    }
    instance_.end_block();
    ++markers;
    has_progress = true;
    const std::int64_t next_ts = markers_.end_of(instance_.block());
    for (Lane& lane : lanes_) {
      // The remaining rows of the lane's current source block may belong to the block that begins now.
      lane.passed = lane.ended || (!lane.has_block && lane.block.bound_ts >= next_ts);
    }
  }
  return has_progress;
}

}  // namespace lab
