// Declares the ordered log: m sources each add a timestamp-sorted stream, and n readers each see every tuple once. All
// readers see one total order (timestamp, source, row), except where a source joins again (`rejoin`). The design
// follows Gulisano et al.'s ScaleGate and STRETCH's Elastic ScaleGate.
//
// Readiness. For a source q, let b be its next row that is not yet in the log; if it has none, its frontier. Row (t, s)
// is ready iff b is above the row for every other open source q. A frontier f promises that later rows have ts >= f. So
// a source q < s needs a frontier f > t, and a source q > s needs f >= t (ScaleGate orders rows at the time of a join
// otherwise). Any caller of `advance` appends the ready rows; no other thread waits meanwhile.
//
// No function blocks; callers that must wait sleep on their own. The store that makes a sleeper's condition true is
// sequentially consistent (run/parker.h). So no wake-up is lost if callers notify as follows:
// - After `publish`, `close` or `control`, and whenever a source or a reader joins or leaves: call `advance`; if it
//   returns true, notify the readers. (A source that leaves merging to the readers notifies one of them instead.)
// - After `release`: notify sources that sleep for room, and notify readers when `advance` returns true.
// - A reader may sleep when `read` is empty, `advance` is false and `read` is still empty, checked in this order
//   between Parker::prepare and commit.
//
// If another thread is merging, `advance` leaves a note, which that thread reads before it stops. So when `advance`
// returns false, some thread merges the rows that the caller has published. A thread that changes the membership may
// leave this to its own next `advance`.
//
// Limits: 256 sources, 256 readers; timestamps below kEndOfTime.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "run/event_key.h"
#include "run/names.h"

namespace lab {

inline constexpr int kMaxLogSources = 256;
inline constexpr int kMaxLogReaders = 256;

// Values of LogRun::source for entries that are not rows of one source.
inline constexpr std::int32_t kControlEntry = -1;       // begin = the id passed to `control`
inline constexpr std::int32_t kWatermarkEntry = -2;     // begin = end: the bound of event time, see LogRun
inline constexpr std::int32_t kInterleavedEntry = -3;   // see `LogOrder`
inline constexpr std::int32_t kAcknowledgedEntry = -4;  // `begin` rows of source `kind` precede it: see LogOptions

// One entry of the log. source >= 0: rows [begin, end) of `columns(source)`, consecutive in the total order.
// kInterleavedEntry: see LogOrder. Every other entry is at the same place for all readers, and its `end` bounds event
// time there: rows before it have ts <= end, rows after it have ts >= end. Before any row or promise, `end` is the
// lowest int64.
struct LogRun {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t source;
  std::int32_t kind;  // schema of the rows
};
static_assert(sizeof(LogRun) == 24);

// The sources of rows that come in short runs, one byte per row. An entry with source `kInterleavedEntry` consists of
// `of(begin)`, ..., `of(end - 1)`: each byte is the source of the next row. The bytes of an entry are contiguous.
struct LogOrder {
  const std::uint8_t* sources = nullptr;
  std::uint64_t mask = 0;

  const std::uint8_t* of(std::int64_t place) const noexcept {
    return sources + (static_cast<std::uint64_t>(place) & mask);
  }
};

// The location of a source's rows: row r is item r & mask of every column. The memory is borrowed and must outlive the
// log.
struct LogColumns {
  const std::int64_t* ts = nullptr;
  std::uint64_t mask = ~std::uint64_t{0};  // size - 1 of a ring (a power of two); all ones: no wrap
  std::int32_t kind = 0;                   // schema of the rows
  std::vector<const void*> columns;        // payload; may be empty
};

struct LogOptions {
  std::int64_t entries = 1 << 14;         // runs by which the slowest reader may lag; rounded up to a power of two
  std::int64_t rows_in_flight = 1 << 16;  // published rows of one source that are not yet released; bounds `room`
  int readers = kMaxLogReaders;           // maximum number of readers at a time; the log has memory for them
  // Whether to append a watermark entry when the frontiers rose and no row became ready, so that windows close while
  // sources are silent.
  bool watermarks = true;
  // Whether short runs may come as interleaved entries. Such entries take a twentieth of the memory traffic, but
  // readers must count the rows of each source.
  bool interleaved = false;
  // ScaleGate's flow control as in Viper (section 3.3). A source adds a watermark tuple after every `acknowledged_rows`
  // rows, and before it closes. A reader that releases a watermark tuple acknowledges all rows before it at once. 0: no
  // watermark tuples; each row counts when it is released.
  std::int64_t acknowledged_rows = 0;
};

class TupleBuffer {
 public:
  TupleBuffer() = default;
  TupleBuffer(const TupleBuffer&) = delete;
  TupleBuffer& operator=(const TupleBuffer&) = delete;
  virtual ~TupleBuffer() = default;

  // Adds a source and returns its index. Any thread may call it, also during the run. No row of the source is below
  // `from_ts`. During the run, (from_ts, index) must be above the last entry of the log. This holds if another source
  // of the same caller keeps a frontier <= from_ts meanwhile; the log then selects an index above the sources that
  // conflict. The log reuses a slot only after every reader has released the rows of its last owner. Throws
  // std::invalid_argument (columns), std::length_error (no slot), std::logic_error (order, or the log ended).
  virtual int add_source(const LogColumns& rows, std::int64_t from_ts) = 0;
  int add_source(const std::int64_t* ts, std::uint64_t mask, std::int64_t from_ts) {
    return add_source(LogColumns{.ts = ts, .mask = mask, .kind = 0, .columns = {}}, from_ts);
  }

  // Publishes the rows before `end_row` (at most `room` more than before). Every later row has ts >= frontier, which is
  // below kEndOfTime. The same `end_row` as before is a heartbeat, which is always allowed. Neither value may decrease.
  // Only the owner calls it. `more`: whether the owner will publish again, without `more`, before it calls `advance`.
  virtual void publish(int source, std::int64_t end_row, std::int64_t frontier, bool more) = 0;
  void publish(int source, std::int64_t end_row, std::int64_t frontier) { publish(source, end_row, frontier, false); }

  // Returns how many more rows may be published now. The slowest reader bounds this number. A result below `min_rows`
  // is the current room; a result of at least `min_rows` may be an older, smaller value. Only the owner calls it.
  virtual std::int64_t room(int source, std::int64_t min_rows) = 0;
  std::int64_t room(int source) { return room(source, 1); }

  // Ends the source, or makes it leave (removeSources of STRETCH's Table II). It no longer delays readiness, and all
  // its published rows are still delivered. The slot may get a new owner. Only the owner calls it.
  virtual void close(int source) = 0;

  // Makes a source that has left join again (addSources), with the same rows and columns. Its next row follows those
  // that it published, and no later row is below `from_ts`. The log's timestamp (of its last entry) and that of the
  // source's last row must be at most `from_ts`. The former holds if another source of the same caller keeps a frontier
  // <= from_ts meanwhile. At exactly `from_ts`, the source's rows come behind all entries that the log already has,
  // including entries of higher sources (ScaleGate: also behind later rows of sources that joined earlier). So
  // timestamps never decrease, and all readers see one order. Any thread may call it on behalf of the owner, which must
  // not use the source meanwhile. Throws std::logic_error (the source has not left, order, or the log ended).
  virtual void rejoin(int source, std::int64_t from_ts) = 0;

  // Returns the number of rows of the source that no reader will read again; a ring may overwrite them. Only the owner
  // calls it.
  virtual std::int64_t consumed(int source) = 0;

  // Merges the ready rows unless another thread is merging. Returns whether it appended any entry. Any thread may call
  // it.
  virtual bool advance() noexcept = 0;

  // Appends a control entry at the current end of the log, whatever the sources do. All readers see it at the same
  // place. Returns false, and appends nothing, once a reader has seen the end of the log. Any thread may call it; it
  // must then call `advance` and notify.
  virtual bool control(std::int64_t id) = 0;

  // Adds a reader that starts at the beginning and returns its index. Call before the run.
  virtual int add_reader() = 0;

  // Makes the inactive slot `reader` (any below LogOptions::readers) continue exactly after the last entry that `like`
  // has released. The thread of `like` calls it, and must notify the new reader's thread afterwards.
  virtual void add_reader_at(int reader, int like) = 0;

  // Makes the reader's slot inactive, so that it no longer bounds the sources. Only the reader's own thread calls it,
  // or any thread after that one has stopped.
  virtual void remove_reader(int reader) = 0;

  // Returns the next runs that the reader has not released; empty if there are none now. They stay valid until
  // released. Only the reader's own thread calls `read`, `release` and `next_row`.
  virtual std::span<const LogRun> read(int reader) = 0;

  // Releases the first `runs` of the runs that `read` returned last, with their rows.
  virtual void release(int reader, std::size_t runs) = 0;

  // Returns the first row of the source that the reader has not released; the source's rows in an interleaved entry
  // begin there.
  virtual std::int64_t next_row(int reader, int source) const = 0;

  // Returns whether all sources are closed and the reader has released everything. Once true, it stays true.
  virtual bool ended(int reader) = 0;

  // Returns the columns of this source's rows. They change only when the slot gets a new owner.
  virtual const LogColumns& columns(std::int32_t source) const = 0;

  // Returns the bytes to which interleaved entries refer; such entries occur only with the option `interleaved`.
  virtual LogOrder order() const { return {}; }
};

// The names of OrderLog and ScaleGate.
inline constexpr Names<2> kTupleBuffers = {"order", "scalegate"};

// Creates the log named `name`. Throws std::invalid_argument for another name, or for options out of range.
std::unique_ptr<TupleBuffer> make_tuple_buffer(std::string_view name, const LogOptions& options);

}  // namespace lab
