// Counts and limits the rows that a producer stores in growing memory while its full channel has no room.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace lab {

// One producer on one channel. One thread writes it; readers of the counts come after that thread.
class Spill {
 public:
  // 1.6 GB of rows of 24 bytes. A user mistake, such as one time for all events, ends with an error before the machine
  // runs out of memory.
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 26;

  // `most`: rows that may wait; `called`: the first words of the error.
  explicit Spill(std::int64_t most = kMostRows, std::string called = "") : most_(most), called_(std::move(called)) {}

  // Adds `rows` rows; `waiting` is the total that waits now. Throws std::runtime_error if it exceeds the limit.
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

  std::int64_t rows() const noexcept { return rows_; }  // in total
  std::int64_t peak() const noexcept { return peak_; }  // most at a time

 private:
  std::int64_t most_;
  std::string called_;
  std::int64_t rows_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace lab
