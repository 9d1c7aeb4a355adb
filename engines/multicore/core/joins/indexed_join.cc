// Implements IndexedJoin; see joins/indexed_join.h.
#include "joins/indexed_join.h"

#include <cmath>

#include "run/errors.h"
#include "run/window.h"

namespace lab {
namespace {

constexpr std::size_t kInitialRows = 1 << 12;  // initial size of a grid

// The chains of the tuple this many rows ahead are prefetched. Processing 8 tuples takes about as long as one memory
// access.
constexpr std::int64_t kPrefetchDistance = 8;

// Values from this limit on share one cell (see the header). Below it, a double distinguishes neighbouring cells.
constexpr double kGridLimit = 1099511627776.0;  // 2^40
constexpr std::int64_t kFarCell = std::int64_t{1} << 41;

std::size_t hash(std::int64_t first, std::int64_t second) noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(first) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(second);
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93U;  // odd, of random bits: a bijection
  return static_cast<std::size_t>(h ^ (h >> 32));
}

}  // namespace

IndexedJoin::IndexedJoin(const BandInputs& inputs, OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop)
    : PairConsumer(0, inputs, out, recorder, stop), width_(std::max<std::int64_t>(1, 2 * std::int64_t{inputs.band})) {
  for (Grid& grid : grids_) {
    grid.places.resize(kInitialRows);
    grid.heads.assign(kInitialRows, -1);
  }
}

std::int64_t IndexedJoin::cell_first(std::int64_t value) const noexcept {
  return WindowShape::floor_div(value, width_);
}

std::int64_t IndexedJoin::cell_second(double value) const noexcept {
  if (!(std::fabs(value) < kGridLimit)) return kFarCell;
  return static_cast<std::int64_t>(std::floor(value / static_cast<double>(width_)));
}

void IndexedJoin::process(std::span<const LogRun> runs) {
  std::int64_t arrived[2] = {seen_[0], seen_[1]};  // end of the rows that have arrived; prefetch no further
  for (const LogRun& run : runs) arrived[run.source] = run.end;
  for (const LogRun& run : runs) {
    const auto input = static_cast<std::size_t>(run.source);
    for (std::int64_t row = run.begin; row < run.end; ++row) {
      throw_if_stopped(stop_);
      if (row + kPrefetchDistance < arrived[input]) prefetch(input, row + kPrefetchDistance);
      process_tuple(input, row);
    }
    seen_[input] = run.end;
  }
  emit(pairs_);
}

void IndexedJoin::prefetch(std::size_t input, std::int64_t row) const noexcept {
  const BandColumns own_columns = inputs_.band_columns(input);
  const Grid& grid = grids_[1 - input];
  std::size_t chains[kMaxChains];
  const int count = chains_of(own_columns.first[row], own_columns.second[row], grid.heads.size() - 1, chains);
  for (int k = 0; k < count; ++k) __builtin_prefetch(&grid.heads[chains[k]]);
}

int IndexedJoin::chains_of(std::int64_t x, double y, std::size_t mask, std::size_t* chains) const noexcept {
  const double reach = std::nextafter(static_cast<float>(inputs_.band), INFINITY);  // y - b is rounded
  std::int64_t begin = cell_second(y), end = begin;
  if (begin != kFarCell) {
    const std::int64_t low = cell_second(y - reach), high = cell_second(y + reach);
    if (low != kFarCell) begin = low;
    if (high != kFarCell) end = high;
  }
  int count = 0;
  for (std::int64_t i = cell_first(x - inputs_.band); i <= cell_first(x + inputs_.band); ++i) {
    for (std::int64_t j = begin; j <= end; ++j) {
      const std::size_t chain = hash(i, j) & mask;
      // Cells may share a chain, which must be searched only once.
      if (std::find(chains, chains + count, chain) == chains + count) chains[count++] = chain;
    }
  }
  return count;
}

void IndexedJoin::process_tuple(std::size_t input, std::int64_t row) {
  Grid& other = grids_[1 - input];
  const std::int64_t earliest = inputs_.ts(input, row) - inputs_.window;
  while (other.first < other.end && inputs_.ts(1 - input, other.first) < earliest) ++other.first;
  probe(input, row, other);
  insert(grids_[input], input, row);
}

// Appends the pairs of a new row with rows of the other input to `pairs_`.
void IndexedJoin::probe(std::size_t input, std::int64_t row, const Grid& other) {
  if (other.first == other.end) return;
  const BandColumns own_columns = inputs_.band_columns(input);
  std::size_t chains[kMaxChains];
  const int count = chains_of(own_columns.first[row], own_columns.second[row], other.heads.size() - 1, chains);
  const std::size_t before = pairs_.size();
  for (int k = 0; k < count; ++k) {
    for (std::int64_t candidate_row = other.heads[chains[k]]; candidate_row >= other.first;) {
      const Place& place = other.places[static_cast<std::size_t>(candidate_row) & (other.places.size() - 1)];
      ++pair_count_;
      const BandColumns candidate{&place.first, &place.second};
      if (is_match(own_columns, row, candidate, 0, inputs_.band)) {
        pairs_.push_back(input == 0 ? Pair{row, candidate_row} : Pair{candidate_row, row});
      }
      candidate_row = place.older;
    }
  }
  // Canonical order: this tuple is the later tuple of all pairs, so the rows of the earlier tuples decide.
  std::sort(pairs_.begin() + static_cast<std::ptrdiff_t>(before), pairs_.end(),
            [](const Pair& a, const Pair& b) { return a.left != b.left ? a.left < b.left : a.right < b.right; });
}

// Makes a new row the latest of its chain. If the grid is full, first drops the rows that have left the window, and
// grows the grid if that does not free half of it.
void IndexedJoin::insert(Grid& grid, std::size_t input, std::int64_t row) {
  if (grid.end - grid.first == static_cast<std::int64_t>(grid.places.size())) {
    // Rows leave when the other input advances. If it does not, they leave here.
    const std::int64_t earliest = inputs_.ts(input, row) - inputs_.window;
    while (grid.first < grid.end && inputs_.ts(input, grid.first) < earliest) ++grid.first;
    if (2 * (grid.end - grid.first) > static_cast<std::int64_t>(grid.places.size())) grow(grid, input);
  }
  const BandColumns own_columns = inputs_.band_columns(input);
  std::int64_t& head = grid.heads[hash(cell_first(own_columns.first[row]), cell_second(own_columns.second[row])) &
                                  (grid.heads.size() - 1)];
  grid.places[static_cast<std::size_t>(row) & (grid.places.size() - 1)] = {head, own_columns.first[row],
                                                                           own_columns.second[row]};
  head = row;
  grid.end = row + 1;
}

void IndexedJoin::grow(Grid& grid, std::size_t input) {
  const std::int64_t begin = grid.first, end = grid.end;
  grid.places.assign(2 * grid.places.size(), {});
  grid.heads.assign(2 * grid.heads.size(), -1);
  grid.end = begin;
  for (std::int64_t row = begin; row < end; ++row) insert(grid, input, row);
}

}  // namespace lab
