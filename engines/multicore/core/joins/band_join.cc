// Implements BandJoin; see joins/band_join.h.
#include "joins/band_join.h"

#include "run/errors.h"

namespace lab {
namespace {

// If the loop over a tile reports a probe, the tile is searched for the probe's partners, this many rows at a time.
constexpr std::int64_t kCloseRows = 64;

// At an edge (see `compare_at_edge`), if at least one pair in kDense is in the window, all pairs are compared, four
// probes at a time. Otherwise each probe is compared alone, which takes kDense times as long per pair.
constexpr std::int64_t kDense = 8;

}  // namespace

BandJoin::BandJoin(std::int32_t index, std::int32_t threads, const BandInputs& inputs, OutputBuffer& out,
                   Recorder& recorder, const std::atomic<bool>& stop)
    : PairConsumer(index, inputs, out, recorder, stop), threads_(threads), probe_loop_(choose_probe_loop().loop) {
  pairs_.reserve(1024);
  limits_.reserve(kProbeRows);
}

void BandJoin::process(std::span<const LogRun> runs) {
  // The rows of one input are consecutive, so the current tuples are two ranges. Only the order between the inputs
  // matters, and timestamps decide it.
  Rows new_rows[2] = {{seen_[0], seen_[0]}, {seen_[1], seen_[1]}};
  for (const LogRun& run : runs) {
    Rows& rows = new_rows[static_cast<std::size_t>(run.source)];
    while (rows.end < run.end) {
      rows.end = std::min(run.end, rows.end + kProbeRows - new_rows[0].size() - new_rows[1].size());
      if (new_rows[0].size() + new_rows[1].size() < kProbeRows) continue;
      join(new_rows);
      new_rows[0].begin = new_rows[0].end;
      new_rows[1].begin = new_rows[1].end;
    }
  }
  join(new_rows);
}

// Compares the new rows of both inputs with this thread's share of the rows in the window, and emits the matches.
void BandJoin::join(const Rows (&new_rows)[2]) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (new_rows[i].size() == 0) continue;
    // Purge the rows that no later tuple can match.
    const std::int64_t earliest = inputs_.ts(i, new_rows[i].begin);
    std::int64_t& first = first_[1 - i];
    while (first < new_rows[1 - i].end && inputs_.ts(1 - i, first) + inputs_.window < earliest) ++first;
  }
  for (std::size_t prober = 0; prober < 2; ++prober) {
    const Rows& probes = new_rows[prober];
    const Rows& stored = new_rows[1 - prober];
    const BandColumns probe = inputs_.band_columns(prober);
    limits_.clear();
    for (std::int64_t p = probes.begin; p < probes.end; ++p) {
      limits_.push_back(band_limits(probe.first[p], probe.second[p], inputs_.band));
    }
    limits_begin_ = probes.begin;
    probe_all(prober, probes, {first_[1 - prober], stored.begin}, true);
    probe_all(prober, probes, {std::max(first_[1 - prober], stored.begin), stored.end}, false);
  }
  sort();
  emit(pairs_);
  for (std::size_t i = 0; i < 2; ++i) seen_[i] = new_rows[i].end;
}

// Compares the probes, rows of input `prober`, with this thread's share of stored rows of the other input.
// `all_earlier`: whether all stored rows came before all probes.
void BandJoin::probe_all(std::size_t prober, Rows probes, Rows stored, bool all_earlier) {
  if (probes.size() == 0) return;
  const auto is_mine = [this](std::int64_t row) { return row / kShareRows % threads_ == index_; };
  std::int64_t begin = stored.begin;
  while (begin < stored.end) {
    if (!is_mine(begin)) {
      begin = std::min(stored.end, (begin / kShareRows + 1) * kShareRows);
      continue;
    }
    throw_if_stopped(stop_);
    std::int64_t end = begin;
    while (end < stored.end && end - begin < kTileRows && is_mine(end)) {
      end = std::min(stored.end, (end / kShareRows + 1) * kShareRows);
    }
    if (all_earlier && inputs_.ts(1 - prober, begin) + inputs_.window >= inputs_.ts(prober, probes.end - 1)) {
      pair_count_ += probes.size() * (end - begin);
      compare(prober, probes, {begin, end}, true);
    } else {
      compare_at_edge(prober, probes, {begin, end});
    }
    begin = end;
  }
}

// Compares probes with a tile that holds the beginning of the window, or new tuples. A probe makes pairs with the rows
// in the window that came before the probe.
void BandJoin::compare_at_edge(std::size_t prober, Rows probes, Rows stored) {
  const std::int64_t* ts = inputs_.view[1 - prober]->ts.data();
  const std::int64_t tie = prober == 1 ? 0 : 1;  // at equal times, the left input's rows come first
  Rows reach{stored.begin, stored.begin};        // both ends never decrease
  std::int64_t pairs = 0;
  for (std::int64_t p = probes.begin; p < probes.end; ++p) {
    const std::int64_t probe_ts = inputs_.ts(prober, p);
    while (reach.begin < stored.end && ts[reach.begin] + inputs_.window < probe_ts) ++reach.begin;
    while (reach.end < stored.end && ts[reach.end] <= probe_ts - tie) ++reach.end;
    reach.end = std::max(reach.begin, reach.end);
    reach_[p - probes.begin] = reach;
    pairs += reach.size();
  }
  pair_count_ += pairs;
  if (pairs * kDense >= probes.size() * stored.size()) return compare(prober, probes, stored, false);
  for (std::int64_t p = probes.begin; p < probes.end; ++p) {
    const Rows reached = reach_[p - probes.begin];
    if (reached.size() != 0) compare(prober, {p, p + 1}, reached, true);
  }
}

// Compares probes with stored rows and appends the matches to `pairs_`. `all_pairs`: whether every probe makes a pair
// with every stored row; otherwise a probe makes pairs only with the rows in its reach.
void BandJoin::compare(std::size_t prober, Rows probes, Rows stored, bool all_pairs) {
  const BandColumns probe = inputs_.band_columns(prober), store = inputs_.band_columns(1 - prober);
  const auto limits = [this](std::int64_t p) { return limits_.data() + (p - limits_begin_); };
  probe_loop_(limits(probes.begin), probes.size(), store, stored.begin, stored.end, inputs_.band, hit_);
  for (std::int64_t p = probes.begin; p < probes.end; ++p) {
    if (hit_[p - probes.begin] == 0) continue;
    const Rows rows = all_pairs ? stored : reach_[p - probes.begin];
    for (std::int64_t from = rows.begin; from < rows.end; from += kCloseRows) {
      const std::int64_t to = std::min(rows.end, from + kCloseRows);
      std::uint8_t close = 0;
      probe_loop_(limits(p), 1, store, from, to, inputs_.band, &close);
      if (close == 0) continue;
      for (std::int64_t row = from; row < to; ++row) {
        if (!is_match(probe, p, store, row, inputs_.band)) continue;
        pairs_.push_back(prober == 0 ? Pair{p, row} : Pair{row, p});
      }
    }
  }
}

void BandJoin::sort() {
  // By the later tuple, then by the earlier tuple. This order does not depend on how tuples were divided.
  std::sort(pairs_.begin(), pairs_.end(), [this](const Pair& a, const Pair& b) {
    const bool a_left = later(a) == 0, b_left = later(b) == 0;
    const std::int64_t a_time = a_left ? inputs_.ts(0, a.left) : inputs_.ts(1, a.right);
    const std::int64_t b_time = b_left ? inputs_.ts(0, b.left) : inputs_.ts(1, b.right);
    if (a_time != b_time) return a_time < b_time;
    if (a_left != b_left) return a_left;
    const std::int64_t a_row = a_left ? a.left : a.right, b_row = a_left ? b.left : b.right;
    if (a_row != b_row) return a_row < b_row;
    return a_left ? a.right < b.right : a.left < b.left;
  });
}

}  // namespace lab
