// Declares how tuples pass from the sources to the instances of an operator, and how the mapping of key buckets to
// instances changes (InstanceMapping in oplus/instance.h).
//
// `SharedLog` is virtual shared-nothing: all instances read one log and share one state; a change moves no state.
// `Queues` (oplus/queues.h) is shared-nothing. `MapStage` (oplus/map_stage.h) is shared-nothing, too, but sends one
// tuple per key. `ChainLog` (oplus/chain_log.h) is the log between two operators.
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
  // Borrows both assignments.
  Change(const InstanceMapping& old, const InstanceMapping& next, std::int32_t by);

  const InstanceMapping& before;
  const InstanceMapping& after;
  const std::int32_t performer;       // the instance whose thread makes the change; it is active before
  std::vector<std::int32_t> joining;  // active after the change only, ascending
  std::vector<std::int32_t> leaving;  // active before the change only, ascending
  std::vector<std::int32_t> all;      // active before or after the change, ascending
};

class Handover {
 public:
  virtual ~Handover() = default;

  // Call before the run. `max_instances`: number of instances that may ever be active. `initial`: the first mapping.
  virtual void start(std::int32_t max_instances, const InstanceMapping& initial) = 0;

  virtual TupleBuffer& log(std::int32_t instance) = 0;
  virtual int reader(std::int32_t instance) = 0;
  virtual std::span<const OperatorStream> streams(std::int32_t instance) = 0;
  virtual WindowState* state(std::int32_t instance) = 0;              // null for joins
  virtual const RowMarks* marks() const noexcept { return nullptr; }  // null if rows are not marked

  // Moves rows from the sources' feeds to the instances. Returns whether any row moved. Any instance's thread may call
  // it.
  virtual bool feed(Recorder& recorder, const InstanceMapping& now) = 0;

  // Puts switch `number`, a requested change of the mapping, into the log of every active instance. Returns false when
  // the run is over.
  virtual bool append_switch(std::int64_t number) = 0;

  // Returns whether this class sets a switch time: the event time from which a switch holds in all instances. Then only
  // one switch is pending at a time, and each row in an instance's log has a key of the instance. Without a switch
  // time, a switch holds from the watermark at which an instance reads it; all instances read it at the same watermark.
  virtual bool has_switch_time() const noexcept = 0;

  // Sets `until` to the switch time, for an instance that has read the switch. Returns false without a switch time.
  virtual bool switch_time(std::int64_t* until) const noexcept = 0;

  // Returns the number of tuples delivered to the instances; -1 if all instances read all tuples.
  virtual std::int64_t delivered() const noexcept = 0;

  // Returns the number of delivered tuples of one source; only with a switch time. Any thread may call it during the
  // run. Up to a queue's length of these tuples may still wait for each instance.
  virtual std::int64_t delivered_of(std::size_t) const noexcept { return 0; }

  // Makes the change. Returns the number of bytes of state that it serialised.
  virtual std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) = 0;
};

// Shared-nothing: every instance has its own log, streams and state.
class PrivateLogs : public Handover {
 public:
  TupleBuffer& log(std::int32_t instance) override { return *at(instance).log; }
  int reader(std::int32_t) override { return 0; }
  std::span<const OperatorStream> streams(std::int32_t instance) override { return at(instance).streams; }
  WindowState* state(std::int32_t instance) override { return at(instance).state.get(); }
  bool has_switch_time() const noexcept override { return true; }

 protected:
  struct Receiver {
    std::unique_ptr<TupleBuffer> log;
    std::vector<OperatorStream> streams;
    std::unique_ptr<WindowState> state;
  };
  Receiver& at(std::int32_t instance) noexcept { return receivers_[static_cast<std::size_t>(instance)]; }

  std::deque<Receiver> receivers_;
};

// For a log that all instances read. `append_switch_to` puts switch `number` into the log; it returns false when the
// run is over. `change_readers` makes the joining instances readers and removes the leaving ones; no state moves.
bool append_switch_to(TupleBuffer& log, std::int64_t number);
void change_readers(TupleBuffer& log, const Change& change, std::span<OperatorInstance* const> instances);

class SharedLog final : public Handover {
 public:
  // `marks`: null if rows are not marked.
  SharedLog(std::unique_ptr<TupleBuffer> log, std::span<const OperatorStream> streams, std::deque<Feed>& feeds,
            std::unique_ptr<WindowState> state, std::unique_ptr<RowMarks> marks)
      : log_(std::move(log)),
        feeds_(feeds),
        feeder_(*log_, feeds),
        streams_(streams),
        state_(std::move(state)),
        marks_(std::move(marks)) {}

  void start(std::int32_t max_instances, const InstanceMapping& initial) override;
  TupleBuffer& log(std::int32_t) override { return *log_; }
  int reader(std::int32_t instance) override { return instance; }
  std::span<const OperatorStream> streams(std::int32_t) override { return streams_; }
  WindowState* state(std::int32_t) override { return state_.get(); }
  const RowMarks* marks() const noexcept override { return marks_.get(); }
  bool feed(Recorder& recorder, const InstanceMapping& now) override;
  bool append_switch(std::int64_t number) override { return append_switch_to(*log_, number); }
  bool has_switch_time() const noexcept override { return false; }
  bool switch_time(std::int64_t*) const noexcept override { return false; }
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
