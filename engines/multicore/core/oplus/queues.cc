// Implements TupleQueue and Queues; see oplus/queues.h.
#include "oplus/queues.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace lab {
namespace {

constexpr std::int64_t kRouteRows = 1024;  // rows of one source before the next source's turn
constexpr std::int32_t kFewInstances = 4;  // up to this number, `distribute` scans the rows once per instance
constexpr std::int64_t kMinElements = 1 << 14;

std::int64_t longest_list(const OperatorStream& stream, std::size_t from) {
  const auto* begins = static_cast<const std::int64_t*>(stream.view->columns[from]);
  const auto* ends = static_cast<const std::int64_t*>(stream.view->columns[from + 1]);
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < stream.view->size(); ++row) longest = std::max(longest, ends[row] - begins[row]);
  return longest;
}

}  // namespace

TupleQueue::TupleQueue(const OperatorStream& source, std::span<const ColumnShape> shapes, std::int64_t rows)
    : source_(source), mask_(std::bit_ceil(static_cast<std::uint64_t>(rows)) - 1) {
  const auto size = static_cast<std::size_t>(mask_ + 1);
  ts_.resize(size);
  view_.columns = {ts_.data()};
  std::size_t from = 1;
  for (const ColumnShape& shape : shapes) {
    Column column;
    column.shape = shape;
    column.from = from;
    column.present = source.view->columns[from] != nullptr;
    if (column.present && shape.is_list) {
      // Four times the longest list. A list that does not fit before the wrap starts at the front, so less than twice
      // would not suffice.
      const std::int64_t min_elements = std::max(kMinElements, 4 * longest_list(source, from));
      column.elements = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(min_elements)));
      column.values.resize(static_cast<std::size_t>(column.elements) * static_cast<std::size_t>(shape.itemsize));
      column.begins.resize(size);
      column.ends.resize(size);
      column.starts.resize(size);
    } else if (column.present) {
      column.values.resize(size * static_cast<std::size_t>(shape.itemsize));
    }
    from += shape.is_list ? 3 : 1;
    columns_.push_back(std::move(column));
  }
  for (const Column& column : columns_) {
    const void* values = column.present ? column.values.data() : nullptr;
    if (column.shape.is_list) {
      view_.columns.push_back(column.present ? column.begins.data() : nullptr);
      view_.columns.push_back(column.present ? column.ends.data() : nullptr);
    }
    view_.columns.push_back(values);
  }
  view_.index = source.view->index;
  view_.ts = ts_;
  if (!source.view->due.empty()) {
    due_.resize(size);
    view_.due = due_;
  }
  stream_ = source;
  stream_.view = &view_;
  stream_.mask = mask_;
}

std::size_t TupleQueue::fit(std::span<const std::int64_t> rows, std::int64_t consumed) noexcept {
  const auto free_rows = static_cast<std::size_t>(static_cast<std::int64_t>(mask_) + 1 - (rows_ - consumed));
  std::size_t count = std::min(rows.size(), free_rows);
  const auto oldest = static_cast<std::size_t>(static_cast<std::uint64_t>(consumed) & mask_);
  const StreamView& source = *source_.view;
  for (Column& column : columns_) {
    if (!column.present || !column.shape.is_list) continue;
    const auto* begins = static_cast<const std::int64_t*>(source.columns[column.from]);
    const auto* ends = static_cast<const std::int64_t*>(source.columns[column.from + 1]);
    std::int64_t head = column.head;
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = static_cast<std::size_t>(rows[i]);
      const std::int64_t length = ends[from] - begins[from];
      const std::int64_t left = column.elements - (head & (column.elements - 1));
      if (left < length) head += left;
      const bool first = i == 0 && consumed == rows_;  // the ring is empty
      if (head + length - (first ? head : column.starts[oldest]) > column.elements) {
        count = i;
        break;
      }
      column.starts[place(i)] = head;
      head += length;
    }
  }
  return count;
}

template <typename Item>
void TupleQueue::gather(Item* to, const void* from, std::span<const std::int64_t> rows) const noexcept {
  const auto* items = static_cast<const Item*>(from);
  // Copy one or two pieces, because the ring wraps. Within a piece, places are consecutive.
  for (std::size_t i = 0; i < rows.size();) {
    const std::size_t at = place(i);
    const std::size_t count = std::min(rows.size() - i, static_cast<std::size_t>(mask_) + 1 - at);
    const std::int64_t* const piece = rows.data() + i;
    const std::int64_t first = piece[0];
    if (piece[count - 1] - first + 1 == static_cast<std::int64_t>(count)) {  // consecutive rows
      std::memcpy(to + at, items + first, count * sizeof(Item));
    } else {
      for (std::size_t k = 0; k < count; ++k) to[at + k] = items[piece[k]];
    }
    i += count;
  }
}

void TupleQueue::copy(std::span<const std::int64_t> rows) noexcept {
  const StreamView& source = *source_.view;
  for (Column& column : columns_) {
    if (!column.present) continue;
    if (column.shape.is_list) {
      copy_lists(column, rows);
      continue;
    }
    const void* const from = source.columns[column.from];
    void* const to = column.values.data();
    const auto size = static_cast<std::size_t>(column.shape.itemsize);
    switch (size) {
      case 1:
        gather(static_cast<std::uint8_t*>(to), from, rows);
        break;
      case 2:
        gather(static_cast<std::uint16_t*>(to), from, rows);
        break;
      case 4:
        gather(static_cast<std::uint32_t*>(to), from, rows);
        break;
      case 8:
        gather(static_cast<std::uint64_t*>(to), from, rows);
        break;
      default:
        for (std::size_t i = 0; i < rows.size(); ++i) {
          std::memcpy(static_cast<std::byte*>(to) + place(i) * size,
                      static_cast<const std::byte*>(from) + static_cast<std::size_t>(rows[i]) * size, size);
        }
    }
  }
  gather(ts_.data(), source.ts.data(), rows);
  if (!due_.empty()) gather(due_.data(), source.due.data(), rows);
  rows_ += std::ssize(rows);
}

// Copies lists to the places that `fit` has chosen.
void TupleQueue::copy_lists(Column& column, std::span<const std::int64_t> rows) noexcept {
  const StreamView& source = *source_.view;
  const auto size = static_cast<std::size_t>(column.shape.itemsize);
  const auto* begins = static_cast<const std::int64_t*>(source.columns[column.from]);
  const auto* ends = static_cast<const std::int64_t*>(source.columns[column.from + 1]);
  const auto* values = static_cast<const std::byte*>(source.columns[column.from + 2]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t at = place(i);
    const auto from = static_cast<std::size_t>(rows[i]);
    const std::int64_t length = ends[from] - begins[from];
    const std::int64_t begin = column.starts[at] & (column.elements - 1);
    if (length != 0) {
      std::memcpy(column.values.data() + static_cast<std::size_t>(begin) * size,
                  values + static_cast<std::size_t>(begins[from]) * size, static_cast<std::size_t>(length) * size);
    }
    column.begins[at] = begin;
    column.ends[at] = begin + length;
    column.head = column.starts[at] + length;
  }
}

Queues::Queues(const OperatorSpec& spec, std::string tuple_buffer, LogOptions options,
               std::span<const OperatorStream> streams, std::span<const std::vector<ColumnShape>> shapes,
               std::deque<Feed>& feeds)
    : spec_(spec),
      tuple_buffer_(std::move(tuple_buffer)),
      options_(std::move(options)),
      streams_(streams),
      shapes_(shapes),
      feeds_(feeds) {
  if (spec.is_join()) throw std::invalid_argument("shared-nothing instances run keyed operators, no joins by columns");
}

void Queues::start(std::int32_t max_instances, const InstanceMapping&) {
  options_.rows_in_flight = std::max(options_.rows_in_flight, kRows);
  options_.readers = 1;
  for (std::int32_t i = 0; i < max_instances; ++i) {
    Receiver& receiver = receivers_.emplace_back();
    std::deque<TupleQueue>& queues = queues_.emplace_back();
    receiver.log = make_tuple_buffer(tuple_buffer_, options_);
    receiver.state = std::make_unique<WindowState>(spec_);
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      TupleQueue& queue = queues.emplace_back(streams_[s], shapes_[s], kRows);
      receiver.streams.push_back(queue.stream());
      receiver.log->add_source(queue.stream().view->ts.data(), queue.mask(), std::numeric_limits<std::int64_t>::min());
    }
    receiver.log->add_reader();
  }
  routers_.resize(streams_.size());
  routed_ = std::make_unique<std::atomic<std::int64_t>[]>(streams_.size());
  for (Router& router : routers_) {
    router.masks.resize(static_cast<std::size_t>(kRouteRows * routed_words(max_instances)));
    router.shares.resize(static_cast<std::size_t>(max_instances));
    for (Share& share : router.shares) share.rows.resize(static_cast<std::size_t>(kRouteRows) + 1);
  }
}

bool Queues::feed(Recorder& recorder, const InstanceMapping& now) {
  bool progress = false;
  for (std::size_t s = 0; s < feeds_.size(); ++s) {
    Feed& feed = feeds_[s];
    progress |= move_blocks(feed, [&] { return !feed.closed && route(s, now, recorder); });
  }
  for (const std::int32_t i : now.instances) progress |= log(i).advance();
  return progress;
}

// Moves rows of source `s` into the queues of the instances and publishes them; halts the source at a switch. Returns
// whether anything changed.
bool Queues::route(std::size_t s, const InstanceMapping& now, Recorder& recorder) {
  Feed& feed = feeds_[s];
  Router& router = routers_[s];
  if (router.halted) return false;
  const StreamView& view = *streams_[s].view;
  const bool switching = number_ >= 0;
  const Block* block = feed.block();
  if (block == nullptr) {
    if (!switching || router.frontier <= until_) return false;
    halt(s, now);  // the source's frontier already passes `until_`
    return true;
  }
  // Available blocks move together, because publishing costs the same for one row and for many. Blocks of a single
  // tuple move alone, so that no tuple waits for another.
  const bool moves_alone = block->end - block->begin <= 1;
  const std::int64_t row_limit = feed.row + kRouteRows;
  std::int64_t end = std::min(block->end, row_limit);
  std::uint64_t blocks = 1;
  if (switching) {
    end = std::upper_bound(view.ts.data() + feed.row, view.ts.data() + end, until_) - view.ts.data();
  } else {
    while (!moves_alone && end == block->end && end < row_limit && block->bound_ts != kEndOfTime) {
      const Block* const next_block = feed.block(blocks);
      if (next_block == nullptr) break;
      block = next_block;
      end = std::min(block->end, row_limit);
      ++blocks;
    }
  }
  const std::int64_t routed_end = feed.row < end ? copy_rows(s, feed.row, end, now) : feed.row;
  const std::int64_t moved = routed_end - feed.row;
  feed.row = routed_end;
  routed_[s].store(routed_end, std::memory_order_relaxed);  // relaxed: a statistic
  if (moved != 0) router.last_ts = view.ts[static_cast<std::size_t>(routed_end) - 1];
  if (feed.pumped) recorder.emitted(moved);
  recorder.consumed(static_cast<double>(moved));
  std::uint64_t whole_blocks = 0;
  std::int64_t bound = router.frontier;
  for (; whole_blocks < blocks; ++whole_blocks) {
    const Block& whole_block = *feed.block(whole_blocks);
    if (whole_block.end > routed_end) break;
    bound = whole_block.bound_ts;
  }
  const bool is_last = whole_blocks != 0 && bound == kEndOfTime;
  if (whole_blocks < blocks) bound = view.ts[static_cast<std::size_t>(routed_end)];
  if (is_last) bound = view.size() == 0 ? router.frontier : view.ts.back();
  if (moved != 0 || bound > router.frontier) publish(s, bound, now);
  if (whole_blocks != 0) feed.pass(whole_blocks);
  // Announce the switch before any log is closed: a log that has ended takes no more entries.
  if (switching && (is_last || bound > until_)) halt(s, now);
  if (is_last) {
    feed.closed = true;
    // Close the logs of all instances, inactive ones too: an instance that joins later must find the end there.
    for (Receiver& receiver : receivers_) receiver.log->close(static_cast<int>(s));
  }
  return moved != 0 || whole_blocks != 0;
}

// Computes the owners of rows [begin, end). Returns the end of the evaluated rows. Rows that a full queue refused are
// evaluated only once, although `route` retries them at every turn.
std::int64_t Queues::evaluate(std::size_t s, std::int64_t begin, std::int64_t end, const InstanceMapping& now) {
  Router& router = routers_[s];
  if (begin >= router.masked_begin && begin < router.masked_end) return std::min(end, router.masked_end);
  route_rows(streams_[s], begin, end, now.owner.data(), now.reach(), router.masks.data(), kRouteRows);
  router.masked_begin = begin;
  router.masked_end = end;
  return end;
}

// Adds rows [begin, end) to the shares of the active instances.
void Queues::distribute(Router& router, std::int64_t begin, std::int64_t end, const InstanceMapping& now) noexcept {
  const auto count = static_cast<std::size_t>(end - begin);
  const std::uint64_t* const masks = router.masks.data() + (begin - router.masked_begin);
  for (Share& share : router.shares) share.count = 0;
  if (now.count() <= kFewInstances) {
    for (const std::int32_t i : now.instances) {
      Share& share = router.shares[static_cast<std::size_t>(i)];
      const std::uint64_t* const bits = masks + i / kRoutedAtOnce * kRouteRows;
      const int bit = i % kRoutedAtOnce;
      std::size_t rows = 0;
      for (std::size_t k = 0; k < count; ++k) {  // no branch: the owner of a row is unpredictable
        share.rows[rows] = begin + static_cast<std::int64_t>(k);
        rows += bits[k] >> bit & 1U;
      }
      share.count = rows;
    }
    return;
  }
  for (std::int32_t word = 0; word < routed_words(now.reach()); ++word) {
    Share* const shares = router.shares.data() + word * kRoutedAtOnce;
    const std::uint64_t* const bits = masks + word * kRouteRows;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::uint64_t rest = bits[k]; rest != 0; rest &= rest - 1) {
        Share& share = shares[std::countr_zero(rest)];
        share.rows[share.count++] = begin + static_cast<std::int64_t>(k);
      }
    }
  }
}

// Copies rows of source `s` from `begin` on into the queues. Returns the end of the copied rows, which is at most
// `end`.
std::int64_t Queues::copy_rows(std::size_t s, std::int64_t begin, std::int64_t end, const InstanceMapping& now) {
  Router& router = routers_[s];
  end = evaluate(s, begin, end, now);
  distribute(router, begin, end, now);
  // A tuple that does not fit into all of its queues waits, and so do all later tuples.
  for (std::size_t i = 0; i < router.shares.size(); ++i) {
    const std::span<const std::int64_t> share = router.shares[i].all();
    if (share.empty()) continue;
    const std::size_t fit = queues_[i][s].fit(share, receivers_[i].log->consumed(static_cast<int>(s)));
    if (fit != share.size()) end = std::min(end, share[fit]);
  }
  for (std::size_t i = 0; i < router.shares.size(); ++i) {
    const std::span<const std::int64_t> share = router.shares[i].all();
    const auto stop = std::lower_bound(share.begin(), share.end(), end);
    if (stop != share.begin()) queues_[i][s].copy({share.begin(), stop});
  }
  return end;
}

void Queues::publish(std::size_t s, std::int64_t frontier, const InstanceMapping& now) {
  routers_[s].frontier = frontier = std::max(frontier, routers_[s].frontier);
  for (const std::int32_t i : now.instances) {
    log(i).publish(static_cast<int>(s), queues_[static_cast<std::size_t>(i)][s].rows(), frontier);
  }
}

// Halts source `s` for the current switch. When the last source halts, puts the switch into the instances' logs.
void Queues::halt(std::size_t s, const InstanceMapping& now) {
  routers_[s].halted = true;
  // acq_rel: the mover of the last source notifies the instances after all sources have published.
  if (halted_.fetch_add(1, std::memory_order_acq_rel) + 1 != static_cast<std::int32_t>(feeds_.size())) return;
  for (const std::int32_t i : now.instances) log(i).control(number_);
}

bool Queues::append_switch(std::int64_t number) {
  for (Feed& feed : feeds_) feed.flag.enter_waiting();
  const bool open = std::any_of(feeds_.begin(), feeds_.end(), [](const Feed& feed) { return !feed.closed; });
  if (open) {
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const Router& router : routers_) until = std::max(until, router.last_ts);
    until_ = until;
    number_ = number;
    std::int32_t halted = 0;
    for (std::size_t s = 0; s < feeds_.size(); ++s) {
      routers_[s].halted = feeds_[s].closed;
      halted += static_cast<std::int32_t>(feeds_[s].closed);
    }
    halted_.store(halted, std::memory_order_relaxed);  // relaxed: the flags order it
  }
  for (Feed& feed : feeds_) feed.flag.leave();  // the caller notifies all threads, since some may have come meanwhile
  return open;
}

std::int64_t Queues::delivered() const noexcept {
  std::int64_t total = 0;
  for (const Feed& feed : feeds_) total += feed.row;
  return total;
}

std::int64_t Queues::change(const Change& change, std::span<OperatorInstance* const> instances) {
  const auto stride = static_cast<std::size_t>(spec_.entry_bytes);
  // All instances have processed the tuples up to `until_`. Promises may have advanced an instance further. Every
  // source has promised that time, so advance all instances to it. Otherwise a window could move to an instance that
  // has already passed the window.
  std::int64_t watermark = until_;
  for (const std::int32_t i : change.before.instances) {
    const OperatorInstance& instance = *instances[static_cast<std::size_t>(i)];
    if (instance.started()) watermark = std::max(watermark, instance.watermark());
  }
  if (watermark != std::numeric_limits<std::int64_t>::min()) {
    for (const std::int32_t i : change.all) {
      instances[static_cast<std::size_t>(i)]->settle(watermark, due_of_watermark(streams_, watermark));
    }
  }
  std::int64_t moved = 0;
  std::vector<std::byte> wire;
  for (std::size_t b = 0; b < change.after.owner.size(); ++b) {
    const std::int32_t from = change.before.owner[b], to = change.after.owner[b];
    if (from == to) continue;
    WindowState& old_state = *state(from);
    WindowTable& old_table = old_state.table(static_cast<std::int64_t>(b));
    WindowTable& new_table = state(to)->table(static_cast<std::int64_t>(b));
    const std::span<const std::byte> bytes = old_table.bytes(stride);
    if (bytes.empty()) continue;
    wire.assign(bytes.begin(), bytes.end());
    moved += static_cast<std::int64_t>(bytes.size());
    spec_.stored().each(wire, [&](StoredTuples& tuples) {
      moved += static_cast<std::int64_t>(tuples.count() * tuple_bytes(spec_.stored_fields));
      if (!tuples.detach(spec_.stored_fields)) throw std::bad_alloc();
    });
    old_state.release_stored(old_table);
    old_table.clear();
    // Stamps count the tuples of the old owner, so reset them for the new owner.
    for (std::size_t at = 0; at < wire.size(); at += stride) {
      std::memcpy(wire.data() + at, &WindowTable::kNoStamp, sizeof WindowTable::kNoStamp);
    }
    new_table.assign(wire, stride);
  }
  // A joining instance gets the promises that the sources made while it was inactive.
  for (const std::int32_t i : change.joining) {
    for (std::size_t s = 0; s < feeds_.size(); ++s) {
      const std::int64_t frontier = routers_[s].frontier;
      if (feeds_[s].closed || frontier == std::numeric_limits<std::int64_t>::min()) continue;
      log(i).publish(static_cast<int>(s), queues_[static_cast<std::size_t>(i)][s].rows(), frontier);
    }
  }
  // This needs no flags: feeding threads stand at the barrier, and `append_switch` waits for the previous switch.
  number_ = -1;
  for (Router& router : routers_) {
    router.halted = false;
    router.masked_end = router.masked_begin;  // rows have other owners now
  }
  return moved;
}

}  // namespace lab
