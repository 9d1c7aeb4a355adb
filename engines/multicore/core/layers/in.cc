// Implements the inputs of a thread; see layers/in.h.
#include "layers/in.h"

#include <algorithm>
#include <utility>

namespace lab {
namespace {

// Returns the first contiguous piece of rows [begin, end) of a ring, at most `max_rows` rows.
LayerPiece piece_of(const LayerLink& link, std::int64_t begin, std::int64_t end, std::int64_t max_rows) noexcept {
  const auto base = static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) & link.rows().mask);
  return {link.columns(), base, std::min({end - begin, max_rows, link.size() - base})};
}

}  // namespace

QueueIn::QueueIn(std::vector<LayerLink*> links) : LayerIn(std::move(links)), cursors_(links_.size()) {}

LayerPiece QueueIn::next(std::int64_t max_rows) {
  for (std::size_t tried = 0; tried < links_.size(); ++tried) {
    LayerLink& link = *links_[turn_];
    Cursor& cursor = cursors_[turn_];
    if (cursor.row == cursor.end) {
      if (cursor.released != cursor.row) {
        cursor.released = cursor.row;
        link.release(cursor.row);
      }
      // seq_cst: a producer that publishes after this load sees the thread asleep. Pairs with `wake` of the link.
      cursor.frontier = link.line().frontier.load(std::memory_order_seq_cst);
      cursor.end = link.line().end.load(std::memory_order_acquire);  // acquire: the rows; pairs with `publish`
    }
    if (cursor.row != cursor.end) {
      const LayerPiece piece = piece_of(link, cursor.row, cursor.end, max_rows);
      piece_rows_ = piece.rows;
      return piece;
    }
    if (++turn_ == links_.size()) turn_ = 0;
  }
  return {};
}

void QueueIn::pass() {
  Cursor& cursor = cursors_[turn_];
  cursor.row += piece_rows_;
  if (cursor.row - cursor.released >= release_interval()) {
    cursor.released = cursor.row;
    links_[turn_]->release(cursor.row);
  }
  if (++turn_ == links_.size()) turn_ = 0;
}

std::int64_t QueueIn::frontier() const noexcept {
  std::int64_t earliest = kEndOfTime;
  for (const Cursor& cursor : cursors_) earliest = std::min(earliest, cursor.frontier);
  return earliest;
}

bool QueueIn::ended() noexcept {
  return std::all_of(cursors_.begin(), cursors_.end(),
                     [](const Cursor& cursor) { return cursor.frontier == kEndOfTime && cursor.row == cursor.end; });
}

LogIn::LogIn(std::vector<LayerLink*> links, TupleBuffer& log)
    : LayerIn(std::move(links)), log_(log), reader_(log.add_reader()) {}

void LogIn::release(std::size_t runs) {
  log_.release(reader_, runs);
  passed_ = 0;
  for (LayerLink* link : links_) link->released_in_log(log_.next_row(reader_, link->source()));
}

LayerPiece LogIn::next(std::int64_t max_rows) {
  bool merged = false;
  for (;;) {
    while (passed_runs_ < runs_.size() && runs_[passed_runs_].source < 0)
      frontier_ = std::max(frontier_, runs_[passed_runs_++].end);
    if (passed_runs_ < runs_.size()) {
      const LogRun& run = runs_[passed_runs_];
      const LayerLink& link = *links_[static_cast<std::size_t>(run.source)];
      const LayerPiece piece = piece_of(link, run.begin + run_offset_, run.end, max_rows);
      piece_rows_ = piece.rows;
      return piece;
    }
    if (!runs_.empty()) release(runs_.size());
    passed_runs_ = 0;
    runs_ = log_.read(reader_);
    if (!runs_.empty()) continue;
    if (merged) return {};
    // `advance` returns true also if other threads merged meanwhile; then this thread must look again before it sleeps.
    merged = !log_.advance();
    if (!merged) ++merges_;
    runs_ = log_.read(reader_);  // another thread may have merged instead of this one
  }
}

void LogIn::pass() {
  const LogRun& run = runs_[passed_runs_];
  const LogColumns& rows = links_[static_cast<std::size_t>(run.source)]->rows();
  run_offset_ += piece_rows_;
  passed_ += piece_rows_;
  frontier_ = rows.ts[static_cast<std::uint64_t>(run.begin + run_offset_ - 1) & rows.mask];
  if (run.begin + run_offset_ == run.end) {
    ++passed_runs_;
    run_offset_ = 0;
  }
  if (passed_ < release_interval() || passed_runs_ == 0) return;
  release(passed_runs_);
  runs_ = log_.read(reader_);
  passed_runs_ = 0;
}

MergeIn::MergeIn(std::vector<LayerLink*> links)
    : LayerIn(std::move(links)), passed_(links_.size(), 0), released_(links_.size(), 0) {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    merger_.add(static_cast<int>(l), &links_[l]->line(), &links_[l]->rows());
  }
}

void MergeIn::release() noexcept {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (released_[l] == passed_[l]) continue;
    released_[l] = passed_[l];
    links_[l]->release(passed_[l]);
  }
}

LayerPiece MergeIn::next(std::int64_t max_rows) {
  if (passed_runs_ == run_count_) {
    release();
    passed_runs_ = 0;
    run_count_ = merger_.merge(runs_.data(), kRuns, release_interval());
    if (run_count_ == 0) {
      merger_.gather();
      run_count_ = merger_.merge(runs_.data(), kRuns, release_interval());
    }
    if (run_count_ == 0) {
      ended_ = merger_.open() == 0;
      return {};
    }
  }
  const LogRun& run = runs_[passed_runs_];
  const LayerPiece piece =
      piece_of(*links_[static_cast<std::size_t>(run.source)], run.begin + run_offset_, run.end, max_rows);
  piece_rows_ = piece.rows;
  return piece;
}

void MergeIn::pass() {
  const LogRun& run = runs_[passed_runs_];
  run_offset_ += piece_rows_;
  passed_[static_cast<std::size_t>(run.source)] = run.begin + run_offset_;
  if (run.begin + run_offset_ != run.end) return;
  ++passed_runs_;
  run_offset_ = 0;
}

TupleMergeIn::TupleMergeIn(std::vector<LayerLink*> links) : LayerIn(std::move(links)), heads_(links_.size()) {}

LayerPiece TupleMergeIn::next(std::int64_t) {
  std::size_t earliest = 0;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    Head& head = heads_[l];
    if (head.row == head.end) {
      // seq_cst, since the thread may sleep afterwards, and acquire for the rows; as in QueueIn.
      head.ts = links_[l]->line().frontier.load(std::memory_order_seq_cst);
      head.end = links_[l]->line().end.load(std::memory_order_acquire);
      if (head.row != head.end)
        head.ts = links_[l]->rows().ts[static_cast<std::uint64_t>(head.row) & links_[l]->rows().mask];
    }
    if (head.ts < heads_[earliest].ts) earliest = l;  // at equal times, the first producer comes first
  }
  const Head& first = heads_[earliest];
  if (first.row == first.end) return {};  // this link may still send the earliest row, or all links are empty
  current_link_ = earliest;
  return piece_of(*links_[earliest], first.row, first.end, 1);
}

void TupleMergeIn::pass() {
  Head& head = heads_[current_link_];
  LayerLink& link = *links_[current_link_];
  link.release(++head.row);
  if (head.row != head.end) head.ts = link.rows().ts[static_cast<std::uint64_t>(head.row) & link.rows().mask];
}

std::int64_t TupleMergeIn::frontier() const noexcept {
  return std::min_element(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) { return a.ts < b.ts; })->ts;
}

bool TupleMergeIn::ended() noexcept {
  return std::all_of(heads_.begin(), heads_.end(),
                     [](const Head& head) { return head.ts == kEndOfTime && head.row == head.end; });
}

}  // namespace lab
