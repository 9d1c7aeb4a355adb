// Moves the rows that sources have handed over into an ordered log; any worker calls it.
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
  // Marks rows [begin, end) of a source, which the feeder publishes next. Under the source's feed flag.
  virtual void mark(std::size_t source, std::int64_t begin, std::int64_t end) noexcept = 0;

 protected:
  ~RowMarker() = default;
};

class LogFeeder {
 public:
  // Both must outlive the feeder. Feed i is source i of the log.
  LogFeeder(TupleBuffer& log, std::deque<Feed>& feeds) : log_(log), feeds_(feeds) {}

  // Adds the sources to the log. Call before readers are added.
  void start();

  // Moves and merges all available rows and marks each one first. Returns whether readers have anything new. Any
  // thread.
  bool feed(Recorder& recorder, RowMarker* marker = nullptr);

 private:
  bool feed_one(Feed& feed, Recorder& recorder, RowMarker* marker);
  static void adapt(Feed& feed, std::int64_t moved);

  TupleBuffer& log_;
  std::deque<Feed>& feeds_;
};

}  // namespace lab
