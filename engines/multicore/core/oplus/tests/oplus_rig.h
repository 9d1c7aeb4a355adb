// Runs of operators O+ for the tests: the run itself, switches on another thread, random operators and options.
#pragma once
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "oplus/tests/oplus_cases.h"

namespace lab::test {

// Buckets to these instances in turn, from the `first` of them on.
inline std::vector<std::int32_t> spread(std::int64_t buckets, const std::vector<std::int32_t>& instances,
                                        std::int32_t first = 0) {
  std::vector<std::int32_t> owner;
  for (std::int64_t b = 0; b < buckets; ++b) {
    owner.push_back(instances[static_cast<std::size_t>(b + first) % instances.size()]);
  }
  return owner;
}
inline std::vector<std::int32_t> spread(std::int64_t buckets, std::int32_t instances, std::int32_t first = 0) {
  return spread(buckets, first_instances(instances), first);
}

// Some of the first `most` instances, at least one.
inline std::vector<std::int32_t> random_instances(std::mt19937& random, std::int32_t most) {
  std::vector<std::int32_t> instances;
  while (instances.empty()) {
    for (std::int32_t i = 0; i < most; ++i) {
      if (random() % 2 == 0) instances.push_back(i);
    }
  }
  return instances;
}

inline std::vector<std::int32_t> random_owner(std::mt19937& random, const std::vector<std::int32_t>& instances,
                                              std::int64_t buckets = behaviour.buckets) {
  std::vector<std::int32_t> owner;
  for (std::int64_t b = 0; b < buckets; ++b) owner.push_back(instances[random() % instances.size()]);
  return owner;
}

inline OplusOptions options_of(std::int32_t instances, std::int64_t batch, const char* log,
                               std::int64_t link_rows = 1 << 14, std::int32_t readers = 0) {
  auto options = lab::test::short_run<OplusOptions>(instances, 2);
  options.batch = batch;
  options.tuple_buffer = log;
  options.link_rows = link_rows;
  options.downstream = readers;
  options.ring_blocks = batch == 1 ? 4 : 64;
  return options;
}

inline void use_schedule(OplusOptions& options) {
  options.load = LoadOptions{0, 0, false};
  options.ring_blocks = 1024;
}

// A run of an operator; derived classes add its streams.
class OplusCase {
 public:
  virtual ~OplusCase() = default;

  // Runs with `meanwhile` on another thread. Returns the outputs in their order; checks that times ascend.
  std::vector<Record> run(const std::function<void(OplusRun&)>& meanwhile = {}) {
    std::thread other;
    if (meanwhile) other = std::thread([&] { meanwhile(runtime_); });
    std::exception_ptr error;
    try {
      runtime_.run();
    } catch (...) {
      error = std::current_exception();
    }
    if (other.joinable()) other.join();
    if (error) std::rethrow_exception(error);
    const auto rows = static_cast<std::size_t>(runtime_.rows());
    std::vector<std::int64_t> columns[3];
    std::vector<void*> targets;
    for (auto& column : columns) {
      column.resize(rows);
      targets.push_back(column.data());
    }
    runtime_.collect(targets);
    CHECK(std::is_sorted(columns[0].begin(), columns[0].end()));
    std::vector<Record> out;
    for (std::size_t i = 0; i < rows; ++i) out.emplace_back(columns[0][i], columns[1][i], columns[2][i]);
    return out;
  }

  // Returns the message of the error that ends the run, "" without one.
  std::string failure(const std::function<void(OplusRun&)>& meanwhile = {}) {
    return failure_of([&] { run(meanwhile); });
  }

  OplusRun& runtime() noexcept { return runtime_; }

 protected:
  OplusCase(OplusOptions options, const OperatorSpec& spec)
      : instances_(options.workers), runtime_(with_outputs(std::move(options)), spec) {}

  void start() {
    runtime_.map(spread(behaviour.buckets, instances_));
    runtime_.start();
  }

 private:
  static OplusOptions with_outputs(OplusOptions options) {
    options.output_itemsizes = {8, 8, 8};
    options.grid_steps = 50;  // sanitizers pay for all of it
    return options;
  }

 protected:
  const std::int32_t instances_;
  OplusRun runtime_;
};

template <int kOperator>
OperatorSpec spec_of() {
  const Behaviour& op = behaviour_of<kOperator>();
  OperatorSpec result;
  result.window = op.window;
  result.inputs = kOperator == 0 ? 2 : 1;
  result.entry_bytes = entry_bytes_of(op.window, result.inputs);
  result.buckets = static_cast<std::int32_t>(op.buckets);
  result.max_outputs = kOperator == 0 ? op.max_outputs : 2;  // of a link: one for each key
  result.emits_on_update = op.emits_on_update;
  result.keeps_time = op.keeps_time;
  if (kOperator != 0) result.name = "link " + std::to_string(kOperator - 1);
  if (op.expires || op.slides) result.expire = &expire<kOperator>;
  return result;
}

inline OperatorSpec operator_spec(bool join) {
  OperatorSpec result = spec_of<0>();
  if (!join) return result;
  result.emits_on_update = true;
  result.expire = nullptr;
  result.match_by_left = &match<true>;
  result.match_by_right = &match<false>;
  result.emit_pairs = &emit_pairs;
  return result;
}

// A stream of the operator, or of the join; the tuples must stay.
inline StreamView view_of(const Tuples& one, bool join = false) {
  StreamView result;
  one.show_in(result);
  result.columns = {one.ts.data(), one.base.data()};
  if (!join) result.columns.push_back(one.count.data());
  result.columns.push_back(one.value.data());
  return result;
}

template <int kLink>
void add_link(OplusRun& runtime, std::int32_t instances) {
  runtime.add_operator(spec_of<kLink + 1>(), &process<0, read_record, kLink + 1>, {8, 8, 8});
  runtime.map(spread(links[kLink].buckets, instances), kLink + 1);
}

// The operator that `behaviour` describes, with the first `count` links behind it.
class OperatorRunCase : public OplusCase {
 public:
  OperatorRunCase(const std::vector<Tuples>& streams, OplusOptions options, bool join = false, int count = 0)
      : OplusCase(std::move(options), operator_spec(join)) {
    for (const Tuples& one : streams) {
      runtime_.add_stream(view_of(one, join), one.input, join ? nullptr : process_of(one.input),
                          join ? nullptr : &route);
    }
    if (count > 0) add_link<0>(runtime_, instances_);
    if (count > 1) add_link<1>(runtime_, instances_);
    start();
  }
};

// Waits until every active instance has processed that many tuples of the first input, or the run is over.
inline void wait_for(const OplusRun& runtime, std::int64_t tuples) {
  for (;;) {
    const std::optional<Snapshot> seen = runtime.snapshot();
    if (!seen || seen->processed[0] >= tuples) return;
    std::this_thread::yield();
  }
}

// Requests switches of any of the `operators` until the run is over, several at a time; waits for some of them.
inline void switch_at_random(OplusRun& runtime, unsigned seed, std::int32_t most, int operators) {
  std::mt19937 random(seed);
  for (;;) {
    const auto op = static_cast<std::size_t>(random() % static_cast<unsigned>(operators));
    const auto count = 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    const auto instances = random() % 3 == 0 ? first_instances(count) : random_instances(random, most);
    const std::int64_t buckets = op == 0 ? behaviour.buckets : links[op - 1].buckets;
    const std::int64_t number = runtime.reconfigure(instances, random_owner(random, instances, buckets), op);
    if (number < 0) return;
    const auto next = random() % 8;
    if (next == 0) continue;  // the next one may overtake it
    if (next == 1) {
      static_cast<void>(runtime.snapshot());
    } else if (!runtime.await(number, op)) {
      return;
    }
    if (next == 2) {
      for (auto i = random() % 200; i > 0; --i) std::this_thread::yield();
    }
  }
}

// Draws a random behaviour of an operator.
inline void draw_behaviour(std::mt19937& random, bool join) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  behaviour = {};
  behaviour.buckets = pick(1, 16);
  behaviour.max_outputs = pick(1, 2);
  const std::int64_t advance = pick(1, 12);
  if (join) {
    behaviour.window = {1, pick(1, 60), true};
    return;
  }
  behaviour.window = {advance, advance + pick(0, 2) * pick(0, 10), pick(0, 1) == 1};
  behaviour.expires = pick(0, 3) != 0;
  behaviour.slides = behaviour.window.single && pick(0, 1) == 1;
  behaviour.emits_on_update =
      (behaviour.window.single || behaviour.window.advance == behaviour.window.size) && pick(0, 1) == 1;
  behaviour.keeps_time = behaviour.emits_on_update && pick(0, 2) == 0;
  if (behaviour.keeps_time) behaviour.expires = false;
}

// Draws random links; they emit in order of time.
inline void draw_links(std::mt19937& random) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  for (Behaviour& link : links) {
    link = {};
    const std::int64_t advance = pick(1, 20);
    link.window = {advance, advance + pick(0, 1) * pick(0, 25), pick(0, 2) == 0};
    link.buckets = pick(1, 12);
    link.modulus = pick(1, 9);
    link.emits_on_update = (link.window.single || link.window.advance == link.window.size) && pick(0, 1) == 1;
    link.expires = !link.emits_on_update || pick(0, 1) == 1;
    link.slides = link.window.single && pick(0, 1) == 1;
  }
}

// Draws options with little room; `streams` get a schedule if they have a load.
inline OplusOptions draw_options(std::mt19937& random, std::vector<Tuples>& streams) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  OplusOptions options;
  draw_settings(random, options, streams, 8, 500);
  options.batch_rows = pick(0, 1) == 1 ? 4096 : pick(1, 20);
  options.tuple_buffer = kLogs[pick(0, 1)];
  options.log.entries = 1 << pick(4, 10);
  options.log.rows_in_flight = pick(1, 500);
  options.link_rows = 1 << pick(1, 10);
  return options;
}

}  // namespace lab::test
