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

void JoinInstance::stand_like(const OperatorInstance& other) {
  OperatorInstance::stand_like(other);
  const auto& like = static_cast<const JoinInstance&>(other);
  first_[0] = like.first_[0];
  first_[1] = like.first_[1];
}

void JoinInstance::process(std::span<const LogRun> runs, const LogOrder&) {
  last_due_ns_ = streams_[static_cast<std::size_t>(runs.back().source)].due(runs.back().end - 1);
  taken_ns_ = recorder_.now();
  // The rows of one stream are consecutive, so the tuples at hand are two ranges. Their order matters only between the
  // two streams, where timestamps give it.
  Rows fresh[2] = {{seen_[0], seen_[0]}, {seen_[1], seen_[1]}};
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
    // Scan the instance's own shares; adjacent ones together.
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
      const bool old = end <= fresh[keeper].begin;
      const bool whole = old && ts(keeper, begin) + spec_.window.size >= ts(prober, probes.end - 1);
      tile(prober, probes, {begin, end}, whole);
      begin = end;
    }
  }
  emit();
  for (std::size_t i = 0; i < 2; ++i) seen_[i] = fresh[i].end;
  stamp_ += count;
}

void JoinInstance::tile(std::size_t prober, Rows probes, Rows stored, bool whole) {
  const std::size_t keeper = 1 - prober;
  const MatchKernel match = prober == 0 ? spec_.match_by_left : spec_.match_by_right;
  const void* const* probe_columns = streams_[prober].view->columns.data();
  const void* const* stored_columns = streams_[keeper].view->columns.data();
  std::int64_t found = 0;
  while (true) {
    const auto capacity = static_cast<std::int64_t>(scratch_.size());
    found = match(probe_columns, probes.begin, probes.end, stored_columns, stored.begin, stored.end, scratch_.data(),
                  capacity) -
            1;
    ++kernel_calls_;
    if (found < 0) throw std::runtime_error("match raised an exception");
    if (found <= capacity) break;
    scratch_.resize(static_cast<std::size_t>(found));
  }
  if (whole) {
    compared_ += (probes.end - probes.begin) * (stored.end - stored.begin);
    pairs_.insert(pairs_.end(), scratch_.begin(), scratch_.begin() + found);
    return;
  }
  // At the edges of the window, some pairs do not count: those of tuples too far apart, and those that the other
  // tuple's probe produces.
  const auto counts = [&](std::int64_t probe, std::int64_t row) {
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
  for (std::int64_t k = 0; k < found; ++k) {
    const Pair& pair = scratch_[static_cast<std::size_t>(k)];
    const bool kept = prober == 0 ? counts(pair.left, pair.right) : counts(pair.right, pair.left);
    if (kept) pairs_.push_back(pair);
  }
}

void JoinInstance::emit() {
  if (pairs_.empty()) return;
  // Sort by the arrival of the later tuple, then of the earlier one: independent of the batches of tuples.
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

// A pair may emit any number of records, so a record finds its pair by its time. Among pairs of one time, records match
// pairs in order, until the pairs run out.
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
