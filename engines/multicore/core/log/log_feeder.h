// LogFeeder: moves the rows that sources have delivered into an ordered log. Any worker may call it.
#pragma once
#include <cstdint>
#include <deque>

#include "log/tuple_buffer.h"
#include "run/feed.h"
#include "run/recorder.h"

namespace lab {

// Computes properties of rows before readers see them.
class RowMarker {
 public:
  // Marks rows [begin, end) of a source, which the feeder publishes next. The caller holds the source's feed flag.
  virtual void mark(std::size_t source, std::int64_t begin, std::int64_t end) noexcept = 0;

 protected:
  ~RowMarker() = default;
};

class LogFeeder {
 public:
  // `log` and `feeds` must outlive the feeder. Feed i is source i of the log.
  LogFeeder(TupleBuffer& log, std::deque<Feed>& feeds) : log_(log), feeds_(feeds) {}

  // Adds the sources to the log. Call before readers are added.
  void start();

  // Marks, moves and merges all available rows. Returns whether readers have new rows or promises. Any thread may call
  // it.
  bool feed(Recorder& recorder, RowMarker* marker = nullptr);

 private:
  bool move_rows(Feed& feed, Recorder& recorder, RowMarker* marker);
  static void adapt(Feed& feed, std::int64_t moved);

  TupleBuffer& log_;
  std::deque<Feed>& feeds_;
};

}  // namespace lab
