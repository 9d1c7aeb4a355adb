// A source cuts a stream into blocks with correct bounds, and heartbeats raise the bounds.
#include "run/source.h"

#include <vector>

#include "check.h"

namespace {

std::vector<lab::Block> all_blocks(const lab::StreamView& stream, std::int64_t batch) {
  lab::Source source(stream, batch, 64);
  std::vector<lab::Block> blocks;
  while (source.pump()) blocks.push_back(source.ring.at(source.ring.published() - 1));
  CHECK(source.exhausted());
  return blocks;
}

void blocks_cover_the_stream() {
  const std::vector<std::int64_t> ts{1, 1, 2, 5, 5, 9, 10};
  lab::StreamView stream;
  stream.ts = ts;
  for (const std::int64_t batch : {1, 2, 3, 7, 100}) {
    std::int64_t next = 0;
    for (const lab::Block& block : all_blocks(stream, batch)) {
      CHECK_EQ(block.begin, next);
      CHECK(block.end > block.begin && block.end - block.begin <= batch);
      next = block.end;
      for (std::size_t i = static_cast<std::size_t>(next); i < ts.size(); ++i) CHECK(ts[i] >= block.bound_ts);
      CHECK_EQ(block.bound_ts == lab::kEndOfTime, next == stream.size());
    }
    CHECK_EQ(next, stream.size());
  }
}

void empty_stream_ends_at_once() {
  lab::StreamView stream;
  const auto blocks = all_blocks(stream, 4);
  CHECK_EQ(blocks.size(), 1U);
  CHECK(blocks[0].begin == blocks[0].end && blocks[0].bound_ts == lab::kEndOfTime);
}

void heartbeat_raises_the_bound() {
  const std::vector<std::int64_t> ts{10, 100};
  const std::vector<std::int64_t> heartbeats{5, 20, 50, 200};
  lab::StreamView stream;
  stream.ts = ts;
  stream.heartbeats = heartbeats;
  const auto blocks = all_blocks(stream, 1);
  CHECK_EQ(blocks.size(), 2U);
  CHECK_EQ(blocks[0].bound_ts, 51);
}

void source_stops_at_a_full_ring() {
  const std::vector<std::int64_t> ts{1, 2, 3, 4, 5};
  lab::StreamView stream;
  stream.ts = ts;
  lab::Source source(stream, 1, 2);
  const std::size_t reader = source.ring.add_reader();
  CHECK(source.pump() && source.pump() && !source.pump());
  source.ring.advance(reader, 1);
  CHECK(source.pump() && !source.pump() && !source.exhausted());
}

void a_row_arrives_when_it_is_published() {
  std::vector<std::int64_t> times(4, lab::kEndOfTime);
  const std::vector<std::int64_t> due{0, 10, 40, 90}, heartbeats{70 / 10 - 1}, heartbeat_due{70};
  lab::StreamView stream;
  stream.ts = times;
  stream.arrivals = times.data();
  stream.tick_ns = 10;
  stream.due = due;
  stream.heartbeats = heartbeats;
  stream.heartbeat_due = heartbeat_due;
  lab::Source source(stream, 8, 2);
  const std::size_t reader = source.ring.add_reader();
  source.notice(15);
  CHECK(source.publish(0));  // late: due at 0 and 10
  source.notice(41);
  CHECK(source.publish(0));
  CHECK_EQ(source.ring.at(0).bound_ts, 1);
  CHECK_EQ(source.ring.at(1).bound_ts, 4);
  source.notice(75);
  CHECK(!source.publish(0));  // the ring is full, and the promise waits
  source.ring.advance(reader, 2);
  CHECK(source.publish(0));
  CHECK_EQ(source.ring.at(2).bound_ts, 7);
  source.notice(99);
  CHECK(source.publish(0) && source.exhausted());
  CHECK(times == (std::vector<std::int64_t>{1, 1, 4, 9}));
}

void rows_from_outside_are_due_when_they_have_arrived() {
  std::vector<std::int64_t> ts(4, lab::kEndOfTime);
  const std::vector<std::int64_t> due(4, 0), heartbeats{7, 30}, heartbeat_due(2, 0);
  lab::Received received;
  lab::StreamView stream;
  stream.ts = ts;
  stream.due = due;
  stream.heartbeats = heartbeats;
  stream.heartbeat_due = heartbeat_due;
  stream.received = &received;
  lab::Source source(stream, 8, 8);
  source.notice(1'000);
  CHECK(!source.waits() && !source.publish(0));
  ts[0] = 3;
  ts[1] = 5;
  received.rows.store(2);
  source.notice(2'000);
  CHECK(source.publish(0) && !source.publish(0));
  CHECK_EQ(source.ring.at(0).end, 2);
  CHECK_EQ(source.ring.at(0).bound_ts, 5);
  received.heartbeats.store(1);
  source.notice(3'000);
  CHECK(source.publish(0));  // a promise alone
  CHECK_EQ(source.ring.at(1).bound_ts, 8);
  ts[2] = 9;
  ts[3] = 20;
  received.rows.store(4);
  source.notice(4'000);
  CHECK(source.publish(0) && !source.exhausted());  // a heartbeat may follow
  received.heartbeats.store(2);
  source.notice(5'000);
  CHECK(source.publish(0) && source.exhausted());
  CHECK_EQ(source.ring.at(3).bound_ts, lab::kEndOfTime);
}

}  // namespace

int main() {
  blocks_cover_the_stream();
  empty_stream_ends_at_once();
  heartbeat_raises_the_bound();
  source_stops_at_a_full_ring();
  a_row_arrives_when_it_is_published();
  rows_from_outside_are_due_when_they_have_arrived();
  return 0;
}
