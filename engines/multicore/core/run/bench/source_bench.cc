// Measures a Source: it cuts a stream into blocks, at full speed and on a schedule, and one reader takes them.
#include <vector>

#include "registry.h"

#include "run/source.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kBatch = 16;
constexpr std::int64_t kHeartbeatEvery = 40;  // events; event i is at time 2 i, its heartbeat at 2 i + 1

bool heartbeat_after(std::int64_t event) { return event % kHeartbeatEvery == kHeartbeatEvery - 1; }

std::int64_t run(std::int64_t n) {
  std::vector<std::int64_t> ts;
  std::vector<std::int64_t> heartbeats;
  for (std::int64_t i = 0; i < n; ++i) {
    ts.push_back(2 * i);
    if (heartbeat_after(i)) heartbeats.push_back(2 * i + 1);
  }
  StreamView stream;
  stream.ts = ts;
  stream.columns = {ts.data(), nullptr};
  stream.heartbeats = heartbeats;
  Source source(stream, kBatch, 8);
  const std::size_t reader = source.ring.add_reader();
  return measure([&] {
    std::int64_t sum = 0;
    std::uint64_t next = 0;
    while (!source.exhausted()) {
      while (source.pump()) {
      }
      for (const std::uint64_t seen = source.ring.published(); next < seen; ++next) {
        const Block& block = source.ring.at(next);
        sum += block.begin;
        if (block.bound_ts != kEndOfTime) sum += block.bound_ts;
      }
      source.ring.advance(reader, next);
    }
    return sum;
  });
}

std::int64_t expected(std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += kBatch) {
    sum += begin;
    const std::int64_t last = begin + kBatch - 1;
    if (last < n - 1) sum += heartbeat_after(last) ? 2 * last + 2 : 2 * last;
  }
  return sum;
}

// The second benchmark publishes on a schedule, as the generator does (run/generator.cc), but its clock has equal
// steps.
constexpr std::int64_t kGapNs = 1'000;     // between events
constexpr std::int64_t kCheckNs = 50'000;  // between two readings of the clock
constexpr std::int64_t kLargest = 64;      // events of a block

std::int64_t run_schedule(std::int64_t n) {
  std::vector<std::int64_t> ts;
  std::vector<std::int64_t> due;
  for (std::int64_t i = 0; i < n; ++i) {
    ts.push_back(i);
    due.push_back(i * kGapNs);
  }
  StreamView stream;
  stream.ts = ts;
  stream.columns = {ts.data(), nullptr};
  stream.due = due;
  Source source(stream, kLargest, 64);
  const std::size_t reader = source.ring.add_reader();
  return measure([&] {
    std::int64_t sum = 0;
    std::uint64_t next = 0;
    for (std::int64_t now = 0; !source.exhausted(); now += kCheckNs) {
      const Source::DueEvents noticed = source.notice(now);
      sum += noticed.first_due_ns;
      while (source.publish(now)) {
      }
      for (const std::uint64_t seen = source.ring.published(); next < seen; ++next) {
        const Block& block = source.ring.at(next);
        sum += block.begin + (block.end - block.begin) * block.stamp_ns;
      }
      source.ring.advance(reader, next);
    }
    return sum;
  });
}

std::int64_t expected_schedule(std::int64_t n) {
  std::int64_t sum = 0;
  std::int64_t begin = 0;
  for (std::int64_t now = 0; begin < n; now += kCheckNs) {
    const std::int64_t end = now / kGapNs + 1 < n ? now / kGapNs + 1 : n;
    sum += begin * kGapNs + begin + (end - begin) * now;
    begin = end;
  }
  return sum;
}

}  // namespace

const Bench source_pump{"source_pump", "events, 16 a block", 3'200'000, &run, &expected};
const Bench source_schedule{"source_schedule", "events, 50 due at each reading", 3'200'000, &run_schedule,
                            &expected_schedule};

}  // namespace lab::bench
