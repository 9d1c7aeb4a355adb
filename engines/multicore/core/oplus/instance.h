// Declares one instance of an operator O+, which processes the tuples that its stage reads from the log (Algorithms 2
// and 4). For f_MK, f_U, f_O and f_S see oplus/kernel.h.
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

inline constexpr std::int32_t kRoutedAtOnce = 64;  // instances per word

// Returns the number of words that hold one bit for each of `instances` instances.
constexpr std::int32_t routed_words(std::int32_t instances) noexcept {
  return (instances + kRoutedAtOnce - 1) / kRoutedAtOnce;
}

// Writes one bit per row and instance: whether `owner` assigns a bucket of the row's keys to the instance. Element w *
// stride + r of `masks` gets the bits of row begin + r for instances 64 * w to 64 * w + 63. Throws std::runtime_error
// when f_MK, the user's `keys`, raised.
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
  std::int32_t itemsize = 0;  // bytes of an element
  bool is_list = false;
};

struct OperatorSpec {
  std::string name;  // name in error messages
  WindowShape window;
  std::int32_t inputs = 1;
  std::int64_t entry_bytes = 0;  // size of a window table's entry, which has all windows of a key; keyed operators only
  std::int32_t buckets = 1;
  ExpireKernel expire = nullptr;  // null: windows expire without a trace (no f_O)
  std::int64_t max_outputs = 1;   // records that one call of a user function may emit
  bool emits_on_update = false;
  bool keeps_time = false;  // an output has its tuple's time, so later outputs may still have the watermark's time
  bool bag = false;  // a key that f_MK adds n times is updated n times; read by map stages, compiled into kernels
  std::vector<std::int32_t> stored_fields;  // see StoredFields; empty if windows store no tuples; keyed operators only
  // Whether f_U joins two inputs by comparing a tuple with the stored tuples of the other input. The run then counts
  // pairs, and purges stored tuples that no later tuple can match, even for keys without new tuples (Operator 10).
  bool matches_stored = false;
  // Kernels of a join that compares all pairs of rows; null for keyed operators.
  MatchKernel match_by_left = nullptr;  // probe: rows of the first input
  MatchKernel match_by_right = nullptr;
  PairKernel emit_pairs = nullptr;

  bool is_join() const noexcept { return match_by_left != nullptr; }
  // Returns whether the operator joins two inputs within a window. The run then counts pairs and tuples in windows.
  bool counts_pairs() const noexcept { return is_join() || matches_stored; }
  StoredPlaces stored() const noexcept {
    return {static_cast<std::size_t>(entry_bytes), static_cast<std::size_t>(window.places() * inputs),
            !stored_fields.empty()};
  }
  // Returns the prefix of error messages.
  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }
};

// Checks a specification and returns it. Throws std::invalid_argument if it is out of range.
OperatorSpec checked(OperatorSpec spec);

// Throws std::invalid_argument unless the active instances ascend below `max_instances`, at least one exists, and each
// bucket has an active owner.
void check_assignment(const OperatorSpec& spec, const InstanceMapping& assignment, std::int32_t max_instances);

// Rethrows the current exception with the operator's name before its message. NoMemory and std::bad_alloc become
// NoMemory, all others std::runtime_error.
[[noreturn]] void rethrow_of(const OperatorSpec& spec);

// Throws std::runtime_error if user functions emitted `refused` records for which the buffer had no room.
void check_refused(const OperatorSpec& spec, std::int64_t refused);

// Returns when `watermark` was due, in ns after the start. That is the earliest due time by which every source stream
// has promised, by an event, a heartbeat or its end, that no later tuple is below `watermark`. Returns -1 without a
// load.
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
    if (due == kNone) {  // the stream ends first, with its last event or heartbeat
      due = -1;
      if (!view.due.empty()) due = view.due.back();
      if (!view.heartbeat_due.empty()) due = std::max(due, view.heartbeat_due.back());
    }
    result = std::max(result, due);
  }
  return result;
}

// Stores the window instances of all keys, in one table per bucket.
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
  // Releases the memory of empty deques of stored tuples. Call before the table removes the keys whose states are zero.
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
        rows_read_(streams.size(), 0) {}
  virtual ~OperatorInstance() = default;
  OperatorInstance(const OperatorInstance&) = delete;
  OperatorInstance& operator=(const OperatorInstance&) = delete;

  // Processes consecutive runs of the log; `order` has the sources of interleaved rows (LogOrder). Throws
  // std::runtime_error when a kernel fails.
  virtual void process(std::span<const LogRun> runs, const LogOrder& order) = 0;

  // Advances time to `watermark` and expires the windows that end by then. `due_ns`: with a load, when the watermark
  // was due, in ns after the start.
  virtual void advance(std::int64_t watermark, std::int64_t due_ns) = 0;

  // Returns whether `advance` to this watermark would expire windows, so that its `due_ns` matters.
  virtual bool expires_by(std::int64_t) const noexcept { return false; }

  // Removes some entries that closed windows left behind. Returns false if there were none.
  virtual bool tidy() { return false; }

  // Adopts a new mapping: bucket b belongs to this instance iff owner[b] is its index. Call with all instances at a
  // barrier, after `tidy` has returned false for each.
  virtual void adopt(const std::int32_t* owner) = 0;

  // Copies the position of `other`, so that both continue with the same tuple. Call with all instances at a barrier.
  virtual void copy_position(const OperatorInstance& other) {
    rows_read_ = other.rows_read_;
    watermark_ = other.watermark_;
    started_ = other.started_;
    stamp_ = other.stamp_;
    last_due_ns_ = other.last_due_ns_;
  }

  // Like `advance`, but also works before the first tuple, and leaves nothing to `tidy`. Call at a barrier.
  virtual void settle(std::int64_t watermark, std::int64_t due_ns) { advance(watermark, due_ns); }

  // Makes the instance record the cause of each output in `causes`, because the next operator or reader accounts for
  // the outputs. Call before the run.
  void forward_causes(Causes& causes) noexcept { causes_ = &causes; }

  bool started() const noexcept { return started_; }  // whether the watermark is valid
  std::int64_t watermark() const noexcept { return watermark_; }
  std::int64_t tuples() const noexcept { return stamp_; }                                 // position in the log
  std::int64_t rows_of(std::size_t stream) const noexcept { return rows_read_[stream]; }  // rows read
  std::int64_t due_of_last() const noexcept { return last_due_ns_; }                      // -1 without a load
  std::int64_t processed(std::int32_t input) const noexcept {                             // tuples of one input
    std::int64_t total = 0;
    for (std::size_t s = 0; s < streams_.size(); ++s) total += streams_[s].input == input ? rows_read_[s] : 0;
    return total;
  }
  virtual std::int64_t in_window(std::int32_t) const noexcept { return 0; }  // tuples of one input; joins only
  std::int64_t compared() const noexcept { return compared_; }               // pairs
  std::int64_t kernel_calls() const noexcept { return kernel_calls_; }

 protected:
  // Records the latency of `added` outputs, or their cause for the next operator. `due_ns`: due time of the cause, in
  // ns after the start; below 0 without a load.
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
  std::int64_t taken_ns_ = 0;      // time when the instance took the current tuples
  std::int64_t last_due_ns_ = -1;  // due time of the last tuple
  OutputBuffer& out_;
  Recorder& recorder_;
  const std::atomic<bool>& stop_;
  Causes* causes_ = nullptr;
  std::vector<std::int64_t> rows_read_;  // by stream
  std::int64_t watermark_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t stamp_ = 0;  // tuples read
  std::int64_t compared_ = 0;
  std::int64_t kernel_calls_ = 0;
  bool started_ = false;  // whether it has seen a tuple
};

// An instance of an operator with keyed windows.
//
// When a window closes, the instance emits all its outputs at once, since outputs of later tuples must follow them
// (Lemma 2). It removes the window's entries later, bucket by bucket: before the next tuple with a key in the bucket,
// after a kernel call, or when the thread is idle. So a tuple waits only for the cleaning of the buckets of its own
// keys, and of one more bucket. Until then the bucket is hidden: kernels find its table empty and call `find`. So no
// tuple meets an entry of a closed window, and outputs and their order do not change. Joins purge stored tuples in the
// same way, but hide nothing, since no tuple matches the tuples to be purged.
class KeyedInstance final : public OperatorInstance {
 public:
  // `routed`: whether every input row has a key of this instance. `marks`: the marks of the input rows; null if rows
  // are not marked.
  KeyedInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams,
                OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop, WindowState& state, bool routed,
                const RowMarks* marks = nullptr);

  void process(std::span<const LogRun> runs, const LogOrder& order) override;
  void advance(std::int64_t watermark, std::int64_t due_ns) override;
  bool tidy() override;
  bool expires_by(std::int64_t watermark) const noexcept override {
    return started_ && live_entries_ != 0 && earliest_left_ + spec_.window.size <= watermark;
  }
  void adopt(const std::int32_t* owner) override;
  void copy_position(const OperatorInstance& other) override;
  void settle(std::int64_t watermark, std::int64_t due_ns) override;
  std::int64_t in_window(std::int32_t input) const noexcept override;

 private:
  // Maximum number of log rows per kernel call, including rows of other instances. With a million keys, the cache lines
  // of this many tuples just fit the first-level cache.
  static constexpr std::int64_t kPlaces = 256;

  // Number of entries to clean: kRemovedPerRow per row of a kernel call, after that call; kRemovedAtOnce per call of
  // `tidy`, which takes some microseconds. More entries are cleaned only to complete a bucket.
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
  std::vector<std::int32_t> own_buckets_;
  // One bit per bucket, set if the bucket is this instance's and has entries. With few keys, as in sparse input, expiry
  // skips the empty buckets.
  std::vector<std::uint64_t> filled_buckets_;
  // One bit per bucket, set if `clean` has to visit the bucket; the number of set bits; the first word with a set bit.
  std::vector<std::uint64_t> unclean_buckets_;
  std::int64_t unclean_count_ = 0;
  std::size_t unclean_word_ = 0;
  std::int64_t closed_left_ = 0;  // begin of the windows that `clean` removes
  KeyColumns keys_;
  KeyColumns row_keys_;
  // The current tuples, one per place. `rows_`: the tuple's row, as an item of the columns; `sources_`: its stream.
  std::array<std::int64_t, kPlaces> rows_;
  std::array<std::uint8_t, kPlaces> sources_;
  std::array<std::int64_t, 2 * kPlaces> keyed_places_;
  std::int64_t places_ = 0;
  std::int64_t run_places_ = 0;    // number of places that `run_places` is processing
  std::int64_t passed_over_ = 0;   // rows of other instances between the places
  bool has_foreign_rows_ = false;  // whether a place may have no key of this instance
  bool has_single_keys_ = true;    // whether every tuple evaluated by stream had one key
  // Whether kernels evaluate f_MK stream by stream. They then also evaluate rows between the places, which must be few.
  bool by_stream_ = true;
  std::vector<std::int64_t> begins_;                    // by stream: rows read before the current places
  std::vector<std::int64_t> firsts_, counts_, shifts_;  // see InstanceView
  // The row last added or passed over.
  std::uint8_t last_source_ = 0;
  std::int64_t last_row_ = 0;
  const bool is_routed_;
  const RowMarks* const marks_;
  std::vector<const void* const*> columns_;  // of each stream
  std::vector<std::uint64_t> masks_;         // mask of each stream, see OperatorStream
  bool one_layout_;                          // whether all streams have one layout
  InstanceView view_{};
  std::int64_t expire_at_ = std::numeric_limits<std::int64_t>::max();  // a tuple at or after this time expires windows
  bool lazy_;                       // windows expire without a trace, and without work
  std::int64_t earliest_left_ = 0;  // no window that began earlier is alive
  std::int64_t live_entries_ = 0;   // entries of own buckets, including unclean buckets
  // The bucket and window for which `find` had no memory; -1 if memory sufficed. `run` throws after the kernel, since
  // an exception cannot pass through compiled code.
  std::int64_t lacking_bucket_ = -1;
  std::int64_t lacking_left_ = 0;
  bool lacking_stored_ = false;     // whether `reserve` had no memory
  std::int64_t sweep_at_ = 0;       // joins: watermark of the next purge for keys without new tuples
  std::int64_t cause_due_ns_ = -1;  // due time of the current expiry
};

// An instance that joins all pairs of two inputs, each a single stream. The streams' columns are the window store, so
// tuples are not copied, and no state moves when the mapping changes. Shares of `kShareRows` consecutive rows belong to
// the buckets in turn. The owner of a bucket compares each new tuple with the earlier tuples in the bucket's shares.
class JoinInstance final : public OperatorInstance {
 public:
  static constexpr std::int64_t kShareRows = 512;
  static constexpr std::int64_t kTileRows = 1024;  // compared in one kernel call; fits the first-level cache
  static constexpr std::int64_t kProbeRows = 256;  // maximum number of new tuples compared together

  JoinInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams, OutputBuffer& out,
               Recorder& recorder, const std::atomic<bool>& stop);

  void process(std::span<const LogRun> runs, const LogOrder& order) override;
  void advance(std::int64_t watermark, std::int64_t due_ns) override;
  void adopt(const std::int32_t* owner) override { owner_ = owner; }
  void copy_position(const OperatorInstance& other) override;

  std::int64_t in_window(std::int32_t input) const noexcept override {
    const auto i = static_cast<std::size_t>(input);
    return rows_read_[i] - first_[i];
  }

 private:
  struct Rows {
    std::int64_t begin, end;
  };

  void join(const Rows (&fresh)[2]);
  void tile(std::size_t prober, Rows probes, Rows stored, bool all_in_window);
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
  std::vector<Pair> pairs_;         // of the current tuples
  std::vector<Pair> scratch_;
  std::vector<std::int64_t> times_;
};

}  // namespace lab
