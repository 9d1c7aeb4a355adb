// Moves what sources have handed over into an ordered log.
#pragma once
#include <cstdint>
#include <deque>

#include "log/tuple_buffer.h"
#include "run/feed.h"
#include "run/recorder.h"

namespace lab {

// What is to be known of rows before readers see them.
class RowMarker {
 public:
  // Rows [begin, end) of a source are about to be published. Under its feed's flag.
  virtual void mark(std::size_t source, std::int64_t begin, std::int64_t end) noexcept = 0;

 protected:
  ~RowMarker() = default;
};

class LogFeeder {
 public:
  // Both must outlive it. Source i of the log is that of feed i.
  LogFeeder(TupleBuffer& log, std::deque<Feed>& feeds) : log_(log), feeds_(feeds) {}

  // Adds the sources to the log; before its readers.
  void start();

  // Moves and merges what there is, each row marked before. Returns whether there is anything new. Any thread.
  bool feed(Recorder& recorder, RowMarker* marker = nullptr);

 private:
  bool feed_one(Feed& feed, Recorder& recorder, RowMarker* marker);
  static void adapt(Feed& feed, std::int64_t moved);

  TupleBuffer& log_;
  std::deque<Feed>& feeds_;
};

}  // namespace lab
