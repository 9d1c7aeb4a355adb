// The recorder counts on its grid, stores latencies there to within 12.5 %, and can be switched off.
#include "run/recorder.h"

#include "check.h"

namespace {

constexpr std::int64_t kStart = 1'000'000;
constexpr std::int64_t kStep = lab::Recorder::kStepNs;

void coarse_buckets_are_ordered_and_narrow() {
  int last = -1;
  for (std::int64_t value = 0; value < 100'000; ++value) {
    const int index = lab::CoarseLatency::index_of(value);
    CHECK(index == last || index == last + 1);
    last = index;
    const std::int64_t top = lab::CoarseLatency::highest_in(index);
    CHECK(top >= value && static_cast<double>(top - value) <= 0.125 * static_cast<double>(value));
  }
  CHECK_EQ(lab::CoarseLatency::index_of(-5), 0);
  CHECK(lab::CoarseLatency::index_of(std::int64_t{1} << 62) < lab::CoarseLatency::kBuckets);
}

void counts_fall_into_the_step_of_the_last_clock_reading() {
  lab::Recorder recorder;
  recorder.begin(kStart, 0);
  recorder.consumed(3);
  recorder.observe(kStart + kStep);
  recorder.consumed(5);
  recorder.emitted(7);
  recorder.observe(kStart);  // an older reading changes nothing
  recorder.output(kStart, 2);
  recorder.observe(kStart + 9 * kStep + 1);
  recorder.consumed(1);
  CHECK_EQ(recorder.used(), 10);
  CHECK(recorder.at(0).consumed == 3 && recorder.at(1).consumed == 5 && recorder.at(9).consumed == 1);
  CHECK(recorder.at(1).emitted == 7 && recorder.at(1).outputs == 2 && recorder.at(1).max_ns == kStep);
  CHECK_EQ(recorder.at(5).consumed, 0.0);
}

void outputs_of_the_warm_up_are_kept_apart() {
  lab::Recorder recorder;
  recorder.begin(kStart, 1000);
  recorder.observe(kStart + 5000);
  recorder.output(kStart + 999, 4);
  recorder.served(kStart + 999, kStart + 4000, 4);
  recorder.output(kStart + 1000, 1);
  recorder.served(kStart + 1000, kStart + 4990, 1);
  const auto count = [](const lab::Histogram& histogram, std::int64_t value) {
    return histogram.counts()[static_cast<std::size_t>(lab::Histogram::index_of(value))];
  };
  CHECK_EQ(count(recorder.warm_up, 4001), 4);
  CHECK_EQ(count(recorder.steady, 4000), 1);
  CHECK_EQ(count(recorder.service, 10), 1);
  CHECK_EQ(count(recorder.service, 1000), 0);
}

void time_beyond_the_grid_counts_for_its_last_step() {
  lab::Recorder recorder;
  recorder.begin(0, 0);
  recorder.observe(lab::Recorder::kSteps * kStep + 12345);
  recorder.consumed(2);
  recorder.observe(lab::Recorder::kSteps * kStep + 2 * kStep);
  recorder.consumed(2);
  CHECK_EQ(recorder.used(), lab::Recorder::kSteps);
  CHECK_EQ(recorder.at(lab::Recorder::kSteps - 1).consumed, 4.0);
}

void switched_off_it_records_nothing() {
  lab::Recorder recorder(false);
  recorder.begin(kStart, 0);
  CHECK_EQ(recorder.tick(), kStart);
  recorder.consumed(3);
  recorder.emitted(3);
  recorder.output(kStart, 3);
  recorder.served(kStart, kStart, 3);
  CHECK_EQ(recorder.used(), 0);
  for (const std::int64_t count : recorder.steady.counts()) CHECK_EQ(count, 0);
}

}  // namespace

int main() {
  coarse_buckets_are_ordered_and_narrow();
  counts_fall_into_the_step_of_the_last_clock_reading();
  outputs_of_the_warm_up_are_kept_apart();
  time_beyond_the_grid_counts_for_its_last_step();
  switched_off_it_records_nothing();
  return 0;
}
