// Changes of membership, and control entries: under the flag, while no reader walks.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

#include "log/scale_gate.h"

namespace lab {

bool ScaleGate::stand_still() noexcept {
  pause_.store(true, std::memory_order_seq_cst);  // pairs with the load in `read`
  return std::none_of(cursors_.begin(), cursors_.end(),
                      [](const Cursor& c) { return c.walking.load(std::memory_order_seq_cst); });
}

const ScaleGate::Node* ScaleGate::furthest() noexcept {
  std::uint64_t position = floor_position_.load(std::memory_order_relaxed);  // relaxed: written under the flag
  const Node* result = position != 0 ? floor_ : &head_;
  for (int r = 0; r < kMaxLogReaders; ++r) {
    if (!readers_.active(r) || cursor(r).position <= position) continue;
    result = cursor(r).node;
    position = cursor(r).position;
  }
  return result;
}

// Whether a source's rows from `from_ts` on would all be behind a node.
bool ScaleGate::joins_behind(const Node& node, int source, std::int64_t from_ts) noexcept {
  const Writer& w = writer(source);
  Node probe;
  probe.ts = from_ts;
  probe.source = source;
  probe.order = w.base + w.end;
  probe.sequence = kFrontier;
  return less(node, probe);
}

// Opens a source with a frontier node, somewhere behind the node that the furthest reader has passed.
void ScaleGate::link_joining(Node* behind, int source, std::int64_t from_ts) {
  Writer& w = writer(source);
  if (!w.used.empty()) w.used.pop_back();  // where it ended before, which nobody passes
  w.last_ts = from_ts;
  if (w.free.empty()) grow(w);
  Node* node = w.free.back();
  w.free.pop_back();
  w.used.push_back(node);
  node->position.store(0, std::memory_order_relaxed);  // relaxed: published by the CAS
  node->ts = from_ts;
  node->source = source;
  node->order = w.base + w.end;
  node->sequence = kFrontier;
  node->height = kLevels;
  Node* before = behind;
  Node* next = before->next[0].load(std::memory_order_acquire);
  do {
    while (next != nullptr && less(*next, *node)) {
      before = next;
      next = before->next[0].load(std::memory_order_acquire);
    }
    // Linked in level 0 only; the upper levels lead from here into the lists of the others.
    Node* up = next;
    for (std::size_t l = 0; l < static_cast<std::size_t>(kLevels); ++l) {
      while (up != nullptr && up->height <= static_cast<int>(l)) up = up->next[0].load(std::memory_order_acquire);
      node->next[l].store(up, std::memory_order_relaxed);  // relaxed: published by the CAS
    }
    // release: publishes the node; acquire: another's, when it came first.
  } while (!before->next[0].compare_exchange_weak(next, node, std::memory_order_release, std::memory_order_acquire));
  w.update.fill(node);
  w.low.store(node, std::memory_order_release);
  w.written.store(node, std::memory_order_seq_cst);  // before readers walk again
  w.open.store(true, std::memory_order_seq_cst);     // pairs with the loads in `reclaim` and `all_closed`
}

int ScaleGate::add_source(const LogColumns& rows, std::int64_t from_ts) {
  if (rows.ts == nullptr) throw std::invalid_argument("a source has no timestamps");
  if (rows.mask == 0 || (rows.mask & (rows.mask + 1)) != 0) {
    throw std::invalid_argument("the mask of a source is " + std::to_string(rows.mask) +
                                ", wanted a power of two, at least 2, less one");
  }
  if (options_.acknowledged_rows > 1 && rows.mask / 2 < static_cast<std::uint64_t>(options_.acknowledged_rows) - 1) {
    throw std::invalid_argument("a source has room for " + std::to_string(rows.mask + 1) +
                                " rows, wanted twice acknowledged_rows, " +
                                std::to_string(2 * options_.acknowledged_rows));
  }
  flag_.enter_waiting();
  while (!stand_still()) std::this_thread::yield();
  int chosen = -1;
  bool ordered = true;
  bool ended = false;
  Node* behind = const_cast<Node*>(furthest());  // nodes are only handed to readers as const
  {
    const std::lock_guard lock(mutex_);
    ended = final_;
    for (int slot = 0; !ended && slot < kMaxLogSources; ++slot) {
      Writer& w = writer(slot);
      if (w.open.load(std::memory_order_seq_cst)) continue;  // acquires what the former owner left
      if (readers_.released(slot, w.end) != w.end) continue;
      ordered = joins_behind(*behind, slot, from_ts);
      if (!ordered) continue;
      chosen = slot;
      break;
    }
    if (chosen >= 0) {
      any_source_ = true;
      Writer& w = writer(chosen);
      w.base += w.end;
      w.end = 0;
      w.acknowledged = 0;
      w.room_end = 0;
      w.random = 0x9e3779b9U * static_cast<std::uint32_t>(chosen + 1);
      readers_.reset(chosen);
      rows_[static_cast<std::size_t>(chosen)] = rows;
      link_joining(behind, chosen, from_ts);
    }
  }
  const std::int64_t at = behind->ts;
  pause_.store(false, std::memory_order_seq_cst);
  news_.store(true, std::memory_order_seq_cst);
  flag_.leave();
  if (chosen >= 0) return chosen;
  if (ended) throw std::logic_error("a source was added to a log that has ended");
  if (!ordered) {
    throw std::logic_error("a source was added from timestamp " + std::to_string(from_ts) + ", but the log is at " +
                           std::to_string(at) + " already: keep another source's frontier at it meanwhile");
  }
  throw std::length_error("a log has at most " + std::to_string(kMaxLogSources) + " sources at a time");
}

void ScaleGate::rejoin(int source, std::int64_t from_ts) {
  flag_.enter_waiting();
  while (!stand_still()) std::this_thread::yield();
  auto* behind = const_cast<Node*>(furthest());  // nodes are only handed to readers as const
  const char* wrong = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Writer& w = writer(source);
    // seq_cst: acquires what the owner did before it left; pairs with the store in `close`.
    if (w.written.load(std::memory_order_relaxed) == nullptr || w.open.load(std::memory_order_seq_cst)) {
      wrong = ", which has not left";  // relaxed: null before a source was ever added, under the flag
    } else if (final_) {
      wrong = ": the log has ended";
    } else if (!joins_behind(*behind, source, from_ts)) {
      wrong = ": keep another source's frontier at it meanwhile";
    } else {
      link_joining(behind, source, from_ts);
    }
  }
  const std::int64_t at = behind->ts;
  pause_.store(false, std::memory_order_seq_cst);
  news_.store(true, std::memory_order_seq_cst);
  flag_.leave();
  if (wrong == nullptr) return;
  throw std::logic_error("source " + std::to_string(source) + " was to join again from timestamp " +
                         std::to_string(from_ts) + ", and the log is at " + std::to_string(at) + wrong);
}

bool ScaleGate::insert_controls() {
  const bool still = stand_still();
  if (still) {
    const std::lock_guard lock(mutex_);
    auto* before = const_cast<Node*>(furthest());  // as in add_source
    for (Node* next = before->next[0].load(std::memory_order_acquire); next != nullptr && next->anchor != next;
         next = before->next[0].load(std::memory_order_acquire)) {
      before = next;  // control entries that nobody has passed yet
    }
    for (const std::int64_t id : controls_) {
      control_nodes_.push_back(std::make_unique<Node>());
      Node* node = control_nodes_.back().get();
      node->ts = before->ts;
      node->source = before->source;
      node->order = before->order;
      node->sequence = before->sequence + 1;
      node->row = id;
      node->anchor = before->anchor;
      Node* next = before->next[0].load(std::memory_order_acquire);
      do {
        node->next[0].store(next, std::memory_order_relaxed);  // relaxed: published by the CAS
        // release: publishes the node; acquire: a row that came first, which is greater all the same.
      } while (!before->next[0].compare_exchange_weak(next, node, std::memory_order_release, std::memory_order_acquire));
      before = node;
    }
    controls_.clear();
    waiting_controls_.store(0, std::memory_order_seq_cst);
  }
  pause_.store(false, std::memory_order_seq_cst);
  return still;
}

void ScaleGate::add_reader_at(int reader, int like) {
  flag_.enter_waiting();
  try {
    readers_.add_at(reader, like);
  } catch (...) {
    flag_.leave();
    throw;
  }
  Cursor& to = cursor(reader);
  const Cursor& from = cursor(like);
  to.node = from.node;
  to.position = from.position;
  to.bound = from.bound;
  to.runs = from.runs;
  to.positions = from.positions;
  to.begin = from.begin;
  to.end = from.end;
  news_.store(true, std::memory_order_seq_cst);
  flag_.leave();
}

void ScaleGate::remove_reader(int reader) {
  flag_.enter_waiting();
  const Cursor& at = cursor(reader);
  if (at.position > floor_position_.load(std::memory_order_relaxed)) {  // relaxed: written under the flag
    floor_ = at.node;
    floor_position_.store(at.position, std::memory_order_seq_cst);  // pairs with the load in `reclaim`
  }
  readers_.remove(reader);
  flag_.leave();
}

void ScaleGate::drop_floor() noexcept {
  const std::uint64_t floor = floor_position_.load(std::memory_order_relaxed);  // relaxed: written under the flag
  if (floor == 0) return;
  for (int r = 0; r < kMaxLogReaders; ++r) {
    if (!readers_.active(r) || readers_.passed(r) < floor) continue;
    floor_position_.store(0, std::memory_order_seq_cst);  // that reader is the furthest now, or another
    return;
  }
}

}  // namespace lab
