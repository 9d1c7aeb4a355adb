// Tests the promise of `OutputLog::will_have_room`: an instance that relies on it stops reading. If no reader can then
// free its ring, all instances wait for each other.
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

constexpr std::int64_t kRingRows = 2;

// An output log with instances and readers, all in one thread.
class Instances {
 public:
  Instances(std::string_view tuple_buffer, std::int32_t count, std::vector<std::int32_t> active, int readers)
      : log_(tuple_buffer, options(readers), {.itemsizes = {8}, .rows = kRingRows, .spill_rows = 1 << 20}),
        active_(std::move(active)),
        next_ts_(static_cast<std::size_t>(count)) {
    for (std::int32_t i = 0; i < count; ++i) outputs_.emplace_back(std::vector<std::int32_t>{8});
    log_.start(count, active_);
    for (int r = 0; r < readers; ++r) log_.log().add_reader();
  }

  const std::vector<std::int32_t>& active() const { return active_; }
  std::int64_t waiting(std::int32_t i) const { return outputs_[static_cast<std::size_t>(i)].waiting(); }
  std::int64_t taken() const { return taken_; }

  // Instance `i` reaches time `ts` and emits rows with it.
  void emit(std::int32_t i, std::int64_t ts, std::int64_t rows) {
    OutputBuffer& out = outputs_[static_cast<std::size_t>(i)];
    lab::Emit* const emit = out.open(rows);
    for (std::int64_t k = 0; k < rows; ++k) static_cast<std::int64_t*>(emit->columns[0])[emit->count++] = ts;
    out.close(i, i, 0, false);
    next_ts_[static_cast<std::size_t>(i)] = ts;
    move(i);
  }

  void move(std::int32_t i) {
    lab::Causes causes;
    const std::int64_t watermark = next_ts_[static_cast<std::size_t>(i)] - 1;
    if (log_.move(i, outputs_[static_cast<std::size_t>(i)], causes, watermark)) log_.advance();
  }

  std::int64_t next_ts(std::int32_t i) const { return next_ts_[static_cast<std::size_t>(i)]; }

  void leave(std::int32_t i) {
    std::erase(active_, i);
    log_.close(i);
    log_.advance();
  }

  void join(std::int32_t i) {
    std::int64_t reached = lab::kEndOfTime;
    for (const std::int32_t other : active_) reached = std::min(reached, next_ts(other));
    log_.join(i, active_);
    next_ts_[static_cast<std::size_t>(i)] = std::max(next_ts(i), reached);
    active_.insert(std::ranges::lower_bound(active_, i), i);
  }

  // The reader takes all ready rows, in runs.
  void drain(int reader) {
    for (;;) {
      log_.log().advance();
      const std::span<const LogRun> runs = log_.log().read(reader);
      if (runs.empty()) return;
      for (const LogRun& run : runs) taken_ += run.source >= 0 ? run.end - run.begin : 0;
      log_.log().release(reader, runs.size());
    }
  }

  // The law: where an instance may wait, its readers free some of its ring, without any action of another instance.
  void check_promises() {
    std::vector<std::int32_t> relying;
    for (const std::int32_t i : active_) {
      if (waiting(i) != 0 && log_.will_have_room(i)) relying.push_back(i);
    }
    for (int r = 0; r < readers_; ++r) drain(r);
    for (const std::int32_t i : relying) CHECK(log_.log().room(i) > 0);
    promises_ += std::ssize(relying);
  }
  std::int64_t promises() const { return promises_; }

 private:
  lab::LogOptions options(int readers) {
    readers_ = readers;
    lab::LogOptions result;
    result.readers = readers;
    result.watermarks = false;
    result.rows_in_flight = kRingRows;
    return result;
  }

  int readers_ = 0;
  OutputLog log_;
  std::vector<std::int32_t> active_;
  std::vector<std::int64_t> next_ts_;  // no later output is before it
  std::deque<OutputBuffer> outputs_;
  std::int64_t taken_ = 0;
  std::int64_t promises_ = 0;
};

// Readers have had a row of instance 1 at the time when instance 0 joins. With ScaleGate, they see the rows of instance 0
// only once instance 1 has passed that time.
void an_instance_that_joins_below_another_reads_on_at_that_time() {
  for (const std::string_view tuple_buffer : lab::kTupleBuffers) {
    Instances instances(tuple_buffer, 2, {1}, 1);
    instances.emit(1, 60, 1);
    instances.drain(0);
    CHECK_EQ(instances.taken(), 1);
    instances.join(0);
    instances.emit(0, 60, 3);
    CHECK_EQ(instances.waiting(0), 1);
    instances.check_promises();
    instances.emit(1, 61, 0);
    instances.drain(0);
    instances.move(0);
    instances.drain(0);
    CHECK_EQ(instances.waiting(0), 0);
    CHECK_EQ(instances.taken(), 4);
  }
}

void a_promise_of_room_holds_for_any_history() {
  constexpr std::int32_t kInstances = 4;
  std::int64_t promises = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t count) { return static_cast<std::int32_t>(random() % count); };
    Instances instances(lab::kTupleBuffers[seed % 2], kInstances, {0, 1, 2}, 2);
    for (int step = 0; step < 200; ++step) {
      const std::vector<std::int32_t>& active = instances.active();
      const std::int32_t i = active[static_cast<std::size_t>(below(active.size()))];
      switch (below(6)) {
        case 0:
          if (active.size() > 1 && instances.waiting(i) == 0) instances.leave(i);
          break;
        case 1: {
          const std::int32_t other = below(kInstances);
          if (std::ranges::find(active, other) == active.end()) instances.join(other);
          break;
        }
        case 2:
          instances.drain(below(2));
          break;
        default:
          instances.emit(i, instances.next_ts(i) + 10 * below(2), below(4));
      }
      if (below(3) == 0) instances.check_promises();
    }
    promises += instances.promises();
  }
  CHECK(promises > 1000);
}

}  // namespace

int main() {
  an_instance_that_joins_below_another_reads_on_at_that_time();
  a_promise_of_room_holds_for_any_history();
  return 0;
}
