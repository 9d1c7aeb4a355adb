// Implements how a KeyedInstance processes tuples; see oplus/instance.h, and oplus/window_closing.cc for expiry.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "oplus/instance.h"
#include "oplus/marks.h"
#include "run/errors.h"

namespace lab {
namespace {

constexpr std::int64_t kFirstKeys = 256;  // initial room for keys, at least kPlaces
// Once there is room for this many keys, it grows only for one tuple with more keys (up to KeyColumns::kMaxKeys).
constexpr std::int64_t kKeysAtOnce = std::int64_t{1} << 16;
constexpr std::int64_t kCachedBytes = 1 << 19;  // entries of more bytes exceed the second-level cache
constexpr std::int64_t kPrefetchedWindows = 8;  // with more windows, their lines would evict each other
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

KeyedInstance::KeyedInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams,
                             OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop, WindowState& state,
                             bool routed, const RowMarks* marks)
    : OperatorInstance(index, spec, streams, out, recorder, stop),
      state_(state),
      keys_(kFirstKeys, index),
      row_keys_(kPlaces, index),
      begins_(streams.size()),
      firsts_(streams.size()),
      counts_(streams.size()),
      shifts_(streams.size()),
      is_routed_(routed),
      marks_(marks),
      one_layout_(std::all_of(streams.begin(), streams.end(),
                              [&](const OperatorStream& stream) { return stream.process == streams[0].process; })),
      lazy_(spec.expire == nullptr) {
  static_assert(kMaxLogSources <= 256, "a source is a byte");
  static_assert(kFirstKeys >= kPlaces);
  for (const OperatorStream& stream : streams) {
    columns_.push_back(stream.view->columns.data());
    masks_.push_back(stream.mask);
  }
  view_.keys = &keys_.set;
  view_.instance = this;
  view_.find = &KeyedInstance::find;
  view_.reserve = &KeyedInstance::reserve;
  view_.streams = columns_.data();
  view_.rows = rows_.data();
  view_.sources = sources_.data();
  view_.keyed_places = keyed_places_.data();
  view_.tables = state.tables();
  view_.row_keys = &row_keys_.set;
  view_.streams_end = std::ssize(streams);
  view_.firsts = firsts_.data();
  view_.counts = counts_.data();
  view_.shifts = shifts_.data();
}

void KeyedInstance::adopt(const std::int32_t* owner) {
  keys_.set.owner = owner;
  own_buckets_.clear();
  for (std::int32_t b = 0; b < spec_.buckets; ++b) {
    if (owner[b] == index_) own_buckets_.push_back(b);
  }
  count_live();
}

void KeyedInstance::copy_position(const OperatorInstance& other) {
  OperatorInstance::copy_position(other);
  const auto& like = static_cast<const KeyedInstance&>(other);
  earliest_left_ = like.earliest_left_;
  sweep_at_ = like.sweep_at_;
  set_expiry();
}

void KeyedInstance::settle(std::int64_t watermark, std::int64_t due_ns) {
  advance(watermark, due_ns);
  const std::int64_t earliest = spec_.window.earliest(watermark);
  earliest_left_ = started_ ? std::max(earliest_left_, earliest) : earliest;
  if (!started_) sweep_at_ = watermark + spec_.window.size;
  watermark_ = started_ ? std::max(watermark_, watermark) : watermark;
  started_ = true;
  set_expiry();
  clean_all();
}

// Counts the entries of the own buckets anew, and marks no bucket as unclean.
void KeyedInstance::count_live() {
  live_entries_ = 0;
  filled_buckets_.assign((static_cast<std::size_t>(spec_.buckets) + 63) / 64, 0);
  unclean_buckets_.assign(filled_buckets_.size(), 0);
  for (const std::int32_t b : own_buckets_) {
    const std::size_t count = state_.table(b).count();
    if (count == 0) continue;
    live_entries_ += static_cast<std::int64_t>(count);
    filled_buckets_[static_cast<std::size_t>(b) / 64] |= std::uint64_t{1} << (b % 64);
  }
}

// Initialises the windows of a new entry. If the entry has places for several windows, all places are free.
void KeyedInstance::make_windows(std::byte* entry, std::int64_t key, std::int64_t left) const noexcept {
  const std::int64_t places = spec_.window.places() * spec_.inputs;
  const std::size_t width = (stride() - WindowTable::kKeyOffset) / static_cast<std::size_t>(places);
  const std::int64_t head[2] = {key, spec_.window.places() == 1 ? left : WindowTable::kNoWindow};
  for (std::int64_t i = 0; i < places; ++i) {
    std::memcpy(entry + WindowTable::kKeyOffset + static_cast<std::size_t>(i) * width, head, sizeof head);
  }
}

void KeyedInstance::set_expiry() noexcept {
  // A single window that leaves no trace need not expire: it moves with the next tuple of its key. Several windows of a
  // key must leave their places before other windows take them.
  const bool never = !started_ || (lazy_ && spec_.window.single);
  expire_at_ = !never ? earliest_left_ + spec_.window.size : started_ && spec_.matches_stored ? sweep_at_ : kNever;
  view_.left = earliest_left_;
  view_.slot = spec_.window.place(earliest_left_);
}

void* KeyedInstance::find(void* self, std::int64_t key, std::int64_t bucket, std::int64_t left, std::int64_t stamp) {
  auto& me = *static_cast<KeyedInstance*>(self);
  try {
    if (me.state_.table(bucket).hidden()) me.clean(bucket);
    const WindowTable::Found found = me.state_.table(bucket).find(key, me.stride());
    std::int64_t last;
    std::memcpy(&last, found.entry, sizeof last);
    if (last == stamp) return nullptr;
    std::memcpy(found.entry, &stamp, sizeof stamp);
    if (found.created) {
      ++me.live_entries_;
      me.filled_buckets_[static_cast<std::size_t>(bucket) / 64] |= std::uint64_t{1} << (bucket % 64);
    }
    if (found.created || (me.lazy_ && me.spec_.window.single)) me.make_windows(found.entry, key, left);
    return found.entry + WindowTable::kKeyOffset;
  } catch (const std::bad_alloc&) {
    me.lacking_bucket_ = bucket;
    me.lacking_left_ = left;
    return nullptr;  // the kernel skips the key; `run` throws after it
  }
}

void* KeyedInstance::reserve(void* self, void* windows) {
  auto& me = *static_cast<KeyedInstance*>(self);
  me.spec_.stored().each_of(
      static_cast<std::byte*>(windows), static_cast<std::size_t>(me.spec_.inputs),
      [&](StoredTuples& tuples) { me.lacking_stored_ |= !tuples.reserve(me.spec_.stored_fields); });
  return me.lacking_stored_ ? nullptr : windows;  // `run` throws after the kernel
}

std::int64_t KeyedInstance::in_window(std::int32_t input) const noexcept {
  if (!spec_.matches_stored || !started_) return 0;
  std::int64_t total = 0;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].input != input) continue;
    if (streams_[s].mask != ~std::uint64_t{0}) return 0;  // a queue stores only the latest rows
    const std::int64_t* const ts = streams_[s].view->ts.data();
    total += ts + rows_read_[s] - std::lower_bound(ts, ts + rows_read_[s], watermark_ - spec_.window.size);
  }
  return total;
}

void KeyedInstance::fail_for_memory() {
  if (lacking_stored_) {
    throw NoMemory("out of memory: the tuples that instance %d keeps cannot grow; give a smaller window or more memory",
                   index_);
  }
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::size_t allocated = 0;
  for (const std::int32_t b : own_buckets_) allocated += state_.table(b).allocated(stride());
  const WindowTable& table = state_.table(lacking_bucket_);
  throw NoMemory(
      "out of memory: the window table of bucket %" PRId64 ", window from %" PRId64
      ", with %zu keys cannot grow to %zu bytes; the window tables of instance %d hold %zu MiB; give fewer keys at a "
      "time, a smaller window or state, or more memory",
      lacking_bucket_, lacking_left_, table.count(), table.growth_bytes(stride()), index_, allocated / kMiB);
}

void KeyedInstance::fail_for_room(std::int64_t outputs) const {
  throw std::runtime_error("one tuple may emit " + std::to_string(outputs) + " records, a chunk holds " +
                           std::to_string(out_.chunk_rows()));
}

void KeyedInstance::process(std::span<const LogRun> runs, const LogOrder& order) {
  taken_ns_ = recorder_.now();
  begins_ = rows_read_;
  std::array<std::uint8_t, kPlaces> same;
  for (const LogRun& part : runs) {
    if (part.source != kInterleavedEntry) {
      std::int64_t& seen = rows_read_[static_cast<std::size_t>(part.source)];
      if (seen != part.begin) {  // the log's slot has a new owner
        run_places();
        seen = begins_[static_cast<std::size_t>(part.source)] = part.begin;
      }
      std::memset(same.data(), part.source, static_cast<std::size_t>(std::min(part.end - part.begin, kPlaces)));
    }
    const bool marked = marks_ != nullptr && marks_->hold(rows_read_);
    std::int64_t count = 0;
    for (std::int64_t at = part.begin; at < part.end; at += count) {
      if (places_ + passed_over_ == kPlaces) run_places();
      count = std::min(part.end - at, kPlaces - places_ - passed_over_);
      const bool run = part.source != kInterleavedEntry;
      const std::uint8_t* const sources = run ? same.data() : order.of(at);
      if (!marked || !add_own_places(sources, count)) add_places(sources, count, run);
    }
  }
  run_places();
}

// Adds the next `count` rows as places: row i is the next row of sources[i]. `run`: whether all have one source.
void KeyedInstance::add_places(const std::uint8_t* sources, std::int64_t count, bool run) noexcept {
  std::memcpy(sources_.data() + places_, sources, static_cast<std::size_t>(count));
  std::int64_t* const rows = rows_.data() + places_;
  std::int64_t* const seen = rows_read_.data();
  const std::uint64_t* const masks = masks_.data();
  const auto item = [masks](std::int64_t row, std::size_t s) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(row) & masks[s]);
  };
  if (run) {
    const std::size_t s = sources[0];
    const std::int64_t first = seen[s];
    for (std::int64_t i = 0; i < count; ++i) rows[i] = item(first + i, s);
    seen[s] += count;
  } else if (streams_.size() == 2) {
    // The rows of the second stream are counted in a register; counters in memory take three times as long.
    const std::int64_t first = seen[0], difference = seen[1] - first;
    std::int64_t of_second = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t s = sources[i];
      const std::int64_t second = -static_cast<std::int64_t>(s);
      rows[i] = item(first + ((i - of_second) & ~second) + ((difference + of_second) & second), s);
      of_second -= second;
    }
    seen[0] += count - of_second;
    seen[1] += of_second;
  } else {
    for (std::int64_t i = 0; i < count; ++i) rows[i] = item(seen[sources[i]]++, sources[i]);
  }
  last_source_ = sources[count - 1];
  last_row_ = rows[count - 1];
  places_ += count;
  has_foreign_rows_ |= !is_routed_ && own_buckets_.size() != static_cast<std::size_t>(spec_.buckets);
}

// Of the next `count` rows, adds those that may concern this instance according to their marks (RowMarks). Returns
// false, and adds none, before the first tuple, and if windows expire within these rows, even by rows of other
// instances.
bool KeyedInstance::add_own_places(const std::uint8_t* sources, std::int64_t count) noexcept {
  if (!started_) return false;
  const RowMarks::Reader marks = marks_->reader(index_);
  std::int64_t* const seen = rows_read_.data();
  std::int64_t places = places_;
  std::uint8_t union_of_marks = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t s = sources[i];
    const std::int64_t row = seen[s]++;
    const auto at = static_cast<std::size_t>(places);
    rows_[at] = row;  // the row is its item, too: marked streams are not rings
    sources_[at] = sources[i];
    const std::uint8_t mark = marks.of(s, row);
    union_of_marks |= mark;
    places += marks.concerns(mark);  // no branch: it is unpredictable
  }
  const std::size_t last = sources[count - 1];
  const std::int64_t row = seen[last] - 1;
  if (streams_[last].ts(row) >= expire_at_) {
    for (std::int64_t i = 0; i < count; ++i) --seen[sources[i]];
    return false;
  }
  last_source_ = static_cast<std::uint8_t>(last);
  last_row_ = row;
  passed_over_ += count - (places - places_);
  places_ = places;
  has_foreign_rows_ |= !marks.certain(union_of_marks);
  return true;
}

// Processes all places, stretch by stretch. The streams of a stretch have one layout, and so one kernel.
void KeyedInstance::run_places() {
  const std::int64_t count = std::exchange(places_, 0);
  const std::int64_t passed_over = std::exchange(passed_over_, 0);
  if (count == 0 && passed_over == 0) return;
  throw_if_stopped(stop_);
  run_places_ = count;
  view_.routed = std::exchange(has_foreign_rows_, false) ? 0 : 1;
  by_stream_ = 2 * passed_over <= 3 * count;  // few enough with two instances, not with more
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = count;
    if (!one_layout_) {
      const auto kernel_of = [&](std::int64_t i) { return streams_[sources_[static_cast<std::size_t>(i)]].process; };
      for (end = begin + 1; end < count && kernel_of(end) == kernel_of(begin);) ++end;
    }
    run(begin, end);
    begin = end;
  }
  begins_ = rows_read_;
  stamp_ += passed_over;
  const OperatorStream& last = streams_[last_source_];
  watermark_ = last.view->ts[static_cast<std::size_t>(last_row_)];
  last_due_ns_ = last.due(last_row_);
  if (unclean_count_ != 0) clean_some(kRemovedPerRow * (count + passed_over));
}

// Runs the kernel on places [begin, end), whose streams have one layout. Expires windows before the tuples that end
// them. If keys or outputs find no room, makes room and continues.
void KeyedInstance::run(std::int64_t begin, std::int64_t end) {
  if (!started_) {
    started_ = true;
    earliest_left_ = spec_.window.earliest(ts_at(begin));
    sweep_at_ = ts_at(begin) + spec_.window.size;
    set_expiry();
  }
  const ProcessKernel kernel = streams_[sources_[static_cast<std::size_t>(begin)]].process;
  std::int64_t room = spec_.max_outputs;
  while (begin < end) {
    if (ts_at(begin) >= expire_at_) advance(ts_at(begin), due_at(begin));
    std::int64_t until = end;
    if (ts_at(end - 1) >= expire_at_) {
      until = *std::ranges::partition_point(std::views::iota(begin, end),
                                            [&](std::int64_t place) { return ts_at(place) < expire_at_; });
    }
    const bool by_stream = has_single_keys_ && by_stream_;
    if (by_stream) until = span_rows(begin, until);
    view_.single_keys = by_stream ? 1 : 0;
    view_.stamp = stamp_;
    view_.prefetch =
        live_entries_ * spec_.entry_bytes > kCachedBytes && spec_.window.places() <= kPrefetchedWindows ? 1 : 0;
    view_.compared = view_.output_demand = 0;
    keyed_places_[0] = -1;
    keys_.set.refused = 0;
    Emit* emit = out_.open(std::min(room, out_.chunk_rows()));
    const std::int64_t next = kernel(&view_, begin, until, emit) - 1;
    ++kernel_calls_;
    live_entries_ += std::exchange(view_.new_entries, 0);
    has_single_keys_ = has_single_keys_ && (!by_stream || view_.single_keys != 0);
    if (lacking_bucket_ >= 0 || lacking_stored_) fail_for_memory();
    compared_ += view_.compared;
    if (next < begin) throw std::runtime_error("keys or update raised an exception");
    account_each(begin, next, *emit, out_.close(index_, index_, 0, false));
    stamp_ += next - begin;
    const bool stopped = next == begin;
    // The set has recorded all keys of this tuple; it may have refused keys of a later tuple.
    const bool no_room = stopped && keyed_places_[0] == begin && view_.output_demand == 0;
    if (view_.output_demand != 0) {  // some of the tuple's keys are done: their entries have its stamp
      if (view_.output_demand > out_.chunk_rows()) fail_for_room(view_.output_demand);
      room = std::max(room, view_.output_demand);
    }
    const KeySet& keys = keys_.set;
    if (view_.output_demand == 0 && keys.refused != 0 && ((stopped && !no_room) || keys.capacity < kKeysAtOnce)) {
      keys_.grow(2 * (keys.count + keys.refused));
    }
    if (no_room) {
      const std::int64_t windows = spec_.window.single ? 1 : spec_.window.alive();
      const std::int64_t outputs = keyed_places_[1] * windows * spec_.max_outputs;
      if (outputs <= room || outputs > out_.chunk_rows()) fail_for_room(outputs);
      room = outputs;
    }
    begin = next;
  }
}

// Sets `firsts_` and `counts_`, the rows of each stream that places [begin, end) span. Returns a lower end if a ring
// wraps among these rows, so that the rows of each stream are adjacent.
std::int64_t KeyedInstance::span_rows(std::int64_t begin, std::int64_t end) noexcept {
  bool spans_all = one_layout_ && begin == 0 && end == run_places_;
  for (std::size_t s = 0; spans_all && s < streams_.size(); ++s) {
    counts_[s] = rows_read_[s] - begins_[s];
    firsts_[s] = static_cast<std::int64_t>(static_cast<std::uint64_t>(begins_[s]) & masks_[s]);
    spans_all = static_cast<std::uint64_t>(firsts_[s] + counts_[s] - 1) <= masks_[s] || counts_[s] == 0;
  }
  if (spans_all) return end;
  std::ranges::fill(counts_, 0);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::size_t s = sources_[static_cast<std::size_t>(i)];
    const std::int64_t row = rows_[static_cast<std::size_t>(i)];
    if (counts_[s] == 0) firsts_[s] = row;
    if (row < firsts_[s]) return i;
    counts_[s] = row - firsts_[s] + 1;
  }
  return end;
}

// Records the latency of the last `added` outputs, which places [begin, end) caused.
void KeyedInstance::account_each(std::int64_t begin, std::int64_t end, const Emit& emit, std::int64_t added) {
  if (added == 0 || !recorder_.on()) return;
  recorder_.tick();
  if (streams_[sources_[static_cast<std::size_t>(begin)]].view->due.empty()) return;
  // An output carries its tuple's time or the end of its window, so a merge by time finds the tuple. The first tuple of
  // a window counts as the cause of the window's outputs, which overestimates latency.
  const auto* ts = static_cast<const std::int64_t*>(emit.columns[0]) + (emit.count - added);
  const WindowShape& window = spec_.window;
  std::int64_t place = begin;
  std::int64_t done = 0;
  while (done < added) {
    const std::int64_t left = ts[done] - (spec_.keeps_time ? 0 : window.size);
    while (place + 1 < end && (spec_.keeps_time ? ts_at(place) : window.earliest(ts_at(place))) < left) ++place;
    std::int64_t same = done + 1;
    while (same < added && ts[same] == ts[done]) ++same;
    account(same - done, due_at(place));
    done = same;
  }
}

}  // namespace lab
