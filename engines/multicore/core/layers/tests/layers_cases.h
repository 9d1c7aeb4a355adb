// Query graphs for the tests, and their required answers.
//
// The order (timestamp, producer, row) makes the answer a function of the input and of the number of instances. Rows go
// from one level to the next in order of time, ties by instance. Distribution by time leaves all rows of one time with
// one instance, so that only partitioned operators affect the order.
#pragma once
#include <string>

#include "layers/layers_run.h"
#include "stages/tests/stage_cases.h"

namespace lab::test {

// With `by_turn`, records without a key are distributed in turn. Without it, they are distributed by time, which gives
// the order of a single consumer.
inline std::vector<Record> layered_oracle(const std::vector<Rows>& streams, std::size_t operators, std::int32_t workers,
                                          bool by_turn = false) {
  using Producers = std::vector<std::vector<Record>>;
  const auto by_time = [](const Record& a, const Record& b) { return a.ts < b.ts; };
  Producers producers;
  for (const Rows& stream : streams) {
    producers.emplace_back();
    for (std::size_t row = 0; row < stream.ts.size(); ++row) producers.back().push_back(stream.at(row));
  }
  // From each producer to each consumer, in order of time, ties by producer.
  const auto distribute = [&](std::size_t consumers, const auto& consumer_of) {
    Producers result(consumers);
    for (const std::vector<Record>& from : producers) {
      for (std::size_t i = 0; i < from.size(); ++i) result[consumer_of(from[i], i)].push_back(from[i]);
    }
    for (std::vector<Record>& each : result) std::stable_sort(each.begin(), each.end(), by_time);
    return result;
  };
  std::size_t consumers = 1;
  const auto in_turn = [&](const Record&, std::size_t i) { return i % consumers; };
  for (std::size_t index = 0; index < operators; ++index) {
    const Behaviour& op = behaviours[index];
    const bool keyed = op.kind == StageSpec::Kind::kPartitioned;
    const bool several = keyed || (by_turn && op.kind == StageSpec::Kind::kStateless);
    consumers = several ? static_cast<std::size_t>(workers) : 1;
    const auto by_key = [&](const Record& record, std::size_t) {
      return mixed(key_in(op, record)) % static_cast<std::uint64_t>(op.partitions) % consumers;
    };
    Producers next;
    for (const std::vector<Record>& read : keyed ? distribute(consumers, by_key) : distribute(consumers, in_turn)) {
      std::map<std::int64_t, KeyState> states;
      next.emplace_back();
      for (const Record& record : read) {
        KeyState* state = op.kind == StageSpec::Kind::kStateless ? nullptr : &states[keyed ? key_in(op, record) : 0];
        apply(op, record, state, [&](const Record& output) { next.back().push_back(output); });
      }
    }
    producers = std::move(next);
  }
  if (!by_turn) consumers = 1;
  std::vector<Record> answer;
  for (const std::vector<Record>& sink : distribute(consumers, in_turn)) {
    answer.insert(answer.end(), sink.begin(), sink.end());
  }
  std::stable_sort(answer.begin(), answer.end(), by_time);
  return answer;
}

}  // namespace lab::test
