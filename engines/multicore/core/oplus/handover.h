// How tuples come from sources to the instances of an operator, and what a change of the mapping takes.
//
// `SharedLog` is virtual shared-nothing: one log that all instances read, one state that all share; a change moves
// nothing. `Queues` (oplus/queues.h) is shared-nothing, `MapStage` (oplus/map_stage.h) likewise, a tuple for each key.
// `ChainLog` (oplus/chain_log.h) is the log between two operators.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "log/log_feeder.h"
#include "log/tuple_buffer.h"
#include "oplus/instance.h"
#include "oplus/marks.h"
#include "run/recorder.h"
#include "run/source.h"

namespace lab {

// A change of the mapping, made while all instances stand at a barrier.
struct Change {
  std::int32_t before = 0;  // active instances
  std::int32_t after = 0;
  std::int32_t performer = 0;  // whose thread makes it
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
  virtual WindowState* state(std::int32_t instance) = 0;              // null for joins
  virtual const RowMarks* marks() const noexcept { return nullptr; }  // of the rows of the log, if there are any

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

// Of a log that all instances read: has switch `number` in it, and a change of its readers, without their state.
bool call_in(TupleBuffer& log, std::int64_t number);
void change_readers(TupleBuffer& log, const Change& change, std::span<OperatorInstance* const> instances);

class SharedLog final : public Handover {
 public:
  // `marks`: null where rows are not marked.
  SharedLog(std::unique_ptr<TupleBuffer> log, std::span<const OperatorStream> streams, std::deque<Feed>& feeds,
            std::unique_ptr<WindowState> state, std::unique_ptr<RowMarks> marks)
      : log_(std::move(log)),
        feeds_(feeds),
        feeder_(*log_, feeds),
        streams_(streams),
        state_(std::move(state)),
        marks_(std::move(marks)) {}

  void start(std::int32_t most, std::int32_t active) override;
  TupleBuffer& log(std::int32_t) override { return *log_; }
  int reader(std::int32_t instance) override { return instance; }
  std::span<const OperatorStream> streams(std::int32_t) override { return streams_; }
  WindowState* state(std::int32_t) override { return state_.get(); }
  const RowMarks* marks() const noexcept override { return marks_.get(); }
  bool feed(Recorder& recorder, const std::int32_t* owner, std::int32_t active) override;
  bool call(std::int64_t number) override { return call_in(*log_, number); }
  bool by_decree() const noexcept override { return false; }
  bool decreed(std::int64_t*) const noexcept override { return false; }
  std::int64_t delivered() const noexcept override { return -1; }
  std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) override;

 private:
  std::unique_ptr<TupleBuffer> log_;
  std::deque<Feed>& feeds_;
  LogFeeder feeder_;
  std::span<const OperatorStream> streams_;
  std::unique_ptr<WindowState> state_;
  std::unique_ptr<RowMarks> marks_;
};

}  // namespace lab
