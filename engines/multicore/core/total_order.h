// Two streams as one sequence in total order, to the threads of a hand-written join.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "handover.h"
#include "recorder.h"
#include "tuple_buffer.h"

namespace lab {

class TotalOrder {
 public:
  virtual ~TotalOrder() = default;

  // Takes what the sources have handed over and puts it in order. Returns whether there is anything new, for any
  // thread: then all are to be notified. Any thread.
  virtual bool feed(Recorder& recorder) = 0;

  // As of TupleBuffer.
  virtual std::span<const LogRun> read(std::int32_t thread) = 0;
  virtual void release(std::int32_t thread, std::size_t runs) = 0;
  virtual bool ended(std::int32_t thread) = 0;
};

// The ordered log: each thread reads all of it.
class LoggedOrder final : public TotalOrder {
 public:
  LoggedOrder(std::span<const OperatorStream> streams, std::deque<Feed>& feeds, std::int32_t threads,
              const LogOptions& options)
      : shared_(make_tuple_buffer("order", options), streams, feeds, nullptr) {
    shared_.start(threads, threads);
  }

  bool feed(Recorder& recorder) override { return shared_.feed(recorder, nullptr, 0); }
  std::span<const LogRun> read(std::int32_t thread) override { return shared_.log(thread).read(thread); }
  void release(std::int32_t thread, std::size_t runs) override { shared_.log(thread).release(thread, runs); }
  bool ended(std::int32_t thread) override { return shared_.log(thread).ended(thread); }

 private:
  SharedLog shared_;
};

// No log: the one thread merges the streams itself, as far as both have come. Readiness as in tuple_buffer.h.
class MergedOrder final : public TotalOrder {
 public:
  // `ahead`: rows merged at once, and taken from a source at full speed before they are wanted; plus a block.
  MergedOrder(std::deque<Feed>& feeds, std::int64_t ahead);

  bool feed(Recorder& recorder) override;
  std::span<const LogRun> read(std::int32_t) override { return std::span(runs_).subspan(released_); }
  void release(std::int32_t, std::size_t runs) override { released_ += runs; }
  bool ended(std::int32_t) override;

 private:
  struct Input {
    Feed* feed;
    std::int64_t taken = 0;     // rows put in order
    std::int64_t frontier = 0;  // rows not yet handed over have ts >= it
  };

  std::int64_t take(Input& input);
  void merge();

  const std::int64_t ahead_;
  Input inputs_[2];
  std::vector<LogRun> runs_;
  std::size_t released_ = 0;
};

}  // namespace lab
