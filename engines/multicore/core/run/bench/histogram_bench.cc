// Measures Histogram::record with latencies of all sizes, some out of range.
#include <cstddef>
#include <vector>

#include "registry.h"

#include "run/histogram.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kValues = 4096;

// Returns values from below 0 to more than an hour, the same on every machine.
std::vector<std::int64_t> values() {
  std::vector<std::int64_t> result;
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < kValues; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
    result.push_back(static_cast<std::int64_t>(state) >> (8 + i % 50));
  }
  return result;
}

std::int64_t run(std::int64_t n) {
  const std::vector<std::int64_t> inputs = values();
  Histogram histogram;
  measure([&] {
    for (std::int64_t i = 0; i < n; ++i) histogram.record(inputs[static_cast<std::size_t>(i % kValues)], 1);
    return std::int64_t{0};
  });
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    sum += static_cast<std::int64_t>(i) * histogram.counts()[i];
  }
  return sum;
}

std::int64_t expected(std::int64_t n) {
  const std::vector<std::int64_t> inputs = values();
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t value = inputs[static_cast<std::size_t>(i % kValues)];
    if (value < 0) value = 0;
    if (value > Histogram::kHighest) value = Histogram::kHighest;
    std::int64_t halvings = 0;
    for (; value >= Histogram::kSubBuckets; value /= 2) ++halvings;
    sum += halvings * Histogram::kHalf + value;
  }
  return sum;
}

}  // namespace

const Bench histogram_record{"histogram_record", "values", 1'000'000, &run, &expected};

}  // namespace lab::bench
