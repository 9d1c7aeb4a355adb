// Query graphs for the tests, and the answer that they must give.
//
// The order (timestamp, producer, row) makes the answer a function of the input and of the number of instances: what
// comes from one level to the next is in order of time, ties by instance. Dealing by time leaves all rows of one time
// to one instance, so that of operators only partitioned ones show.
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
    std::vector<std::pair<Record, std::uint64_t>> made;  // and the instance
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

// Adds operators and streams, whose columns must stay.
inline std::unique_ptr<LayersRun> graph_of(LayersOptions options, const std::vector<Rows>& streams,
                                           std::size_t operators) {
  return run_of<LayersRun>(std::move(options), streams, operators);
}

inline bool before(const Record& a, const Record& b) {
  return std::tie(a.ts, a.key, a.mark, a.value) < std::tie(b.ts, b.key, b.mark, b.value);
}

}  // namespace lab::test
