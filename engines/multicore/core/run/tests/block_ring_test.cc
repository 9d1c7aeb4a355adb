// Every reader sees every block once, in order, and the producer never overruns the slowest.
#include "run/block_ring.h"

#include <thread>
#include <vector>

#include "check.h"

namespace {

lab::Block block(std::int64_t i) { return {i * 10, i * 10 + 10, i * 10, -i}; }

void full_ring_refuses_until_slowest_reader_advances() {
  lab::BlockRing ring(3);  // rounded up to 4
  const std::size_t fast = ring.add_reader();
  const std::size_t slow = ring.add_reader();
  CHECK_EQ(ring.capacity(), 4U);
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(ring.has_room());
    ring.publish(block(i));
  }
  CHECK(!ring.has_room());
  ring.advance(fast, 4);
  CHECK(!ring.has_room());
  ring.advance(slow, 1);
  CHECK(ring.has_room());
  ring.publish(block(4));
  CHECK(!ring.has_room());
  CHECK_EQ(ring.at(1).begin, 10);
  CHECK_EQ(ring.at(4).begin, 40);
}

void ring_without_readers_never_blocks() {
  lab::BlockRing ring(2);
  for (std::int64_t i = 0; i < 10; ++i) {
    CHECK(ring.has_room());
    ring.publish(block(i));
  }
}

void all_readers_see_all_blocks(int readers, std::int64_t blocks, std::uint64_t capacity) {
  lab::BlockRing ring(capacity);
  std::vector<std::size_t> ids;
  for (int r = 0; r < readers; ++r) ids.push_back(ring.add_reader());
  std::vector<std::thread> threads;
  for (const std::size_t id : ids) {
    threads.emplace_back([&ring, id, blocks] {
      std::uint64_t next = 0;
      while (next < static_cast<std::uint64_t>(blocks)) {
        const std::uint64_t published = ring.published();
        if (published == next) {
          std::this_thread::yield();
          continue;
        }
        CHECK(published - next <= ring.capacity());
        for (; next < published; ++next) {
          const lab::Block seen = ring.at(next);
          const lab::Block expected = block(static_cast<std::int64_t>(next));
          CHECK(seen.begin == expected.begin && seen.end == expected.end && seen.stamp_ns == expected.stamp_ns);
        }
        ring.advance(id, next);
      }
    });
  }
  for (std::int64_t i = 0; i < blocks;) {
    if (ring.has_room()) {
      ring.publish(block(i++));
    } else {
      std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  full_ring_refuses_until_slowest_reader_advances();
  ring_without_readers_never_blocks();
  const std::int64_t blocks = lab::test::stress_rounds(20) * 500;
  all_readers_see_all_blocks(1, blocks, 1);
  all_readers_see_all_blocks(1, blocks, 64);
  all_readers_see_all_blocks(5, blocks, 2);
  return 0;
}
