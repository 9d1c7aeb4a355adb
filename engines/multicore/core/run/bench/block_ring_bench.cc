// Measures a BlockRing that one producer fills and two readers empty, in turns.
#include "registry.h"

#include "run/block_ring.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kEvents = 64;  // events of a block

std::int64_t run(std::int64_t n) {
  BlockRing ring(64);
  const std::size_t readers[] = {ring.add_reader(), ring.add_reader()};
  std::uint64_t next[] = {0, 0};
  return measure([&] {
    std::int64_t sum = 0;
    std::int64_t published = 0;
    while (published < n) {
      for (; published < n && ring.has_room(); ++published) {
        const std::int64_t begin = published * kEvents;
        ring.publish({.begin = begin, .end = begin + kEvents, .bound_ts = begin, .stamp_ns = begin});
      }
      for (const std::size_t reader : readers) {
        const std::uint64_t seen = ring.published();
        for (; next[reader] < seen; ++next[reader]) sum += ring.at(next[reader]).begin;
        ring.advance(reader, seen);
      }
    }
    return sum;
  });
}

std::int64_t expected(std::int64_t n) { return 2 * kEvents * (n * (n - 1) / 2); }

}  // namespace

const Bench block_ring_hand_over{"block_ring_hand_over", "blocks", 500'000, &run, &expected};

}  // namespace lab::bench
