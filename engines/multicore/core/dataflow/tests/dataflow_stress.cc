// Random typed dataflow graphs with more threads than cores: the sequential answer, every row counted once, and always
// an end. Also with one source far ahead of another that the same worker reads, and with a failing kernel.
#include <cstdio>

#include "streams.h"

#include "dataflow/tests/flow_cases.h"

namespace {

using lab::test::FlowInput;
using lab::test::FlowVertex;
using lab::test::Kind;
using lab::test::Route;
using lab::test::vertices;

lab::test::StressTotals totals;

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}

  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  bool one_in(int n) { return pick(1, n) == 1; }

  // Returns the number of vertices.
  std::size_t graph(std::int32_t workers, std::int64_t max_copies) {
    vertices = {};
    count_ = 0;
    read_ = {};
    workers_ = workers;
    max_copies_ = max_copies;
    sources_ = pick(1, 3);
    for (int s = 0; s < sources_; ++s) add({.degree = pick(1, workers)});
    for (int left = pick(1, 3); left > 0 && count_ + 3 <= lab::test::kMaxVertices; --left) operate();
    for (std::size_t v = 0; v < count_; ++v) vertices[v].is_answer = !read_[v];
    return count_;
  }

  FlowInput input(int max_rows, int gap) {
    FlowInput input;
    for (std::int32_t source = 0; source < sources_; ++source) {
      // Some sources are sparse: they reach a time with few rows.
      const bool sparse = one_in(3);
      for (auto& rows : lab::test::random_streams(random_, pick(0, 3), sparse ? max_rows / 10 : max_rows, pick(1, 40),
                                                  sparse ? 10 * gap : gap)) {
        input.streams.push_back(std::move(rows));
        input.sources.push_back(source);
      }
    }
    if (!input.streams.empty() && one_in(4)) input.streams[index_below(input.streams.size())] = {};
    return input;
  }

  std::mt19937& random() { return random_; }

 private:
  std::size_t index_below(std::size_t size) { return static_cast<std::size_t>(pick(0, static_cast<int>(size) - 1)); }

  std::int32_t add(FlowVertex vertex) {
    for (const std::int32_t input : vertex.inputs) read_[static_cast<std::size_t>(input)] = true;
    vertices[count_] = std::move(vertex);
    return static_cast<std::int32_t>(count_++);
  }

  // Mostly a vertex without a reader; otherwise there is fan-out. Outputs of kPartial have a single reader.
  std::int32_t any_vertex() {
    for (int tries = 0;; ++tries) {
      const std::size_t v = index_below(count_);
      if (vertices[v].kind != Kind::kPartial && (!read_[v] || tries > 3)) return static_cast<std::int32_t>(v);
    }
  }

  std::vector<std::int32_t> merged() {
    std::vector<std::int32_t> inputs;
    for (int n = pick(1, 3); n > 0; --n) {
      const std::int32_t vertex = any_vertex();
      if (std::find(inputs.begin(), inputs.end(), vertex) == inputs.end()) inputs.push_back(vertex);
    }
    return inputs;
  }

  void operate() {
    FlowVertex next;
    next.marks = one_in(2);
    next.spins = one_in(4) ? pick(0, 100) : 0;
    switch (pick(0, 3)) {
      case 0: {
        next.kind = Kind::kStateless;
        next.inputs = {any_vertex()};
        next.degree = vertices[static_cast<std::size_t>(next.inputs[0])].degree;
        if (one_in(3)) {
          next.route = Route::kDeal;
          next.degree = pick(1, workers_);
        }
        next.keys = pick(1, 30);
        next.tenths = std::array{0, 3, 10, 10}[index_below(4)];
        next.copies = one_in(3) ? pick(1, static_cast<int>(max_copies_)) : 1;
        next.max_outputs = next.copies + (one_in(3) ? pick(0, 700) : 0);
        add(next);
        break;
      }
      case 1: {
        const std::int32_t sorted =
            add({.kind = Kind::kSort, .route = Route::kHash, .inputs = merged(), .degree = pick(1, workers_)});
        next.kind = Kind::kKeyed;
        next.ordered = true;
        next.inputs = {sorted};
        next.degree = vertices[static_cast<std::size_t>(sorted)].degree;
        next.max_outputs = pick(1, 3);
        const std::int32_t first = add(next);
        if (!one_in(3) || count_ == lab::test::kMaxVertices) break;
        next.inputs = {first};
        add(next);
        break;
      }
      default: {
        next.kind = Kind::kKeyed;
        next.route = Route::kHash;
        next.inputs = merged();
        next.degree = pick(1, workers_);
        next.max_outputs = pick(1, 600);
        if (one_in(2) && count_ + next.inputs.size() < lab::test::kMaxVertices) {
          next.items = false;
          for (std::int32_t& input : next.inputs) {
            input = add({.kind = Kind::kPartial,
                         .inputs = {input},
                         .degree = vertices[static_cast<std::size_t>(input)].degree});
          }
        }
        add(next);
      }
    }
  }

  std::mt19937 random_;
  std::size_t count_ = 0;
  std::array<bool, lab::test::kMaxVertices> read_{};
  int sources_ = 1;
  std::int32_t workers_ = 1;
  std::int64_t max_copies_ = 1;
};

void check_run(lab::DataflowRun& run, const FlowInput& input, const lab::DataflowOptions& options, std::size_t count,
               unsigned seed) {
  run.run();
  const auto answer = lab::test::in_order(lab::test::collected(run));
  const auto expected = lab::test::in_order(lab::test::flow_oracle(input, options.markers, count));
  if (answer != expected) {
    std::fprintf(stderr, "seed %u: %zu rows, expected %zu\n", seed, answer.size(), expected.size());
    for (std::size_t v = 0; v < count; ++v) {
      const FlowVertex& vertex = vertices[v];
      std::fprintf(stderr, "%zu: %s by %s x %d%s%s, reads", v,
                   lab::FlowSpec::kKinds[static_cast<std::size_t>(vertex.kind)].data(),
                   lab::FlowSpec::kRoutes[static_cast<std::size_t>(vertex.route)].data(), vertex.degree,
                   vertex.ordered ? ", ordered" : "", vertex.is_answer ? ", answer" : "");
      for (const std::int32_t from : vertex.inputs) std::fprintf(stderr, " %d", from);
      std::fprintf(stderr, "\n");
    }
  }
  CHECK(answer == expected);
  CHECK_EQ(run.events(), lab::test::events_in(input.streams));
  if (options.measure) {
    CHECK_EQ(lab::test::total_of(run.latency_counts()), std::ssize(answer));
  }
  totals["records"] += std::ssize(answer);
  totals["markers"] += options.markers.count;
  totals.add(run, {"sleeps", "exchanged_rows", "packed_rows", "room_waits"});
}

lab::DataflowOptions options_of(Drawn& drawn) {
  lab::DataflowOptions options;
  options.workers = drawn.pick(1, 8);
  options.batch = std::array{1, 16, 64, 4096}[static_cast<std::size_t>(drawn.pick(0, 3))];
  options.link_rows = drawn.one_in(2) ? 1 : 16384;
  options.core_count = drawn.one_in(3) ? 64 : 1;
  options.measure = !drawn.one_in(4);
  options.grid_steps = 50;  // sanitizers pay for every step
  return options;
}

void a_graph_answers_as_one_thread_does(unsigned seed) {
  Drawn drawn(seed);
  lab::DataflowOptions options = options_of(drawn);
  const std::size_t count = drawn.graph(options.workers, 20);
  const int gap = drawn.pick(0, 6);  // 0: all rows of a stream have one time
  FlowInput input = drawn.input(drawn.one_in(4) ? 3000 : 300, gap);
  options.markers =
      lab::test::markers_of(input, std::array{1, 3, 20, 100, 100'000}[static_cast<std::size_t>(drawn.pick(0, 4))]);
  if (drawn.one_in(3)) {
    options.load = lab::LoadOptions{0, 0, drawn.one_in(2)};
    options.ring_blocks = drawn.one_in(2) ? 2 : 1024;
    lab::test::schedule(input.streams, drawn.pick(0, 2000));
  } else if (drawn.one_in(3)) {  // heartbeats without a load
    lab::test::schedule(input.streams, 0);
    for (auto& rows : input.streams) rows.due = rows.heartbeat_due = {};
  }
  if (drawn.one_in(8)) {  // a failing kernel ends all threads
    for (std::size_t v = 0; v < count; ++v) {
      if (vertices[v].kind != Kind::kSource && vertices[v].kind != Kind::kSort)
        vertices[v].raises_at = drawn.pick(-50, 50);
    }
    const auto run = lab::test::flow_of(options, input, count);
    try {
      run->run();
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).find("one of its functions raised an exception") != std::string::npos);
      ++totals["failures"];
    }
    return;
  }
  const auto run = lab::test::flow_of(options, input, count);
  check_run(*run, input, options, count, seed);
}

// A sparse source and a dense one that the same workers read, merged after them: rows that the first has sent ahead
// wait in links for markers of the second. When full links kept workers from reading either, such a run came to a
// standstill. Links also fill between two operators, at workers that read no stream.
void a_source_that_is_ahead_does_not_keep_another_from_catching_up(unsigned seed) {
  Drawn drawn(seed);
  lab::DataflowOptions options = options_of(drawn);
  options.link_rows = 1;
  vertices = {};
  vertices[0].degree = vertices[1].degree = drawn.one_in(2) ? 1 : options.workers;
  vertices[2] = {.kind = Kind::kStateless, .inputs = {0}, .degree = vertices[0].degree, .copies = 4, .max_outputs = 4};
  vertices[3] = {
      .kind = Kind::kKeyed, .route = Route::kHash, .inputs = {2, 1}, .degree = drawn.pick(1, options.workers)};
  vertices[4] = {.kind = Kind::kKeyed,
                 .route = Route::kHash,
                 .inputs = {3},
                 .degree = drawn.pick(1, options.workers),
                 .is_answer = true};
  FlowInput input;
  for (std::int32_t source = 0; source < 2; ++source) {
    lab::test::Rows rows;
    const std::int64_t times = 4000;
    const std::int64_t each = source == 0 ? 1 : 5;
    for (std::int64_t i = 0; i < times * each; ++i) {
      const std::int64_t ts = source == 0 ? i * 10 : i / (each * 100) * 10;  // the dense one ends early
      rows.add({ts, drawn.pick(0, 5), 0, drawn.pick(-50, 50)});
    }
    input.streams.push_back(std::move(rows));
    input.sources.push_back(source);
  }
  options.markers = lab::test::markers_of(input, 10);
  const auto run = lab::test::flow_of(options, input, 5);
  check_run(*run, input, options, 5, seed);
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(40);
  const auto run_round = [](unsigned seed) {
    for (unsigned part = 0; part < 4; ++part) a_graph_answers_as_one_thread_does(4 * seed + part);
    if (seed % 5 == 0) a_source_that_is_ahead_does_not_keep_another_from_catching_up(seed);
  };
  const int rounds = lab::test::rounds_until(least, run_round, [&] {
    return totals["exchanged_rows"] > 100 * least && totals["packed_rows"] > 10 * least &&
           (least < 10 || totals["failures"] > 0);
  });
  totals.print(rounds);
  CHECK(totals["records"] > 100 * rounds);
  return 0;
}
