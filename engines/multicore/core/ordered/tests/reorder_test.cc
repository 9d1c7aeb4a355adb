// The reordering buffers: units leave in order, each once, and none is left behind when all adders have returned.
#include "ordered/reorder.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

#include "ordered/tests/units.h"
#include "run/parker.h"

namespace {

using lab::OrderedWorker;
using lab::Reordering;
using lab::Unit;
using lab::test::make_worker;

void add(Reordering& order, Unit& unit, OrderedWorker& worker) {
  Unit* const units[] = {&unit};
  order.add(units, worker);
}

// Checks the order, and that one thread sends at a time.
struct Line final : lab::OrderedExit {
  void send(lab::Units units, OrderedWorker&) override {
    CHECK_EQ(inside.fetch_add(1, std::memory_order_relaxed), 0);
    CHECK(!units.empty());
    for (const Unit* unit : units) {
      CHECK_EQ(unit->serial, next);
      ++next;
    }
    CHECK_EQ(inside.fetch_sub(1, std::memory_order_relaxed), 1);
    done.store(next, std::memory_order_release);
  }
  void offer(OrderedWorker&) override { offers.fetch_add(1, std::memory_order_relaxed); }
  std::int64_t next = 0;  // unsynchronised: the buffer guarantees a single thread here
  std::atomic<int> inside{0};
  std::atomic<std::int64_t> done{0};
  std::atomic<std::int64_t> offers{0};
};

void units_added_in_any_order_leave_in_order() {
  for (const char* name : {"nonblocking", "lock"}) {
    for (const std::int64_t window : {1, 3, 8}) {
      std::mt19937 random(5);
      Line line;
      const auto order = lab::make_reordering(name, window, line);
      const auto worker = make_worker();
      std::vector<Unit> units(static_cast<std::size_t>(window));
      for (std::int64_t round = 0; round < 50; ++round) {
        std::vector<Unit*> pending;
        for (std::int64_t i = 0; i < window; ++i) {
          units[static_cast<std::size_t>(i)].serial = round * window + i;
          pending.push_back(&units[static_cast<std::size_t>(i)]);
        }
        std::shuffle(pending.begin(), pending.end(), random);
        while (!pending.empty()) {
          const std::size_t count = 1 + random() % pending.size();
          order->add({pending.data() + pending.size() - count, count}, *worker);
          pending.resize(pending.size() - count);
        }
        CHECK_EQ(line.next, (round + 1) * window);
      }
      CHECK_EQ(worker->counts.sends, 50 * window);
      CHECK_EQ(worker->counts.adds, 50 * window);
    }
  }
  Line line;
  CHECK_THROWS(lab::make_reordering("sorted", 4, line), std::invalid_argument);
}

void a_turn_ends_and_the_rest_is_offered() {
  Line line;
  lab::NonBlockingReordering order(8, line, 3);
  const auto worker = make_worker();
  std::vector<Unit> units(8);
  for (std::size_t i = 0; i < units.size(); ++i) units[i].serial = static_cast<std::int64_t>(i);
  for (std::size_t i = units.size(); i > 1; --i) add(order, units[i - 1], *worker);
  CHECK_EQ(line.next, 0);
  CHECK(!order.resume(*worker));  // no offer
  add(order, units[0], *worker);
  CHECK_EQ(line.next, 3);
  CHECK_EQ(line.offers.load(), 1);
  CHECK(order.resume(*worker));
  CHECK_EQ(line.next, 6);
  CHECK(order.resume(*worker));
  CHECK_EQ(line.next, 8);
  CHECK(!order.resume(*worker));
  CHECK_EQ(worker->counts.handed_over, 2);
}

// The exit adds while it sends: each sent unit adds the next one.
void a_turn_ends_also_when_others_keep_adding() {
  struct Feeding final : lab::OrderedExit {
    void send(lab::Units units, OrderedWorker& worker) override {
      sent += static_cast<std::int64_t>(units.size());
      ++calls;
      const auto next = static_cast<std::size_t>(units.back()->serial + 1);
      if (next < all.size()) add(*order, all[next], worker);
    }
    void offer(OrderedWorker&) override { ++offers; }
    Reordering* order = nullptr;
    std::vector<Unit> all = std::vector<Unit>(100);
    std::int64_t sent = 0, calls = 0, offers = 0;
  } exit;
  lab::NonBlockingReordering order(128, exit, 10);
  exit.order = &order;
  for (std::size_t i = 0; i < exit.all.size(); ++i) exit.all[i].serial = static_cast<std::int64_t>(i);
  const auto worker = make_worker();
  add(order, exit.all[0], *worker);
  CHECK_EQ(exit.sent, 10);
  CHECK_EQ(exit.offers, 1);
  for (int turn = 2; turn <= 10; ++turn) CHECK(order.resume(*worker));
  CHECK_EQ(exit.sent, 100);
  while (order.resume(*worker)) continue;
  CHECK_EQ(exit.calls, 100);
}

// Lets two threads meet as closely as possible.
class Meeting {
 public:
  void wait() noexcept {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 1) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int i = 0; round_.load(std::memory_order_acquire) == round; ++i) {
      if (i < 2000) {
        lab::spin_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

// The lost wake-up: one thread adds the next unit and sends; the other adds the following unit just as the first clears
// the flag. After both have returned, no sendable unit may be left.
void no_unit_stays_behind_when_adders_have_gone() {
  const int rounds = lab::test::stress_rounds(20) * 2'000;
  for (const std::int64_t max_sends : {std::int64_t{1}, lab::NonBlockingReordering::kMaxSends}) {
    Line line;
    lab::NonBlockingReordering order(2, line, max_sends);
    std::vector<Unit> units(2);
    Meeting begin, end;
    std::int64_t left = 0;
    std::int64_t contended = 0;
    const auto adder = [&](std::int32_t me) {
      const auto worker = make_worker(me);
      unsigned delay = static_cast<unsigned>(me) + 1;
      for (int round = 0; round < rounds; ++round) {
        Unit& unit = units[static_cast<std::size_t>(me)];
        unit.serial = 2 * std::int64_t{round} + me;
        delay = delay * 1664525 + 1013904223;
        begin.wait();
        for (unsigned i = 0; i < (delay >> 16) % 24; ++i) lab::spin_pause();
        add(order, unit, *worker);
        end.wait();
        if (me == 0) {
          // An offered turn belongs to no thread: any thread that looks for work takes it.
          while (order.resume(*worker)) continue;
          if (line.next != 2 * std::int64_t{round} + 2) ++left;
        }
        begin.wait();
        if (left != 0) break;
      }
      if (me == 0) contended = worker->counts.found_taken;
    };
    std::thread other([&] { adder(1); });
    adder(0);
    other.join();
    CHECK_EQ(left, 0);
    std::printf("%d rounds of most %lld, flag taken in %lld\n", rounds, static_cast<long long>(max_sends),
                static_cast<long long>(contended));
  }
}

// Threads take serial numbers, finish in any order, and return: all units must then be out, in order.
void all_units_are_sent_at_the_end_of_the_stream() {
  const int rounds = lab::test::stress_rounds(20) * 4;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t window = std::int64_t{1} << (round % 6);
    const int threads = 1 + round % 5;
    const std::int64_t total = 1 + (round * 37) % 700;
    Line line;
    std::unique_ptr<Reordering> order;
    if (round % 4 == 3) {
      order = lab::make_reordering("lock", window, line);
    } else {
      order = std::make_unique<lab::NonBlockingReordering>(window, line, 1 + round % 3);
    }
    std::vector<Unit> units(static_cast<std::size_t>(window));
    std::atomic<std::int64_t> serial{0};
    std::vector<std::thread> adders;
    for (int i = 0; i < threads; ++i) {
      adders.emplace_back([&, i] {
        const auto worker = make_worker(i);
        std::mt19937 random(static_cast<unsigned>(round * 8 + i));
        for (;;) {
          // Adds up to three together. Units held back while the window is full would keep it full.
          const std::int64_t count = std::min<std::int64_t>(window, 1 + static_cast<std::int64_t>(random() % 3));
          const std::int64_t first = serial.fetch_add(count, std::memory_order_relaxed);
          std::vector<Unit*> together;
          for (std::int64_t number = first; number < std::min(first + count, total); ++number) {
            // The entry's rule: at most a window ahead of the sent units.
            while (number >= line.done.load(std::memory_order_acquire) + window) {
              if (!together.empty()) order->add(std::exchange(together, {}), *worker);
              if (!order->resume(*worker)) std::this_thread::yield();
            }
            together.push_back(&units[static_cast<std::size_t>(number % window)]);
            together.back()->serial = number;
          }
          for (auto k = random() % 3; k > 0; --k) std::this_thread::yield();
          if (!together.empty()) order->add(together, *worker);
          if (first + count >= total) break;
        }
        while (order->resume(*worker)) continue;
      });
    }
    for (std::thread& adder : adders) adder.join();
    const auto worker = make_worker();
    CHECK(!order->resume(*worker));
    CHECK_EQ(line.next, total);
  }
}

}  // namespace

int main() {
  units_added_in_any_order_leave_in_order();
  a_turn_ends_and_the_rest_is_offered();
  a_turn_ends_also_when_others_keep_adding();
  no_unit_stays_behind_when_adders_have_gone();
  all_units_are_sent_at_the_end_of_the_stream();
  return 0;
}
