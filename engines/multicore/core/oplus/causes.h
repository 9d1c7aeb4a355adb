// When the inputs were due that caused outputs which wait for the next operator, in the order of the outputs.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>

namespace lab {

// One thread. Neighbours of one cause take one entry.
class Causes {
 public:
  void add(std::int64_t rows, std::int64_t due_ns) {
    if (!runs_.empty() && runs_.back().due_ns == due_ns) {
      runs_.back().rows += rows;
    } else {
      runs_.push_back({rows, due_ns});
    }
  }

  // Takes those of the next `rows` outputs, which there must be.
  void take(std::int64_t* to, std::int64_t rows) {
    while (rows > 0) {
      assert(!runs_.empty());
      Run& run = runs_.front();
      const std::int64_t count = std::min(rows, run.rows);
      to = std::fill_n(to, count, run.due_ns);
      rows -= count;
      run.rows -= count;
      if (run.rows == 0) runs_.pop_front();
    }
  }

  bool empty() const noexcept { return runs_.empty(); }

 private:
  struct Run {
    std::int64_t rows;
    std::int64_t due_ns;
  };
  std::deque<Run> runs_;
};

}  // namespace lab
