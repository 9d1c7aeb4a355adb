// Typed dataflow graphs: markers, readers and instances alone, refused set-ups, and early ends.
#include <limits>
#include <string>

#include "dataflow/tests/flow_cases.h"

namespace {

using lab::DataflowOptions;
using lab::DataflowRun;
using lab::FlowSpec;
using lab::test::contains;
using lab::test::failure_of;
using lab::test::FlowInput;
using lab::test::FlowVertex;
using lab::test::Kind;
using lab::test::Record;
using lab::test::Route;
using lab::test::Rows;
using lab::test::Times;
using lab::test::vertices;

void markers_end_blocks_but_the_last() {
  const lab::Markers markers{-20, 10, 3};
  CHECK_EQ(markers.end_of(0), -20);
  CHECK_EQ(markers.end_of(2), 0);
  CHECK_EQ(markers.end_of(3), lab::kEndOfTime);
  const lab::Markers none;
  CHECK_EQ(none.end_of(0), lab::kEndOfTime);
}

// --- runs ------------------------------------------------------------------------------------------------------------

FlowInput input_of(std::vector<Rows> streams, std::vector<std::int32_t> sources) {
  return {std::move(streams), std::move(sources)};
}

Rows rows_at(const std::vector<std::int64_t>& times, std::int64_t keys = 3) {
  Rows rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    rows.add({times[i], n % keys, 0, n});
  }
  return rows;
}

std::vector<Record> answer_of(DataflowOptions options, const FlowInput& input, std::size_t count) {
  const auto run = lab::test::flow_of(std::move(options), input, count);
  run->run();
  CHECK_EQ(run->events(), lab::test::events_in(input.streams));
  return lab::test::in_order(lab::test::collected(*run));
}

void check_answer(DataflowOptions options, const FlowInput& input, std::size_t count) {
  const auto expected = lab::test::in_order(lab::test::flow_oracle(input, options.markers, count));
  CHECK(answer_of(std::move(options), input, count) == expected);
}

// A source, then SORT and an ordered vertex, and an unordered vertex that belongs to the answer.
void set_chain(std::int32_t streams, std::int32_t degree) {
  vertices = {};
  vertices[0].degree = streams;
  vertices[1] = {.kind = Kind::kSort, .route = Route::kHash, .inputs = {0}, .degree = degree};
  vertices[2] = {.kind = Kind::kKeyed, .inputs = {1}, .degree = degree, .ordered = true};
  vertices[3] = {.kind = Kind::kKeyed, .route = Route::kHash, .inputs = {2}, .degree = degree, .is_answer = true};
}

void streams_that_are_empty_end_early_or_have_gaps_are_read_to_the_end() {
  Rows beats = rows_at({5, 500});
  beats.heartbeats = {7, 8, 90, 300, 499};
  const std::vector<std::vector<Rows>> inputs = {
      {},
      {Rows{}},
      {Rows{}, Rows{}, Rows{}},
      {rows_at({1, 1, 1, 1, 1})},
      {rows_at({1, 2, 3}), Rows{}, rows_at({3, 4000})},                       // a gap of hundreds of markers
      {rows_at({10, 20, 30}), rows_at({9, 10, 11, 19, 20, 21, 29, 30, 31})},  // at markers, before and after them
      {rows_at({-1000, -995, -10, 0}), beats},
      {beats, rows_at({6, 6, 7, 90, 91, 299, 499, 500, 501})},
  };
  for (const auto& streams : inputs) {
    for (const std::int32_t workers : {1, 2, 4}) {
      for (const std::int64_t batch : {1, 2, 64}) {
        set_chain(std::max(1, std::min(workers, static_cast<std::int32_t>(streams.size()))), workers);
        const FlowInput input = input_of(streams, std::vector<std::int32_t>(streams.size(), 0));
        auto options = lab::test::short_run<DataflowOptions>(workers);
        options.batch = batch;
        for (const std::int64_t period : {1, 10, 5000}) {
          options.markers = lab::test::markers_of(input, period);
          check_answer(options, input, 4);
        }
        options.markers.count += 700;  // until a time after the last event
        check_answer(options, input, 4);
      }
    }
  }
}

void a_table_grows_and_a_block_is_longer_than_one_piece() {
  set_chain(1, 2);
  vertices[2].max_outputs = 2 * lab::FlowInstance::kRows;  // more than instances make at once, all for one instance
  Rows rows;
  for (std::int64_t i = 0; i < 20'000; ++i) rows.add({i / 100, i * 7919 % 5000, 0, i});
  const FlowInput input = input_of({rows}, {0});
  auto options = lab::test::short_run<DataflowOptions>(2, 0);
  options.batch = 4096;
  options.markers = lab::test::markers_of(input, 50);
  const auto run = lab::test::flow_of(options, input, 4);
  run->run();
  const auto expected = lab::test::in_order(lab::test::flow_oracle(input, options.markers, 4));
  CHECK(lab::test::in_order(lab::test::collected(*run)) == expected);
  CHECK_EQ(lab::test::counter(*run, "keys"), 10'000);
  CHECK_EQ(lab::test::counter(*run, "exchanged_rows") > 40'000, true);
}

void a_function_that_gives_too_much_or_to_another_key_is_an_error() {
  const FlowInput input = input_of({rows_at({1, 2, 30, 40, 60})}, {0});
  DataflowOptions options;
  options.markers = lab::test::markers_of(input, 10);
  options.grid_steps = 50;
  const auto message = [&] { return failure_of([&] { lab::test::flow_of(options, input, 4)->run(); }); };
  set_chain(1, 1);
  vertices[0].is_answer = false;
  vertices[2].max_outputs = 1;
  CHECK_EQ(message(), "");
  vertices[2].wrong_keys = 1;
  CHECK(contains(message(),
                 "operator number 2: a function at key 0 emitted a pair of key 1; an OpKeyedOrdered keeps keys"));
  vertices[2].wrong_keys = 2;
  vertices[2].items = false;
  CHECK(contains(message(),
                 "operator number 2: a function at key 0 emitted a pair of key 1; an OpKeyedOrdered keeps keys"));
  vertices[2] = {.kind = Kind::kStateless, .inputs = {0}, .copies = 3, .max_outputs = 2};
  vertices[3] = {.kind = Kind::kStateless, .inputs = {2}, .is_answer = true};
  vertices[1] = {.kind = Kind::kStateless, .inputs = {0}, .marks = false};
  CHECK(contains(message(),
                 "operator number 2: a function emitted 1 pairs beyond max_outputs; raise it in the operator"));
  vertices[2].max_outputs = 3;
  vertices[2].raises_at = 3;
  CHECK(contains(message(), "worker 0: operator number 2: one of its functions raised an exception"));
}

// --- SORT by all kinds of fields -------------------------------------------------------------------------------------

template <typename T>
void sorts(FlowSpec::Field field, std::vector<T> values, const std::vector<std::size_t>& order) {
  DataflowOptions options;
  options.markers = {10, 10, 1};
  options.grid_steps = 50;
  DataflowRun run(options);
  FlowSpec source;
  source.kind = Kind::kSource;
  source.itemsizes = {8, static_cast<std::int32_t>(sizeof(T)), 4};
  run.add_vertex(source);
  FlowSpec sort = source;
  sort.kind = Kind::kSort;
  sort.inputs = {0};
  sort.fields = {FlowSpec::Field::kSigned, field, FlowSpec::Field::kSigned};
  sort.order = {0, 1, 2};
  sort.descending.assign(3, 0);
  sort.is_answer = true;
  run.add_vertex(sort);
  const std::vector<std::int64_t> ts(values.size(), 3);
  std::vector<std::int32_t> number;
  for (std::size_t i = 0; i < values.size(); ++i) number.push_back(static_cast<std::int32_t>(i));
  lab::StreamView view;
  view.ts = ts;
  view.columns = {ts.data(), values.data(), number.data()};
  run.add_stream(view, 0);
  run.run();
  CHECK_EQ(run.rows(), static_cast<std::int64_t>(values.size()));
  std::vector<std::int64_t> ts_out(values.size());
  std::vector<T> values_out(values.size());
  std::vector<std::int32_t> number_out(values.size());
  void* const columns[] = {ts_out.data(), values_out.data(), number_out.data()};
  run.collect(columns);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK_EQ(number_out[i], static_cast<std::int32_t>(order[i]));
}

void sort_orders_all_kinds_of_fields_and_ties_by_the_next() {
  using Field = FlowSpec::Field;
  sorts<std::int8_t>(Field::kSigned, {3, -128, 127, -1, 3}, {1, 3, 0, 4, 2});
  sorts<std::int16_t>(Field::kSigned, {3, -300, 300, -1}, {1, 3, 0, 2});
  sorts<std::int32_t>(Field::kSigned, {3, -70'000, 70'000, -1}, {1, 3, 0, 2});
  sorts<std::int64_t>(Field::kSigned, {3, std::numeric_limits<std::int64_t>::min(), -1}, {1, 2, 0});
  sorts<std::uint8_t>(Field::kUnsigned, {3, 255, 127, 128}, {0, 2, 3, 1});
  sorts<std::uint16_t>(Field::kUnsigned, {3, 65'535, 40'000}, {0, 2, 1});
  sorts<std::uint32_t>(Field::kUnsigned, {3, 4'000'000'000, 1}, {2, 0, 1});
  sorts<std::uint64_t>(Field::kUnsigned, {3, std::numeric_limits<std::uint64_t>::max(), 1}, {2, 0, 1});
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  sorts<float>(Field::kFloat, {not_a_number, 2.5F, -not_a_number, -1, 0, not_a_number, 1}, {3, 4, 6, 1, 0, 2, 5});
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> many;
  for (int i = 0; i < 400; ++i) many.push_back(i % 3 == 0 ? none : 400 - i);
  std::vector<std::size_t> order;
  for (std::size_t i = 400; i-- > 0;) {
    if (i % 3 != 0) order.push_back(i);
  }
  for (std::size_t i = 0; i < 400; i += 3) order.push_back(i);
  sorts<double>(Field::kFloat, many, order);
}

// --- refused set-ups -------------------------------------------------------------------------------------------------

FlowSpec plain(Kind kind) {
  FlowSpec spec;
  spec.name = "one";
  spec.kind = kind;
  spec.itemsizes = {8};
  if (kind != Kind::kSource) spec.inputs = {0};
  if (kind != Kind::kSource && kind != Kind::kSort) spec.items = &lab::test::items_kernel<0>;
  if (kind == Kind::kSort) {
    spec.fields = {FlowSpec::Field::kSigned};
    spec.order = {0};
    spec.descending = {0};
  }
  return spec;
}

std::string refusal(FlowSpec spec, std::int32_t workers = 2) {
  DataflowOptions options;
  options.workers = workers;
  DataflowRun run(options);
  return failure_of([&] {
    if (spec.kind != Kind::kSource) run.add_vertex(plain(Kind::kSource));
    run.add_vertex(std::move(spec));
  });
}

void a_graph_out_of_range_is_refused_with_the_vertex() {
  FlowSpec spec = plain(Kind::kStateless);
  CHECK_EQ(refusal(spec), "");
  spec.degree = 3;
  CHECK(contains(refusal(spec), "operator one: degree 3 must be between 1 and the number of workers, 2"));
  spec.degree = 2;
  CHECK(contains(refusal(spec), "operator one: route forward needs one input, of the same degree"));
  spec.route = Route::kHash;
  CHECK_EQ(refusal(spec), "");
  for (const std::int32_t input : {-1, 1, 7}) {
    spec.inputs = {input};
    CHECK(contains(refusal(spec), "operator one: input " + std::to_string(input) + " does not exist"));
  }
  spec = plain(Kind::kStateless);
  spec.items = nullptr;
  CHECK(contains(refusal(spec), "operator one: every vertex but sources and SORT has a function for items"));
  spec = plain(Kind::kStateless);
  spec.max_outputs = 0;
  CHECK(contains(refusal(spec), "operator one: max_outputs must be at least 1"));
  spec = plain(Kind::kStateless);
  spec.keyed = true;
  CHECK(contains(refusal(spec), "operator one: a keyed vertex needs a second column, its key"));
  spec = plain(Kind::kSort);
  spec.fields.clear();
  CHECK(contains(refusal(spec), "operator one: SORT needs `fields`, `order` and `descending` for each of its columns"));
  spec = plain(Kind::kSort);
  spec.inputs.clear();
  CHECK(contains(refusal(spec), "operator one: a source has no inputs, and every other vertex has at least one"));
}

void a_run_out_of_range_is_refused() {
  const auto options_failure = [](auto change) {
    DataflowOptions options;
    change(options);
    return failure_of([&] { DataflowRun run(options); });
  };
  CHECK(contains(options_failure([](auto& o) { o.link_rows = 0; }), "link_rows must be between 1 and"));
  CHECK(
      contains(options_failure([](auto& o) { o.link_rows = DataflowOptions::kMaxLinkRows + 1; }), "link_rows must be"));
  CHECK(contains(options_failure([](auto& o) { o.markers.period = 0; }), "markers need a period of at least 1"));
  CHECK(contains(options_failure([](auto& o) { o.markers.count = -1; }), "markers need a period of at least 1"));
  DataflowRun run{DataflowOptions{}};
  CHECK_THROWS(run.start(), std::logic_error);  // no vertices
  DataflowRun graph{DataflowOptions{}};
  FlowSpec source = plain(Kind::kSource);
  graph.add_vertex(source);
  lab::StreamView view;
  CHECK(contains(failure_of([&] { graph.add_stream(view, 1); }), "vertex 1 is not a source"));
  CHECK(contains(failure_of([&] { graph.add_stream(view, 0); }),
                 "a stream needs one column for each field of its source"));
  FlowSpec answer = plain(Kind::kStateless);
  answer.is_answer = true;
  graph.add_vertex(answer);
  FlowSpec downstream = plain(Kind::kStateless);
  downstream.inputs = {1};
  CHECK(contains(failure_of([&] { graph.add_vertex(downstream); }), "operator one: input 1 belongs to the answer"));
  FlowSpec other = plain(Kind::kStateless);
  other.itemsizes = {8, 8};
  other.is_answer = true;
  graph.add_vertex(other);
  CHECK(contains(failure_of([&] { graph.start(); }), "all vertices of the answer must have the same columns"));
}

// --- under a load ----------------------------------------------------------------------------------------------------

std::vector<std::int64_t> known_times(const std::vector<Times>& streams, std::int64_t count) {
  std::vector<lab::StreamView> views(streams.size());
  std::vector<const lab::StreamView*> pointers;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    streams[s].show_in(views[s]);
    pointers.push_back(&views[s]);
  }
  return lab::Markers{10, 10, count}.known_times_ns(pointers);
}

void a_marker_is_known_when_the_last_stream_is_past_it() {
  using Known = std::vector<std::int64_t>;
  const Times left{{1, 10, 25}, {0, 5, 6}, {}, {}};
  // At 10 the first is at the event at 10 itself, the second at its next; at 30 the first is over.
  CHECK((known_times({left, {{2, 30}, {1, 9}, {}, {}}}, 3) == Known{9, 9, 9}));
  CHECK((known_times({left}, 3) == Known{5, 6, 6}));  // a reader without the second does not wait for it
  // A heartbeat 9 promises that later events are at 10 or later; 18 promises nothing about 19.
  CHECK((known_times({left, {{2, 30}, {1, 9}, {8, 9, 18, 24}, {2, 3, 4, 7}}}, 3) == Known{5, 7, 9}));
  // Markers that no stream passes are known when the streams end.
  CHECK((known_times({{{1}, {3}, {4}, {8}}, {{4}, {7}, {}, {}}}, 3) == Known{8, 8, 8}));
  CHECK((known_times({}, 2) == Known{0, 0}));
  CHECK(known_times({left}, 0).empty());
}

// --- ends before the end ---------------------------------------------------------------------------------------------

void a_stopped_run_ends_also_within_a_long_turn() {
  struct Interrupted {};
  set_chain(1, 2);
  vertices[2].spins = vertices[3].spins = 1000;
  std::vector<std::int64_t> times(2'000, 1);
  times.push_back(std::int64_t{1} << 40);  // a gap of a million markers, each of which visits all keys
  const FlowInput input = input_of({rows_at(times, 2'000)}, {0});
  auto options = lab::test::short_run<DataflowOptions>(2);
  options.markers = {1 << 20, 1 << 20, 1 << 20};
  const auto run = lab::test::flow_of(options, input, 4);
  CHECK_THROWS(run->run([] { throw Interrupted(); }), Interrupted);
  CHECK(run->rows() < std::int64_t{2'000} << 20);
}

void the_generator_keeps_to_due_times_and_outputs_are_timed() {
  set_chain(2, 2);
  std::vector<std::int64_t> times;
  for (std::int64_t i = 0; i < 400; ++i) times.push_back(i);
  FlowInput input = input_of({rows_at(times), rows_at(times)}, {0, 0});
  lab::test::schedule(input.streams, 10'000);
  auto options = lab::test::short_run<DataflowOptions>(2);
  options.ring_blocks = 1024;
  options.load.emplace();
  options.markers = lab::test::markers_of(input, 20);
  const auto expected = lab::test::in_order(lab::test::flow_oracle(input, options.markers, 4));
  const auto run = lab::test::flow_of(options, input, 4);
  CHECK(run->run() >= 799 * 10'000);
  CHECK(lab::test::in_order(lab::test::collected(*run)) == expected);
  CHECK_EQ(lab::test::total_of(run->latency_counts()), std::ssize(expected));
}

}  // namespace

int main() {
  markers_end_blocks_but_the_last();
  streams_that_are_empty_end_early_or_have_gaps_are_read_to_the_end();
  a_table_grows_and_a_block_is_longer_than_one_piece();
  a_function_that_gives_too_much_or_to_another_key_is_an_error();
  sort_orders_all_kinds_of_fields_and_ties_by_the_next();
  a_graph_out_of_range_is_refused_with_the_vertex();
  a_run_out_of_range_is_refused();
  a_marker_is_known_when_the_last_stream_is_past_it();
  a_stopped_run_ends_also_within_a_long_turn();
  the_generator_keeps_to_due_times_and_outputs_are_timed();
  return 0;
}
