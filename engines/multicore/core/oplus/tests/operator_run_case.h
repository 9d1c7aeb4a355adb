// A run of the operator that a test describes, for the tests.
#pragma once
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "oplus/tests/oplus_cases.h"

namespace lab::test {

// Runs with `meanwhile` on another thread. Returns the outputs in their order; checks that times ascend.
inline std::vector<Record> outputs_of(OplusRun& runtime, const std::function<void(OplusRun&)>& meanwhile) {
  std::thread beside;
  if (meanwhile) beside = std::thread([&] { meanwhile(runtime); });
  std::string error;
  try {
    runtime.run();
  } catch (const std::runtime_error& failure) {
    error = failure.what();
  }
  if (beside.joinable()) beside.join();
  if (!error.empty()) throw std::runtime_error(error);
  const auto rows = static_cast<std::size_t>(runtime.rows());
  std::vector<std::int64_t> columns[3];
  std::vector<void*> targets;
  for (auto& column : columns) {
    column.resize(rows);
    targets.push_back(column.data());
  }
  runtime.collect(targets);
  CHECK(std::is_sorted(columns[0].begin(), columns[0].end()));
  std::vector<Record> out;
  for (std::size_t i = 0; i < rows; ++i) out.emplace_back(columns[0][i], columns[1][i], columns[2][i]);
  return out;
}

// One run of the operator that `behaviour` describes; `add` may add others behind it (oplus/tests/chain_cases.h).
class OperatorRunCase {
 public:
  OperatorRunCase(const std::vector<Tuples>& streams, OplusOptions options, bool join = false,
                  const std::function<void(OplusRun&, std::int32_t)>& add = {})
      : streams_(streams), instances_(options.workers), runtime_(with_outputs(std::move(options)), spec(join)) {
    for (const Tuples& one : streams_) {
      runtime_.add_stream(view(one, join), one.input,
                          join             ? nullptr
                          : one.input == 0 ? &process<0>
                                           : &process<1>,
                          join ? nullptr : &route);
    }
    runtime_.map(owners(behaviour.buckets, instances_));
    if (add) add(runtime_, instances_);
    runtime_.start();
  }

  // A stream of the operator, or of the join; the tuples must stay.
  static StreamView view(const Tuples& one, bool join) {
    StreamView result;
    result.ts = one.ts;
    result.columns = {one.ts.data(), one.base.data()};
    if (!join) result.columns.push_back(one.count.data());
    result.columns.push_back(one.value.data());
    result.heartbeats = one.heartbeats;
    result.due = one.due;
    result.heartbeat_due = one.heartbeat_due;
    return result;
  }

  // The operator that `behaviour` describes.
  static OperatorSpec spec(bool join) {
    OperatorSpec result;
    result.window = behaviour.window;
    result.inputs = 2;
    result.entry_bytes = entry_bytes_of(behaviour.window, 2);
    result.buckets = static_cast<std::int32_t>(behaviour.buckets);
    result.max_outputs = behaviour.max_outputs;
    result.emits_on_update = behaviour.emits_on_update || join;
    if (join) {
      result.match_by_left = &match<true>;
      result.match_by_right = &match<false>;
      result.emit_pairs = &emit_pairs;
    } else if (behaviour.expires || behaviour.slides) {
      result.expire = &expire;
    }
    return result;
  }

  // Buckets in turn.
  static std::vector<std::int32_t> owners(std::int64_t buckets, std::int32_t instances) {
    std::vector<std::int32_t> owner;
    for (std::int64_t b = 0; b < buckets; ++b) owner.push_back(static_cast<std::int32_t>(b) % instances);
    return owner;
  }

  std::vector<Record> run(const std::function<void(OplusRun&)>& meanwhile = {}) {
    return outputs_of(runtime_, meanwhile);
  }

  OplusRun& runtime() noexcept { return runtime_; }

 private:
  static OplusOptions with_outputs(OplusOptions options) {
    options.output_itemsizes = {8, 8, 8};
    options.grid_steps = 50;  // sanitizers pay for all of it
    return options;
  }

  const std::vector<Tuples>& streams_;
  std::int32_t instances_;
  OplusRun runtime_;
};

// Waits until every active instance has processed that many tuples of the first input, or the run is over.
inline void wait_for(const OplusRun& runtime, std::int64_t tuples) {
  for (;;) {
    const std::optional<Snapshot> seen = runtime.snapshot();
    if (!seen || seen->processed[0] >= tuples) return;
    std::this_thread::yield();
  }
}

}  // namespace lab::test
