// Query graphs: their parts, the shapes of graphs, failures, and answers that do not depend on the execution.
#include <functional>
#include <set>
#include <thread>

#include "layers/tests/layers_cases.h"

namespace {

using lab::LayerLink;
using lab::LayersOptions;
using lab::test::behaviours;
using lab::test::contains;
using lab::test::Record;
using lab::test::Rows;
using lab::test::total_of;
using Kind = lab::StageSpec::Kind;

const std::vector<std::int32_t> kItemsizes{8, 2};

struct TwoColumns {  // rows of two columns
  std::vector<std::int64_t> ts;
  std::vector<std::int16_t> x;
  std::vector<const void*> columns;
  explicit TwoColumns(std::vector<std::int64_t> times) : ts(std::move(times)) {
    for (const std::int64_t time : ts) x.push_back(static_cast<std::int16_t>(10 * time));
    columns = {ts.data(), x.data()};
  }
};

// Appends rows [from, from + count), for which there is room, and publishes them.
void put(LayerLink& link, const TwoColumns& rows, std::int64_t from, std::int64_t count) {
  CHECK(link.room(count) >= count);
  link.append(rows.columns.data(), from, count);
  link.publish();
}

std::vector<std::int64_t> times_of(lab::LayerIn& in, std::int64_t max_rows) {
  std::vector<std::int64_t> result;
  for (lab::LayerPiece piece = in.next(max_rows); piece.rows != 0; piece = in.next(max_rows)) {
    CHECK(piece.rows <= max_rows);
    const auto* ts = static_cast<const std::int64_t*>(piece.columns[0]) + piece.base;
    result.insert(result.end(), ts, ts + piece.rows);
    in.pass();
  }
  return result;
}

void a_queue_keeps_rows_in_order_and_is_bounded() {
  lab::Parker producer, consumer;
  LayerLink link(LayerLink::Kind::kQueue, kItemsizes, 8, nullptr, producer, consumer);
  lab::QueueIn in({&link});
  TwoColumns rows({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK_EQ(link.room(1), 8);
  const std::int32_t list[] = {0, 2, 4};
  link.append(rows.columns.data(), 0, list, 3);
  CHECK_EQ(in.next(10).rows, 0);  // not published
  link.publish();
  CHECK(times_of(in, 2) == (std::vector<std::int64_t>{0, 2, 4}));
  CHECK_EQ(in.frontier(), 4);
  CHECK_EQ(link.room(8), 8);
  put(link, rows, 4, 6);  // wraps
  CHECK_EQ(link.room(8), 2);
  CHECK(times_of(in, 100) == (std::vector<std::int64_t>{4, 5, 6, 7, 8, 9}));
  CHECK(!in.ended());
  link.wake(12, false);
  CHECK_EQ(in.next(1).rows, 0);
  CHECK_EQ(in.frontier(), 12);
  link.wake(lab::kEndOfTime, false);
  CHECK(link.closed());
  CHECK_EQ(in.next(1).rows, 0);
  CHECK(in.ended());
}

void the_least_promise_of_several_queues_counts() {
  lab::Parker producers[2], consumer;
  LayerLink first(LayerLink::Kind::kUnordered, kItemsizes, 8, nullptr, producers[0], consumer);
  LayerLink second(LayerLink::Kind::kUnordered, kItemsizes, 8, nullptr, producers[1], consumer);
  lab::QueueIn in({&first, &second});
  first.wake(lab::kEndOfTime, false);
  CHECK_EQ(in.next(1).rows, 0);
  CHECK_EQ(in.frontier(), LayerLink::kNoPromise);
  CHECK(!in.ended());
  second.wake(lab::kEndOfTime, false);
  CHECK_EQ(in.next(1).rows, 0);
  CHECK_EQ(in.frontier(), lab::kEndOfTime);
  CHECK(in.ended());
}

// All methods to take the rows of two producers.
void ready_rows_come_in_order_and_promises_count() {
  for (const std::string method : {"order", "scalegate", "acknowledged", "run", "tuple"}) {
    const bool logged = method != "run" && method != "tuple";
    lab::Parker producers[2], consumer;
    lab::LogOptions log_options;
    if (method == "acknowledged") log_options.acknowledged_rows = 2;
    const auto log = lab::make_tuple_buffer(method == "order" ? "order" : "scalegate", log_options);
    const auto kind = logged ? LayerLink::Kind::kLogged : LayerLink::Kind::kMerged;
    LayerLink first(kind, kItemsizes, 8, logged ? log.get() : nullptr, producers[0], consumer);
    LayerLink second(kind, kItemsizes, 8, logged ? log.get() : nullptr, producers[1], consumer);
    std::unique_ptr<lab::LayerIn> in;
    if (logged) {
      in = std::make_unique<lab::LogIn>(std::vector<LayerLink*>{&first, &second}, *log);
    } else if (method == "run") {
      in = std::make_unique<lab::MergeIn>(std::vector<LayerLink*>{&first, &second});
    } else {
      in = std::make_unique<lab::TupleMergeIn>(std::vector<LayerLink*>{&first, &second});
    }
    TwoColumns first_rows({1, 3, 3, 6}), second_rows({3, 5});
    put(first, first_rows, 0, 4);
    CHECK_EQ(in->next(9).rows, 0);  // the other may still send anything
    put(second, second_rows, 0, 1);
    // Ties go by producer: both rows of the first at 3 come before that of the second, which is ready, since the first
    // is at 6.
    CHECK(times_of(*in, 9) == (std::vector<std::int64_t>{1, 3, 3, 3}));
    put(second, second_rows, 1, 1);
    CHECK(times_of(*in, 9) == (std::vector<std::int64_t>{5}));
    second.wake(6, false);  // later rows of the second come after 6 of the first
    CHECK(times_of(*in, 9) == (std::vector<std::int64_t>{6}));
    first.wake(20, false);
    second.wake(10, false);
    CHECK_EQ(in->next(9).rows, 0);
    CHECK_EQ(in->frontier(), 10);  // the promise of an operator that forwards few rows
    first.wake(lab::kEndOfTime, false);
    CHECK(!in->ended());
    second.wake(lab::kEndOfTime, false);
    CHECK_EQ(in->next(9).rows, 0);
    CHECK(in->ended());
  }
}

void rows_of_one_time_are_spilled_where_a_wait_would_never_end() {
  lab::Parker producer, consumer;
  LayerLink merged(LayerLink::Kind::kMerged, kItemsizes, 4, nullptr, producer, consumer);
  TwoColumns rows({7, 7, 7, 7, 7, 7, 8});
  put(merged, rows, 0, 4);
  CHECK_EQ(merged.room(1), 0);
  CHECK(merged.may_wait(8));   // the rows at 7 become ready without this producer
  CHECK(!merged.may_wait(7));  // not before it promises more
  merged.spill(rows.columns.data(), 4, 2);
  CHECK_EQ(merged.drain(), 0);
  merged.wake(8, false);
  CHECK_EQ(merged.line().frontier.load(), 7);  // the spilled rows permit no more
  merged.release(3);
  CHECK_EQ(merged.drain(), 2);
  CHECK_EQ(merged.spilled_rows(), 0);
  CHECK_EQ(merged.spill().rows(), 2);
  merged.wake(8, false);
  CHECK_EQ(merged.line().frontier.load(), 8);
  LayerLink queue(LayerLink::Kind::kQueue, kItemsizes, 4, nullptr, producer, consumer);
  put(queue, rows, 0, 4);
  CHECK(queue.may_wait(7));  // its consumer waits for no other producer
}

// In a channel of ScaleGate, the producer waits until a watermark tuple has been acknowledged, and only if one can be.
void a_producer_waits_for_acknowledgements_and_no_longer_than_they_take() {
  lab::Parker producers[2], consumer;
  lab::LogOptions options;
  options.rows_in_flight = 8;
  options.acknowledged_rows = 4;
  const auto gate = lab::make_tuple_buffer("scalegate", options);
  LayerLink first(LayerLink::Kind::kLogged, kItemsizes, 8, gate.get(), producers[0], consumer, lab::Spill(), 4);
  LayerLink second(LayerLink::Kind::kLogged, kItemsizes, 8, gate.get(), producers[1], consumer, lab::Spill(), 4);
  lab::LogIn in({&first, &second}, *gate);
  TwoColumns rows({1, 1, 7, 7, 7, 7, 7, 8, 9, 9, 9, 9});
  put(second, rows, 0, 7);
  CHECK_EQ(second.room(1), 1);
  put(second, rows, 7, 1);
  CHECK_EQ(second.room(1), 0);
  first.wake(7, false);  // its rows at 7 come before the other's
  CHECK(times_of(in, 9) == (std::vector<std::int64_t>{1, 1}));
  // Two rows are released, and the acknowledgement only comes after the fourth, at 7: a sender at 7 must not
  // wait for it.
  CHECK_EQ(second.room(1), 0);
  CHECK(!second.may_wait(7));
  CHECK(second.may_wait(8));
  first.wake(8, false);
  CHECK(times_of(in, 9) == (std::vector<std::int64_t>{7, 7, 7, 7, 7}));
  CHECK_EQ(second.room(1), 4);  // three more are released but not acknowledged
  put(second, rows, 8, 4);
  CHECK_EQ(second.room(1), 0);
  first.wake(lab::kEndOfTime, false);
  CHECK(times_of(in, 9) == (std::vector<std::int64_t>{8, 9, 9, 9, 9}));
  CHECK_EQ(second.room(8), 8);
}

void more_rows_than_may_be_spilled_are_an_error_that_names_the_link() {
  lab::Parker producer, consumer;
  LayerLink merged(LayerLink::Kind::kMerged, kItemsizes, 4, nullptr, producer, consumer, lab::Spill(3, "stream 5: "));
  TwoColumns rows({7, 7, 7, 7, 7, 7, 7, 7});
  put(merged, rows, 0, 4);
  merged.spill(rows.columns.data(), 4, 3);
  CHECK_EQ(merged.spill().peak(), 3);
  const std::string message = lab::test::failure_of([&] { merged.spill(rows.columns.data(), 7, 1); });
  CHECK(message.starts_with("stream 5: 4 records wait for room in the next channel; the limit is 3"));
}

// The consumer of the spilled rows may be the one that all others wait for. Such a run once came to a standstill.
void spilled_rows_move_while_another_link_is_full() {
  lab::InstanceThreads threads(1, lab::Backoff::of_threads(true, false), false, 1);
  lab::Parker& producer = threads.parkers()[0];
  lab::Parker consumers[2];
  lab::Counters counts;
  std::vector<std::unique_ptr<LayerLink>> links;
  for (lab::Parker& consumer : consumers) {
    links.push_back(std::make_unique<LayerLink>(LayerLink::Kind::kMerged, kItemsizes, 4, nullptr, producer, consumer));
  }
  LayerLink& first = *links[0];
  LayerLink& second = *links[1];
  lab::LayerOut out(producer, threads, counts, std::move(links), 2, false);
  TwoColumns ties({7, 7, 7, 7, 7, 7}), later({100, 101, 102, 103, 104, 105});
  std::thread sender([&] {
    out.send(1, ties.columns.data(), 0, 6);   // two of them are spilled
    out.send(0, later.columns.data(), 0, 6);  // waits for room
    out.promise(lab::kEndOfTime);
    while (out.settle()) continue;
  });
  while (first.line().end.load() != 4) std::this_thread::yield();
  second.release(4);
  while (second.line().end.load() != 6) std::this_thread::yield();
  // Only the rows that wait for room are still to come.
  while (second.line().frontier.load() != 104) std::this_thread::yield();
  first.release(4);
  sender.join();
  CHECK_EQ(second.spill().rows(), 2);
  CHECK_EQ(counts.room_waits, 1);
  CHECK(out.closed());
}

void slices_of_time_go_to_one_consumer_each_and_to_all_in_sum() {
  constexpr std::uint64_t kWidth = 10;
  lab::RouteByTime a(kWidth, 1, 3), b(kWidth, 1, 3), other(kWidth, 2, 3);
  std::set<std::size_t> used;
  int differs = 0;
  for (std::int64_t slice = -200; slice < 200; ++slice) {
    // The shift of times by 2^63 moves the borders of slices of 10 by 8.
    const std::int64_t first = slice * 10 - 8;
    const std::size_t to = a.consumer_of(first);
    used.insert(to);
    for (std::int64_t ts = first; ts < first + 10; ++ts) CHECK_EQ(a.consumer_of(ts), to);
    CHECK_EQ(b.consumer_of(first + 9), to);  // independent of earlier calls
    differs += other.consumer_of(first) != to ? 1 : 0;
  }
  CHECK_EQ(used.size(), std::size_t{3});
  CHECK(differs > 100);
  lab::RouteByTime wide(std::uint64_t{1} << 62, 0, 4);
  for (const std::int64_t ts : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, lab::kEndOfTime - 1}) {
    CHECK(wide.consumer_of(ts) < 4);
  }
}

std::vector<Rows> input(int streams, int rows, int tie) {
  std::vector<Rows> result(static_cast<std::size_t>(streams));
  for (int s = 0; s < streams; ++s) {
    Rows& stream = result[static_cast<std::size_t>(s)];
    for (int i = 0; i < rows; ++i) stream.add({i / tie, (i * 7 + s) % 23, i % 5, i * 3 - s});
  }
  return result;
}

LayersOptions options_of(const std::string& determinism, std::int32_t workers) {
  auto options = lab::test::short_run<LayersOptions>(workers);
  options.determinism = static_cast<lab::Determinism>(lab::index_of("determinism", lab::kDeterminisms, determinism));
  return options;
}

void graphs_have_the_threads_and_channels_of_the_paper() {
  behaviours[0] = {};
  const struct {
    const char* determinism;
    int injectors, workers;
    std::int64_t threads, mergers, queues, logs;
  } shapes[] = {
      {"operator", 1, 1, 3, 0, 2, 0},
      {"communication", 1, 1, 3, 0, 2, 0},
      {"operator", 1, 2, 7, 2, 2 + 4 + 2, 0},
      {"communication", 1, 2, 5, 0, 2, 2},
      {"operator", 2, 1, 5, 1, 2 + 1 + 1, 0},
      {"communication", 2, 1, 4, 0, 1, 1},
      {"operator", 2, 2, 10, 4, 12, 0},
      {"communication", 2, 2, 6, 0, 0, 4},
      {"none", 2, 2, 6, 0, 8, 0},
      {"operator", 6, 6, 30, 12, 84, 0},
      {"communication", 6, 6, 18, 0, 0, 12},
  };
  for (const auto& shape : shapes) {
    const auto streams = input(shape.injectors, 50, 1);
    const auto runtime = lab::test::run_of<lab::LayersRun>(options_of(shape.determinism, shape.workers), streams, 1);
    runtime->run();
    const std::pair<const char*, std::int64_t> expected[] = {
        {"threads", shape.threads}, {"injectors", shape.injectors}, {"instances", shape.workers},
        {"sinks", shape.workers},   {"mergers", shape.mergers},     {"queues", shape.queues},
        {"logs", shape.logs}};
    for (const auto& [name, count] : expected) CHECK_EQ(lab::test::counter(*runtime, name), count);
  }
}

void a_stateful_operator_has_one_instance_and_one_sink() {
  behaviours[0] = {};
  behaviours[1] = {};
  behaviours[1].kind = Kind::kStateful;
  const auto streams = input(2, 300, 2);
  const auto runtime = lab::test::run_of<lab::LayersRun>(options_of("communication", 3), streams, 2);
  runtime->run();
  CHECK_EQ(lab::test::counter(*runtime, "instances"), 3 + 1);
  CHECK_EQ(lab::test::counter(*runtime, "sinks"), 1);
  CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
}

void as_published(LayersOptions& options) {
  options.channels = lab::Channels::kScaleGate;
  options.merge_unit = lab::MergeUnit::kTuple;
  options.dealing = lab::Dealing::kTurn;
}

void the_answer_is_the_same_for_any_layer_batch_and_channels() {
  behaviours[0] = {};
  behaviours[0].kind = Kind::kPartitioned;
  behaviours[0].tenths = 4;
  behaviours[1] = {};
  behaviours[1].copies = behaviours[1].max_outputs = 2;
  lab::test::Turns turns;
  for (const int injectors : {1, 2, 4}) {
    const auto streams = input(injectors, 1000, 5);
    for (const std::int32_t workers : {1, 2, 4}) {
      const auto expected = lab::test::layered_oracle(streams, 2, workers);
      const auto in_turn = lab::test::layered_oracle(streams, 2, workers, true);
      for (const bool published : {false, true}) {
        for (const char* determinism : {"operator", "communication"}) {
          for (const auto& [batch, channel_rows] : {std::pair{1, 2}, {64, 4096}, {4096, 64}}) {
            if (!turns.next()) continue;
            LayersOptions options = options_of(determinism, workers);
            options.batch = batch;
            options.channel_rows = channel_rows;
            if (published) as_published(options);
            const auto runtime = lab::test::run_of<lab::LayersRun>(options, streams, 2);
            runtime->run();
            CHECK(lab::test::collected(*runtime) == (published ? in_turn : expected));
          }
        }
      }
    }
  }
}

void more_consumers_than_a_word_has_bits_give_the_same_answer() {
  behaviours[0] = {};
  behaviours[0].kind = Kind::kPartitioned;
  behaviours[0].partitions = 100;
  const auto streams = input(2, 600, 5);
  const auto expected = lab::test::layered_oracle(streams, 1, 70);
  for (const char* determinism : {"operator", "communication"}) {
    const auto runtime = lab::test::run_of<lab::LayersRun>(options_of(determinism, 70), streams, 1);
    runtime->run();
    CHECK(lab::test::collected(*runtime) == expected);
  }
}

void more_ties_than_channels_hold_are_no_deadlock() {
  behaviours[0] = {};
  behaviours[0].kind = Kind::kPartitioned;
  auto streams = input(3, 2000, 5000);  // all rows have one time
  for (const bool published : {false, true}) {
    for (const char* determinism : {"operator", "communication"}) {
      LayersOptions options = options_of(determinism, 3);
      if (published) as_published(options);
      options.channel_rows = published ? 16 : 4;  // 16: a watermark tuple after every fourth row
      options.batch = 16;
      const auto runtime = lab::test::run_of<lab::LayersRun>(options, streams, 1);
      runtime->run();
      CHECK(lab::test::collected(*runtime) == lab::test::layered_oracle(streams, 1, 3, published));
      const std::int64_t peak = lab::test::counter(*runtime, "spilled_rows_peak");
      CHECK(lab::test::counter(*runtime, "spilled_rows") > 1000 && peak > 100);
      options.spill_rows = 100;
      const auto capped = lab::test::run_of<lab::LayersRun>(options, streams, 1);
      const std::string message = lab::test::failure_of([&] { capped->run(); });
      CHECK(contains(message, ": stream ") || contains(message, ": operator "));
      CHECK(contains(message, "the limit is 100"));
    }
  }
}

void silent_and_empty_streams_delay_no_thread() {
  behaviours[0] = {};
  behaviours[0].kind = Kind::kPartitioned;
  std::vector<Rows> streams(3);
  for (int i = 0; i < 3000; ++i) streams[1].add({i, i % 3, 1, i});
  streams[2].add({5, 1, 1, 1});
  for (const char* determinism : {"operator", "communication", "none"}) {
    LayersOptions options = options_of(determinism, 2);
    options.channel_rows = 8;
    const auto runtime = lab::test::run_of<lab::LayersRun>(options, streams, 1);
    runtime->run();
    CHECK_EQ(runtime->rows(), 3001);
  }
  const auto nothing = lab::test::run_of<lab::LayersRun>(options_of("communication", 2), {}, 1);
  nothing->run();
  CHECK_EQ(nothing->rows(), 0);
}

void failures_end_the_run_with_a_reason() {
  for (const char* determinism : {"operator", "communication", "none"}) {
    const auto reason_of = [&](const std::function<void()>& spoil) {
      behaviours[0] = {};
      behaviours[0].kind = Kind::kPartitioned;
      spoil();
      auto streams = input(2, 3000, 1);
      LayersOptions options = options_of(determinism, 2);
      options.channel_rows = 16;
      const auto runtime = lab::test::run_of<lab::LayersRun>(options, streams, 1);
      return lab::test::failure_of([&] { runtime->run(); });
    };
    CHECK(contains(reason_of([] { behaviours[0].raises_at = 600; }),
                   "operator number 0: its function or its key function raised"));
    CHECK(contains(reason_of([] { behaviours[0].copies = 2; }), "beyond max_outputs"));
    CHECK(contains(reason_of([] { behaviours[0].key_raises = true; }), "its key function raised"));
  }
}

void options_out_of_range_are_refused() {
  behaviours[0] = {};
  const std::vector<Rows> none;
  const auto run_with = [&](const std::function<void(LayersOptions&)>& change) {
    LayersOptions options;
    change(options);
    return lab::test::run_of<lab::LayersRun>(options, none, 1);
  };
  CHECK_THROWS(lab::index_of("determinism", lab::kDeterminisms, "both"), std::invalid_argument);
  CHECK_THROWS(run_with([](auto& o) { o.workers = 0; }), std::invalid_argument);
  CHECK_THROWS(run_with([](auto& o) { o.workers = 257; }), std::invalid_argument);
  CHECK_THROWS(run_with([](auto& o) { o.batch = 0; }), std::invalid_argument);
  CHECK_THROWS(run_with([](auto& o) { o.channel_rows = 1; }), std::invalid_argument);
  CHECK_THROWS(run_with([](auto& o) { o.core_count = -1; }), std::invalid_argument);
}

void under_a_load_every_output_is_timed_and_every_event_counted() {
  behaviours[0] = {};
  behaviours[0].kind = Kind::kPartitioned;
  behaviours[0].tenths = 5;
  auto streams = input(2, 1500, 3);
  lab::test::schedule(streams, 20'000);
  for (const char* determinism : {"operator", "communication"}) {
    LayersOptions options = options_of(determinism, 2);
    options.batch = 64;
    options.ring_blocks = 4096;
    options.load = lab::LoadOptions{10'000'000, 60'000'000, false};
    const auto runtime = lab::test::run_of<lab::LayersRun>(options, streams, 1);
    runtime->run();
    CHECK(lab::test::collected(*runtime) == lab::test::layered_oracle(streams, 1, 2));
    CHECK_EQ(total_of(runtime->latency_counts()) + total_of(runtime->warm_up_counts()), runtime->rows());
    CHECK_EQ(total_of(runtime->latency_counts()), total_of(runtime->service_counts()));
    CHECK(total_of(runtime->warm_up_counts()) > 0 && total_of(runtime->latency_counts()) > 0);
    CHECK_EQ(total_of(runtime->lag_counts()), 3000);
    const lab::test::ProgressTotals progress = lab::test::progress_of(*runtime);
    CHECK_EQ(progress.consumed, 3000);
    CHECK_EQ(progress.outputs, runtime->rows());
  }
}

}  // namespace

int main() {
  a_queue_keeps_rows_in_order_and_is_bounded();
  the_least_promise_of_several_queues_counts();
  ready_rows_come_in_order_and_promises_count();
  rows_of_one_time_are_spilled_where_a_wait_would_never_end();
  a_producer_waits_for_acknowledgements_and_no_longer_than_they_take();
  more_rows_than_may_be_spilled_are_an_error_that_names_the_link();
  spilled_rows_move_while_another_link_is_full();
  slices_of_time_go_to_one_consumer_each_and_to_all_in_sum();
  graphs_have_the_threads_and_channels_of_the_paper();
  a_stateful_operator_has_one_instance_and_one_sink();
  the_answer_is_the_same_for_any_layer_batch_and_channels();
  more_consumers_than_a_word_has_bits_give_the_same_answer();
  more_ties_than_channels_hold_are_no_deadlock();
  silent_and_empty_streams_delay_no_thread();
  failures_end_the_run_with_a_reason();
  options_out_of_range_are_refused();
  under_a_load_every_output_is_timed_and_every_event_counted();
  return 0;
}
