// Declares one instance of an operator O+, which processes the tuples that its stage reads from the log (Algorithms 2
// and 4).
//
// An instance belongs to one thread. All instances of a virtual shared-nothing operator share one WindowState and read
// one log. Each updates the keys of the buckets that the mapping assigns to it. The mapping changes only while all of
// them stand at a barrier.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "log/tuple_buffer.h"
#include "oplus/causes.h"
#include "oplus/kernel.h"
#include "oplus/key_columns.h"
#include "oplus/stored_tuples.h"
#include "run/cacheline.h"
#include "run/key_table.h"
#include "run/recorder.h"
#include "run/sink.h"
#include "run/source.h"
#include "run/window.h"

namespace lab {

class RowMarks;

// One physical stream, as an operator reads it.
struct OperatorStream {
  const StreamView* view = nullptr;        // columns[0] is the timestamp, as kernels expect
  std::int32_t input = 0;                  // index among the I inputs
  ProcessKernel process = nullptr;         // keyed operators
  RouteKernel route = nullptr;             // keyed operators of several instances
  std::uint64_t mask = ~std::uint64_t{0};  // row r is item r & mask of every column, as in LogColumns

  std::size_t item(std::int64_t row) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(row) & mask);
  }
  std::int64_t ts(std::int64_t row) const noexcept { return view->ts[item(row)]; }
  std::int64_t due(std::int64_t row) const noexcept { return view->due.empty() ? -1 : view->due[item(row)]; }
};

// O* and f_mu* of STRETCH's reconfigure: the active instances of an operator, and the mapping of its buckets to them.
struct InstanceMapping {
  std::vector<std::int32_t> instances;  // active, ascending, at least one
  std::vector<std::int32_t> owner;      // by bucket, one of `instances`

  std::int32_t count() const noexcept { return static_cast<std::int32_t>(instances.size()); }
  std::int32_t reach() const noexcept { return instances.back() + 1; }  // all active instances are below it
  bool has(std::int32_t instance) const noexcept { return std::ranges::binary_search(instances, instance); }
};

// Returns 0, ..., `count` - 1.
inline std::vector<std::int32_t> first_instances(std::int32_t count) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

// The bits of instances 0, ..., `instances` - 1 take this number of words.
inline constexpr std::int32_t kRoutedAtOnce = 64;  // instances of one word
constexpr std::int32_t routed_words(std::int32_t instances) noexcept {
  return (instances + kRoutedAtOnce - 1) / kRoutedAtOnce;
}

// Writes, for rows [begin, end) of a stream, the bits of the instances to which `owner` assigns a bucket of the row's
// keys: those of instances 64 * w, ... to masks[w * stride], ... Throws std::runtime_error when f_MK raised.
inline void route_rows(const OperatorStream& stream, std::int64_t begin, std::int64_t end, const std::int32_t* owner,
                       std::int32_t instances, std::uint64_t* masks, std::int64_t stride) {
  for (std::int32_t first = 0; first < instances; first += kRoutedAtOnce, masks += stride) {
    if (stream.route(owner, first, stream.view->columns.data(), begin, end, masks) - 1 != end) {
      throw std::runtime_error("keys raised an exception");
    }
  }
}

// A payload column of a stream: one pointer in StreamView::columns, or three for lists (begins, ends, elements).
struct ColumnShape {
  std::int32_t itemsize = 0;  // of an element
  bool is_list = false;
};

struct OperatorSpec {
  std::string name;  // name in error messages
  WindowShape window;
  std::int32_t inputs = 1;
  std::int64_t entry_bytes = 0;  // of a window table's entry, with all windows of its key; keyed operators
  std::int32_t buckets = 1;
  ExpireKernel expire = nullptr;  // null: windows expire without a trace (no f_O)
  std::int64_t max_outputs = 1;   // of one call of a user function
  bool emits_on_update = false;
  bool keeps_time = false;  // outputs have the time of their tuple, so later ones may have the watermark's
  bool bag = false;         // update sees a key as often as f_MK adds it; read by map stages only, kernels know it
  std::vector<std::int32_t> stored_fields;  // see StoredFields; empty: windows store no tuples. Keyed operators.
  // A join of two inputs whose f_U compares a tuple with the stored ones of the other input. Its pairs are counted.
  // Stored tuples that no later tuple can match are purged also for keys without new tuples (Operator 10).
  bool matches_stored = false;
  // Joins of all pairs by columns; null for keyed operators.
  MatchKernel match_by_left = nullptr;  // probe: rows of the first input
  MatchKernel match_by_right = nullptr;
  PairKernel emit_pairs = nullptr;

  bool is_join() const noexcept { return match_by_left != nullptr; }
  // Returns whether tuples meet those of another input within a window; pairs and tuples in windows are then counted.
  bool counts_pairs() const noexcept { return is_join() || matches_stored; }
  StoredPlaces stored() const noexcept {
    return {static_cast<std::size_t>(entry_bytes), static_cast<std::size_t>(window.places() * inputs),
            !stored_fields.empty()};
  }
  // Returns the prefix of error messages.
  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }
};

// Returns the specification. Throws std::invalid_argument if it is out of range.
OperatorSpec checked(OperatorSpec spec);

// Throws std::invalid_argument unless there is an instance, all ascend and are below `most`, and every bucket is mapped
// to one of them.
void check_assignment(const OperatorSpec& spec, const InstanceMapping& assignment, std::int32_t most);

// Rethrows the current exception with the operator's name before its message. NoMemory and std::bad_alloc become
// NoMemory, all others std::runtime_error.
[[noreturn]] void rethrow_of(const OperatorSpec& spec);

// Throws std::runtime_error when the functions emitted records without room.
void check_refused(const OperatorSpec& spec, std::int64_t refused);

// With a load, returns when the fact that no later tuple is below `watermark` is due, in ns after the start. Events,
// heartbeats, or the end of each stream establish it. Returns -1 without a load. The streams are those of the sources.
inline std::int64_t due_of_watermark(std::span<const OperatorStream> streams, std::int64_t watermark) noexcept {
  std::int64_t result = -1;
  for (const OperatorStream& stream : streams) {
    const StreamView& view = *stream.view;
    if (view.arrivals != nullptr) {  // time passes by itself, until the end of the load
      const std::int64_t end =
          std::max(view.due.empty() ? 0 : view.due.back(), view.heartbeat_due.empty() ? 0 : view.heartbeat_due.back());
      result = std::max(result, watermark > end / view.tick_ns ? end : watermark * view.tick_ns);
      continue;
    }
    const auto event = std::lower_bound(view.ts.begin(), view.ts.end(), watermark) - view.ts.begin();
    const auto beat =
        std::lower_bound(view.heartbeats.begin(), view.heartbeats.end(), watermark - 1) - view.heartbeats.begin();
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::int64_t due = kNone;
    if (event < std::ssize(view.due)) due = view.due[static_cast<std::size_t>(event)];
    if (beat < std::ssize(view.heartbeat_due)) due = std::min(due, view.heartbeat_due[static_cast<std::size_t>(beat)]);
    if (due == kNone) {  // the end of the stream, with the last of both
      due = -1;
      if (!view.due.empty()) due = view.due.back();
      if (!view.heartbeat_due.empty()) due = std::max(due, view.heartbeat_due.back());
    }
    result = std::max(result, due);
  }
  return result;
}

// Stores the window instances of all keys, in one table for each bucket.
class WindowState {
 public:
  explicit WindowState(const OperatorSpec& spec)
      : stored_(spec.stored()), tables_(static_cast<std::size_t>(spec.buckets)) {}
  ~WindowState() {
    for (WindowTable& table : tables_) {
      table.show();
      release_stored(table);
    }
  }
  WindowState(const WindowState&) = delete;
  WindowState& operator=(const WindowState&) = delete;

  WindowTable& table(std::int64_t bucket) noexcept { return tables_[static_cast<std::size_t>(bucket)]; }
  WindowTable* tables() noexcept { return tables_.data(); }  // of all buckets
  // Releases the memory of stored tuples. Call before a table drops its entries.
  void release_stored(WindowTable& table) const noexcept {
    stored_.each(table.entries(stored_.stride), [](StoredTuples& tuples) { tuples.release(); });
  }
  // Likewise for deques without tuples. Call before the table removes the keys whose states are zero.
  void release_empty(WindowTable& table) const noexcept {
    stored_.each(table.entries(stored_.stride), [](StoredTuples& tuples) {
      if (tuples.first == tuples.last) tuples.release();
    });
  }

 private:
  StoredPlaces stored_;
  std::vector<WindowTable> tables_;
};

class alignas(kCacheLine) OperatorInstance {
 public:
  // `stop`: see run/errors.h.
  OperatorInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams,
                   OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop)
      : index_(index),
        spec_(spec),
        streams_(streams),
        out_(out),
        recorder_(recorder),
        stop_(stop),
        seen_(streams.size(), 0) {}
  virtual ~OperatorInstance() = default;
  OperatorInstance(const OperatorInstance&) = delete;
  OperatorInstance& operator=(const OperatorInstance&) = delete;

  // Processes consecutive runs of the log, of rows or interleaved ones of `order`. Throws std::runtime_error when a
  // kernel fails.
  virtual void process(std::span<const LogRun> runs, const LogOrder& order) = 0;

  // Advances time to `watermark`; windows that end by then expire. With a load, that time was due to be known `due_ns`
  // after the start.
  virtual void advance(std::int64_t watermark, std::int64_t due_ns) = 0;

  // Returns whether `advance` would expire windows, so that its `due_ns` matters.
  virtual bool expires_by(std::int64_t) const noexcept { return false; }

  // Removes some entries that closed windows left behind. Returns whether there were any.
  virtual bool tidy() { return false; }

  // Adopts a new mapping: bucket b belongs to this instance iff owner[b] is its index. With all instances at a barrier,
  // after `tidy` by each of them has found nothing.
  virtual void adopt(const std::int32_t* owner) = 0;

  // Copies the position of `other`: the next tuple of both is the same. With all instances at a barrier.
  virtual void stand_like(const OperatorInstance& other) {
    seen_ = other.seen_;
    watermark_ = other.watermark_;
    started_ = other.started_;
    stamp_ = other.stamp_;
    last_due_ns_ = other.last_due_ns_;
  }

  // As `advance`, also for an instance that has not seen a tuple; leaves nothing to `tidy`. At a barrier.
  virtual void settle(std::int64_t watermark, std::int64_t due_ns) { advance(watermark, due_ns); }

  // The next operator or reader accounts for the outputs, so this instance records the cause of each. Before the run.
  void forward_causes(Causes& causes) noexcept { causes_ = &causes; }

  bool started() const noexcept { return started_; }  // whether the watermark is valid
  std::int64_t watermark() const noexcept { return watermark_; }
  std::int64_t tuples() const noexcept { return stamp_; }                            // position in the log
  std::int64_t rows_of(std::size_t stream) const noexcept { return seen_[stream]; }  // rows read
  std::int64_t due_of_last() const noexcept { return last_due_ns_; }  // of the last tuple; -1 without a load
  std::int64_t processed(std::int32_t input) const noexcept {         // tuples of one input
    std::int64_t total = 0;
    for (std::size_t s = 0; s < streams_.size(); ++s) total += streams_[s].input == input ? seen_[s] : 0;
    return total;
  }
  virtual std::int64_t in_window(std::int32_t) const noexcept { return 0; }  // tuples of one input; joins only
  std::int64_t compared() const noexcept { return compared_; }               // pairs
  std::int64_t kernel_calls() const noexcept { return kernel_calls_; }

 protected:
  // Accounts for `added` outputs whose cause was due `due_ns` after the start; below 0 without a load.
  void account(std::int64_t added, std::int64_t due_ns) {
    if (added == 0) return;
    if (causes_ != nullptr) {
      causes_->add(added, due_ns, taken_ns_);
      return;
    }
    if (due_ns < 0) return;
    recorder_.output(recorder_.start() + due_ns, added);
    recorder_.served(recorder_.start() + due_ns, taken_ns_, added);
  }

  const std::int32_t index_;
  const OperatorSpec& spec_;
  const std::span<const OperatorStream> streams_;
  std::int64_t taken_ns_ = 0;      // time at which the tuples at hand were taken
  std::int64_t last_due_ns_ = -1;  // of the tuple processed last
  OutputBuffer& out_;
  Recorder& recorder_;
  const std::atomic<bool>& stop_;
  Causes* causes_ = nullptr;
  std::vector<std::int64_t> seen_;  // rows read of each stream
  std::int64_t watermark_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t stamp_ = 0;  // tuples read
  std::int64_t compared_ = 0;
  std::int64_t kernel_calls_ = 0;
  bool started_ = false;  // has seen a tuple
};

// An instance of an operator with keyed windows.
//
// When a window closes, all its outputs come first. Its entries are removed later, bucket by bucket: a bucket before the
// next tuple with a key in it, further ones after each kernel call and by an idle thread. So a tuple waits for the
// removal of the buckets of its own keys, and of one more. Until then a bucket is hidden: kernels find its table empty,
// and call `find`. So no tuple meets an entry that is to be removed, and outputs and their order are the same.
// Outputs do not wait like that, since those of later tuples must follow them (Lemma 2). Joins purge stored tuples in
// the same way, without hiding them: those to be purged match no tuple.
class KeyedInstance final : public OperatorInstance {
 public:
  // `routed`: whether each of its input rows has a key of this instance. `marks`: the marks of these rows; null: no
  // marks.
  KeyedInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams,
                OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop, WindowState& state, bool routed,
                const RowMarks* marks = nullptr);

  void process(std::span<const LogRun> runs, const LogOrder& order) override;
  void advance(std::int64_t watermark, std::int64_t due_ns) override;
  bool tidy() override;
  bool expires_by(std::int64_t watermark) const noexcept override {
    return started_ && live_ != 0 && left_ + spec_.window.size <= watermark;
  }
  void adopt(const std::int32_t* owner) override;
  void stand_like(const OperatorInstance& other) override;
  void settle(std::int64_t watermark, std::int64_t due_ns) override;
  std::int64_t in_window(std::int32_t input) const noexcept override;

 private:
  // Most rows of the log in one kernel call, of this instance or of others. With a million keys, the cache lines of so
  // many tuples just fit the first-level cache.
  static constexpr std::int64_t kPlaces = 256;

  // The entries of which closed windows are removed after a kernel call, for each of its rows, and by `tidy`. 1,024 take
  // some microseconds. More are removed only to complete a bucket.
  static constexpr std::int64_t kRemovedPerRow = 4;
  static constexpr std::int64_t kRemovedAtOnce = 1'024;

  static void* find(void* self, std::int64_t key, std::int64_t bucket, std::int64_t left, std::int64_t stamp);
  static void* reserve(void* self, void* windows);
  void add_places(const std::uint8_t* sources, std::int64_t count, bool run) noexcept;
  bool add_own_places(const std::uint8_t* sources, std::int64_t count) noexcept;
  void run_places();
  void run(std::int64_t begin, std::int64_t end);
  std::int64_t span_rows(std::int64_t begin, std::int64_t end) noexcept;
  std::int64_t ts_at(std::int64_t place) const noexcept {
    const auto i = static_cast<std::size_t>(place);
    return streams_[sources_[i]].view->ts[static_cast<std::size_t>(rows_[i])];
  }
  std::int64_t due_at(std::int64_t place) const noexcept {
    const auto i = static_cast<std::size_t>(place);
    return streams_[sources_[i]].due(rows_[i]);
  }
  void make_windows(std::byte* entry, std::int64_t key, std::int64_t left) const noexcept;
  void expire(std::int64_t left);
  void emit_window(WindowTable& table, std::int64_t left);
  void forget_window(WindowTable& table, std::int64_t left);
  void purge_stored(WindowTable& table);
  void leave_to_tidy(std::int64_t left);
  std::int64_t clean(std::int64_t bucket);
  void clean_some(std::int64_t entries);
  void clean_all() { clean_some(std::numeric_limits<std::int64_t>::max()); }
  void release_window(WindowTable& table, std::int64_t left) const noexcept;
  std::size_t stride() const noexcept { return static_cast<std::size_t>(spec_.entry_bytes); }
  // Returns the offset of an entry's windows that begin at `left`, less the entry's head.
  std::size_t window_offset(std::int64_t left) const noexcept {
    const std::size_t all = stride() - WindowTable::kKeyOffset;
    return all / static_cast<std::size_t>(spec_.window.places()) * static_cast<std::size_t>(spec_.window.place(left));
  }
  void account_each(std::int64_t begin, std::int64_t end, const Emit& emit, std::int64_t added);
  void count_live();
  [[noreturn]] void fail_for_memory();
  [[noreturn]] void fail_for_room(std::int64_t outputs) const;
  void set_expiry() noexcept;

  WindowState& state_;
  std::vector<std::int32_t> own_;  // buckets
  // A bit for each bucket whose own table has entries. With few keys, as in sparse input, expiry then skips the empty
  // buckets.
  std::vector<std::uint64_t> filled_;
  // The buckets that `clean` has to visit, likewise, their number, and the first word with one of them.
  std::vector<std::uint64_t> unclean_;
  std::int64_t unclean_count_ = 0;
  std::size_t unclean_word_ = 0;
  std::int64_t closed_left_ = 0;  // begin of the windows that `clean` removes
  KeyColumns keys_;
  KeyColumns row_keys_;
  // The tuples at hand: for each place its row, as item of the columns, and its stream.
  std::array<std::int64_t, kPlaces> rows_;
  std::array<std::uint8_t, kPlaces> sources_;
  std::array<std::int64_t, 2 * kPlaces> own_keys_;
  std::int64_t places_ = 0;
  std::int64_t run_places_ = 0;   // places that `run_places` runs
  std::int64_t passed_over_ = 0;  // rows of other instances between them
  bool foreign_ = false;          // whether a place may have no key of this instance
  bool lone_ = true;              // whether each tuple seen by stream had one key
  // Whether kernels evaluate f_MK by stream: then also of rows between the places, so these must be few.
  bool by_stream_ = true;
  std::vector<std::int64_t> begins_;                    // the rows read of each stream before these places
  std::vector<std::int64_t> firsts_, counts_, shifts_;  // see InstanceView
  // The row last added or passed over.
  std::uint8_t last_source_ = 0;
  std::int64_t last_row_ = 0;
  const bool routed_;
  const RowMarks* const marks_;
  std::vector<const void* const*> columns_;  // of each stream
  std::vector<std::uint64_t> masks_;         // likewise, as in OperatorStream
  bool one_layout_;                          // whether all streams have one layout
  InstanceView view_{};
  std::int64_t expire_at_ = std::numeric_limits<std::int64_t>::max();  // a tuple from then on lets windows expire
  bool lazy_;              // windows expire without a trace, and without work
  std::int64_t left_ = 0;  // no window that began before it is alive
  std::int64_t live_ = 0;  // entries of own buckets, also of unclean ones
  // The bucket and window of the table for which `find` had no memory; -1: always enough so far. An exception cannot
  // pass through compiled code.
  std::int64_t lacking_ = -1;
  std::int64_t lacking_left_ = 0;
  bool lacking_stored_ = false;     // likewise for stored tuples
  std::int64_t sweep_at_ = 0;       // watermark of the next purge of stored tuples that no tuple has met; joins
  std::int64_t cause_due_ns_ = -1;  // due time of the current expiry
};

// An instance of a join of all pairs of two inputs, each one stream. The streams' columns are the window store, so
// tuples are not copied, and no state moves when the mapping changes. Shares of `kShareRows` consecutive rows are
// assigned to the buckets in turn. The instance that owns the share of a pair's earlier tuple compares the pair.
class JoinInstance final : public OperatorInstance {
 public:
  static constexpr std::int64_t kShareRows = 512;
  static constexpr std::int64_t kTileRows = 1024;  // compared in one kernel call; fits the first-level cache
  static constexpr std::int64_t kProbeRows = 256;  // most new tuples compared together

  JoinInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams, OutputBuffer& out,
               Recorder& recorder, const std::atomic<bool>& stop);

  void process(std::span<const LogRun> runs, const LogOrder& order) override;
  void advance(std::int64_t watermark, std::int64_t due_ns) override;
  void adopt(const std::int32_t* owner) override { owner_ = owner; }
  void stand_like(const OperatorInstance& other) override;

  std::int64_t in_window(std::int32_t input) const noexcept override {
    const auto i = static_cast<std::size_t>(input);
    return seen_[i] - first_[i];
  }

 private:
  struct Rows {
    std::int64_t begin, end;
  };

  void join(const Rows (&fresh)[2]);
  void tile(std::size_t prober, Rows probes, Rows stored, bool whole);
  void emit();
  void account_each(std::int64_t begin, std::int64_t end, const Emit& emit, std::int64_t added);
  bool later_is_left(const Pair& pair) const noexcept { return before(1, pair.right, 0, pair.left); }
  std::int64_t ts(std::size_t input, std::int64_t row) const noexcept {
    return streams_[input].view->ts[static_cast<std::size_t>(row)];
  }
  bool before(std::size_t input, std::int64_t row, std::size_t than_input, std::int64_t than_row) const noexcept {
    const std::int64_t a = ts(input, row), b = ts(than_input, than_row);
    return a < b || (a == b && input < than_input);
  }

  const std::int32_t* owner_ = nullptr;
  std::int64_t first_[2] = {0, 0};  // first row of each input that a later tuple can match
  std::vector<Pair> pairs_;         // of the tuples at hand
  std::vector<Pair> scratch_;
  std::vector<std::int64_t> times_;
};

}  // namespace lab
