// The threads of a run, and the laws by which no waiting thread stays asleep. One thread performs the steps of another
// between its own, to force the cases that would hang without these laws.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

#include "layers/in.h"
#include "layers/link.h"
#include "log/order_log.h"
#include "oplus/handover.h"
#include "ordered/egress.h"
#include "ordered/entry.h"
#include "ordered/worker.h"
#include "run/errors.h"
#include "run/threads.h"

namespace {

using lab::RunThreads;

RunThreads::Plan plan_of(std::int32_t count, std::function<void(std::int32_t)> body) {
  RunThreads::Plan plan;
  plan.count = count;
  plan.body = std::move(body);
  plan.fail = [] {};
  return plan;
}

void threads_and_their_helper_run_once_after_begin() {
  std::atomic<std::int64_t> begun{0};
  std::atomic<int> seen{0};
  RunThreads threads;
  threads.claim();
  auto plan = plan_of(3, [&](std::int32_t) { seen += begun.load() != 0 ? 1 : 100; });
  plan.helper = [&] { seen += begun.load() != 0 ? 10 : 100; };
  threads.start(std::move(plan));
  CHECK(threads.run([&](std::int64_t begin_ns) { begun = begin_ns; }) > 0);
  CHECK_EQ(seen.load(), 13);
  CHECK_THROWS(threads.run([](std::int64_t) {}), std::logic_error);
  CHECK_THROWS(threads.claim(), std::logic_error);
}

void the_error_of_the_first_failed_thread_is_thrown_and_the_others_stop() {
  std::atomic<bool> failed{false};
  RunThreads threads;
  threads.claim();
  auto plan = plan_of(3, [&](std::int32_t index) {
    if (index != 0) throw std::runtime_error("no " + std::to_string(index));
    while (!failed.load()) std::this_thread::yield();  // hangs without a notification
  });
  plan.thread_name = "worker";
  plan.fail = [&] { failed = true; };
  threads.start(std::move(plan));
  const std::string message = lab::test::failure_of([&] { threads.run([](std::int64_t) {}); });
  CHECK_EQ(message, std::string("worker 1: no 1"));
}

struct Interrupted {};

// Like Ctrl-C: the thread that waits for the others checks now and then, and gives up.
void an_exception_from_the_look_stops_the_run_and_leaves_no_thread() {
  std::atomic<bool> failed{false};
  std::atomic<int> ended{0};
  int looks = 0;
  RunThreads threads;
  threads.claim();
  const auto work = [&] {
    while (!failed.load()) std::this_thread::yield();  // hangs without a notification
    ++ended;
    throw lab::Stopped();  // is not an error
  };
  auto plan = plan_of(3, [&](std::int32_t) { work(); });
  plan.helper = [&] {
    while (!failed.load()) std::this_thread::yield();
    ++ended;
  };
  plan.fail = [&] { failed = true; };
  threads.start(std::move(plan));
  const auto poll = [&] {
    if (++looks == 3) throw Interrupted();
  };
  CHECK_THROWS(threads.run([](std::int64_t) {}, poll), Interrupted);
  CHECK_EQ(looks, 3);
  CHECK_EQ(ended.load(), 4);
  CHECK_THROWS(threads.run([](std::int64_t) {}), std::logic_error);
}

void threads_that_never_ran_end_with_their_owner_and_have_called_nothing() {
  std::atomic<int> calls{0};
  {
    RunThreads threads;
    threads.claim();
    auto plan = plan_of(2, [&](std::int32_t) { ++calls; });
    plan.helper = [&] { ++calls; };
    plan.fail = [&] { ++calls; };
    threads.start(std::move(plan));
  }
  CHECK_EQ(calls.load(), 0);
}

struct Counts {
  std::int64_t sleeps = 0;
  std::int64_t yields = 0;
};

// A thread gets a place to sleep, and then another one before it announces itself at the first. A producer of work
// looks for it only at the second.
void a_thread_moved_while_it_goes_to_sleep_does_not_sleep_at_its_old_place() {
  lab::Parker pool, active;
  int calls = 0;
  int turns = 0;
  Counts counts;
  lab::take_turns(
      lab::Backoff(0, 0), counts, [&](bool) { return ++turns < 0; }, [&] { return turns >= 4; }, [] { return false; },
      [&]() -> lab::Parker& {
        ++calls;
        if (calls == 1) return pool;
        active.notify();  // work arrives whenever the thread is there, so that it never stays asleep
        return active;
      });
  CHECK(calls >= 2);
  CHECK_EQ(turns >= 4, true);
}

// While another thread moves blocks, a thread makes room, finds the flag taken, and would go to sleep.
void blocks_are_examined_again_for_late_arrivals() {
  lab::Feed feed;
  int passes = 0;
  const bool moved = lab::move_blocks(feed, [&] {
    if (++passes == 1) CHECK(!lab::move_blocks(feed, [] { return true; }));  // taken: leaves a note
    return false;
  });
  CHECK_EQ(passes, 2);
  CHECK(!moved);
  // A thread that always gets notes reports that there may be more, and takes another turn.
  passes = 0;
  CHECK(lab::move_blocks(feed, [&] {
    ++passes;
    lab::move_blocks(feed, [] { return true; });
    return false;
  }));
  CHECK(passes >= 2);
  // The flag is released when a kernel fails.
  CHECK_THROWS(lab::move_blocks(feed, []() -> bool { throw std::runtime_error("kernel"); }), std::runtime_error);
  CHECK(lab::move_blocks(feed, [] { return true; }));
}

// One stream of single records as blocks of one.
struct OneStream {
  explicit OneStream(std::int64_t records) {
    for (std::int64_t i = 0; i < records; ++i) ts.push_back(i);
    view.ts = ts;
    view.columns = {ts.data()};
    source = std::make_unique<lab::Source>(view, 1, 64, false, false);
    lab::Feed& feed = feeds.emplace_back();
    feed.source = source.get();
    feed.reader = source->ring.add_reader();
    feed.pumped = true;
  }
  std::vector<std::int64_t> ts;
  lab::StreamView view;
  std::unique_ptr<lab::Source> source;
  std::deque<lab::Feed> feeds;
};

class AtExit final : public lab::OrderedExit {
 public:
  explicit AtExit(std::function<void(lab::Units, lab::OrderedWorker&)> on_send) : on_send_(std::move(on_send)) {}
  void send(lab::Units units, lab::OrderedWorker& worker) override { on_send_(units, worker); }
  void offer(lab::OrderedWorker&) override {}

 private:
  std::function<void(lab::Units, lab::OrderedWorker&)> on_send_;
};

// While one thread admits, another sends a unit out, finds the flag taken, and would go to sleep.
void the_entry_checks_again_for_room_made_meanwhile() {
  OneStream input(2);
  std::vector<lab::Unit> units(1);
  lab::OrderedEntry entry({.batch = 1, .itemsizes = {8}, .timed_every = 1}, units, input.feeds);
  lab::OrderedEgress egress({8}, false);
  lab::Recorder silent(false);
  lab::OrderedWorker worker(0, silent, 1);
  std::vector<std::int64_t> admitted;
  AtExit exit([&](lab::Units sent, lab::OrderedWorker& sender) {
    for (const lab::Unit* unit : sent) admitted.push_back(unit->serial);
    egress.take(sent, sender);                               // as another worker would,
    CHECK(!entry.admit(egress.done(), 8, nullptr, sender));  // which then finds the flag taken
  });
  CHECK(entry.admit(egress.done(), 8, &exit, worker));  // takes another turn,
  CHECK(entry.admit(egress.done(), 8, &exit, worker));  // which finds the room
  CHECK_EQ(admitted.size(), std::size_t{2});
  CHECK(!entry.admit(egress.done(), 8, &exit, worker));
  CHECK_EQ(entry.end(), 2);
}

// A log whose first call reports that other threads were there meanwhile, and merges nothing.
class BusyLog final : public lab::OrderLog {
 public:
  using OrderLog::OrderLog;
  bool advance() noexcept override { return ++calls == 1 || OrderLog::advance(); }
  int calls = 0;
};

void a_reader_advances_its_log_until_the_log_reports_no_more() {
  lab::LogOptions options;
  BusyLog log(options);
  lab::Parker producers[2], consumer;
  std::vector<std::unique_ptr<lab::LayerLink>> links;
  std::vector<lab::LayerLink*> all;
  for (lab::Parker& producer : producers) {
    links.push_back(std::make_unique<lab::LayerLink>(lab::LayerLink::Kind::kLogged, std::vector<std::int32_t>{8}, 8,
                                                     &log, producer, consumer));
    all.push_back(links.back().get());
  }
  lab::LogIn in(all, log);
  const std::int64_t ts[] = {5};
  const void* columns[] = {ts};
  CHECK(links[0]->fits(1));
  links[0]->append(columns, 0, 1);
  links[0]->publish();
  for (const auto& link : links) log.close(link->source());
  CHECK_EQ(in.next(8).rows, 1);
  CHECK(log.calls >= 2);
}

}  // namespace

int main() {
  threads_and_their_helper_run_once_after_begin();
  the_error_of_the_first_failed_thread_is_thrown_and_the_others_stop();
  an_exception_from_the_look_stops_the_run_and_leaves_no_thread();
  threads_that_never_ran_end_with_their_owner_and_have_called_nothing();
  a_thread_moved_while_it_goes_to_sleep_does_not_sleep_at_its_old_place();
  blocks_are_examined_again_for_late_arrivals();
  the_entry_checks_again_for_room_made_meanwhile();
  a_reader_advances_its_log_until_the_log_reports_no_more();
  return 0;
}
