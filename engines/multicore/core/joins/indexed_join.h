// IndexedJoin: finds the same pairs as BandJoin with fewer comparisons, by a grid over both attributes of each input.
//
// A cell is twice as wide as the band in both directions, so a tuple's partners lie in at most two cells per attribute:
// in four cells in all. The rows of a cell form a chain, the latest row first. A hash maps cells to chains, so a chain
// may also hold rows of other cells, which the exact test rejects. A chain ends at the first row that has left the
// window. Rows leave only in the order of arrival, so purging costs nothing, and new rows reuse the places of rows that
// have left. Values from 2^40 on, and NaNs, share one cell. In single precision, different values there are at least
// 2^16 apart, so no partner is in another cell.
//
// Memory: 16 bytes per row and 8 per chain, for two to four times the maximum number of rows of a window. Only one
// thread uses an IndexedJoin.
#pragma once
#include "joins/pair_consumer.h"

namespace lab {

class IndexedJoin final : public PairConsumer {
 public:
  IndexedJoin(const BandInputs& inputs, OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop);

  // `pair_count` counts candidates: the rows of chains, each of which is tested exactly. Candidates are not comparisons
  // in BandJoin's sense.
  void process(std::span<const LogRun> runs) override;

 private:
  struct Place {
    std::int64_t older;  // the next older row in the chain; no row if below `Grid::first`
    std::int32_t first;
    float second;
  };
  static_assert(sizeof(Place) == 16, "four to a cache line");

  // The rows of one input that are in the window.
  struct Grid {
    std::vector<std::int64_t> heads;  // by chain: the latest row; no row if below `first`
    std::vector<Place> places;        // row r is in place r mod size; size is a power of two
    std::int64_t first = 0;           // the first row that has not left the window
    std::int64_t end = 0;             // the first row that has not arrived
  };

  void process_tuple(std::size_t input, std::int64_t row);
  void probe(std::size_t input, std::int64_t row, const Grid& other);
  void insert(Grid& grid, std::size_t input, std::int64_t row);
  void grow(Grid& grid, std::size_t input);
  std::int64_t cell_first(std::int64_t value) const noexcept;
  std::int64_t cell_second(double value) const noexcept;
  // Finds the chains of all cells with partners of (x, y), at most kMaxChains, and returns their number.
  int chains_of(std::int64_t x, double y, std::size_t mask, std::size_t* chains) const noexcept;
  void prefetch(std::size_t input, std::int64_t row) const noexcept;

  // Two cells of the first attribute times three of the second, whose reach is rounded up.
  static constexpr int kMaxChains = 6;

  const std::int64_t width_;  // width of a cell
  Grid grids_[2];
  std::vector<Pair> pairs_;
};

}  // namespace lab
