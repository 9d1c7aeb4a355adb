// Streams and runs for the tests of all families: total order, schedules, sums of counts, counters.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"

#include "run/run.h"

namespace lab::test {

// A stream's times: the part of it that all families share.
struct Times {
  std::vector<std::int64_t> ts{}, due{}, heartbeats{}, heartbeat_due{};

  // The times must outlive the view.
  void show_in(StreamView& view) const {
    view.ts = ts;
    view.heartbeats = heartbeats;
    view.due = due;
    view.heartbeat_due = heartbeat_due;
  }
};

struct Order {
  std::int64_t ts;
  std::size_t stream, row;
  auto operator<=>(const Order&) const = default;
};

template <typename Stream>
std::vector<Order> total_order(const std::vector<Stream>& streams) {
  std::vector<Order> order;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t i = 0; i < streams[s].ts.size(); ++i) order.push_back({streams[s].ts[i], s, i});
  }
  std::sort(order.begin(), order.end());
  return order;
}

template <typename Stream>
std::int64_t events_in(const std::vector<Stream>& streams) {
  std::int64_t total = 0;
  for (const Stream& stream : streams) total += std::ssize(stream.ts);
  return total;
}

// Event k of the total order is due at k * gap_ns. All streams have a heartbeat about every `every` events. If
// `beyond` is not 0, one more at the end promises that no event follows up to `beyond` after the last one.
template <typename Stream>
void schedule(std::vector<Stream>& streams, std::int64_t gap_ns, std::size_t every = 20, std::int64_t beyond = 0) {
  const std::vector<Order> order = total_order(streams);
  for (Stream& stream : streams) {
    stream.heartbeats.clear();
    stream.heartbeat_due.clear();
    stream.due.assign(stream.ts.size(), 0);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int64_t due = static_cast<std::int64_t>(k) * gap_ns;
    streams[order[k].stream].due[order[k].row] = due;
    const bool last = k + 1 == order.size();
    // Events not due yet are at or after the next event's timestamp.
    if (k % every != 0 || (last ? beyond == 0 : order[k + 1].ts <= order[k].ts)) continue;
    for (Stream& stream : streams) {
      stream.heartbeats.push_back(last ? order[k].ts + beyond : order[k + 1].ts - 1);
      stream.heartbeat_due.push_back(due);
    }
  }
}

// Options of a short run: sanitizers pay for every step of the grid.
template <typename Options>
Options short_run(std::int32_t workers, std::int32_t core_count = 1) {
  Options options;
  options.workers = workers;
  options.core_count = core_count;
  options.grid_steps = 50;
  return options;
}

// Draws the settings of a short run with, mostly, more threads than cores. One in four has a load: `streams` then get a
// schedule, with heartbeats `beyond` the last event.
template <typename Stream>
void draw_settings(std::mt19937& random, RunSettings& settings, std::vector<Stream>& streams, int max_workers = 8,
                   std::int64_t beyond = 0) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  settings.workers = pick(1, max_workers);
  settings.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  settings.ring_blocks = static_cast<std::uint64_t>(pick(1, 8));
  settings.core_count = pick(0, 2) != 0 ? 1 : 64;
  settings.measure = pick(0, 3) != 0;
  settings.grid_steps = 50;
  if (pick(0, 3) != 0) return;
  settings.load = LoadOptions{0, 0, pick(0, 1) == 1};
  settings.ring_blocks = 1024;
  schedule(streams, pick(0, 3000), 16, beyond);
}

inline std::int64_t total_of(const std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  return total;
}

// The sums over all steps of a run's grid.
struct ProgressTotals {
  std::int64_t emitted = 0, consumed = 0, outputs = 0;
};

inline ProgressTotals progress_of(const Run& run) {
  ProgressTotals totals;
  for (const Progress& step : run.progress()) {
    totals.emitted += step.emitted;
    totals.consumed += step.consumed;
    totals.outputs += step.outputs;
  }
  return totals;
}

// Returns the counter of a run with that name.
inline std::int64_t counter(const Run& run, std::string_view name) {
  for (const auto& [its_name, value] : run.counters()) {
    if (its_name == name) return value;
  }
  CHECK(!"such a counter");
  return 0;
}

// Sums over the rounds of a stress test, by what they count.
class StressTotals {
 public:
  std::int64_t& operator[](const char* name) { return sums_[name]; }
  void add(const Run& run, std::initializer_list<const char*> counters) {
    for (const char* const name : counters) sums_[name] += counter(run, name);
  }
  void print(int rounds) const {
    std::printf("%d rounds", rounds);
    for (const auto& [name, sum] : sums_) std::printf(", %s: %lld", name.c_str(), static_cast<long long>(sum));
    std::printf("\n");
  }

 private:
  std::map<std::string, std::int64_t> sums_;
};

}  // namespace lab::test
