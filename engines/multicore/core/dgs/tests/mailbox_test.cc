// One mailbox, with a ring that the test fills.
#include "dgs/mailbox.h"

#include <atomic>
#include <numeric>
#include <vector>

#include "check.h"

#include "run/errors.h"

namespace {

constexpr std::int64_t kBlocks = 64;
constexpr std::int64_t kBatch = 1000;

std::atomic<bool> stop{false};
std::int64_t taken = 0;

// Cancels the run in the middle of a turn.
std::int64_t stop_run(void*, const std::int32_t*, const void* const*, std::int64_t begin, std::int64_t end,
                      lab::Emit*) {
  taken += end - begin;
  stop.store(true, std::memory_order_relaxed);
  return end;
}

void a_turn_with_a_full_ring_ends_when_the_run_is_stopped() {
  for (const bool merges_blocks : {false, true}) {
    stop = false;
    taken = 0;
    std::vector<std::int64_t> ts(kBlocks * kBatch);
    std::iota(ts.begin(), ts.end(), 0);
    lab::StreamView stream;
    stream.ts = ts;
    stream.columns = {ts.data()};
    lab::Source source(stream, kBatch, kBlocks);
    lab::Forest forest;
    lab::OutputBuffer out{{8}};
    lab::Recorder recorder;
    lab::Histogram sync;
    lab::Counters counters;
    lab::Mailbox mailbox(0, 0, forest, out, recorder, sync, counters, stop);
    recorder.begin(lab::now_ns(), 0);
    lab::Lane lane;
    lane.source = &source;
    lane.reader = source.ring.add_reader();
    lane.owner_worker = -1;
    lane.merges_blocks = merges_blocks;
    lane.run = &stop_run;
    mailbox.lanes.push_back(std::move(lane));
    while (source.pump()) {
    }
    CHECK_THROWS(mailbox.step({}), lab::Stopped);
    CHECK(taken <= 1024);
  }
}

}  // namespace

int main() {
  a_turn_with_a_full_ring_ends_when_the_run_is_stopped();
  return 0;
}
