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

inline std::vector<Record> layered_oracle(const std::vector<Rows>& streams, std::size_t operators,
                                          std::int32_t workers) {
  std::vector<Record> rows;
  for (const Place& place : total_order(streams)) rows.push_back(streams[place.stream].at(place.row));
  for (std::size_t at = 0; at < operators; ++at) {
    const Behaviour& how = behaviours[at];
    std::map<std::int64_t, Kept> states;
    std::vector<std::pair<Record, std::uint64_t>> made;  // and its instance
    for (const Record& record : rows) {
      const bool keyed = how.kind == StageSpec::Kind::kPartitioned;
      const std::int64_t key = keyed ? key_in(how, record) : 0;
      const std::uint64_t instance =
          keyed ? mixed(key) % static_cast<std::uint64_t>(how.partitions) % static_cast<std::uint64_t>(workers) : 0;
      Kept* kept = how.kind == StageSpec::Kind::kStateless ? nullptr : &states[key];
      apply(how, record, kept, [&](const Record& one) { made.emplace_back(one, instance); });
    }
    std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) {
      return a.first.ts != b.first.ts ? a.first.ts < b.first.ts : a.second < b.second;
    });
    rows.clear();
    for (const auto& [one, instance] : made) rows.push_back(one);
  }
  return rows;
}

// The same for records without a key distributed in turn: level by level, from each producer to each consumer.
inline std::vector<Record> dealt_oracle(const std::vector<Rows>& streams, std::size_t operators, std::int32_t workers) {
  using Producers = std::vector<std::vector<Record>>;
  const auto by_time = [](const Record& a, const Record& b) { return a.ts < b.ts; };
  Producers producers;
  for (const Rows& stream : streams) {
    producers.emplace_back();
    for (std::size_t row = 0; row < stream.ts.size(); ++row) producers.back().push_back(stream.at(row));
  }
  const auto arrived = [&](std::size_t consumers, const auto& consumer_of) {
    Producers result(consumers);
    for (const std::vector<Record>& from : producers) {
      for (std::size_t i = 0; i < from.size(); ++i) result[consumer_of(from[i], i)].push_back(from[i]);
    }
    for (std::vector<Record>& each : result) std::stable_sort(each.begin(), each.end(), by_time);
    return result;
  };
  std::size_t consumers = 1;
  const auto in_turn = [&](const Record&, std::size_t i) { return i % consumers; };
  for (std::size_t at = 0; at < operators; ++at) {
    const Behaviour& how = behaviours[at];
    consumers = how.kind == StageSpec::Kind::kStateful ? 1 : static_cast<std::size_t>(workers);
    const bool keyed = how.kind == StageSpec::Kind::kPartitioned;
    const auto by_key = [&](const Record& record, std::size_t) {
      return mixed(key_in(how, record)) % static_cast<std::uint64_t>(how.partitions) % consumers;
    };
    Producers made;
    for (const std::vector<Record>& read : keyed ? arrived(consumers, by_key) : arrived(consumers, in_turn)) {
      std::map<std::int64_t, Kept> states;
      made.emplace_back();
      for (const Record& record : read) {
        Kept* kept = how.kind == StageSpec::Kind::kStateless ? nullptr : &states[keyed ? key_in(how, record) : 0];
        apply(how, record, kept, [&](const Record& one) { made.back().push_back(one); });
      }
    }
    producers = std::move(made);
  }
  std::vector<Record> answer;
  for (const std::vector<Record>& sink : arrived(consumers, in_turn)) {
    answer.insert(answer.end(), sink.begin(), sink.end());
  }
  std::stable_sort(answer.begin(), answer.end(), by_time);
  return answer;
}

// Adds operators and streams, whose columns must outlive the run.
inline std::unique_ptr<LayersRun> graph_of(LayersOptions options, const std::vector<Rows>& streams,
                                           std::size_t operators) {
  return run_of<LayersRun>(std::move(options), streams, operators);
}

inline bool before(const Record& a, const Record& b) {
  return std::tie(a.ts, a.key, a.mark, a.value) < std::tie(b.ts, b.key, b.mark, b.value);
}

}  // namespace lab::test
