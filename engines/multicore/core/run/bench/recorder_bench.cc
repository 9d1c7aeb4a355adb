// Measures a Recorder: a worker records one output after the other, at times that the benchmark sets.
#include <cstddef>

#include "registry.h"

#include "run/recorder.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kGapNs = 2'000;          // between outputs: 50,000 a step of the grid
constexpr std::int64_t kWarmUpNs = 50'000'000;  // half a step
constexpr std::int64_t kEvents = 3;             // consumed for each output

std::int64_t time_of(std::int64_t i) { return (i + 1) * kGapNs; }
std::int64_t latency_of(std::int64_t i) { return i * 37 % 5'000'000 + 1; }

std::int64_t run(std::int64_t n) {
  Recorder recorder;
  recorder.begin(0, kWarmUpNs);
  measure([&] {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t due = time_of(i) - latency_of(i);
      recorder.observe(time_of(i));
      recorder.consumed(kEvents);
      recorder.output(due, 1);
      recorder.served(due, due, 1);
    }
    return std::int64_t{0};
  });
  std::int64_t sum = 0;
  for (std::int64_t step = 0; step < recorder.used(); ++step) {
    const Step& totals = recorder.at(step);
    sum += (step + 1) * (totals.outputs + static_cast<std::int64_t>(totals.consumed)) + totals.max_ns;
    for (const std::uint32_t count : totals.latency) sum += count;
  }
  for (const std::int64_t count : recorder.warm_up.counts()) sum += 5 * count;
  for (const std::int64_t count : recorder.steady.counts()) sum += 7 * count;
  for (const std::int64_t count : recorder.service.counts()) sum += 11 * count;
  return sum;
}

std::int64_t expected(std::int64_t n) {
  std::int64_t sum = 0;
  std::int64_t largest = 0;  // latency of the step
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t step = time_of(i) / Recorder::kStepNs;
    sum += (step + 1) * (1 + kEvents) + 1;
    sum += time_of(i) - latency_of(i) < kWarmUpNs ? 5 : 7 + 11;
    largest = latency_of(i) > largest ? latency_of(i) : largest;
    const bool last = i == n - 1 || time_of(i + 1) / Recorder::kStepNs != step;
    if (!last) continue;
    sum += largest;
    largest = 0;
  }
  return sum;
}

}  // namespace

const Bench recorder_output{"recorder_output", "outputs", 500'000, &run, &expected};

}  // namespace lab::bench
