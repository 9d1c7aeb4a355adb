// Query graphs for the tests, and the answer that they must give.
//
// The order (timestamp, producer, row) makes the answer a function of the input and of the number of instances: what
// comes from one level to the next is in order of time, ties by instance. Dealing by time leaves all rows of one time
// to one instance, so that of operators only partitioned ones show.
#pragma once
#include <string>

#include "layers_runtime.h"
#include "pipeline_cases.h"

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
inline std::unique_ptr<LayersRuntime> graph_of(LayersOptions options, const std::vector<Rows>& streams,
                                               std::size_t operators) {
  options.input_itemsizes = kItemsizes;
  auto runtime = std::make_unique<LayersRuntime>(std::move(options));
  for (std::size_t i = 0; i < operators; ++i) runtime->add_stage(stage_of(i));
  for (const Rows& rows : streams) {
    StreamView view;
    view.ts = rows.ts;
    view.columns = {rows.ts.data(), rows.key.data(), rows.mark.data(), rows.value.data()};
    view.heartbeats = rows.heartbeats;
    view.due = rows.due;
    view.heartbeat_due = rows.heartbeat_due;
    runtime->add_stream(view);
  }
  return runtime;
}

inline std::vector<Record> collected(const LayersRuntime& runtime) {
  const auto count = static_cast<std::size_t>(runtime.rows());
  std::vector<std::int64_t> ts(count), key(count), value(count);
  std::vector<std::int32_t> mark(count);
  void* columns[] = {ts.data(), key.data(), mark.data(), value.data()};
  runtime.collect(columns);
  std::vector<Record> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back({ts[i], key[i], mark[i], value[i]});
  return result;
}

inline bool before(const Record& a, const Record& b) {
  return std::tie(a.ts, a.key, a.mark, a.value) < std::tie(b.ts, b.key, b.mark, b.value);
}

}  // namespace lab::test
