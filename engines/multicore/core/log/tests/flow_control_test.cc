// Tests ScaleGate's flow control by watermark tuples: memory is bounded, and a source resumes when it may.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "check.h"

#include "log/scale_gate.h"

namespace {

using lab::LogRun;

// The memory of ScaleGate is bounded by the rows in flight, for any stream length, because flow control works.
void skip_lists_take_memory_only_for_rows_in_flight() {
  lab::LogOptions options;
  options.rows_in_flight = 256;
  options.acknowledged_rows = 64;
  lab::ScaleGate gate(options);
  const int reader = gate.add_reader();
  std::vector<std::int64_t> ts[2];
  for (int s = 0; s < 2; ++s) {
    ts[s].resize(256);
    CHECK_EQ(gate.add_source(ts[s].data(), 255, 0), s);
  }
  std::int64_t ends[2] = {0, 0}, read = 0;
  while (ends[1] < 100'000) {
    for (int s = 0; s < 2; ++s) {
      for (std::int64_t room = gate.room(s, 1); room > 0; --room, ++ends[s]) {
        ts[s][static_cast<std::size_t>(ends[s] % 256)] = ends[s];
        gate.publish(s, ends[s] + 1, ends[s]);
      }
    }
    CHECK(ends[0] + ends[1] - read <= 2 * 256);
    for (auto runs = gate.read(reader); !runs.empty(); runs = gate.read(reader)) {
      for (const LogRun& run : runs) read += run.source >= 0 ? 1 : 0;
      gate.release(reader, runs.size());
    }
  }
  // Rows, watermark tuples, and nodes not reused before another source has grown: less than twice all that.
  for (int s = 0; s < 2; ++s) CHECK(gate.nodes(s) <= 2 * (256 + 4 + 64));
}

// A waiting source resumes once a watermark tuple and all rows before it are released, and not sooner.
void watermark_tuples_are_acknowledged_as_they_are_released() {
  lab::LogOptions options;
  options.rows_in_flight = 8;
  options.acknowledged_rows = 3;
  const auto log = lab::make_tuple_buffer("scalegate", options);
  const int reader = log->add_reader();
  const std::vector<std::int64_t> ts{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK_EQ(log->add_source(ts.data(), 7, 0), 0);
  CHECK_EQ(log->room(0), 8);
  log->publish(0, 8, 7);
  CHECK_EQ(log->room(0), 0);
  const auto released = [&](std::size_t rows) {  // `rows` more rows, and the entries before the next one
    for (auto runs = log->read(reader); !runs.empty(); runs = log->read(reader)) {
      if (runs[0].source >= 0 && rows-- == 0) break;
      log->release(reader, 1);
    }
    return log->consumed(0);
  };
  CHECK_EQ(released(2), 0);  // read and released, but no watermark tuple among them
  CHECK_EQ(log->room(0), 0);
  CHECK_EQ(released(1), 3);
  CHECK_EQ(log->room(0), 3);
  CHECK_EQ(released(2), 3);
  CHECK_EQ(released(3), 6);  // no watermark tuple follows the last two rows
  log->close(0);             // adds a watermark tuple before the end
  CHECK_EQ(released(0), 8);
  CHECK(log->ended(reader));

  CHECK_THROWS(lab::make_tuple_buffer("order", options), std::invalid_argument);
  options.acknowledged_rows = 5;  // more than half: a full list might contain none
  CHECK_THROWS(lab::make_tuple_buffer("scalegate", options), std::invalid_argument);
  options.acknowledged_rows = 3;
  CHECK_THROWS(lab::make_tuple_buffer("scalegate", options)->add_source(ts.data(), 3, 0), std::invalid_argument);
}

}  // namespace

int main() {
  watermark_tuples_are_acknowledged_as_they_are_released();
  skip_lists_take_memory_only_for_rows_in_flight();
  return 0;
}
