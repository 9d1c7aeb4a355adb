// Causes: stores what caused each output that waits for the next operator or reader, in the order of the outputs. A
// cause is an input tuple or a watermark; it has a due time and the time when the operator took it.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>

namespace lab {

// Only one thread uses it. Adjacent outputs of one cause share one entry.
class Causes {
 public:
  // Adds the cause of the next `rows` outputs. `due_ns`: in ns after the start; `taken_ns`: on the clock.
  void add(std::int64_t rows, std::int64_t due_ns, std::int64_t taken_ns) {
    if (!runs_.empty() && runs_.back().due_ns == due_ns && runs_.back().taken_ns == taken_ns) {
      runs_.back().rows += rows;
    } else {
      runs_.push_back({rows, due_ns, taken_ns});
    }
  }

  // Removes the causes of the oldest `rows` outputs, and writes their times to `due` and `taken`. `taken` may be null.
  void take(std::int64_t* due, std::int64_t* taken, std::int64_t rows) {
    while (rows > 0) {
      assert(!runs_.empty());
      Run& run = runs_.front();
      const std::int64_t count = std::min(rows, run.rows);
      due = std::fill_n(due, count, run.due_ns);
      if (taken != nullptr) taken = std::fill_n(taken, count, run.taken_ns);
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
    std::int64_t taken_ns;
  };
  std::deque<Run> runs_;
};

}  // namespace lab
