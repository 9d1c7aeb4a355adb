// How workers of a pipeline find work: heuristics, the scheduler, wake-ups.
#include "ordered/scheduler.h"

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

#include "ordered/heuristic.h"
#include "ordered/idle.h"
#include "ordered/tests/units.h"
#include "ordered/worklist.h"
#include "run/parker.h"

namespace {

using lab::OperatorLoad;
using lab::test::Units;

OperatorLoad load_of(double queued, double cost_ns, double selectivity, double window_ns = 0, double workers = 0) {
  OperatorLoad load;
  load.schedulable = true;
  load.queued = queued;
  load.cost_ns = cost_ns;
  load.selectivity = selectivity;
  load.window_ns = window_ns;
  load.workers = workers;
  load.limit = 9;
  return load;
}

std::int32_t pick(const char* name, std::vector<OperatorLoad> loads, double slice_ns = 10, double capacity = 100) {
  return lab::heuristic_of(name)(loads, {slice_ns, capacity});
}

void heuristics_follow_the_papers_formulas() {
  OperatorLoad none = load_of(0, 1, 1);
  none.schedulable = false;
  for (const std::string& name : lab::heuristic_names()) {
    CHECK_EQ(pick(name.c_str(), {none, none}), -1);
    CHECK_EQ(pick(name.c_str(), {none, load_of(5, 1, 1)}), 1);
    CHECK_EQ(pick(name.c_str(), {load_of(5, 1, 1), none}), 0);
    CHECK_EQ(pick(name.c_str(), {load_of(5, 1, 0), load_of(5, 1, 0)}) >= 0, true);  // nothing forwarded yet
  }
  CHECK_EQ(pick("lp", {load_of(900, 1, 1), load_of(1, 1, 1), none}), 1);

  // (1): cs = 2, 1, 1, so T = 50, 25, 25 of a capacity of 100.
  CHECK_EQ(pick("qst", {load_of(9, 1, 2), load_of(49, 1, 0.5), load_of(9, 1, 1)}), 0);
  CHECK_EQ(pick("qst", {load_of(9, 1, 2), load_of(50, 1, 0.5), load_of(24, 1, 1)}), 1);
  CHECK_EQ(pick("qst", {load_of(9, 1, 2), load_of(50, 1, 0.5), load_of(25, 1, 1)}), 2);  // its output queue is empty
  CHECK_EQ(pick("qst", {load_of(9, 1, 2), load_of(50, 1, 0.5), none}), 1);  // queues behind the last are empty
  OperatorLoad busy = none;
  busy.queued = 60;
  CHECK_EQ(pick("qst", {load_of(9, 1, 2), busy, none}), -1);  // declines: others are at the second

  // (2): I c / (w + 1) = 50, 60, 40.
  CHECK_EQ(pick("et", {load_of(50, 1, 1), load_of(30, 4, 1, 0, 1), load_of(40, 1, 1)}), 1);
  CHECK_EQ(pick("et", {load_of(50, 1, 1), load_of(30, 4, 1, 0, 2), load_of(40, 1, 1)}), 0);

  // (3): (T + w s) / (c cs) with s = 10: 100 / (1 x 2) = 50, (30 + 10) / (1 x 1) = 40, 90 / (2 x 1) = 45.
  CHECK_EQ(pick("ct", {load_of(9, 1, 2, 100), load_of(9, 1, 0.5, 30, 1), load_of(9, 2, 1, 90)}), 1);
  // An operator that forwards nothing is the last choice.
  CHECK_EQ(pick("ct", {load_of(9, 1, 1, 50), load_of(9, 1, 0, 10)}), 0);
}

void an_unknown_heuristic_is_an_error_that_lists_them() {
  const std::string message = lab::test::failure_of([] { lab::heuristic_of("fifo"); });
  CHECK_EQ(message, std::string("unknown scheduler fifo; expected one of ct, lp, et, qst"));
}

void the_scheduler_measures_costs_and_keeps_to_limits() {
  lab::OrderedScheduler scheduler(lab::heuristic_of("lp"), 8192, 1000, 1'000'000);
  lab::UnitList first(8, 1), second(8, 1);
  scheduler.add(first, 4);
  scheduler.add(second, 1);
  std::vector<OperatorLoad> table;
  CHECK_EQ(scheduler.choose(0, 0, true, table).stage, -1);
  Units units({{0, 0}, {0, 0}, {0, 0}});
  const std::array<lab::Unit*, 2> all{&units.units[0], &units.units[1]};
  first.push({&all[0], 1});
  second.push({&all[1], 1});
  const lab::Assignment first_choice = scheduler.choose(0, 0, false, table);
  CHECK_EQ(first_choice.stage, 1);
  CHECK_EQ(first_choice.records, 1);  // the cost is not known yet
  CHECK(first_choice.has_more);       // the other operator
  CHECK(!scheduler.has_room(1));
  const lab::Assignment second_choice = scheduler.choose(0, 0, false, table);
  CHECK_EQ(second_choice.stage, 0);  // the second takes one worker only
  CHECK_EQ(scheduler.choose(0, 1, true, table).stage, -1);
  scheduler.leave(1, 200, 2, 6);
  CHECK_EQ(scheduler.selectivity(1), 3.0);
  const lab::Assignment third_choice = scheduler.choose(0, 0, false, table);
  CHECK_EQ(third_choice.stage, 1);
  CHECK_EQ(third_choice.records, 10);  // 1,000 ns of 100 ns each
  scheduler.leave(1, 0, 0, 0);
  scheduler.leave(0, 50, 1, 0);
  CHECK_EQ(scheduler.totals(1).rows, 2);
  CHECK_EQ(scheduler.totals(1).busy_ns, 200);
  CHECK_EQ(scheduler.selectivity(0), 0.0);
  // Measurements older than two windows no longer count.
  for (int window = 1; window <= 2; ++window) {
    scheduler.choose(window * 1'000'001, 3, true, table);
    CHECK(scheduler.choose(window * 1'000'001, 1, true, table).stage == 1);
    scheduler.leave(1, 40, 2, 1);
  }
  const lab::Assignment fourth_choice = scheduler.choose(3'000'010, 1, true, table);
  CHECK_EQ(fourth_choice.records, 50);
  CHECK_EQ(scheduler.selectivity(1), 0.5);
  scheduler.leave(1, 0, 0, 0);
}

void a_heuristic_that_declines_is_overruled_before_a_worker_sleeps() {
  lab::OrderedScheduler scheduler(lab::heuristic_of("qst"), 1, 1000, 1000);
  lab::UnitList first(8, 1), second(8, 1);
  scheduler.add(first, 4);
  scheduler.add(second, 1);
  Units units({{0}, {0}});
  const std::array<lab::Unit*, 2> all{&units.units[0], &units.units[1]};
  first.push({&all[0], 1});
  second.push({&all[1], 1});
  std::vector<OperatorLoad> table;
  CHECK_EQ(scheduler.choose(0, 0, false, table).stage, 1);
  CHECK_EQ(scheduler.choose(0, 0, false, table).stage, -1);
  CHECK_EQ(scheduler.choose(0, 0, true, table).stage, 0);
}

// Many sleepers: more than the machine has cores, and than a word of the mask has bits.
void one_sleeper_is_woken_for_one_piece_of_work(int sleepers, int rounds) {
  const std::int32_t producer = sleepers;  // not the index of a worker
  std::vector<lab::Parker> parkers(static_cast<std::size_t>(sleepers));
  lab::IdleWorkers idle(sleepers);
  std::atomic<int> work{0};
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int me = 0; me < sleepers; ++me) {
    threads.emplace_back([&, me] {
      lab::Parker& parker = parkers[static_cast<std::size_t>(me)];
      while (done.load(std::memory_order_seq_cst) < rounds) {
        int pieces = work.load(std::memory_order_seq_cst);
        if (pieces > 0) {
          if (work.compare_exchange_strong(pieces, pieces - 1, std::memory_order_seq_cst)) {
            if (done.fetch_add(1, std::memory_order_seq_cst) + 1 == rounds) {
              for (lab::Parker& other : parkers) other.notify();
            }
          }
          continue;
        }
        const std::uint32_t ticket = parker.prepare();
        idle.announce(me);
        if (work.load(std::memory_order_seq_cst) > 0 || done.load(std::memory_order_seq_cst) >= rounds) {
          parker.cancel();
        } else {
          parker.commit(ticket);
        }
        idle.withdraw(me);
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    work.fetch_add(1, std::memory_order_seq_cst);
    if (idle.has_others(producer)) idle.wake_one(parkers, producer);
    while (round % 4 == 0 && work.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();  // a lost wake-up hangs here
  CHECK_EQ(done.load(), rounds);
}

void a_worker_finds_every_other_sleeper_once() {
  constexpr std::int32_t kWorkers = lab::IdleWorkers::kMost;
  std::vector<lab::Parker> parkers(kWorkers);
  lab::IdleWorkers idle(kWorkers);
  CHECK(!idle.has_others(0));
  for (const std::int32_t self : {0, 63, 64, 255}) {
    idle.announce(self);
    CHECK(!idle.has_others(self));
    idle.wake_one(parkers, self);
    CHECK(idle.has_others((self + 1) % kWorkers));  // no worker wakes itself
    idle.withdraw(self);
  }
  const std::array<std::int32_t, 5> sleepers{3, 63, 64, 200, 255};
  for (const std::int32_t sleeper : sleepers) idle.announce(sleeper);
  for (std::size_t i = 0; i < sleepers.size(); ++i) {
    CHECK(idle.has_others(100));
    idle.wake_one(parkers, 100);
  }
  CHECK(!idle.has_others(100));
}

}  // namespace

int main() {
  heuristics_follow_the_papers_formulas();
  an_unknown_heuristic_is_an_error_that_lists_them();
  the_scheduler_measures_costs_and_keeps_to_limits();
  a_heuristic_that_declines_is_overruled_before_a_worker_sleeps();
  one_sleeper_is_woken_for_one_piece_of_work(3, lab::test::stress_rounds(20) * 200);
  one_sleeper_is_woken_for_one_piece_of_work(200, lab::test::stress_rounds(20) * 40);
  a_worker_finds_every_other_sleeper_once();
  return 0;
}
