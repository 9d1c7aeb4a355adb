// How tuples come from sources to the instances of an operator, and what a change of the mapping takes.
//
// `SharedLog` is virtual shared-nothing: one log that all instances read, one state that all share; a change moves
// nothing. `Queues` (queues.h) is shared-nothing. `ChainLog` (chain_log.h) is the log between two operators.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "operator_instance.h"
#include "recorder.h"
#include "source.h"
#include "tuple_buffer.h"
#include "tuple_buffer_flag.h"

namespace lab {

// A source, and how far its blocks have been handed over. Whoever holds the flag moves them (`move_blocks`).
struct alignas(kCacheLine) Feed {
  static constexpr std::int64_t kMostRows = 4096;

  Source* source = nullptr;
  std::size_t reader = 0;
  bool pumped = false;       // at full speed: the mover makes the source publish; else a generator does
  std::uint64_t next = 0;    // first block not yet done
  std::int64_t row = 0;      // first row not yet done
  bool closed = false;
  std::int64_t most = kMostRows;  // rows to move at once, before the other sources get their turn; `SharedLog`
  std::int64_t filled_ns = 0;     // when so many were moved last; 0: the last move took all that there was
  MergeFlag flag;

  // The next block, when there is one.
  const Block* block() noexcept {
    if (source->ring.published() == next && (!pumped || !source->pump())) return nullptr;
    return &source->ring.at(next);
  }
  void pass() noexcept {
    ++next;
    source->ring.advance(reader, next);
  }
};

// Has `move` move blocks of a feed, unless another thread is at it, and again for whoever comes meanwhile: that one may
// have made room that this pass did not see, and go to sleep (tuple_buffer_flag.h). Returns whether anything moved, or
// somebody may still be waiting for a pass: then the caller takes another turn before it sleeps.
template <typename Move>
bool move_blocks(Feed& feed, Move move) {
  constexpr int kPassesInARow = 4;
  bool moved = false;
  for (int i = 0; feed.flag.enter(); ++i) {
    feed.flag.begin_pass();
    try {
      moved = move() || moved;
    } catch (...) {  // a kernel failed: the run ends, nobody is let down
      feed.flag.leave();
      throw;
    }
    if (!feed.flag.leave()) return moved;
    if (i + 1 == kPassesInARow) return true;
  }
  return moved;
}

// A change of the mapping, made while all instances stand at a barrier.
struct Change {
  std::int32_t before = 0;              // active instances
  std::int32_t after = 0;
  std::int32_t performer = 0;           // whose thread makes it
  const std::vector<std::int32_t>* old_owner = nullptr;
  const std::vector<std::int32_t>* new_owner = nullptr;
};

class Handover {
 public:
  virtual ~Handover() = default;

  // Before the run. `most`: instances that may ever be active, `active` of them at the start.
  virtual void start(std::int32_t most, std::int32_t active) = 0;

  virtual TupleBuffer& log(std::int32_t instance) = 0;
  virtual int reader(std::int32_t instance) = 0;
  virtual std::span<const OperatorStream> streams(std::int32_t instance) = 0;
  virtual WindowState* state(std::int32_t instance) = 0;  // null for joins

  // The part of a run of the log that lies in one piece in the instance's columns, as rows of these.
  virtual LogRun place(const LogRun& part) const noexcept = 0;

  // Moves what sources have handed over on to the instances. Returns whether anything moved. Any instance's thread.
  virtual bool feed(Recorder& recorder, const std::int32_t* owner, std::int32_t active) = 0;

  // Has every active instance find switch `number` in its log. False: the run is over.
  virtual bool call(std::int64_t number) = 0;

  // Whether a switch holds from an event time that is decreed for all instances, one switch at a time; else from the
  // watermark that each has where it reads the switch, which is the same.
  virtual bool by_decree() const noexcept = 0;

  // That event time, for who has read the switch; false without a decree.
  virtual bool decreed(std::int64_t* until) const noexcept = 0;

  // Tuples that have gone to the instances that they concern; -1 where all instances read all of them.
  virtual std::int64_t delivered() const noexcept = 0;

  // Those of one source, for any thread during the run; with a decree only. Up to a queue's length of each instance's
  // is still to be processed.
  virtual std::int64_t delivered_of(std::size_t) const noexcept { return 0; }

  // Returns the bytes of state that were serialised.
  virtual std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) = 0;
};

class SharedLog final : public Handover {
 public:
  SharedLog(std::unique_ptr<TupleBuffer> log, std::span<const OperatorStream> streams, std::deque<Feed>& feeds,
            std::unique_ptr<WindowState> state)
      : log_(std::move(log)), streams_(streams), feeds_(feeds), state_(std::move(state)) {}

  void start(std::int32_t most, std::int32_t active) override;
  TupleBuffer& log(std::int32_t) override { return *log_; }
  int reader(std::int32_t instance) override { return instance; }
  std::span<const OperatorStream> streams(std::int32_t) override { return streams_; }
  WindowState* state(std::int32_t) override { return state_.get(); }
  LogRun place(const LogRun& part) const noexcept override { return part; }
  bool feed(Recorder& recorder, const std::int32_t* owner, std::int32_t active) override;
  bool call(std::int64_t number) override;
  bool by_decree() const noexcept override { return false; }
  bool decreed(std::int64_t*) const noexcept override { return false; }
  std::int64_t delivered() const noexcept override { return -1; }
  std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) override;

 private:
  bool feed_one(Feed& feed, Recorder& recorder);
  static void adapt(Feed& feed, std::int64_t moved);

  std::unique_ptr<TupleBuffer> log_;
  std::span<const OperatorStream> streams_;
  std::deque<Feed>& feeds_;
  std::unique_ptr<WindowState> state_;
};

}  // namespace lab
