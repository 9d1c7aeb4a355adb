// Moves what sources have handed over into an ordered log.
#pragma once
#include <cstdint>
#include <deque>

#include "run/feed.h"
#include "log/tuple_buffer.h"
#include "run/recorder.h"

namespace lab {

class LogFeeder {
 public:
  // Both must outlive it. Source i of the log is that of feed i.
  LogFeeder(TupleBuffer& log, std::deque<Feed>& feeds) : log_(log), feeds_(feeds) {}

  // Adds the sources to the log; before its readers.
  void start();

  // Moves and merges what there is. Returns whether there is anything new. Any thread.
  bool feed(Recorder& recorder);

 private:
  bool feed_one(Feed& feed, Recorder& recorder);
  static void adapt(Feed& feed, std::int64_t moved);

  TupleBuffer& log_;
  std::deque<Feed>& feeds_;
};

}  // namespace lab
