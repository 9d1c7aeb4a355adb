// Implements JoinInstance; see oplus/instance.h.
#include <algorithm>
#include <stdexcept>

#include "oplus/instance.h"
#include "run/errors.h"

namespace lab {

JoinInstance::JoinInstance(std::int32_t index, const OperatorSpec& spec, std::span<const OperatorStream> streams,
                           OutputBuffer& out, Recorder& recorder, const std::atomic<bool>& stop)
    : OperatorInstance(index, spec, streams, out, recorder, stop) {
  if (streams.size() != 2 || streams[0].input != 0 || streams[1].input != 1) {
    throw std::invalid_argument("a join of all pairs reads one stream for each of its two inputs");
  }
  pairs_.reserve(1024);
  scratch_.resize(1024);
}

void JoinInstance::copy_position(const OperatorInstance& other) {
  OperatorInstance::copy_position(other);
  const auto& like = static_cast<const JoinInstance&>(other);
  first_[0] = like.first_[0];
  first_[1] = like.first_[1];
}

void JoinInstance::process(std::span<const LogRun> runs, const LogOrder&) {
  last_due_ns_ = streams_[static_cast<std::size_t>(runs.back().source)].due(runs.back().end - 1);
  taken_ns_ = recorder_.now();
  // The current rows of a stream are consecutive, so two ranges describe the current tuples. Timestamps give the order
  // between the two streams.
  Rows fresh[2] = {{rows_read_[0], rows_read_[0]}, {rows_read_[1], rows_read_[1]}};
  const auto count = [&fresh] { return (fresh[0].end - fresh[0].begin) + (fresh[1].end - fresh[1].begin); };
  for (const LogRun& part : runs) {
    Rows& rows = fresh[static_cast<std::size_t>(part.source)];
    while (rows.end < part.end) {
      rows.end = std::min(part.end, rows.end + kProbeRows - count());
      if (count() < kProbeRows) continue;
      join(fresh);
      fresh[0].begin = fresh[0].end;
      fresh[1].begin = fresh[1].end;
    }
  }
  join(fresh);
}

void JoinInstance::advance(std::int64_t watermark, std::int64_t) { watermark_ = std::max(watermark_, watermark); }

// Joins new rows of both inputs with the earlier rows in the window, and emits the results.
void JoinInstance::join(const Rows (&fresh)[2]) {
  const std::int64_t count = (fresh[0].end - fresh[0].begin) + (fresh[1].end - fresh[1].begin);
  if (count == 0) return;
  started_ = true;
  for (std::size_t i = 0; i < 2; ++i) {
    if (fresh[i].begin == fresh[i].end) continue;
    // Purge the rows that no later tuple can match.
    const std::int64_t earliest = ts(i, fresh[i].begin);
    while (first_[1 - i] < fresh[1 - i].end && ts(1 - i, first_[1 - i]) + spec_.window.size < earliest) ++first_[1 - i];
    watermark_ = std::max(watermark_, ts(i, fresh[i].end - 1));
  }
  const Rows all[2] = {{first_[0], fresh[0].end}, {first_[1], fresh[1].end}};
  pairs_.clear();
  for (std::size_t prober = 0; prober < 2; ++prober) {
    if (fresh[prober].begin == fresh[prober].end) continue;
    const std::size_t keeper = 1 - prober;
    // Scan the instance's own shares, adjacent shares together.
    std::int64_t begin = all[keeper].begin;
    while (begin < all[keeper].end) {
      const auto mine = [this](std::int64_t row) { return owner_[(row / kShareRows) % spec_.buckets] == index_; };
      if (!mine(begin)) {
        begin = std::min(all[keeper].end, (begin / kShareRows + 1) * kShareRows);
        continue;
      }
      throw_if_stopped(stop_);
      std::int64_t end = begin;
      while (end < all[keeper].end && end - begin < kTileRows && mine(end)) {
        end = std::min(all[keeper].end, (end / kShareRows + 1) * kShareRows);
      }
      const Rows& probes = fresh[prober];
      const bool are_older = end <= fresh[keeper].begin;
      const bool all_in_window = are_older && ts(keeper, begin) + spec_.window.size >= ts(prober, probes.end - 1);
      tile(prober, probes, {begin, end}, all_in_window);
      begin = end;
    }
  }
  emit();
  for (std::size_t i = 0; i < 2; ++i) rows_read_[i] = fresh[i].end;
  stamp_ += count;
}

// Compares new rows of input `prober` with stored rows of the other input. Appends the matching pairs to `pairs_`.
// `all_in_window`: whether every probe makes a pair with every stored row.
void JoinInstance::tile(std::size_t prober, Rows probes, Rows stored, bool all_in_window) {
  const std::size_t keeper = 1 - prober;
  const MatchKernel match = prober == 0 ? spec_.match_by_left : spec_.match_by_right;
  const void* const* probe_columns = streams_[prober].view->columns.data();
  const void* const* stored_columns = streams_[keeper].view->columns.data();
  std::int64_t matches = 0;
  while (true) {
    const auto capacity = static_cast<std::int64_t>(scratch_.size());
    matches = match(probe_columns, probes.begin, probes.end, stored_columns, stored.begin, stored.end, scratch_.data(),
                    capacity) -
              1;
    ++kernel_calls_;
    if (matches < 0) throw std::runtime_error("match raised an exception");
    if (matches <= capacity) break;
    scratch_.resize(static_cast<std::size_t>(matches));
  }
  if (all_in_window) {
    compared_ += (probes.end - probes.begin) * (stored.end - stored.begin);
    pairs_.insert(pairs_.end(), scratch_.begin(), scratch_.begin() + matches);
    return;
  }
  // At the edges of the window, skip pairs of tuples too far apart, and pairs that are found when the other tuple
  // probes.
  const auto is_counted = [&](std::int64_t probe, std::int64_t row) {
    return ts(keeper, row) + spec_.window.size >= ts(prober, probe) && before(keeper, row, prober, probe);
  };
  const std::int64_t* times = streams_[keeper].view->ts.data();
  for (std::int64_t p = probes.begin; p < probes.end; ++p) {
    const std::int64_t at = ts(prober, p);
    const std::int64_t* from = std::lower_bound(times + stored.begin, times + stored.end, at - spec_.window.size);
    const std::int64_t* to = keeper < prober ? std::upper_bound(times + stored.begin, times + stored.end, at)
                                             : std::lower_bound(times + stored.begin, times + stored.end, at);
    compared_ += std::max<std::ptrdiff_t>(0, to - from);
  }
  for (std::int64_t k = 0; k < matches; ++k) {
    const Pair& pair = scratch_[static_cast<std::size_t>(k)];
    if (prober == 0 ? is_counted(pair.left, pair.right) : is_counted(pair.right, pair.left)) pairs_.push_back(pair);
  }
}

void JoinInstance::emit() {
  if (pairs_.empty()) return;
  // Sort by the later tuple's arrival, then by the earlier tuple's, so that batches do not affect the order.
  std::sort(pairs_.begin(), pairs_.end(), [this](const Pair& a, const Pair& b) {
    const bool left_a = later_is_left(a), left_b = later_is_left(b);
    const std::int64_t time_a = left_a ? ts(0, a.left) : ts(1, a.right);
    const std::int64_t time_b = left_b ? ts(0, b.left) : ts(1, b.right);
    if (time_a != time_b) return time_a < time_b;
    if (left_a != left_b) return left_a;
    const std::int64_t row_a = left_a ? a.left : a.right, row_b = left_b ? b.left : b.right;
    if (row_a != row_b) return row_a < row_b;
    return left_a ? a.right < b.right : a.left < b.left;
  });
  times_.resize(pairs_.size());
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const std::int64_t latest = std::max(ts(0, pairs_[k].left), ts(1, pairs_[k].right));
    times_[k] = spec_.window.earliest(latest) + spec_.window.size;
  }
  const auto total = static_cast<std::int64_t>(pairs_.size());
  for (std::int64_t at = 0; at < total;) {
    Emit* emit = out_.open(spec_.max_outputs);
    const std::int64_t next = spec_.emit_pairs(streams_[0].view->columns.data(), streams_[1].view->columns.data(),
                                               pairs_.data(), times_.data(), at, total, emit) -
                              1;
    ++kernel_calls_;
    if (next <= at) throw std::runtime_error("emit raised an exception");
    account_each(at, next, *emit, out_.close(index_, index_, 0, false));
    at = next;
  }
}

// Records the latency of the last `added` records, which pairs [begin, end) emitted. A pair may emit any number of
// records, so a record finds its pair by its time. Among pairs of one time, records match pairs in order, until the
// pairs run out.
void JoinInstance::account_each(std::int64_t begin, std::int64_t end, const Emit& emit, std::int64_t added) {
  if (added == 0 || !recorder_.on()) return;
  recorder_.tick();
  if (streams_[0].view->due.empty()) return;
  const auto* times = static_cast<const std::int64_t*>(emit.columns[0]) + (emit.count - added);
  std::int64_t k = begin;
  for (std::int64_t row = 0; row < added; ++row) {
    if (row != 0 && k + 1 < end && times_[static_cast<std::size_t>(k) + 1] == times[row]) ++k;
    while (k + 1 < end && times_[static_cast<std::size_t>(k)] < times[row]) ++k;
    const Pair& pair = pairs_[static_cast<std::size_t>(k)];
    account(1, later_is_left(pair) ? streams_[0].due(pair.left) : streams_[1].due(pair.right));
  }
}

}  // namespace lab
