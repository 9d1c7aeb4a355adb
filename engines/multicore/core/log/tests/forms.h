// The forms of the ordered log under test, and a conversion of runs to rows.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>

#include "log/tuple_buffer.h"

namespace lab::test {

// "acknowledged": ScaleGate with a watermark tuple behind each row.
inline const std::string kForms[] = {"order", "interleaved", "scalegate", "acknowledged"};

inline bool is_skip_list(const std::string& form) { return form == "scalegate" || form == "acknowledged"; }

inline std::unique_ptr<TupleBuffer> make_form(const std::string& form, LogOptions options) {
  options.interleaved = form == "interleaved";
  if (form == "acknowledged") options.acknowledged_rows = 1;
  return make_tuple_buffer(is_skip_list(form) ? "scalegate" : "order", options);
}

// Calls `row(source, row)` for all rows of `runs`, which `read` last returned to the reader. Calls `entry(run)` for all
// other entries except watermark tuples of flow control.
template <typename OnRow, typename OnEntry>
void each_row(const TupleBuffer& log, int reader, std::span<const LogRun> runs, OnRow row, OnEntry entry) {
  std::array<std::int64_t, static_cast<std::size_t>(kMaxLogSources)> next;
  next.fill(-1);  // not known yet
  const auto next_of = [&](std::uint8_t source) -> std::int64_t& {
    if (next[source] < 0) next[source] = log.next_row(reader, source);
    return next[source];
  };
  for (const LogRun& run : runs) {
    if (run.source == kInterleavedEntry) {
      const std::uint8_t* const sources = log.order().of(run.begin);
      for (std::int64_t i = 0; i < run.end - run.begin; ++i) row(std::int32_t{sources[i]}, next_of(sources[i])++);
    } else if (run.source < 0) {
      if (run.source != kAcknowledgedEntry) entry(run);
    } else {
      for (std::int64_t r = run.begin; r < run.end; ++r) row(run.source, r);
      next[static_cast<std::size_t>(run.source)] = run.end;
    }
  }
}

}  // namespace lab::test
