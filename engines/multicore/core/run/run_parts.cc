#include "run/run_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace lab {
namespace {

// A ring of this many blocks takes 32 MiB.
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 20;

bool is_schedule(std::span<const std::int64_t> due) {
  return std::is_sorted(due.begin(), due.end()) && (due.empty() || (due.front() >= 0 && due.back() <= kLatestDueNs));
}

}  // namespace

void check_ring_blocks(std::uint64_t blocks) {
  if (blocks >= 1 && blocks <= kMostBlocks) return;
  throw std::invalid_argument("ring_blocks must be between 1 and " + std::to_string(kMostBlocks));
}

void check_output(std::span<const std::int32_t> itemsizes) {
  if (!itemsizes.empty() && itemsizes.front() == 8) return;
  throw std::invalid_argument("the first output field must be an int64 timestamp");
}

void check_load(const LoadOptions& load) {
  for (const std::int64_t time_ns : {load.warm_up_ns, load.end_ns}) {
    if (time_ns < 0 || time_ns > kLatestDueNs) throw std::invalid_argument("a load's times lie in the next 146 years");
  }
}

void check_stream(const StreamView& stream, std::size_t index, bool has_load) {
  const std::string name = "stream " + std::to_string(index);
  if (!std::is_sorted(stream.ts.begin(), stream.ts.end())) {
    throw std::invalid_argument("timestamps of " + name + " decrease");
  }
  if (!std::is_sorted(stream.heartbeats.begin(), stream.heartbeats.end())) {
    throw std::invalid_argument("heartbeats of " + name + " decrease");
  }
  const bool reaches_end = (!stream.ts.empty() && stream.ts.back() == kEndOfTime) ||
                           (!stream.heartbeats.empty() && stream.heartbeats.back() == kEndOfTime);
  if (reaches_end) throw std::invalid_argument("a timestamp is the largest int64, which marks the end of time");
  if (stream.due.size() != (has_load ? stream.ts.size() : 0) ||
      stream.heartbeat_due.size() != (has_load ? stream.heartbeats.size() : 0)) {
    throw std::invalid_argument("due times go with a load, one for each event and heartbeat");
  }
  if (!is_schedule(stream.due) || !is_schedule(stream.heartbeat_due)) {
    throw std::invalid_argument("due times of " + name + " decrease, or lie before the start or past 146 years");
  }
}

void pin_thread(std::span<const std::int32_t> cores, std::int32_t index) noexcept {
#if defined(__linux__)
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(index) % cores.size()]), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
#else
  static_cast<void>(cores);
  static_cast<void>(index);
#endif
}

std::vector<std::int64_t> sum_counts(std::span<const Histogram* const> histograms) {
  std::int64_t highest = -1;
  for (const Histogram* one : histograms) highest = std::max(highest, one->highest());
  std::vector<std::int64_t> total(static_cast<std::size_t>(highest) + 1, 0);
  for (const Histogram* one : histograms) {
    for (std::int64_t i = one->lowest(); i <= one->highest(); ++i) {
      total[static_cast<std::size_t>(i)] += one->counts()[static_cast<std::size_t>(i)];
    }
  }
  return total;
}

std::vector<std::int64_t> sum_lag(const Generator* generator) {
  if (generator == nullptr) return {};
  const Histogram* const lag = &generator->lag();
  return sum_counts({&lag, 1});
}

std::vector<Progress> sum_progress(std::span<const Recorder* const> all) {
  std::int64_t steps = 0;
  for (const Recorder* recorder : all) steps = std::max(steps, recorder->used());
  std::vector<Progress> result(static_cast<std::size_t>(steps));
  double consumed = 0;  // shares of events add up to whole ones over the run, not in each step
  std::int64_t told = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    Progress& total = result[static_cast<std::size_t>(i)];
    std::array<std::int64_t, CoarseLatency::kBuckets> latency{};
    for (const Recorder* recorder : all) {
      if (i >= recorder->used()) continue;
      const Step& step = recorder->at(i);
      consumed += step.consumed;
      total.emitted += step.emitted;
      total.outputs += step.outputs;
      if (step.outputs != 0) total.max_ns = std::max(total.max_ns, step.max_ns);
      for (std::size_t k = 0; k < latency.size(); ++k) latency[k] += step.latency[k];
    }
    total.consumed = std::llround(consumed) - told;
    told += total.consumed;
    std::int64_t below = 0;
    for (int k = 0; k < CoarseLatency::kBuckets; ++k) {
      below += latency[static_cast<std::size_t>(k)];
      if (total.p50_ns < 0 && below != 0 && below * 100 >= total.outputs * 50) total.p50_ns = CoarseLatency::highest_in(k);
      if (total.p99_ns < 0 && below != 0 && below * 100 >= total.outputs * 99) total.p99_ns = CoarseLatency::highest_in(k);
    }
  }
  // An event may be done a moment before who handed it over notes that it has: it counts when both are known.
  std::int64_t waiting = 0;
  std::int64_t behind = 0;
  for (Progress& step : result) {
    waiting += step.emitted;
    behind += step.consumed;
    step.consumed = &step == &result.back() ? behind : std::min(behind, waiting);
    waiting -= step.consumed;
    behind -= step.consumed;
  }
  return result;
}

std::vector<std::int64_t> sum_counts(const InstanceThreads& threads, Histogram Recorder::*of) {
  std::vector<const Histogram*> all;
  for (const auto& meter : threads.meters()) all.push_back(&(meter->recorder.*of));
  return sum_counts(all);
}

std::vector<Progress> sum_progress(const InstanceThreads& threads, const Generator* generator) {
  std::vector<const Recorder*> all;
  for (const auto& meter : threads.meters()) all.push_back(&meter->recorder);
  if (generator != nullptr) all.push_back(&generator->recorder);
  return sum_progress(all);
}

}  // namespace lab
