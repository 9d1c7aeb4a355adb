// TotalOrder: presents several streams as one sequence in total order to the threads that read it.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "log/log_feeder.h"
#include "log/tuple_buffer.h"
#include "run/recorder.h"

namespace lab {

class TotalOrder {
 public:
  virtual ~TotalOrder() = default;

  // Takes the rows that the sources have delivered and puts them in order. Any thread may call it. Returns whether any
  // thread has new rows to read; the caller must then notify all threads.
  virtual bool feed(Recorder& recorder) = 0;

  // As in TupleBuffer, for the reader `thread`.
  virtual std::span<const LogRun> read(std::int32_t thread) = 0;
  virtual void release(std::int32_t thread, std::size_t runs) = 0;
  virtual bool ended(std::int32_t thread) = 0;
};

// The ordered log: each thread reads all of it.
class LoggedOrder final : public TotalOrder {
 public:
  LoggedOrder(std::deque<Feed>& feeds, std::int32_t threads, const LogOptions& options,
              std::string_view tuple_buffer = "order")
      : log_(make_tuple_buffer(tuple_buffer, with_readers(options, threads))), feeder_(*log_, feeds) {
    feeder_.start();
    for (std::int32_t i = 0; i < threads; ++i) log_->add_reader();
  }

  bool feed(Recorder& recorder) override { return feeder_.feed(recorder); }
  std::span<const LogRun> read(std::int32_t thread) override { return log_->read(thread); }
  void release(std::int32_t thread, std::size_t runs) override { log_->release(thread, runs); }
  bool ended(std::int32_t thread) override { return log_->ended(thread); }

 private:
  static LogOptions with_readers(LogOptions options, std::int32_t readers) {
    options.readers = readers;
    return options;
  }

  std::unique_ptr<TupleBuffer> log_;
  LogFeeder feeder_;
};

// Merges two streams in the only reading thread, without a log. A row is ready as defined in log/tuple_buffer.h.
class MergedOrder final : public TotalOrder {
 public:
  // `rows_ahead`: number of rows merged at once. At full speed, the merge holds at most this many unmerged rows of a
  // source, plus one block.
  MergedOrder(std::deque<Feed>& feeds, std::int64_t rows_ahead);

  bool feed(Recorder& recorder) override;
  std::span<const LogRun> read(std::int32_t) override { return std::span(runs_).subspan(released_); }
  void release(std::int32_t, std::size_t runs) override { released_ += runs; }
  bool ended(std::int32_t) override;

 private:
  struct Input {
    Feed* feed;
    std::int64_t merged_rows = 0;  // number of rows put in order
    std::int64_t frontier = 0;     // lower bound of the ts of rows not yet delivered
  };

  std::int64_t take(Input& input);
  void merge();

  const std::int64_t rows_ahead_;
  Input inputs_[2];
  std::vector<LogRun> runs_;
  std::size_t released_ = 0;  // number of `runs_` released
};

}  // namespace lab
