// Rows that wait in memory that grows, since the channel behind has no room for them: how many, and how many may.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace lab {

// Of one producer on one channel. One thread, and who reads the counts behind it.
class Spill {
 public:
  // Memory for 1.6 GB of rows of 24 bytes: a mistake, as events that all have one time, ends with an error before the
  // machine does.
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 26;

  // `most`: rows that may wait; `called`: how the error begins.
  explicit Spill(std::int64_t most = kMostRows, std::string called = "") : most_(most), called_(std::move(called)) {}

  // So many more wait, `waiting` with those before. Throws std::runtime_error where these are more than may.
  void add(std::int64_t rows, std::int64_t waiting) {
    rows_ += rows;
    peak_ = std::max(peak_, waiting);
    check(waiting);
  }

  void check(std::int64_t waiting) const {
    if (waiting <= most_) return;
    throw std::runtime_error(called_ + std::to_string(waiting) + " records wait for room in the channel behind, and " +
                             std::to_string(most_) + " may: they have one time, or end one window; give events times " +
                             "of their own, or windows fewer outputs");
  }

  std::int64_t rows() const noexcept { return rows_; }  // ever
  std::int64_t peak() const noexcept { return peak_; }  // at a time

 private:
  std::int64_t most_;
  std::string called_;
  std::int64_t rows_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace lab
