// Every value is in a bucket that represents it to within 0.1 %.
#include "run/histogram.h"

#include <numeric>

#include "check.h"

int main() {
  using lab::Histogram;
  for (std::int64_t value = 0; value < Histogram::kHighest; value = value * 21 / 20 + 1) {
    const std::int64_t index = Histogram::index_of(value);
    const std::int64_t high = Histogram::highest_in(index);
    CHECK(high >= value);
    CHECK(index == 0 || Histogram::highest_in(index - 1) < value);
    CHECK(high - value <= value / 1000);
  }
  Histogram histogram;
  histogram.record(-5, 2);
  histogram.record(Histogram::kHighest * 2, 3);
  histogram.record(1'000'000, 4);
  const auto& counts = histogram.counts();
  CHECK_EQ(counts.front(), 2);
  CHECK_EQ(counts.back(), 3);
  CHECK_EQ(counts[static_cast<std::size_t>(Histogram::index_of(1'000'000))], 4);
  CHECK_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 9);
  return 0;
}
