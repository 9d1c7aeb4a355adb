// The ordered log: m sources each add a timestamp-sorted stream, n readers each see every tuple, once, in one
// total order (timestamp, source, row). After Gulisano et al.'s ScaleGate and STRETCH's Elastic ScaleGate.
//
// Readiness. Row (t, s) is ready iff, for every other open source q, q's next row that is not yet in the log, or
// else q's frontier, is above it: a frontier f promises that later rows have ts >= f, so f > t is needed for q < s
// and f >= t for q > s. Ready rows are appended by whoever calls `advance`; nobody waits for it.
//
// Waiting is the caller's: no function blocks. Everything that another thread may sleep for is made true by a
// sequentially consistent store (run/parker.h), so these notifications lose no wake-up:
//   after `publish`, `close`, `control`, and whenever a source or a reader joins or leaves:
//                                         call `advance`; true: notify the readers. (A source that leaves merging
//                                         to the readers notifies one of them instead.)
//   after `release`:                      notify sources that sleep for room, and readers when `advance` is true.
//   a reader may sleep when `read` is empty, `advance` is false and `read` is empty still, looked at in this order
//   between Parker::prepare and commit. Who finds the merge taken by another leaves a note that the other one reads
//   before it goes, so a false `advance` means that somebody merges what the caller has published.
//
// Limits: 64 sources, 64 readers; timestamps below kEndOfTime.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "run/event_key.h"
#include "run/names.h"

namespace lab {

inline constexpr int kMaxLogSources = 64;
inline constexpr int kMaxLogReaders = 64;

// What a run with source < 0 is.
inline constexpr std::int32_t kControlEntry = -1;       // begin = the id given to `control`
inline constexpr std::int32_t kWatermarkEntry = -2;     // begin = end: see below
inline constexpr std::int32_t kInterleavedEntry = -3;   // see `LogOrder`
inline constexpr std::int32_t kAcknowledgedEntry = -4;  // `begin` rows of source `kind` are before it: see LogOptions

// One entry of the log. source >= 0: rows [begin, end) of `columns(source)`, consecutive in the total order.
// source < 0: `end` bounds event time, at this very place for all readers: every row before has ts <= end, every
// row after it ts >= end (before any row or promise: the lowest int64).
struct LogRun {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t source;
  std::int32_t kind;  // of the rows
};
static_assert(sizeof(LogRun) == 24);

// Rows of several sources that follow one another in short runs, a byte each: those of an entry with source
// `kInterleavedEntry` are `of(begin)`, ..., `of(end - 1)`, the sources whose next rows they are, and lie in one piece.
struct LogOrder {
  const std::uint8_t* sources = nullptr;
  std::uint64_t mask = 0;

  const std::uint8_t* of(std::int64_t place) const noexcept {
    return sources + (static_cast<std::uint64_t>(place) & mask);
  }
};

// Where rows are: row r is item r & mask of every column. Borrowed; must outlive the log.
struct LogColumns {
  const std::int64_t* ts = nullptr;
  std::uint64_t mask = ~std::uint64_t{0};  // size - 1 of a ring (a power of two); all ones: every row has its place
  std::int32_t kind = 0;                   // which schema
  std::vector<const void*> columns;        // payload; may be empty
};

struct LogOptions {
  std::int64_t entries = 1 << 14;         // runs that the slowest reader may be behind; rounded up to a power of two
  std::int64_t rows_in_flight = 1 << 16;  // rows of one source published and not yet released; bounds `room`
  // Append a watermark entry when the frontiers rose and no row became ready: windows close while sources are silent.
  bool watermarks = true;
  // Short runs may come as interleaved entries: a twentieth of the memory traffic, but for readers that count rows.
  bool interleaved = false;
  // ScaleGate's flow control as Viper (section 3.3) has it: a source adds a watermark tuple after so many rows, and before it
  // closes; a reader that releases one acknowledges the rows before it, all at once. 0: rows count as they are released.
  std::int64_t acknowledged_rows = 0;
};

class TupleBuffer {
 public:
  TupleBuffer() = default;
  TupleBuffer(const TupleBuffer&) = delete;
  TupleBuffer& operator=(const TupleBuffer&) = delete;
  virtual ~TupleBuffer() = default;

  // Adds a source and returns its index; any thread, also during the run. No row of it is below `from_ts`. During
  // the run (from_ts, index) must be above all that is in the log: this holds when another source of the same
  // caller has a frontier <= from_ts meanwhile, for an index that is then chosen above the ones in the way.
  // A slot is used again only when every reader has released the rows of its last owner.
  // Throws std::invalid_argument (columns), std::length_error (no slot), std::logic_error (order, or the log ended).
  virtual int add_source(const LogColumns& rows, std::int64_t from_ts) = 0;
  int add_source(const std::int64_t* ts, std::uint64_t mask, std::int64_t from_ts) {
    return add_source(LogColumns{.ts = ts, .mask = mask, .kind = 0, .columns = {}}, from_ts);
  }

  // Rows before `end_row` are there (at most `room` more than before); every later row has ts >= frontier, which is
  // below kEndOfTime. The same end_row as before: a heartbeat, always allowed. Neither may decrease. Owner only.
  virtual void publish(int source, std::int64_t end_row, std::int64_t frontier) = 0;

  // Returns how many rows past those published may be published now. Bounded by the slowest reader. An answer below
  // `wanted` is what there is; one from there on may be what there was before. Owner only.
  virtual std::int64_t room(int source, std::int64_t wanted) = 0;
  std::int64_t room(int source) { return room(source, 1); }

  // No more rows; those that are there stay, and the slot may be added again. Owner only. With it a source leaves, too
  // (removeSources of STRETCH's Table II): it holds nothing back any more, and all that it published is delivered.
  virtual void close(int source) = 0;

  // A source that has left is one again (addSources), with the rows and columns that it had: its next row follows those
  // that it published, and no later one is below `from_ts`. As for a source that is added, (from_ts, source) must be above
  // all that is in the log. On behalf of the owner, which meanwhile does nothing with the source; any thread. Throws
  // std::logic_error (it has not left, order, or the log ended).
  virtual void rejoin(int source, std::int64_t from_ts) = 0;

  // Returns how many rows of the source nobody will read again: a ring may overwrite them. Owner only.
  virtual std::int64_t consumed(int source) = 0;

  // Merges what is ready, unless another thread is at it. Returns whether something was appended. Any thread.
  virtual bool advance() noexcept = 0;

  // Appends a control entry at the then current end of the log, whatever the sources do. All readers see it at the
  // same place. Returns false, and appends nothing, once a reader has seen the end of the log. Any thread; call
  // `advance` afterwards, and notify.
  virtual bool control(std::int64_t id) = 0;

  // Adds a reader that starts at the beginning and returns its index. Before the run.
  virtual int add_reader() = 0;

  // Makes the inactive slot `reader` (any below kMaxLogReaders) continue exactly after what `like` has released.
  // Called by the thread of `like`; the new reader's thread must be told afterwards.
  virtual void add_reader_at(int reader, int like) = 0;

  // The reader no longer holds anything back; its slot is inactive. The reader's own thread, or when it has stopped.
  virtual void remove_reader(int reader) = 0;

  // Returns what follows the runs released, up to what there is or to where the ring wraps; empty: nothing now.
  // Valid until released. The reader's own thread, as the two below.
  virtual std::span<const LogRun> read(int reader) = 0;

  // The reader is done with the first `runs` of what `read` returned last, and with their rows.
  virtual void release(int reader, std::size_t runs) = 0;

  // Returns the row of the source that follows those released: where an interleaved entry goes on. The reader's own
  // thread.
  virtual std::int64_t next_row(int reader, int source) const = 0;

  // Returns whether all sources are closed and the reader has released everything. True stays true.
  virtual bool ended(int reader) = 0;

  // Where the rows of runs with this `source` are. Stable between the runs of one owner of the slot.
  virtual const LogColumns& columns(std::int32_t source) const = 0;

  // What interleaved entries refer to; only with the option `interleaved` are there any.
  virtual LogOrder order() const { return {}; }
};

// OrderLog and ScaleGate.
inline constexpr Names<2> kTupleBuffers = {"order", "scalegate"};

// Makes the log called `name`. Throws std::invalid_argument for another name, or for options out of range.
std::unique_ptr<TupleBuffer> make_tuple_buffer(std::string_view name, const LogOptions& options);

}  // namespace lab
