// The generator publishes events at their due times and never earlier, for any behaviour of the readers. Promises hold.
#include "run/generator.h"

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <random>
#include <thread>
#include <vector>

#include "streams.h"

namespace {

struct Scheduled : lab::test::Times {
  void add(std::int64_t time, std::int64_t due_ns) {
    ts.push_back(time);
    due.push_back(due_ns);
  }
  lab::StreamView view() const {
    lab::StreamView result;
    show_in(result);
    return result;
  }
};

Scheduled random_stream(std::mt19937& random, int events) {
  Scheduled result;
  std::int64_t ts = 0;
  std::int64_t due = 0;
  for (int i = 0; i < events; ++i) {
    const bool jump = random() % 2 == 0;
    if (jump && random() % 3 == 0 && i > 0) {
      // All later events are at or after ts + 2.
      result.heartbeats.push_back(ts + 1);
      result.heartbeat_due.push_back(due + static_cast<std::int64_t>(random() % 3));
      ts += 2;
      due = result.heartbeat_due.back() + 1;
    }
    if (jump) ts += static_cast<std::int64_t>(random() % 4);
    due += static_cast<std::int64_t>(random() % 5);
    result.add(ts, due);
  }
  while (random() % 2 == 0) {  // other streams continue
    result.heartbeats.push_back(ts += 3);
    result.heartbeat_due.push_back(due += 2);
  }
  return result;
}

std::int64_t promised_by(const Scheduled& stream, std::int64_t elapsed) {
  std::int64_t result = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < stream.heartbeats.size(); ++i) {
    if (stream.heartbeat_due[i] <= elapsed) result = stream.heartbeats[i] + 1;
  }
  return result;
}

// Time passes in random steps, and the reader releases blocks at random. Checks every law of the hand-over.
void a_scheduled_source_keeps_its_laws() {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    const Scheduled stream = random_stream(random, static_cast<int>(random() % 60));
    const lab::StreamView view = stream.view();
    const auto batch = static_cast<std::int64_t>(random() % 7 + 1);
    const bool whole = random() % 2 == 0;
    lab::Source source(view, batch, random() % 5 + 1, whole);
    const std::size_t reader = source.ring.add_reader();
    std::int64_t elapsed = 0;
    std::int64_t next = 0;
    std::int64_t counted = 0;
    std::uint64_t seen = 0;
    std::int64_t bound = std::numeric_limits<std::int64_t>::min();
    bool ended = false;
    for (int turn = 0; turn < 5000 && !ended; ++turn) {
      elapsed += static_cast<std::int64_t>(random() % 8);
      counted += source.notice(elapsed).events;
      std::int64_t due = 0;
      while (due < view.size() && stream.due[static_cast<std::size_t>(due)] <= elapsed) ++due;
      if (whole && due < view.size()) due -= due % batch;
      CHECK_EQ(counted, due);  // noticed with or without room
      while (source.publish(elapsed)) {
        const lab::Block& block = source.ring.at(seen++);
        CHECK_EQ(block.begin, next);
        CHECK(block.end <= due && block.end - block.begin <= batch);
        if (whole) CHECK(block.end == view.size() || (block.end - block.begin) % batch == 0);
        next = block.end;
        CHECK(block.bound_ts >= bound);
        CHECK(block.begin != block.end || block.bound_ts > bound);  // an empty block has a new promise
        bound = block.bound_ts;
        for (std::int64_t i = next; i < view.size(); ++i) CHECK(stream.ts[static_cast<std::size_t>(i)] >= bound);
        ended = bound == lab::kEndOfTime;
        CHECK_EQ(ended, next == view.size() && (stream.heartbeats.empty() || stream.heartbeat_due.back() <= elapsed));
      }
      if (source.ring.has_room() && next == due && !ended && !whole) CHECK(bound >= promised_by(stream, elapsed));
      CHECK(!source.waits() || !source.ring.has_room());  // all events are published, or wait for room
      CHECK(next == counted || source.waits());
      if (random() % 3 == 0) source.ring.advance(reader, seen);
    }
    CHECK(ended && source.exhausted());
  }
}

void late_events_keep_their_due_time() {
  Scheduled stream;
  stream.ts = {1, 2, 3, 4};
  stream.due = {10, 20, 30, 400};
  const lab::StreamView view = stream.view();
  lab::Source source(view, 8, 8);
  CHECK_EQ(source.next_due(), 10);
  CHECK_EQ(source.notice(9).events, 0);
  const lab::Source::DueEvents noticed = source.notice(35);
  CHECK(noticed.events == 3 && noticed.first_due_ns == 10);
  CHECK_EQ(source.next_due(), 400);
  lab::Source units(view, 2, 8, true);
  CHECK_EQ(units.next_due(), 20);  // a unit is planned for its last event
  CHECK_EQ(units.notice(19).events, 0);
  const lab::Source::DueEvents unit = units.notice(35);
  CHECK(unit.events == 2 && unit.first_due_ns == 20);
  CHECK_EQ(units.next_due(), 400);
}

void a_reader_that_never_reads_delays_nothing() {
  Scheduled stream;
  for (int i = 0; i < 20'000; ++i) stream.add(i, i * 1000);  // 20 ms
  const lab::StreamView view = stream.view();
  lab::Source source(view, 4, 2);  // the ring is full after 8 events
  const std::size_t reader = source.ring.add_reader();
  lab::LoadOptions options;
  options.end_ns = stream.due.back();
  lab::Generator generator(options, false);
  generator.add(&source, {0});
  std::vector<lab::Parker> parkers(1);
  std::atomic<bool> stop{false};
  const std::int64_t began_ns = lab::now_ns() - stream.due.back();  // all events are due at the first check
  std::thread thread([&] { generator.run(began_ns, parkers, stop); });
  while (source.ring.published() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // some steps of the grid
  std::uint64_t next = 0;
  std::int64_t bound = 0;
  while (bound != lab::kEndOfTime) {
    const std::uint64_t published = source.ring.published();
    if (published == next) {
      std::this_thread::yield();
      continue;
    }
    next = published;
    bound = source.ring.at(next - 1).bound_ts;
    source.ring.advance(reader, next);
  }
  thread.join();
  // The generator emitted all events in one step, several steps before the reader began.
  std::int64_t emitted = 0, max_emitted = 0;
  for (std::int64_t i = 0; i < generator.recorder.used(); ++i) {
    emitted += generator.recorder.at(i).emitted;
    max_emitted = std::max(max_emitted, generator.recorder.at(i).emitted);
  }
  CHECK_EQ(emitted, 20'000);
  CHECK_EQ(max_emitted, 20'000);
}

#if defined(__linux__)
std::int64_t cpu_ns(const rusage& used) {
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000'000 +
         (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1'000;
}

// An event every 10 us for 200 ms, without a spare core: the workers use the core between hand-overs. Returns whether
// the thread slept often and used a core less than half of the time. A sleep takes 50 us, or some milliseconds on a
// busy machine. The kernel counts this time in ticks.
bool sleeps_without_a_core_of_its_own() {
  Scheduled stream;
  for (int i = 0; i < 20'000; ++i) stream.add(i, i * 10'000);
  const lab::StreamView view = stream.view();
  lab::Source source(view, 64, 1);  // without readers: never full
  lab::LoadOptions options;
  options.end_ns = stream.due.back();
  lab::Generator generator(options, false);
  generator.add(&source, {});
  std::vector<lab::Parker> parkers;
  std::atomic<bool> stop{false};
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  const std::int64_t start = lab::now_ns();
  generator.run(start, parkers, stop);
  const std::int64_t wall = lab::now_ns() - start;
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw >= 20 && (lab::test::kSanitized || cpu_ns(after) - cpu_ns(before) < wall / 2);
}

// A generator that spins never sleeps, so this hangs; a generator that sleeps may wake at ticks, so it may need
// several tries.
void a_generator_without_a_core_of_its_own_sleeps() {
  while (!sleeps_without_a_core_of_its_own()) continue;
}
#endif

// More events are due than a generator can publish, and the ring has room for all: the generator causes the delay.
void a_generator_that_is_too_slow_reports_its_lag() {
  Scheduled stream;
  stream.ts.resize(2'000'000);
  stream.due.resize(stream.ts.size());
  const lab::StreamView view = stream.view();
  lab::Source source(view, 1, 1);  // without readers: never full
  lab::Generator generator({}, true);
  generator.add(&source, {});
  std::vector<lab::Parker> parkers;
  std::atomic<bool> stop{false};
  generator.run(lab::now_ns(), parkers, stop);
  std::int64_t on_time = 0;  // within a millisecond, in which 2 M blocks cannot be published
  std::int64_t all = 0;
  for (std::size_t i = 0; i < generator.lag().counts().size(); ++i) {
    all += generator.lag().counts()[i];
    if (lab::Histogram::highest_in(static_cast<std::int64_t>(i)) < 1'000'000) on_time += generator.lag().counts()[i];
  }
  CHECK_EQ(all, view.size());
  CHECK(on_time < all / 4);
  CHECK(generator.emitted() < all);  // the load ended at once
}

// A reader leaves the ring full and returns. Events that waited meanwhile count no lag. Neither do events that became
// due while the waiting ones were published.
void a_full_ring_is_not_the_generators_lag() {
  Scheduled stream;
  for (int i = 0; i < 20; ++i) stream.add(i, 10 * i);
  const lab::StreamView view = stream.view();
  lab::Source source(view, 1, 4);
  const std::size_t reader = source.ring.add_reader();
  const auto publish = [&source](int blocks) {
    int done = 0;
    while (done < blocks && source.publish(0)) ++done;
    return done;
  };
  source.notice(70);  // 8 events are due
  CHECK_EQ(publish(2), 2);
  lab::Source::DueEvents handed_over = source.count_handed_over();
  CHECK(handed_over.events == 2 && handed_over.first_due_ns == 0);  // the other events have not had their turn
  CHECK_EQ(publish(16), 2);                                         // full
  handed_over = source.count_handed_over();
  CHECK(handed_over.events == 6 && handed_over.first_due_ns == 20);
  source.notice(90);
  source.ring.advance(reader, 4);
  CHECK_EQ(publish(2), 2);
  handed_over = source.count_handed_over();
  CHECK(handed_over.events == 2 && handed_over.first_due_ns == 80);  // due after events that wait for the reader
  source.ring.advance(reader, 6);
  CHECK_EQ(publish(2), 2);
  CHECK_EQ(source.count_handed_over().events, 0);  // counted before
  source.ring.advance(reader, 8);
  source.notice(190);
  CHECK_EQ(publish(3), 3);
  handed_over = source.count_handed_over();
  CHECK(handed_over.events == 1 && handed_over.first_due_ns == 100);  // events 8 and 9 were counted before; drained
}

// A promise waits, no event waits, and the next event is far away.
void a_promise_that_finds_the_ring_full_is_published_later() {
  Scheduled stream;
  stream.ts = {1, 100};
  stream.due = {0, 3'600'000'000'000};
  stream.heartbeats = {50};
  stream.heartbeat_due = {10};
  const lab::StreamView view = stream.view();
  lab::Source source(view, 1, 1);
  const std::size_t reader = source.ring.add_reader();
  source.notice(0);
  CHECK(source.publish(0) && !source.waits());
  source.notice(10);
  CHECK(!source.publish(10));
  CHECK(source.waits());
  source.ring.advance(reader, 1);
  CHECK(source.publish(11) && !source.waits());
  CHECK_EQ(source.ring.at(1).bound_ts, 51);
}

// To end the stream earlier would need knowledge of the future.
void a_stream_ends_with_its_last_heartbeat() {
  for (const bool empty : {false, true}) {
    Scheduled stream;
    if (!empty) {
      stream.ts = {1};
      stream.due = {0};
    }
    stream.heartbeats = {5, lab::kEndOfTime - 1, lab::kEndOfTime - 1};
    stream.heartbeat_due = {10, 20, 30};
    const lab::StreamView view = stream.view();
    for (const bool whole : {false, true}) {
      lab::Source source(view, 2, 8, whole);
      source.ring.add_reader();
      const auto bound_after = [&source](std::int64_t elapsed) {
        source.notice(elapsed);
        while (source.publish(elapsed)) {
        }
        const std::uint64_t blocks = source.ring.published();
        return blocks == 0 ? std::numeric_limits<std::int64_t>::min() : source.ring.at(blocks - 1).bound_ts;
      };
      CHECK_EQ(bound_after(0), empty ? std::numeric_limits<std::int64_t>::min() : 1);
      CHECK_EQ(source.published(), view.size());
      CHECK_EQ(source.next_due(), 10);
      CHECK_EQ(bound_after(10), 6);
      CHECK_EQ(bound_after(20), lab::kEndOfTime - 1);
      CHECK(!source.exhausted() && !source.waits());
      CHECK_EQ(bound_after(30), lab::kEndOfTime);
      CHECK(source.exhausted() && !source.waits());
    }
  }
}

void a_batch_of_any_size_is_cut_to_the_stream() {
  Scheduled stream;
  stream.ts = {1, 2, 3};
  stream.due = {10, 20, 30};
  const lab::StreamView view = stream.view();
  for (const bool whole : {false, true}) {
    lab::Source source(view, std::numeric_limits<std::int64_t>::max(), 8, whole);
    std::int64_t published = 0;
    for (const std::int64_t elapsed : {10, 20, 30}) {
      source.notice(elapsed);
      while (source.publish(elapsed)) {
      }
      CHECK(source.published() >= published && source.published() <= elapsed / 10);
      published = source.published();
    }
    CHECK(source.exhausted() && published == 3);
  }
}

void a_generator_stops_on_request() {
  Scheduled stream;
  stream.ts = {1};
  stream.due = {50'000'000};  // 50 ms: it must not wait for an hour
  const lab::StreamView view = stream.view();
  lab::Source source(view, 1, 1);
  lab::Generator generator({}, true);
  generator.add(&source, {});
  std::vector<lab::Parker> parkers;
  std::atomic<bool> stop{true};
  generator.run(lab::now_ns(), parkers, stop);
  CHECK_EQ(generator.emitted(), 0);
  stop.store(false, std::memory_order_seq_cst);
  const std::int64_t start = lab::now_ns();
  generator.run(start, parkers, stop);
  CHECK(lab::now_ns() - start >= 50'000'000);  // never before its due time
}

void the_null_engine_takes_everything() {
  const lab::GeneratorTrial trial = lab::try_generator(100'000, 64, 0);
  CHECK_EQ(lab::test::total_of(trial.lag_counts), 100'000);
  CHECK(trial.duration_ns > 0);
}

}  // namespace

int main() {
  a_scheduled_source_keeps_its_laws();
  late_events_keep_their_due_time();
  a_reader_that_never_reads_delays_nothing();
#if defined(__linux__)
  a_generator_without_a_core_of_its_own_sleeps();
#endif
  a_generator_that_is_too_slow_reports_its_lag();
  a_full_ring_is_not_the_generators_lag();
  a_promise_that_finds_the_ring_full_is_published_later();
  a_stream_ends_with_its_last_heartbeat();
  a_batch_of_any_size_is_cut_to_the_stream();
  a_generator_stops_on_request();
  the_null_engine_takes_everything();
  return 0;
}
