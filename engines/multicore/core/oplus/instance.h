// One instance of an operator O+: what it does with the tuples that it reads from the log (Algorithms 2 and 4).
//
// An instance belongs to one thread. All instances of a virtual shared-nothing operator share one State and read
// one log; each updates the keys of the buckets that the mapping gives it. Which those are changes only while all
// of them stand at a barrier.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
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

// One physical stream as an operator reads it.
struct OperatorStream {
  const StreamView* view = nullptr;        // columns[0] is the timestamp, as kernels expect
  std::int32_t input = 0;                  // which of the I inputs it belongs to
  ProcessKernel process = nullptr;         // keyed operators
  RouteKernel route = nullptr;             // keyed operators of several instances
  std::uint64_t mask = ~std::uint64_t{0};  // row r is item r & mask of every column, as in LogColumns

  std::size_t item(std::int64_t row) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(row) & mask);
  }
  std::int64_t ts(std::int64_t row) const noexcept { return view->ts[item(row)]; }
  std::int64_t due(std::int64_t row) const noexcept { return view->due.empty() ? -1 : view->due[item(row)]; }
};

// A payload column of a stream: one pointer in StreamView::columns, or three for lists (begins, ends, elements).
struct ColumnShape {
  std::int32_t itemsize = 0;  // of an element
  bool is_list = false;
};

struct OperatorSpec {
  std::string name;  // what errors call it
  WindowShape window;
  std::int32_t inputs = 1;
  std::int64_t entry_bytes = 0;  // of a window table's entry, with all windows of its key; keyed operators
  std::int32_t buckets = 1;
  ExpireKernel expire = nullptr;  // null: windows expire without a trace
  std::int64_t max_outputs = 1;   // of one call of a user function
  bool emits_on_update = false;
  bool bag = false;  // update sees a key as often as f_MK adds it; with a map stage: kernels know by themselves
  // Of a tuple as windows keep it (oplus/stored_tuples.h); 0: they keep none. Keyed operators.
  std::int64_t stored_bytes = 0;
  // A join of two inputs whose f_U compares a tuple with the stored ones of the other input: its pairs are counted, and
  // what has left the window of all tuples to come is purged also where no tuple comes (Operator 10).
  bool matches_stored = false;
  // Joins of all pairs by columns; null for keyed operators.
  MatchKernel match_by_left = nullptr;  // probe: rows of the first input
  MatchKernel match_by_right = nullptr;
  PairKernel emit_pairs = nullptr;

  bool is_join() const noexcept { return match_by_left != nullptr; }
  // Whether tuples meet those of another input within a window: pairs and the tuples of windows are counted.
  bool counts_pairs() const noexcept { return is_join() || matches_stored; }
  StoredPlaces stored() const noexcept {
    return {static_cast<std::size_t>(entry_bytes), static_cast<std::size_t>(window.places() * inputs),
            static_cast<std::size_t>(stored_bytes)};
  }
  // How errors begin.
  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }
};

// Returns the specification. Throws std::invalid_argument on one that is out of range.
OperatorSpec checked(OperatorSpec spec);

// Throws std::invalid_argument unless every bucket is mapped to one of so many instances.
void check_owners(const OperatorSpec& spec, std::span<const std::int32_t> owner, std::int32_t instances);

// Throws the exception that is being handled anew, with the operator's name before what it says. What is NoMemory or
// std::bad_alloc stays NoMemory, the rest is a std::runtime_error.
[[noreturn]] void rethrow_of(const OperatorSpec& spec);

// Throws std::runtime_error when the functions emitted records for which there was no room.
void check_refused(const OperatorSpec& spec, std::int64_t refused);

// With a load: when it is due, in ns after the start, that no tuple below `watermark` is to come, by events,
// heartbeats, or the end of each stream; -1 without one. The streams are those of the sources.
inline std::int64_t due_of_watermark(std::span<const OperatorStream> streams, std::int64_t watermark) noexcept {
  std::int64_t result = -1;
  for (const OperatorStream& stream : streams) {
    const StreamView& view = *stream.view;
    const auto event = std::lower_bound(view.ts.begin(), view.ts.end(), watermark) - view.ts.begin();
    const auto beat =
        std::lower_bound(view.heartbeats.begin(), view.heartbeats.end(), watermark - 1) - view.heartbeats.begin();
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::int64_t due = kNone;
    if (event < std::ssize(view.due)) due = view.due[static_cast<std::size_t>(event)];
    if (beat < std::ssize(view.heartbeat_due)) due = std::min(due, view.heartbeat_due[static_cast<std::size_t>(beat)]);
    if (due == kNone) {  // its end, with the last of both
      due = -1;
      if (!view.due.empty()) due = view.due.back();
      if (!view.heartbeat_due.empty()) due = std::max(due, view.heartbeat_due.back());
    }
    result = std::max(result, due);
  }
  return result;
}

// The window instances of all keys: a table for each bucket.
class WindowState {
 public:
  explicit WindowState(const OperatorSpec& spec)
      : stored_(spec.stored()), tables_(static_cast<std::size_t>(spec.buckets)) {}
  ~WindowState() {
    for (WindowTable& table : tables_) release_stored(table);
  }
  WindowState(const WindowState&) = delete;
  WindowState& operator=(const WindowState&) = delete;

  WindowTable& table(std::int64_t bucket) noexcept { return tables_[static_cast<std::size_t>(bucket)]; }
  WindowTable* tables() noexcept { return tables_.data(); }  // of all buckets
  // Gives the memory of stored tuples back, before a table forgets its entries.
  void release_stored(WindowTable& table) const noexcept {
    stored_.each(table.entries(stored_.stride), [](StoredTuples& tuples) { tuples.release(); });
  }
  // Likewise of deques without tuples, before it removes the keys whose states are zero.
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
  // `stop`: see run/stopped.h.
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

  // Time is known to have passed up to `watermark`, which with a load was to be known `due_ns` after the start:
  // windows that end by then expire.
  virtual void advance(std::int64_t watermark, std::int64_t due_ns) = 0;

  // Whether `advance` would have windows expire, so that its `due_ns` matters.
  virtual bool expires_by(std::int64_t) const noexcept { return false; }

  // A new mapping holds from here on: bucket b is this instance's iff owner[b] is its index. With all instances at a
  // barrier.
  virtual void adopt(const std::int32_t* owner) = 0;

  // Stands where `other` stands: the next tuple of both is the same. With all instances at a barrier.
  virtual void stand_like(const OperatorInstance& other) {
    seen_ = other.seen_;
    watermark_ = other.watermark_;
    started_ = other.started_;
    stamp_ = other.stamp_;
    last_due_ns_ = other.last_due_ns_;
  }

  // As `advance`, for all instances, whether or not this one has seen a tuple. At a barrier.
  virtual void settle(std::int64_t watermark, std::int64_t due_ns) { advance(watermark, due_ns); }

  // Somebody is behind who accounts for the outputs, so each is to say what caused it. Before the run.
  void forward_causes(Causes& causes) noexcept { causes_ = &causes; }

  bool started() const noexcept { return started_; }  // whether the watermark means anything
  std::int64_t watermark() const noexcept { return watermark_; }
  std::int64_t tuples() const noexcept { return stamp_; }                            // position in the log
  std::int64_t rows_of(std::size_t stream) const noexcept { return seen_[stream]; }  // that have been read
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
  // Outputs have appeared whose cause was due `due_ns` after the start; without a load there is no such time.
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
  std::int64_t taken_ns_ = 0;      // when the tuples at hand were taken
  std::int64_t last_due_ns_ = -1;  // of the tuple processed last
  OutputBuffer& out_;
  Recorder& recorder_;
  const std::atomic<bool>& stop_;
  Causes* causes_ = nullptr;
  std::vector<std::int64_t> seen_;  // rows of each stream that have been read
  std::int64_t watermark_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t stamp_ = 0;  // tuples read
  std::int64_t compared_ = 0;
  std::int64_t kernel_calls_ = 0;
  bool started_ = false;  // has seen a tuple
};

// An operator with keyed window instances.
class KeyedInstance final : public OperatorInstance {
 public:
  // `marks`: of the rows that it is going to be given; null: there are none.
  KeyedInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams,
                OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop, WindowState& state,
                const RowMarks* marks = nullptr);

  void process(std::span<const LogRun> runs, const LogOrder& order) override;
  void advance(std::int64_t watermark, std::int64_t due_ns) override;
  bool expires_by(std::int64_t watermark) const noexcept override {
    return started_ && live_ != 0 && left_ + spec_.window.size <= watermark;
  }
  void adopt(const std::int32_t* owner) override;
  void stand_like(const OperatorInstance& other) override;
  void settle(std::int64_t watermark, std::int64_t due_ns) override;
  std::int64_t in_window(std::int32_t input) const noexcept override;

 private:
  static constexpr std::size_t kPlaces = 128;  // of the log that a kernel is given at once, at most

  static void* find(void* self, std::int64_t key, std::int64_t bucket, std::int64_t left, std::int64_t stamp);
  static void* reserve(void* self, void* windows);
  void add_places(const std::uint8_t* sources, std::int64_t count);
  bool add_own_places(const std::uint8_t* sources, std::int64_t count);
  void run_places();
  void run(std::int64_t begin, std::int64_t end);
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
  std::int64_t forget_window(WindowTable& table, std::int64_t left);
  void sweep(std::int64_t watermark);
  void release_window(WindowTable& table, std::int64_t left) const noexcept;
  std::size_t stride() const noexcept { return static_cast<std::size_t>(spec_.entry_bytes); }
  // From the beginning of an entry to its windows that begin at `left`, less the entry's head.
  std::size_t window_offset(std::int64_t left) const noexcept {
    const std::size_t all = stride() - WindowTable::kKeyOffset;
    return all / static_cast<std::size_t>(spec_.window.places()) * static_cast<std::size_t>(spec_.window.place(left));
  }
  void account_each(std::int64_t begin, std::int64_t end, const Emit& emit, std::int64_t added);
  void count_live();
  [[noreturn]] void fail_for_memory();
  [[noreturn]] void fail_for_room(std::int64_t wanted) const;
  void set_expiry() noexcept;

  WindowState& state_;
  std::vector<std::int32_t> own_;  // buckets
  // A bit for each bucket: which of the own tables have entries. Where there are few keys, as sparse input has them,
  // windows then expire without a look at every bucket.
  std::vector<std::uint64_t> filled_;
  KeyColumns keys_;
  // The tuples at hand: of each place its row, as item of the columns, and its stream.
  std::array<std::int64_t, kPlaces> rows_;
  std::array<std::uint8_t, kPlaces> sources_;
  std::array<std::int64_t, 2 * kPlaces> own_keys_;
  std::size_t places_ = 0;
  // What was added or passed over last, and how many places were passed over since the last kernel call.
  std::uint8_t last_source_ = 0;
  std::int64_t last_row_ = 0;
  std::int64_t passed_over_ = 0;
  const RowMarks* const marks_;
  std::vector<const void* const*> columns_;  // of each stream
  std::vector<std::uint64_t> masks_;         // likewise, as OperatorStream has it
  bool one_layout_;                          // of all streams
  InstanceView view_{};
  bool lazy_;              // windows expire without a trace: nothing to do then
  std::int64_t left_ = 0;  // no window that began before it is alive
  std::int64_t live_ = 0;  // entries of own buckets
  // The table for which `find` had no memory, by bucket and window; -1: there was always some. An exception cannot pass
  // through compiled code.
  std::int64_t lacking_ = -1;
  std::int64_t lacking_left_ = 0;
  bool lacking_stored_ = false;     // likewise for stored tuples
  std::int64_t sweep_at_ = 0;       // watermark at which stored tuples are purged that no tuple has met; joins
  std::int64_t cause_due_ns_ = -1;  // when it was due that windows expire now
};

// A join of all pairs of two inputs, each one stream. The streams' columns are the window store: nothing is copied,
// and nothing moves when the mapping changes. Tuples are kept in shares of `kShareRows` consecutive rows, which
// take turns over the buckets; the instance that owns the share of the earlier tuple of a pair compares it.
class JoinInstance final : public OperatorInstance {
 public:
  static constexpr std::int64_t kShareRows = 512;
  static constexpr std::int64_t kTileRows = 1024;  // compared in one kernel call: stays in the first-level cache
  static constexpr std::int64_t kProbeRows = 256;  // new tuples that are compared together, at most

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
  std::int64_t first_[2] = {0, 0};  // first row of each input that a tuple to come can match
  std::vector<Pair> pairs_;         // of the tuples at hand
  std::vector<Pair> scratch_;
  std::vector<std::int64_t> times_;
};

}  // namespace lab
