// Implements RunMerger; see log/order_log_merge.h.
#include "log/order_log_merge.h"

#include <algorithm>
#include <bit>

namespace lab {
namespace {

constexpr unsigned kPlaceBits = 8;
constexpr std::uint64_t kPlaceMask = (1U << kPlaceBits) - 1;
static_assert(kMaxLogSources == 1 << kPlaceBits);

constexpr std::uint64_t kFar = (std::uint64_t{1} << (64 - kPlaceBits)) - 1;  // stands for distances that do not fit
constexpr std::uint64_t kNoRow = ~std::uint64_t{0};

// A search costs about as much as eight rows in the tree (10 to 20 ns, compared with 1.5 to 3 ns a row). With a mean
// run below kShortRun rows the merger uses the tree; with a mean run of kLongRun rows or more it gallops. In between it
// keeps its method.
constexpr std::int64_t kShortRun = 4;
constexpr std::int64_t kLongRun = 12;
constexpr std::int64_t kObservedRuns = 32;  // number of runs per observation

constexpr auto kSources = [] {
  std::array<std::uint8_t, static_cast<std::size_t>(kMaxLogSources)> sources{};
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<std::uint8_t>(i);
  return sources;
}();

// Finds the lowest of up to 2^kLevels packed keys. Knuth, TAOCP vol. 3, 5.4.1.
template <unsigned kLevels>
class LoserTree {
 public:
  // `head(i)` returns the key of input i < `count`.
  template <typename Head>
  LoserTree(std::size_t count, Head head) noexcept {
    std::array<std::uint64_t, 2 * kLeaves> winners;
    for (std::size_t i = 0; i < kLeaves; ++i) winners[kLeaves + i] = i < count ? head(i) : kNoRow;
    for (std::size_t i = kLeaves - 1; i > 0; --i) {
      winners[i] = std::min(winners[2 * i], winners[2 * i + 1]);
      losers_[i] = std::max(winners[2 * i], winners[2 * i + 1]);
    }
    lowest_ = winners[1];
  }

  std::uint64_t lowest() const noexcept { return lowest_; }

  // Sets the key of input `place`, which had the lowest key, to `challenger`.
  void replace(std::size_t place, std::uint64_t challenger) noexcept {
    for (unsigned level = 0; level < kLevels; ++level) {
      std::uint64_t& loser = losers_[(kLeaves + place) >> (level + 1)];
      const std::uint64_t previous = loser;
      loser = std::max(challenger, previous);
      challenger = std::min(challenger, previous);
    }
    lowest_ = challenger;
  }

 private:
  static constexpr std::size_t kLeaves = std::size_t{1} << kLevels;

  std::array<std::uint64_t, kLeaves> losers_;  // losers_[i]: the larger of the two keys compared at node i
  std::uint64_t lowest_;
};

}  // namespace

void RunMerger::add(int source, const SourceLine* line, const LogColumns* rows, std::int64_t first) noexcept {
  auto place = static_cast<std::size_t>(count_);
  for (; place > 0 && inputs_[place - 1].source > source; --place) inputs_[place] = inputs_[place - 1];
  inputs_[place] = {rows->ts, rows->mask, first, first, source, rows->kind, line};
  ++count_;
}

bool RunMerger::has(int source) const noexcept {
  return std::any_of(inputs_.begin(), inputs_.begin() + count_,
                     [source](const Input& input) { return input.source == source; });
}

std::int64_t RunMerger::merged(int source) const noexcept {
  for (int i = 0; i < count_; ++i) {
    const Input& input = inputs_[static_cast<std::size_t>(i)];
    if (input.source == source) return input.next;
  }
  return finished_rows_[static_cast<std::size_t>(source)];
}

void RunMerger::gather() noexcept {
  horizon_ts_ = kEndOfTime;
  horizon_place_ = static_cast<std::size_t>(kMaxLogSources) - 1;
  std::size_t open_count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
    Input& input = inputs_[i];
    // seq_cst: the owner sees a thread that sleeps after this load (run/parker.h). Pairs with the stores in `publish`.
    std::int64_t bound = input.line->frontier.load(std::memory_order_seq_cst);
    input.end = input.line->end.load(std::memory_order_acquire);  // acquires the rows; pairs with `publish`
    if (bound == kEndOfTime && input.next == input.end) {
      finished_rows_[static_cast<std::size_t>(input.source)] = input.end;
      continue;
    }
    if (input.end > input.next) bound = std::max(bound, input.ts_at(input.end - 1));
    if (open_count != i) inputs_[open_count] = input;
    if (bound < horizon_ts_) {  // places ascend, so the first of equal bounds is the lowest
      horizon_ts_ = bound;
      horizon_place_ = open_count;
    }
    ++open_count;
  }
  count_ = static_cast<int>(open_count);
}

bool RunMerger::ready() const noexcept {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
    const Input& input = inputs_[i];
    if (input.next == input.end) continue;
    const std::int64_t ts = input.ts_at(input.next);
    if (ts < horizon_ts_ || (ts == horizon_ts_ && i <= horizon_place_)) return true;
  }
  return false;
}

// Returns the packed key of a row of input `place` at time `ts`, which is at least `base_`.
std::uint64_t RunMerger::pack(std::int64_t ts, std::size_t place) const noexcept {
  const std::uint64_t distance = static_cast<std::uint64_t>(ts) - static_cast<std::uint64_t>(base_);  // ts >= base_
  return std::min(distance, kFar) << kPlaceBits | place;
}

// Returns the packed key of an input's next row, or kNoRow if it has none.
std::uint64_t RunMerger::head(std::size_t place) const noexcept {
  const Input& input = inputs_[place];
  return input.next < input.end ? pack(input.ts_at(input.next), place) : kNoRow;
}

// Sets `base_` and `limit_`. Returns whether any row is ready.
bool RunMerger::set_horizon() noexcept {
  base_ = kEndOfTime;
  const auto count = static_cast<std::size_t>(count_);
  for (std::size_t i = 0; i < count; ++i) {
    if (inputs_[i].next < inputs_[i].end) base_ = std::min(base_, inputs_[i].ts_at(inputs_[i].next));
  }
  if (base_ == kEndOfTime || base_ > horizon_ts_) return false;
  // A horizon too far for this base is clamped to just below the keys that are clamped to kFar.
  const std::uint64_t distance = static_cast<std::uint64_t>(horizon_ts_) - static_cast<std::uint64_t>(base_);
  limit_ = distance < kFar ? distance << kPlaceBits | horizon_place_ : (kFar << kPlaceBits) - 1;
  return true;
}

std::size_t RunMerger::merge(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept {
  if (capacity == 0 || max_rows <= 0 || !set_horizon()) return 0;
  const auto count = static_cast<std::size_t>(count_);
  if (!short_runs_ || count == 1) return gallop(out, capacity, max_rows);
  switch (std::bit_width(count - 1)) {
    case 1:
      return tree<1>(out, capacity, max_rows);
    case 2:
      return tree<2>(out, capacity, max_rows);
    case 3:
      return tree<3>(out, capacity, max_rows);
    case 4:
      return tree<4>(out, capacity, max_rows);
    case 5:
      return tree<5>(out, capacity, max_rows);
    case 6:
      return tree<6>(out, capacity, max_rows);
    default:
      return tree<8>(out, capacity, max_rows);
  }
}

// Returns the first row after `input.next` with ts > last_ts, at most `end`. The row `input.next` has ts <= last_ts.
std::int64_t RunMerger::run_end(const Input& input, std::int64_t last_ts, std::int64_t end) const noexcept {
  if (input.ts_at(end - 1) <= last_ts) return end;
  std::int64_t low = input.next;  // its ts <= last_ts
  std::int64_t width = 1;
  while (low + width < end && input.ts_at(low + width) <= last_ts) {
    low += width;
    width *= 2;
  }
  std::int64_t high = std::min(low + width, end - 1);  // its ts > last_ts
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (input.ts_at(middle) <= last_ts ? low : high) = middle;
  }
  return high;
}

// Merges long runs: one search finds the end of each run.
std::size_t RunMerger::gallop(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept {
  const auto count = static_cast<std::size_t>(count_);
  std::array<std::uint64_t, static_cast<std::size_t>(kMaxLogSources)> keys;
  for (std::size_t i = 0; i < count; ++i) keys[i] = head(i);
  std::size_t runs = 0;
  while (runs < capacity && max_rows > 0) {
    std::uint64_t first = kNoRow;
    std::uint64_t second = kNoRow;
    for (std::size_t i = 0; i < count; ++i) {
      second = std::min(second, std::max(first, keys[i]));
      first = std::min(first, keys[i]);
    }
    if (first > limit_) break;
    const auto place = static_cast<std::size_t>(first & kPlaceMask);
    const std::uint64_t limit = std::min(second, limit_);
    // limit >= first, so the distance of `limit` is above 0 if its place is below `place`. Nothing wraps.
    const std::uint64_t last = (limit >> kPlaceBits) - (place <= (limit & kPlaceMask) ? 0 : 1);
    Input& input = inputs_[place];
    const std::int64_t end = input.end - input.next > max_rows ? input.next + max_rows : input.end;
    const std::int64_t stop = run_end(input, static_cast<std::int64_t>(static_cast<std::uint64_t>(base_) + last), end);
    out[runs++] = {input.next, stop, input.source, input.kind};
    max_rows -= stop - input.next;
    observed_rows_ += stop - input.next;
    input.next = stop;
    keys[place] = head(place);
    if (++observed_runs_ == kObservedRuns) {
      short_runs_ = observed_rows_ < kShortRun * kObservedRuns;
      observed_rows_ = 0;
      observed_runs_ = 0;
      if (short_runs_ && count > 1) break;  // the caller calls again
    }
  }
  return runs;
}

// Merges short runs row by row, in a loser tree.
template <unsigned kLevels>
std::size_t RunMerger::tree(LogRun* out, std::size_t capacity, std::int64_t max_rows) noexcept {
  LoserTree<kLevels> lowest(static_cast<std::size_t>(count_), [this](std::size_t place) { return head(place); });
  std::size_t runs = 0;
  std::size_t previous = inputs_.size();
  std::int64_t begin = 0;
  std::int64_t left = max_rows;
  while (lowest.lowest() <= limit_ && left > 0) {
    const auto place = static_cast<std::size_t>(lowest.lowest() & kPlaceMask);
    Input& input = inputs_[place];
    const std::int64_t row = input.next;
    const bool starts_run = place != previous;
    if (starts_run && runs == capacity) break;
    runs += starts_run ? 1 : 0;
    begin = starts_run ? row : begin;
    previous = place;
    out[runs - 1] = {begin, row + 1, input.source, input.kind};  // rewritten while the run continues
    input.next = row + 1;
    --left;
    lowest.replace(place, head(place));
  }
  observed_rows_ += max_rows - left;
  observed_runs_ += static_cast<std::int64_t>(runs);
  if (observed_runs_ >= kObservedRuns) {
    short_runs_ = observed_rows_ < kLongRun * observed_runs_;
    observed_rows_ = 0;
    observed_runs_ = 0;
  }
  return runs;
}

// Returns the first unready row of input `place`, or the input's `end` if all are ready.
std::int64_t RunMerger::ready_end(std::size_t place) const noexcept {
  const Input& input = inputs_[place];
  const auto is_ready = [&](std::int64_t row) {
    const std::int64_t ts = input.ts_at(row);
    return ts < horizon_ts_ || (ts == horizon_ts_ && place <= horizon_place_);
  };
  if (input.next == input.end || is_ready(input.end - 1)) return input.end;
  std::int64_t low = input.next - 1;  // ready, or before all
  std::int64_t high = input.end - 1;  // not ready
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_ready(middle) ? low : high) = middle;
  }
  return high;
}

// The horizon determines beforehand which rows of each source are ready, so the merge reads only the rows.
std::size_t RunMerger::interleave(std::uint8_t* out, std::size_t capacity) noexcept {
  if (count_ == 2) return interleave_two(out, capacity);
  const auto count = static_cast<std::size_t>(count_);
  const std::span<SortedRows> rows = interleaver_->inputs(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Input& input = inputs_[i];
    rows[i] = {input.ts, &kSources[static_cast<std::size_t>(input.source)], input.mask, 0, input.next, ready_end(i)};
  }
  const std::size_t done = interleaver_->merge(out, capacity);
  for (std::size_t i = 0; i < count; ++i) inputs_[i].next = rows[i].next;
  observe(out, done);
  return done;
}

// The processor predicts the next source here: 0.6 ns a row for alternating sources, 3 ns in random order. The
// interleaver takes 2 ns in any order.
std::size_t RunMerger::interleave_two(std::uint8_t* out, std::size_t capacity) noexcept {
  Input& a = inputs_[0];
  Input& b = inputs_[1];
  const std::int64_t a_end = ready_end(0), b_end = ready_end(1);
  const auto a_source = static_cast<std::uint8_t>(a.source), b_source = static_cast<std::uint8_t>(b.source);
  const std::int64_t* const a_ts = a.ts;
  const std::int64_t* const b_ts = b.ts;
  const std::uint64_t a_mask = a.mask, b_mask = b.mask;
  std::int64_t i = a.next, j = b.next;
  std::size_t done = 0;
  for (;;) {
    // Both inputs have at least `steps` rows, whichever source comes next.
    const std::int64_t steps = std::min({a_end - i, b_end - j, static_cast<std::int64_t>(capacity - done)});
    if (steps <= 0) break;
    std::uint8_t* const part = out + done;
    for (std::int64_t k = 0; k < steps; ++k) {
      const bool second = b_ts[static_cast<std::uint64_t>(j) & b_mask] < a_ts[static_cast<std::uint64_t>(i) & a_mask];
      part[k] = second ? b_source : a_source;
      j += second ? 1 : 0;
      i += second ? 0 : 1;
    }
    done += static_cast<std::size_t>(steps);
  }
  // One input has no more rows, so append the rest of the other.
  const auto room = static_cast<std::int64_t>(capacity - done);
  const std::int64_t rest_a = i < a_end ? std::min(a_end - i, room) : 0;
  const std::int64_t rest_b = j < b_end && i == a_end ? std::min(b_end - j, room) : 0;
  std::fill_n(out + done, rest_a + rest_b, rest_a != 0 ? a_source : b_source);
  done += static_cast<std::size_t>(rest_a + rest_b);
  a.next = i + rest_a;
  b.next = j + rest_b;
  observe(out, done);
  return done;
}

// Records the lengths of the runs in interleaved rows.
void RunMerger::observe(const std::uint8_t* places, std::size_t count) noexcept {
  if (count == 0) return;
  std::uint16_t changes = 0;  // 16 bits suffice for a call; a narrow type makes a faster vector loop
  for (std::size_t i = 1; i < count; ++i) changes = static_cast<std::uint16_t>(changes + (places[i] != places[i - 1]));
  observed_rows_ += static_cast<std::int64_t>(count);
  observed_runs_ += changes + 1;
  if (observed_runs_ >= kObservedRuns || observed_rows_ >= kLongRun * kObservedRuns) {
    short_runs_ = observed_rows_ < kLongRun * observed_runs_;
    observed_rows_ = 0;
    observed_runs_ = 0;
  }
}

}  // namespace lab
