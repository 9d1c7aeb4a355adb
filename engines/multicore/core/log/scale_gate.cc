// Implements ScaleGate; see log/scale_gate.h.
#include "log/scale_gate.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "log/order_log.h"

namespace lab {
namespace {

constexpr std::int32_t kFrontier = std::numeric_limits<std::int32_t>::min() / 2;  // sequence of a frontier node
constexpr std::int32_t kAcknowledged =
    kFrontier / 2;  // of a watermark tuple: follows a frontier and its control entries

}  // namespace

ScaleGate::ScaleGate(const LogOptions& options)
    : options_(options),
      readers_(options.readers),
      rows_(static_cast<std::size_t>(kMaxLogSources)),
      writers_(static_cast<std::size_t>(kMaxLogSources)),
      cursors_(static_cast<std::size_t>(options.readers)) {
  if (options.rows_in_flight < 1) {
    throw std::invalid_argument("rows_in_flight is " + std::to_string(options.rows_in_flight) + ", wanted at least 1");
  }
  // Above half of rows_in_flight, a source would wait for its first acknowledgement with no watermark tuple in the
  // list.
  if (options.acknowledged_rows < 0 ||
      (options.acknowledged_rows > 1 && options.acknowledged_rows > options.rows_in_flight / 2)) {
    throw std::invalid_argument("acknowledged_rows is " + std::to_string(options.acknowledged_rows) +
                                ", wanted from 0 to half of rows_in_flight, " +
                                std::to_string(options.rows_in_flight / 2));
  }
}

ScaleGate::~ScaleGate() = default;

bool ScaleGate::less(const Node& a, const Node& b) noexcept {
  if (a.ts != b.ts) return a.ts < b.ts;
  return std::tie(a.rank, a.order, a.sequence) < std::tie(b.rank, b.order, b.sequence);
}

// ---- sources

// Returns a free or new node of the source, with a random height.
ScaleGate::Node* ScaleGate::allocate(Writer& mine) {
  if (mine.free_nodes.empty()) reclaim(mine);
  if (mine.free_nodes.empty()) grow(mine);
  Node* node = mine.free_nodes.back();
  mine.free_nodes.pop_back();
  mine.used_nodes.push_back(node);
  // relaxed: no other thread sees the node before it is linked.
  node->position.store(0, std::memory_order_relaxed);
  mine.random ^= mine.random << 13;  // xorshift32
  mine.random ^= mine.random >> 17;
  mine.random ^= mine.random << 5;
  node->height = 1 + std::min(kLevels - 1, std::countr_zero(mine.random));
  return node;
}

// Makes `node` the source's next node, at `ts`.
void ScaleGate::set_key(Node& node, int source, const Writer& mine, std::int64_t ts, std::int32_t sequence) noexcept {
  node.ts = ts;
  node.rank = ts == mine.joined_ts ? Node::rank_of(source, mine.join) : source;
  node.row = mine.end;
  node.order = mine.base + mine.end;
  node.sequence = sequence;
}

void ScaleGate::grow(Writer& mine) {
  mine.nodes.push_back(std::make_unique<Node[]>(kGrowth));
  for (std::size_t i = kGrowth; i-- > 0;) mine.free_nodes.push_back(&mine.nodes.back()[i]);
}

// Moves the source's nodes that no reader and no source can reach any more to `free_nodes`.
void ScaleGate::reclaim(Writer& mine) {
  // Load the readers first: a source that joins after the scan of the sources starts past this position.
  const std::uint64_t slowest = readers_.slowest(std::numeric_limits<std::uint64_t>::max());
  if (slowest == std::numeric_limits<std::uint64_t>::max()) return;  // no active reader
  std::uint64_t bound = slowest;
  // seq_cst: set before a reader leaves, so a scan that misses the reader does not miss this.
  if (const std::uint64_t floor = floor_position_.load(std::memory_order_seq_cst); floor != 0) {
    bound = std::min(bound, floor);
  }
  for (const Writer& other : used_writers()) {
    if (!other.open.load(std::memory_order_acquire)) continue;    // pairs with add_source
    const Node* low = other.low.load(std::memory_order_acquire);  // pairs with the store in `insert`
    for (;;) {
      const std::uint64_t position = low->position.load(std::memory_order_acquire);
      const Node* reloaded = other.low.load(std::memory_order_acquire);
      if (reloaded == low) {
        // Position 0: no reader had passed the node, so it lies beyond `slowest` and does not lower the bound. (The same
        // holds if the node has been reused by now.)
        if (position != 0) bound = std::min(bound, position);
        break;
      }
      low = reloaded;
    }
  }
  while (!mine.used_nodes.empty()) {
    Node* node = mine.used_nodes.front();
    // relaxed: a position below `slowest` is visible, because `slowest` was acquired.
    const std::uint64_t position = node->position.load(std::memory_order_relaxed);
    if (position == 0 || position >= bound) return;
    mine.used_nodes.pop_front();
    mine.free_nodes.push_back(node);
  }
}

// Links `node` at its sorted place, in each level up to its height. Moves the source's `update` and `low` forward.
void ScaleGate::insert(Writer& mine, Node* node) noexcept {
  Node* at = mine.update[kLevels - 1];
  for (int level = kLevels - 1; level >= 0; --level) {
    const auto l = static_cast<std::size_t>(level);
    if (less(*at, *mine.update[l])) at = mine.update[l];
    for (Node* next = at->next[l].load(std::memory_order_acquire); next != nullptr && less(*next, *node);
         next = at->next[l].load(std::memory_order_acquire)) {  // acquires the node; pairs with the CAS below
      at = next;
    }
    mine.update[l] = at;
  }
  for (std::size_t l = 0; l < static_cast<std::size_t>(node->height); ++l) {
    Node* before = mine.update[l];
    Node* next = before->next[l].load(std::memory_order_acquire);
    for (;;) {
      while (next != nullptr && less(*next, *node)) {
        before = next;
        next = before->next[l].load(std::memory_order_acquire);
      }
      node->next[l].store(next, std::memory_order_relaxed);  // relaxed: published by the CAS
      // release: publishes the node; acquire: another's, when it came first.
      if (before->next[l].compare_exchange_weak(next, node, std::memory_order_release, std::memory_order_acquire))
        break;
    }
    mine.update[l] = node;
  }
  mine.last_ts = node->ts;
  if (node->height == kLevels || mine.low.load(std::memory_order_relaxed) != mine.update[kLevels - 1]) {
    // release: the owner no longer reads earlier nodes; pairs with `reclaim`. (relaxed above: own store)
    mine.low.store(mine.update[kLevels - 1], std::memory_order_release);
  }
}

void ScaleGate::insert_frontier(int source, std::int64_t frontier) {
  Writer& mine = writer(source);
  Node* node = allocate(mine);
  set_key(*node, source, mine, frontier, kFrontier);
  node->height = kLevels;  // a source without later rows then uses no node before it
  insert(mine, node);
  mine.written.store(node, std::memory_order_seq_cst);  // pairs with the load in `walk` (run/parker.h)
}

void ScaleGate::insert_acknowledged(int source) {
  Writer& mine = writer(source);
  Node* node = allocate(mine);
  set_key(*node, source, mine, mine.last_ts, kAcknowledged);
  insert(mine, node);
  mine.acknowledged = mine.end;
  mine.written.store(node, std::memory_order_seq_cst);  // pairs with the load in `walk` (run/parker.h)
}

void ScaleGate::publish(int source, std::int64_t end_row, std::int64_t frontier, bool) {
  Writer& mine = writer(source);
  const LogColumns& rows = rows_[static_cast<std::size_t>(source)];
  assert(frontier < kEndOfTime && end_row >= mine.end);
  const bool has_rows = mine.end < end_row;
  while (mine.end < end_row) {
    Node* node = allocate(mine);
    set_key(*node, source, mine, rows.ts[static_cast<std::uint64_t>(mine.end) & rows.mask], 0);
    insert(mine, node);
    ++mine.end;
    // release: a reader that passes the previous node sees this one. Pairs with the load in `walk`.
    mine.written.store(node, mine.end < end_row ? std::memory_order_release : std::memory_order_seq_cst);
    if (options_.acknowledged_rows != 0 && mine.end - mine.acknowledged >= options_.acknowledged_rows) {
      insert_acknowledged(source);
    }
  }
  if (frontier > mine.last_ts) {
    insert_frontier(source, frontier);
  } else if (!has_rows) {
    return;
  }
  news_.store(true, std::memory_order_seq_cst);  // pairs with the exchange in `advance`
}

void ScaleGate::close(int source) {
  Writer& mine = writer(source);
  if (options_.acknowledged_rows != 0 && mine.acknowledged < mine.end) insert_acknowledged(source);
  insert_frontier(source, kEndOfTime);
  mine.open.store(false, std::memory_order_seq_cst);  // pairs with the loads in `all_closed` and add_source
  news_.store(true, std::memory_order_seq_cst);
}

std::int64_t ScaleGate::consumed(int source) {
  const std::int64_t end = writer(source).end;
  return readers_.released(source, end);
}

std::int64_t ScaleGate::room(int source, std::int64_t min_rows) {
  Writer& mine = writer(source);
  if (mine.room_end - mine.end >= min_rows) return mine.room_end - mine.end;
  mine.room_end = readers_.released(source, mine.end) + options_.rows_in_flight;
  const std::uint64_t mask = rows_[static_cast<std::size_t>(source)].mask;
  if (mask < static_cast<std::uint64_t>(kEndOfTime)) {
    mine.room_end = std::min(mine.room_end, consumed(source) + static_cast<std::int64_t>(mask) + 1);
  }
  return std::max<std::int64_t>(0, mine.room_end - mine.end);
}

bool ScaleGate::all_closed() const noexcept {
  return std::ranges::none_of(used_writers(), [](const Writer& w) { return w.open.load(std::memory_order_seq_cst); });
}

// ---- changes of membership, and control entries: under the flag, while no reader walks

// Sets `pause_`, which stops the readers. Returns whether none walks any more. The caller clears `pause_` afterwards.
bool ScaleGate::stand_still() noexcept {
  pause_.store(true, std::memory_order_seq_cst);  // pairs with the load in `read`
  return std::none_of(cursors_.begin(), cursors_.end(),
                      [](const Cursor& c) { return c.walking.load(std::memory_order_seq_cst); });
}

// Returns the furthest node that any reader has passed, including readers that have left.
const ScaleGate::Node* ScaleGate::furthest() noexcept {
  std::uint64_t position = floor_position_.load(std::memory_order_relaxed);  // relaxed: written under the flag
  const Node* result = position != 0 ? floor_ : &head_;
  for (int r = 0; r < readers_.size(); ++r) {
    if (!readers_.active(r) || cursor(r).position <= position) continue;
    result = cursor(r).node;
    position = cursor(r).position;
  }
  return result;
}

// Opens a source: links a frontier node at its sorted place, which is after `behind`, the last node of the furthest
// reader.
void ScaleGate::link_joining(Node* behind, int source, std::int64_t from_ts, std::int64_t join) {
  Writer& w = writer(source);
  if (!w.used_nodes.empty()) w.used_nodes.pop_back();  // its former end node, which no reader passes
  w.last_ts = from_ts;
  w.joined_ts = from_ts;
  w.join = join;
  if (w.free_nodes.empty()) grow(w);
  Node* node = w.free_nodes.back();
  w.free_nodes.pop_back();
  w.used_nodes.push_back(node);
  node->position.store(0, std::memory_order_relaxed);  // relaxed: published by the CAS
  set_key(*node, source, w, from_ts, kFrontier);
  node->height = kLevels;
  Node* before = behind;
  Node* next = before->next[0].load(std::memory_order_acquire);
  do {
    while (next != nullptr && less(*next, *node)) {
      before = next;
      next = before->next[0].load(std::memory_order_acquire);
    }
    // The node is linked in level 0 only; its upper levels lead into the lists of other nodes.
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
  Node key;                                      // of the new source's first node
  key.ts = from_ts;
  const std::int64_t join = from_ts == behind->ts && behind != &head_ ? behind->join() : 0;
  key.sequence = kFrontier;
  {
    const std::lock_guard lock(mutex_);
    ended = final_;
    for (int slot = 0; !ended && slot < kMaxLogSources; ++slot) {
      Writer& w = writer(slot);
      if (w.open.load(std::memory_order_seq_cst)) continue;  // acquires the former owner's stores
      if (readers_.released(slot, w.end) != w.end) continue;
      key.rank = Node::rank_of(slot, join);
      key.order = w.base + w.end;
      ordered = less(*behind, key);
      if (!ordered) continue;
      chosen = slot;
      break;
    }
    if (chosen >= 0) {
      // relaxed: own stores, under the flag; seq_cst: pairs with `used_writers`.
      const std::size_t used = writers_used_.load(std::memory_order_relaxed);
      writers_used_.store(std::max(used, static_cast<std::size_t>(chosen) + 1), std::memory_order_seq_cst);
      Writer& w = writer(chosen);
      w.base += w.end;
      w.end = 0;
      w.acknowledged = 0;
      w.room_end = 0;
      w.random = 0x9e3779b9U * static_cast<std::uint32_t>(chosen + 1);
      readers_.reset(chosen);
      rows_[static_cast<std::size_t>(chosen)] = rows;
      link_joining(behind, chosen, from_ts, join);
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
  const char* problem = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Writer& w = writer(source);
    // seq_cst: acquires the owner's stores before it left; pairs with the store in `close`.
    if (w.written.load(std::memory_order_relaxed) == nullptr || w.open.load(std::memory_order_seq_cst)) {
      problem = ", which has not left";  // relaxed: null before a source was ever added, under the flag
    } else if (final_) {
      problem = ": the log has ended";
    } else if (from_ts < behind->ts) {
      problem = ": keep another source's frontier at it meanwhile";
    } else {
      link_joining(behind, source, from_ts, ++joins_);
    }
  }
  const std::int64_t at = behind->ts;
  pause_.store(false, std::memory_order_seq_cst);
  news_.store(true, std::memory_order_seq_cst);
  flag_.leave();
  if (problem == nullptr) return;
  throw std::logic_error("source " + std::to_string(source) + " was to join again from timestamp " +
                         std::to_string(from_ts) + ", and the log is at " + std::to_string(at) + problem);
}

// Inserts the waiting control entries. Returns false, and inserts none, if a reader is walking.
bool ScaleGate::insert_controls() {
  const bool stands_still = stand_still();
  if (stands_still) {
    const std::lock_guard lock(mutex_);
    auto* before = const_cast<Node*>(furthest());  // as in add_source
    for (Node* next = before->next[0].load(std::memory_order_acquire); next != nullptr && next->anchor != next;
         next = before->next[0].load(std::memory_order_acquire)) {
      before = next;  // control entries that no reader has passed yet
    }
    for (const std::int64_t id : controls_) {
      control_nodes_.push_back(std::make_unique<Node>());
      Node* node = control_nodes_.back().get();
      node->ts = before->ts;
      node->rank = before->rank;
      node->order = before->order;
      node->sequence = before->sequence + 1;
      node->row = id;
      node->anchor = before->anchor;
      Node* next = before->next[0].load(std::memory_order_acquire);
      do {
        node->next[0].store(next, std::memory_order_relaxed);  // relaxed: published by the CAS
        // release: publishes the node; acquire: a row inserted first, which is greater all the same.
      } while (
          !before->next[0].compare_exchange_weak(next, node, std::memory_order_release, std::memory_order_acquire));
      before = node;
    }
    controls_.clear();
    waiting_controls_.store(0, std::memory_order_seq_cst);
  }
  pause_.store(false, std::memory_order_seq_cst);
  return stands_still;
}

bool ScaleGate::control(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  if (final_) return false;
  controls_.push_back(id);
  waiting_controls_.store(static_cast<int>(controls_.size()), std::memory_order_seq_cst);  // pairs with `advance`
  return true;
}

bool ScaleGate::advance() noexcept {
  bool news = false;
  while (flag_.enter()) {
    flag_.begin_pass();
    drop_floor();
    if (news_.exchange(false, std::memory_order_seq_cst)) news = true;  // pairs with the store in `publish`
    if (waiting_controls_.load(std::memory_order_seq_cst) > 0) {
      insert_controls();
      news = true;  // also if a reader was walking: the caller then calls again
    }
    if (!flag_.leave() || news) return news;
  }
  return news;
}

// ---- readers

int ScaleGate::add_reader() {
  const int reader = readers_.add();
  cursor(reader).node = &head_;
  return reader;
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

// Forgets `floor_` once an active reader has come as far.
void ScaleGate::drop_floor() noexcept {
  const std::uint64_t floor = floor_position_.load(std::memory_order_relaxed);  // relaxed: written under the flag
  if (floor == 0) return;
  for (int r = 0; r < readers_.size(); ++r) {
    if (!readers_.active(r) || readers_.passed(r) < floor) continue;
    floor_position_.store(0, std::memory_order_seq_cst);  // that reader, or another one, is now the furthest
    return;
  }
}

// Moves the cursor over ready nodes and stores their entries, at most kReadAtOnce, in `at.runs`.
void ScaleGate::walk(Cursor& at) noexcept {
  while (at.end < kReadAtOnce) {
    const Node* anchor = at.node->anchor;
    // The source's next row may still come right after its latest node. seq_cst: for a reader that sleeps after this
    // (run/parker.h). Acquires the source's nodes up to the one in `written`.
    const bool latest =
        anchor->source() >= 0 && writer(anchor->source()).written.load(std::memory_order_seq_cst) == anchor;
    Node* next = at.node->next[0].load(std::memory_order_acquire);  // pairs with the CAS in `insert`
    if (next == nullptr || next->ts == kEndOfTime) return;
    if (latest && next->anchor != anchor) return;  // control entries directly follow the node: no row comes in between
    at.node = next;
    // A control entry has the position of its anchor. A reader behind the entry reads the anchor, so the anchor must
    // not be reclaimed. relaxed: all readers store the same; `reclaim` has acquired the position of the slowest.
    if (next->anchor == next) next->position.store(++at.position, std::memory_order_relaxed);
    if (next->sequence == 0) {
      at.bound = next->ts;
      const std::int32_t kind = rows_[static_cast<std::size_t>(next->source())].kind;
      at.runs[at.end] = {next->row, next->row + 1, next->source(), kind};
    } else if (next->sequence == kAcknowledged) {
      at.runs[at.end] = {next->row, at.bound, kAcknowledgedEntry, next->source()};
    } else if (next->anchor != next) {
      at.runs[at.end] = {next->row, at.bound, kControlEntry, 0};
    } else if (options_.watermarks && next->ts > at.bound) {
      at.bound = next->ts;
      at.runs[at.end] = {at.bound, at.bound, kWatermarkEntry, 0};
    } else {
      continue;
    }
    at.positions[at.end++] = at.position;
  }
}

std::span<const LogRun> ScaleGate::read(int reader) {
  Cursor& at = cursor(reader);
  if (at.begin == at.end) {
    at.walking.store(true, std::memory_order_seq_cst);  // pairs with the load in `stand_still`
    if (!pause_.load(std::memory_order_seq_cst)) {      // pairs with the store in `stand_still`
      at.begin = 0;
      at.end = 0;
      const std::uint64_t before = at.position;
      walk(at);
      // The reader has already passed the nodes after the last run; release them, so that they bound no source.
      if (at.end == 0 && at.position != before) readers_.release(reader, {}, at.position, {});
    }
    at.walking.store(false, std::memory_order_seq_cst);  // releases the cursor to `stand_still`
  }
  return {at.runs.data() + at.begin, at.end - at.begin};
}

void ScaleGate::release(int reader, std::size_t runs) {
  if (runs == 0) return;
  Cursor& at = cursor(reader);
  assert(runs <= at.end - at.begin);
  const std::span<const LogRun> done{at.runs.data() + at.begin, runs};
  at.begin += runs;
  const std::uint64_t next = at.begin == at.end ? at.position : at.positions[at.begin - 1];
  if (options_.acknowledged_rows != 0) {
    readers_.acknowledge(reader, done, next);
  } else {
    readers_.release(reader, done, next, {});
  }
}

bool ScaleGate::ended(int reader) {
  if (!all_closed()) return false;
  const std::lock_guard lock(mutex_);
  Cursor& at = cursor(reader);
  if (used_writers().empty() || !all_closed() || !controls_.empty() || at.begin != at.end) return false;
  const Node* next = at.node->next[0].load(std::memory_order_acquire);
  if (next != nullptr && next->ts != kEndOfTime) return false;
  final_ = true;
  return true;
}

std::unique_ptr<TupleBuffer> make_tuple_buffer(std::string_view name, const LogOptions& options) {
  if (index_of("tuple_buffer", kTupleBuffers, name) == 0) {
    if (options.acknowledged_rows != 0) {
      throw std::invalid_argument("acknowledged_rows is " + std::to_string(options.acknowledged_rows) +
                                  ", wanted 0: only ScaleGate has watermark tuples that readers acknowledge");
    }
    return std::make_unique<OrderLog>(options);
  }
  return std::make_unique<ScaleGate>(options);
}

}  // namespace lab
