// Implements TupleJoin; see joins/tuple_join.h.
#include "joins/tuple_join.h"

#include <cmath>

#include "run/errors.h"

namespace lab {
namespace {

// The predicate of `is_match` without branches, because they would be unpredictable.
bool is_close(std::int32_t x, float y, std::int32_t a, float b, std::int32_t band) noexcept {
  const auto reach = static_cast<std::uint64_t>(std::int64_t{x} - a + band);
  const bool near_first = reach <= 2 * static_cast<std::uint64_t>(band);
  const bool near_second = std::fabs(y - b) <= static_cast<float>(band);
  return near_first & near_second;
}

}  // namespace

TupleJoin::TupleJoin(std::int32_t index, std::int32_t threads, const BandInputs& inputs, OutputBuffer& out,
                     Recorder& recorder, const std::atomic<bool>& stop)
    : PairConsumer(index, inputs, out, recorder, stop), threads_(threads) {}

void TupleJoin::process(std::span<const LogRun> runs) {
  for (const LogRun& run : runs) {
    const auto input = static_cast<std::size_t>(run.source);
    for (std::int64_t row = run.begin; row < run.end; ++row) {
      throw_if_stopped(stop_);
      process_tuple(input, row);
      if (!pairs_.empty()) emit(pairs_);
    }
    seen_[input] = run.end;
  }
}

void TupleJoin::process_tuple(std::size_t input, std::int64_t row) {
  Queue& others = stored_[1 - input];
  const std::int64_t ts = inputs_.ts(input, row), earliest = ts - inputs_.window;
  while (others.begin != others.tuples.size() && others.tuples[others.begin].ts < earliest) ++others.begin;
  if (2 * others.begin > others.tuples.size()) {  // so rarely that each tuple moves at most once on average
    others.tuples.erase(others.tuples.begin(), others.tuples.begin() + static_cast<std::ptrdiff_t>(others.begin));
    others.begin = 0;
  }
  const BandColumns columns = inputs_.band_columns(input);
  const std::int32_t first = columns.first[row];
  const float second = columns.second[row];
  const StoredTuple* const end = others.tuples.data() + others.tuples.size();
  for (const StoredTuple* other = others.tuples.data() + others.begin; other != end; ++other) {
    if (is_close(first, second, other->first, other->second, inputs_.band)) {
      pairs_.push_back(input == 0 ? Pair{row, other->row} : Pair{other->row, row});
    }
  }
  pair_count_ += static_cast<std::int64_t>(others.tuples.size() - others.begin);
  if (row % threads_ == index_) stored_[input].tuples.push_back({ts, row, first, second});
}

}  // namespace lab
