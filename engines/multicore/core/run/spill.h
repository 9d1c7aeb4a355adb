// Spill: counts and limits the rows that a producer stores in growing memory while its channel has no room.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace lab {

// Used by one producer for one channel. The producer's thread writes the counts; other threads read them after its end.
class Spill {
 public:
  // 1.6 GB of rows of 24 bytes. A user's mistake, such as one time for all events, ends with an error before memory is
  // exhausted.
  static constexpr std::int64_t kMaxRows = std::int64_t{1} << 26;

  // `max_rows`: maximum number of rows that wait. `error_prefix`: text before the error.
  explicit Spill(std::int64_t max_rows = kMaxRows, std::string error_prefix = "")
      : max_rows_(max_rows), error_prefix_(std::move(error_prefix)) {}

  // Adds `rows` rows; `waiting` is the total that waits now. Throws std::runtime_error if it exceeds the limit.
  void add(std::int64_t rows, std::int64_t waiting) {
    rows_ += rows;
    peak_ = std::max(peak_, waiting);
    check(waiting);
  }

  void check(std::int64_t waiting) const {
    if (waiting <= max_rows_) return;
    throw std::runtime_error(error_prefix_ + std::to_string(waiting) +
                             " records wait for room in the next channel; the limit is " + std::to_string(max_rows_) +
                             ". They have one time or end one window: give events distinct times, or windows fewer " +
                             "outputs");
  }

  std::int64_t rows() const noexcept { return rows_; }  // total number of rows
  std::int64_t peak() const noexcept { return peak_; }  // maximum number of rows that waited

 private:
  std::int64_t max_rows_;
  std::string error_prefix_;
  std::int64_t rows_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace lab
