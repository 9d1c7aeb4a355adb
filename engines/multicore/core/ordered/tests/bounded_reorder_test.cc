// The bounded reordering buffers: refusals, an exit without room, and no unit left behind.
#include "ordered/bounded_reorder.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "check.h"

#include "ordered/tests/units.h"

namespace {

using lab::OrderedWorker;
using lab::Unit;
using lab::test::make_worker;

// Checks the order, that one thread sends at a time, and that a unit refused for lack of room comes again.
struct Door final : lab::BoundedExit {
  bool send(Unit& unit, OrderedWorker&) override {
    CHECK_EQ(inside.fetch_add(1, std::memory_order_relaxed), 0);
    CHECK_EQ(unit.serial, next);
    const bool has_room_now = unit.serial < room.load(std::memory_order_seq_cst);
    if (has_room_now) {
      ++next;
      seen.store(next, std::memory_order_relaxed);
    }
    CHECK_EQ(inside.fetch_sub(1, std::memory_order_relaxed), 1);
    return has_room_now;
  }
  bool has_room() const override { return room.load(std::memory_order_seq_cst) > seen.load(std::memory_order_relaxed); }
  std::int64_t next = 0;  // unsynchronised: the buffer guarantees a single thread here
  std::atomic<std::int64_t> seen{0};
  std::atomic<int> inside{0};
  std::atomic<std::int64_t> room{1 << 30};
};

std::vector<Unit> numbered(std::size_t count) {
  std::vector<Unit> units(count);
  for (std::size_t i = 0; i < count; ++i) units[i].serial = static_cast<std::int64_t>(i);
  return units;
}

void a_unit_too_far_ahead_is_refused_until_its_slot_is_empty() {
  for (const char* name : {"nonblocking", "lock"}) {
    Door door;
    const auto order = lab::make_bounded(name, 3, door);  // four slots
    const auto worker = make_worker();
    auto units = numbered(10);
    CHECK(!order->takes(4) && !order->send(units[4], *worker));
    CHECK(order->send(units[3], *worker) && order->send(units[1], *worker));
    CHECK_EQ(door.next, 0);
    CHECK(order->send(units[0], *worker));
    CHECK_EQ(door.next, 2);
    CHECK(order->takes(4) && order->send(units[4], *worker));  // the refused send has left no trace
    CHECK(order->send(units[2], *worker));
    CHECK_EQ(door.next, 5);
    CHECK_EQ(order->next().load(), 5);
    CHECK(!order->send(units[9], *worker));
    CHECK_EQ(worker->counts.refused, 2);
    CHECK_EQ(worker->counts.adds, 5);
    CHECK_EQ(worker->counts.sends, 5);
  }
  Door door;
  CHECK_THROWS(lab::make_bounded("sorted", 4, door), std::invalid_argument);
}

void a_worker_that_looks_for_work_retries_an_exit_without_room() {
  for (const char* name : {"nonblocking", "lock"}) {
    Door door;
    door.room.store(1);
    const auto order = lab::make_bounded(name, 4, door);
    const auto worker = make_worker();
    auto units = numbered(6);
    CHECK(!order->resume(*worker));  // no offer
    for (int i = 2; i >= 0; --i) CHECK(order->send(units[static_cast<std::size_t>(i)], *worker));
    CHECK_EQ(door.next, 1);
    CHECK(!order->resume(*worker));  // still no room; the offer stays
    door.room.store(2);
    CHECK(order->resume(*worker));
    CHECK_EQ(door.next, 2);
    door.room.store(10);
    CHECK(order->send(units[3], *worker));  // an adder sends too
    CHECK_EQ(door.next, 4);
    CHECK(!order->resume(*worker));
  }
}

// Threads finish units in any order, up to twice as far ahead as there are slots, while another opens the door bit by
// bit. A refused thread retries; a thread without units takes the offers. All units must then be out, in order.
void all_units_are_sent_despite_refusals_and_an_exit_without_room() {
  std::int64_t refused = 0;
  const auto run_round = [&](unsigned round) {
    const std::int64_t slots = std::int64_t{1} << (round % 5);
    const int threads = 1 + static_cast<int>(round % 4);
    constexpr std::int64_t kTotal = 150;
    Door door;
    door.room.store(0);
    const auto order = lab::make_bounded(round % 3 == 2 ? "lock" : "nonblocking", slots, door);
    auto units = numbered(kTotal);
    std::atomic<std::int64_t> serial{0};
    std::atomic<std::int64_t> refusals{0};
    std::vector<std::thread> adders;
    for (int i = 0; i < threads; ++i) {
      adders.emplace_back([&, i] {
        const auto worker = make_worker(i);
        std::mt19937 random(round * 8 + static_cast<unsigned>(i));
        for (;;) {
          const std::int64_t number = serial.fetch_add(1, std::memory_order_relaxed);
          if (number >= kTotal) break;
          for (auto k = random() % 3; k > 0; --k) std::this_thread::yield();
          while (!order->send(units[static_cast<std::size_t>(number)], *worker)) {
            order->resume(*worker);
            std::this_thread::yield();
          }
        }
        while (order->next().load(std::memory_order_seq_cst) != kTotal) {
          if (!order->resume(*worker)) std::this_thread::yield();
        }
        refusals.fetch_add(worker->counts.refused, std::memory_order_relaxed);
      });
    }
    std::mt19937 random(round);
    while (door.room.load() < kTotal) {
      door.room.fetch_add(1 + static_cast<std::int64_t>(random() % 40), std::memory_order_seq_cst);
      for (auto k = random() % 4; k > 0; --k) std::this_thread::yield();
    }
    for (std::thread& adder : adders) adder.join();
    const auto worker = make_worker();
    CHECK(!order->resume(*worker));
    CHECK_EQ(door.next, kTotal);
    refused += refusals.load();
  };
  const int rounds = lab::test::rounds_until(lab::test::stress_rounds(20), run_round, [&] { return refused > 0; });
  std::printf("%d rounds, %lld refused\n", rounds, static_cast<long long>(refused));
}

}  // namespace

int main() {
  a_unit_too_far_ahead_is_refused_until_its_slot_is_empty();
  a_worker_that_looks_for_work_retries_an_exit_without_room();
  all_units_are_sent_despite_refusals_and_an_exit_without_room();
  return 0;
}
