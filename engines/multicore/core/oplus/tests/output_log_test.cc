// Tests that no instance waits for room forever: readers free room that `OutputLog::will_have_room` promises, and they
// receive all outputs once all instances have ended.
#include "oplus/output_log.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "check.h"

namespace {

using lab::LogRun;
using lab::OutputBuffer;
using lab::OutputLog;
using lab::TupleBuffer;

constexpr std::int64_t kRingRows = 2;

// An output log with instances and readers, all in one thread.
class Instances {
 public:
  // With `copied`, each reader has its own log.
  Instances(std::string_view tuple_buffer, std::int32_t count, std::vector<std::int32_t> active, std::int32_t readers,
            bool copied)
      : log_(tuple_buffer, options(copied ? 1 : readers),
             {.itemsizes = {8}, .rows = kRingRows, .spill_rows = 1 << 20, .copies = copied ? readers : 1}),
        active_(std::move(active)),
        next_ts_(static_cast<std::size_t>(count)),
        taken_(static_cast<std::size_t>(readers)) {
    for (std::int32_t i = 0; i < count; ++i) outputs_.emplace_back(std::vector<std::int32_t>{8});
    log_.start(count, active_);
    for (std::int32_t r = 0; r < readers; ++r) log_of(r).add_reader();
  }

  const std::vector<std::int32_t>& active() const { return active_; }
  std::int64_t waiting(std::int32_t i) const { return outputs_[static_cast<std::size_t>(i)].waiting(); }
  std::int64_t emitted() const { return emitted_; }
  std::int64_t taken(std::int32_t reader) const { return taken_[static_cast<std::size_t>(reader)]; }

  // Instance `i` reaches time `ts` and emits rows with it.
  void emit(std::int32_t i, std::int64_t ts, std::int64_t rows) {
    emit_only(i, ts, rows);
    move(i);
  }
  void emit_only(std::int32_t i, std::int64_t ts, std::int64_t rows) {
    OutputBuffer& out = outputs_[static_cast<std::size_t>(i)];
    lab::Emit* const emit = out.open(rows);
    for (std::int64_t k = 0; k < rows; ++k) static_cast<std::int64_t*>(emit->columns[0])[emit->count++] = ts;
    out.close(i, i, 0, false);
    emitted_ += rows;
    next_ts_[static_cast<std::size_t>(i)] = ts;
  }

  bool move(std::int32_t i) {
    lab::Causes causes;
    const std::int64_t watermark = next_ts_[static_cast<std::size_t>(i)] - 1;
    const bool again = log_.move(i, outputs_[static_cast<std::size_t>(i)], causes, watermark);
    if (again) log_.advance();
    return again;
  }

  std::int64_t next_ts(std::int32_t i) const { return next_ts_[static_cast<std::size_t>(i)]; }

  // An instance with waiting outputs remains a source until it has published them.
  void leave(std::int32_t i) {
    std::erase(active_, i);
    leaving_.push_back(i);
    publish_leaving();
  }
  void publish_leaving() {
    for (const std::int32_t i : std::vector<std::int32_t>(leaving_)) {
      move(i);
      if (waiting(i) != 0) continue;
      std::erase(leaving_, i);
      log_.close(i);
      log_.advance();
    }
  }

  void join(std::int32_t i) {
    if (std::erase(leaving_, i) == 0) {
      std::int64_t reached = lab::kEndOfTime;
      for (const std::int32_t other : active_) reached = std::min(reached, next_ts(other));
      log_.join(i, active_);
      next_ts_[static_cast<std::size_t>(i)] = std::max(next_ts(i), reached);
    }
    active_.insert(std::ranges::lower_bound(active_, i), i);
  }

  // The reader takes all ready rows, in runs. Returns whether there were any.
  bool drain(std::int32_t reader) {
    TupleBuffer& log = log_of(reader);
    const int place = log_.copies() == 1 ? reader : 0;
    for (bool any = false;; any = true) {
      log.advance();
      const std::span<const LogRun> runs = log.read(place);
      if (runs.empty()) return any;
      for (const LogRun& run : runs) {
        taken_[static_cast<std::size_t>(reader)] += run.source >= 0 ? run.end - run.begin : 0;
      }
      log.release(place, runs.size());
    }
  }
  bool drain_all() {
    bool any = false;
    for (std::int32_t r = 0; r < std::ssize(taken_); ++r) any = drain(r) || any;
    return any;
  }

  // The law: where an instance may wait, its readers free some of its ring, without any action of another instance.
  void check_promises() {
    std::vector<std::int32_t> relying;
    for (const std::int32_t i : active_) {
      if (waiting(i) != 0 && log_.will_have_room(i)) relying.push_back(i);
    }
    drain_all();
    for (const std::int32_t i : relying) {
      for (std::int32_t copy = 0; copy < log_.copies(); ++copy) CHECK(log_.log(copy).room(i) > 0);
    }
    promises_ += std::ssize(relying);
  }
  std::int64_t promises() const { return promises_; }

  // All instances leave, and the readers take what comes.
  void end() {
    while (!active_.empty()) leave(active_.front());
    while (drain_all()) publish_leaving();
  }

 private:
  TupleBuffer& log_of(std::int32_t reader) { return log_.log(log_.copies() == 1 ? 0 : reader); }

  static lab::LogOptions options(int readers) {
    lab::LogOptions result;
    result.readers = readers;
    result.watermarks = false;
    result.rows_in_flight = kRingRows;
    return result;
  }

  OutputLog log_;
  std::vector<std::int32_t> active_;
  std::vector<std::int32_t> leaving_;
  std::vector<std::int64_t> next_ts_;  // no later output is before it
  std::deque<OutputBuffer> outputs_;
  std::int64_t emitted_ = 0;
  std::vector<std::int64_t> taken_;  // by reader
  std::int64_t promises_ = 0;
};

// Readers have had a row of instance 1 at the time when instance 0 joins. With ScaleGate, they see the rows of instance
// 0 only once instance 1 has passed that time.
void an_instance_that_joins_below_another_reads_on_at_that_time() {
  for (const std::string_view tuple_buffer : lab::kTupleBuffers) {
    Instances instances(tuple_buffer, 2, {1}, 1, false);
    instances.emit(1, 60, 1);
    instances.drain(0);
    CHECK_EQ(instances.taken(0), 1);
    instances.join(0);
    instances.emit(0, 60, 3);
    CHECK_EQ(instances.waiting(0), 1);
    instances.check_promises();
    instances.emit(1, 61, 0);
    instances.drain(0);
    instances.move(0);
    instances.drain(0);
    CHECK_EQ(instances.waiting(0), 0);
    CHECK_EQ(instances.taken(0), 4);
  }
}

// Instance 0 joins at 60, leaves, and joins again at 70. Its rows at 60 still come behind those of instance 1, which
// has left and has more of them.
void an_instance_that_joins_twice_knows_which_rows_follow_which_join() {
  for (const std::string_view tuple_buffer : lab::kTupleBuffers) {
    Instances instances(tuple_buffer, 3, {1, 2}, 1, false);
    instances.emit(2, 60, 0);
    instances.emit(1, 60, 1);
    instances.drain(0);
    instances.join(0);
    instances.emit(0, 60, kRingRows);
    instances.leave(0);
    instances.emit(2, 70, 0);
    instances.emit(1, 60, kRingRows + 1);
    instances.leave(1);
    instances.join(0);
    instances.emit(0, 70, 1);
    instances.check_promises();
    instances.end();
    CHECK_EQ(instances.taken(0), instances.emitted());
  }
}

// At a switch, another thread may emit for an instance that has just looked for work. The instance looks for room
// before it counts as starved. A reader that releases rows in between notifies no thread, so the instance must look
// again.
void an_instance_that_newly_lacks_room_looks_for_it_again() {
  for (const std::string_view tuple_buffer : lab::kTupleBuffers) {
    Instances instances(tuple_buffer, 1, {0}, 1, false);
    instances.emit(0, 60, kRingRows);
    instances.emit_only(0, 60, 1);
    CHECK(instances.move(0));
    CHECK(!instances.move(0));
    instances.drain(0);
    CHECK(instances.move(0));
    CHECK_EQ(instances.waiting(0), 0);
  }
}

void rows_must_be_released_one_by_one() {
  lab::LogOptions options;
  options.acknowledged_rows = 2;
  CHECK_THROWS(OutputLog("scalegate", options, {.itemsizes = {8}, .rows = kRingRows}), std::invalid_argument);
}

// Only the first reader has had the rows of instance 1 when instance 0 joins at their time. If the two logs then
// ordered the instances differently, the first would wait for instance 1 and the second for instance 0, and neither
// instance would have room in both.
void logs_of_different_readers_agree_on_the_order_of_instances_that_join() {
  for (const std::string_view tuple_buffer : lab::kTupleBuffers) {
    Instances instances(tuple_buffer, 2, {1}, 2, true);
    instances.emit(1, 60, kRingRows + 1);
    instances.drain(0);
    instances.join(0);
    instances.emit(0, 60, kRingRows + 1);
    instances.end();
    for (const std::int32_t reader : {0, 1}) CHECK_EQ(instances.taken(reader), 2 * kRingRows + 2);
  }
}

void room_comes_as_promised_and_all_outputs_arrive_for_any_history() {
  constexpr std::int32_t kInstances = 4;
  std::int64_t promises = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t count) { return static_cast<std::int32_t>(random() % count); };
    Instances instances(lab::kTupleBuffers[seed % 2], kInstances, {0, 1, 2}, 2, seed % 4 < 2);
    for (int step = 0; step < 200; ++step) {
      const std::vector<std::int32_t>& active = instances.active();
      const std::int32_t i = active[static_cast<std::size_t>(below(active.size()))];
      switch (below(7)) {
        case 0:
          if (active.size() > 1) instances.leave(i);
          break;
        case 1: {
          const std::int32_t other = below(kInstances);
          if (std::ranges::find(active, other) == active.end()) instances.join(other);
          break;
        }
        case 2:
          instances.drain(below(2));
          break;
        case 3:
          instances.publish_leaving();
          break;
        default:
          instances.emit(i, instances.next_ts(i) + 10 * below(2), below(4));
      }
      if (below(10) == 0) instances.check_promises();
    }
    promises += instances.promises();
    instances.end();
    for (const std::int32_t reader : {0, 1}) CHECK_EQ(instances.taken(reader), instances.emitted());
  }
  CHECK(promises > 1000);
}

}  // namespace

int main() {
  an_instance_that_joins_below_another_reads_on_at_that_time();
  an_instance_that_joins_twice_knows_which_rows_follow_which_join();
  logs_of_different_readers_agree_on_the_order_of_instances_that_join();
  an_instance_that_newly_lacks_room_looks_for_it_again();
  rows_must_be_released_one_by_one();
  room_comes_as_promised_and_all_outputs_arrive_for_any_history();
  return 0;
}
