// Histogram: a log-linear latency histogram. Recorders, the generator, mailboxes and ordered workers count latencies in
// it.
//
// It is exact below 2,048 ns. Above, each power of two has 1,024 buckets, so a value is exact to within 0.1 %. The
// layout is that of HdrHistogram with 3 significant digits and a lowest value of 1 ns.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace lab {

class Histogram {
 public:
  static constexpr std::int64_t kSubBuckets = 2048;
  static constexpr std::int64_t kHalf = kSubBuckets / 2;
  static constexpr int kSubBucketBits = 11;
  static constexpr std::int64_t kHighest = std::int64_t{3600} * 1'000'000'000;  // one hour

  Histogram() {
    if (counts_ == nullptr) throw std::bad_alloc();
  }

  // Adds `n` samples of `value_ns`. A value outside [0, 1 h] counts as the nearest end. Only one thread calls it.
  void record(std::int64_t value_ns, std::int64_t n) noexcept {
    const std::int64_t value = value_ns < 0 ? 0 : (value_ns > kHighest ? kHighest : value_ns);
    const std::int64_t index = index_of(value);
    counts_[static_cast<std::size_t>(index)] += n;
    lowest_ = std::min(lowest_, index);
    highest_ = std::max(highest_, index);
  }

  std::span<const std::int64_t> counts() const noexcept { return {counts_.get(), buckets()}; }

  // All used buckets are in [lowest(), highest()]. The interval is empty if no bucket is used.
  std::int64_t lowest() const noexcept { return lowest_; }
  std::int64_t highest() const noexcept { return highest_; }

  // Returns the bucket of a value.
  static constexpr std::int64_t index_of(std::int64_t value) noexcept {
    const int width = 64 - std::countl_zero(static_cast<std::uint64_t>(value) | (kSubBuckets - 1));
    const int shift = width - kSubBucketBits;
    return (static_cast<std::int64_t>(shift) + 1) * kHalf + ((value >> shift) - kHalf);
  }

  // Returns the highest value in bucket `index`.
  static constexpr std::int64_t highest_in(std::int64_t index) noexcept {
    std::int64_t shift = index / kHalf - 1;
    std::int64_t sub = index % kHalf + kHalf;
    if (shift < 0) {
      shift = 0;
      sub -= kHalf;
    }
    return ((sub + 1) << shift) - 1;
  }

 private:
  struct Free {
    void operator()(std::int64_t* counts) const noexcept { std::free(counts); }
  };
  static constexpr std::size_t buckets() noexcept { return static_cast<std::size_t>(index_of(kHighest)) + 1; }

  // calloc, since pages without values then cost nothing. A graph of 30 threads has 25 MB of histograms.
  std::unique_ptr<std::int64_t[], Free> counts_{
      static_cast<std::int64_t*>(std::calloc(buckets(), sizeof(std::int64_t)))};
  std::int64_t lowest_ = index_of(kHighest) + 1;
  std::int64_t highest_ = -1;
};
static_assert(Histogram::index_of(0) == 0 && Histogram::index_of(2047) == 2047 && Histogram::index_of(2048) == 2048);
static_assert(Histogram::highest_in(2047) == 2047 && Histogram::highest_in(2048) == 2049);

}  // namespace lab
