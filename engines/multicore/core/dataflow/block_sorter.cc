// Implements the sorting of blocks that dataflow/block_sorter.h explains.
#include "dataflow/block_sorter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include "dataflow/spec.h"

namespace lab {
namespace {

constexpr std::int64_t kInitialRows = 512;  // initial capacity
// Minimum numbers of rows for which a radix sort is faster than comparing words: by the bits of keys, and by all bits.
constexpr std::size_t kMinKeyRadixRows = 16;
constexpr std::size_t kMinRadixRows = 64;
constexpr int kDigitsAtOnce = 4;  // the counters of this many digits stay in the first-level cache
// Maximum number of blocks before the sorter again assumes that the rows of a key come in order.
constexpr int kMaxBackoffBlocks = 255;

}  // namespace

BlockSorter::BlockSorter(const FlowSpec& spec)
    : spec_(spec), mover_(spec.itemsizes), columns_(spec.order.begin(), spec.order.end()) {
  buffer_.shape(spec.itemsizes, kInitialRows);
  buffer_.touch();
}

void BlockSorter::check_room(std::size_t new_rows) const {
  if (static_cast<std::size_t>(rows()) + new_rows <= std::numeric_limits<std::int32_t>::max()) return;
  throw std::runtime_error(spec_.called() +
                           "a block of more than 2^31 rows cannot be sorted; use a shorter marker period");
}

void BlockSorter::store(const FlowPiece& piece, std::int64_t block) {
  if (packs_) {
    const auto words = packer_->pack(piece, block);
    if (!words.empty()) return store(words);
  }
  check_room(static_cast<std::size_t>(piece.rows));
  make_room(rows_ + piece.rows);
  mover_.copy(buffer_.columns(), rows_, piece.columns, piece.base, piece.rows);
  rows_ += piece.rows;
}

void BlockSorter::store(std::span<const std::uint64_t> words) {
  check_room(words.size());
  words_.insert(words_.end(), words.begin(), words.end());
}

void BlockSorter::make_room(std::int64_t rows) {
  if (rows > buffer_.capacity()) buffer_.grow(rows_, std::max(rows, 2 * buffer_.capacity()));
}

// Unpacks the words of a block in which some rows do not fit into words.
void BlockSorter::unpack_words() {
  make_room(rows());
  unpack(spec_, parts_, words_, buffer_.columns(), rows_);
  rows_ = rows();
  words_.clear();
}

// Chooses the parts of words: all columns if they fit, otherwise as many bits as the row's number leaves free.
void BlockSorter::choose_parts() {
  parts_.clear();
  int used = 0;
  bool all_fit = true;
  for (const std::size_t column : columns_) {
    all_fit = compares_as_word(spec_, column) && used <= kWordBits;
    if (!all_fit) break;
    parts_.push_back(part_of(spec_, column, range_of(spec_, column, {buffer_.columns(), 0, rows_, nullptr})));
    used += parts_.back().bits;
  }
  word_columns_ = parts_.size();
  row_bits_ = 0;
  if (!all_fit || used > kWordBits) {
    row_bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows_)));
    int left = kWordBits - row_bits_;
    for (std::size_t p = 0; p < word_columns_; ++p) {
      WordPart& part = parts_[p];
      part.dropped = std::max(0, part.bits - left);
      part.bits -= part.dropped;
      left -= part.bits;
      if (part.dropped != 0) word_columns_ = p;
    }
    parts_.resize(std::min(parts_.size(), word_columns_ + 1));
  }
  place_parts(parts_, row_bits_);
}

// Makes `words_` from the stored rows.
void BlockSorter::make_words() {
  words_.resize(static_cast<std::size_t>(rows_));
  pack(spec_, parts_, {buffer_.columns(), 0, rows_, nullptr}, words_.data());
  for (std::size_t i = 0; row_bits_ != 0 && i < words_.size(); ++i) words_[i] |= i;
  rows_ = 0;  // words now represent the rows, or refer to them
}

// Sorts by bits [from, from + bits) of the words; words with equal bits keep their order.
void BlockSorter::sort_by_bits(int from, int bits) {
  // Longer digits mean fewer passes and more counters.
  const auto digits_of = [bits](int width) { return (bits + width - 1) / width; };
  const auto cost = [&](int width) {
    return static_cast<std::size_t>(digits_of(width)) * (2 * words_.size() + (std::size_t{1} << width));
  };
  const auto sort_by = [&]<int kBits>() {
    for (int digits = digits_of(kBits); digits > 0; digits -= kDigitsAtOnce, from += kDigitsAtOnce * kBits) {
      sort_by_digits<kBits>(from, std::min(digits, kDigitsAtOnce));
    }
  };
  const std::size_t cost_6 = cost(6), cost_8 = cost(8), cost_11 = cost(11);
  if (cost_6 < std::min(cost_8, cost_11)) return sort_by.template operator()<6>();
  cost_8 <= cost_11 ? sort_by.template operator()<8>() : sort_by.template operator()<11>();
}

// Sorts by `digits` digits of kBits bits each, from bit `from` of the words on.
template <int kBits>
void BlockSorter::sort_by_digits(int from, int digits) {
  constexpr std::size_t kValues = std::size_t{1} << kBits;
  constexpr std::uint64_t kMask = kValues - 1;
  // Count all digits in one pass, because successive increments of the same counter wait for each other.
  places_.assign(static_cast<std::size_t>(digits) * kValues, 0);
  std::uint32_t* const end = places_.data() + places_.size();
  for (const std::uint64_t word : words_) {
    std::uint64_t rest = word >> from;
    for (std::uint32_t* count = places_.data(); count != end; count += kValues, rest >>= kBits) ++count[rest & kMask];
  }
  scratch_.resize(words_.size());
  ends_.resize(kValues);
  std::uint32_t* const ends = ends_.data();
  for (std::uint32_t* place = places_.data(); place != end; place += kValues, from += kBits) {
    std::uint32_t position = 0;
    for (std::size_t value = 0; value < kValues; ++value) {
      position += std::exchange(place[value], position);
      ends[value] = position;
    }
    // Read from both ends, again to reduce waits. The first half of the words fills the room of a value from the front,
    // the second half from the back.
    const std::uint64_t* const words = words_.data();
    std::uint64_t* const sorted = scratch_.data();
    std::size_t back = words_.size();
    for (std::size_t front = 0; front < back; ++front) {
      const std::uint64_t last = words[--back];
      sorted[--ends[(last >> from) & kMask]] = last;
      if (front == back) break;
      const std::uint64_t first = words[front];
      sorted[place[(first >> from) & kMask]++] = first;
    }
    words_.swap(scratch_);
  }
}

// Sorts by insertion. Returns false if too many words are far from their places.
bool BlockSorter::insert_words() noexcept {
  std::size_t moves = words_.size();
  for (std::size_t i = 1; i < words_.size(); ++i) {
    const std::uint64_t word = words_[i];
    if (words_[i - 1] <= word) continue;
    std::size_t place = i;
    for (; place != 0 && words_[place - 1] > word && moves != 0; --place, --moves) words_[place] = words_[place - 1];
    words_[place] = word;
    if (moves == 0) return false;
  }
  return true;
}

void BlockSorter::sort_words() {
  const auto compare = [this] { std::sort(words_.begin(), words_.end()); };
  if (words_.size() < kMinKeyRadixRows || parts_.empty()) return compare();
  const WordPart& first = parts_.front();
  const int bits = first.shift + first.bits - row_bits_;
  // Rows of a key mostly come in order of time. So sort only by keys; insertion then moves few words.
  if (first.bits < bits && backoff_left_ == 0) {
    sort_by_bits(first.shift, first.bits);
    if (insert_words()) return;
    backoff_blocks_ = std::min(2 * backoff_blocks_ + 1, kMaxBackoffBlocks);
    backoff_left_ = backoff_blocks_;
  } else if (backoff_left_ != 0) {
    --backoff_left_;
  }
  words_.size() < kMinRadixRows ? compare() : sort_by_bits(row_bits_, bits);
}

// Compares rows `a` and `b` by one column. The result is below 0 if row `a` comes first.
int BlockSorter::compare_rows(std::size_t column, std::int32_t a, std::int32_t b) const noexcept {
  return with_type(spec_.fields[column], spec_.itemsizes[column], [&]<typename T>() {
    const T x = static_cast<const T*>(buffer_.columns()[column])[a];
    const T y = static_cast<const T*>(buffer_.columns()[column])[b];
    if constexpr (std::is_floating_point_v<T>) {
      // NaNs come last and count as equal, since a sort needs a total order.
      if (x != x || y != y) return (x != x ? 1 : 0) - (y != y ? 1 : 0);
    }
    const int order = x < y ? -1 : x > y ? 1 : 0;
    return spec_.descending[column] != 0 ? -order : order;
  });
}

// Returns whether row `a` comes before row `b` by the columns that are not wholly in words.
bool BlockSorter::is_before(std::int32_t a, std::int32_t b) const noexcept {
  for (std::size_t place = word_columns_; place < columns_.size(); ++place) {
    const int order = compare_rows(columns_[place], a, b);
    if (order != 0) return order < 0;
  }
  return false;
}

// Sorts the words that differ only in the number of the row.
void BlockSorter::sort_ties() {
  for (auto begin = words_.begin(); begin != words_.end();) {
    auto end = std::next(begin);
    while (end != words_.end() && *end >> row_bits_ == *begin >> row_bits_) ++end;
    if (end - begin > 1) {
      std::sort(begin, end, [this](std::uint64_t a, std::uint64_t b) { return is_before(row_of(a), row_of(b)); });
    }
    begin = end;
  }
}

void BlockSorter::sort(std::int64_t block) {
  row_bits_ = 0;
  if (!words_.empty()) {
    const auto parts = packer_->parts(block);
    parts_.assign(parts.begin(), parts.end());
    if (rows_ != 0) unpack_words();
  }
  if (rows_ != 0) {
    choose_parts();
    make_words();
  }
  sort_words();
  if (row_bits_ != 0) sort_ties();
}

void BlockSorter::copy_sorted(std::int64_t from, std::int64_t rows, void* const* to) {
  const auto words = std::span(words_).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(rows));
  if (row_bits_ != 0) {
    order_.resize(words.size());
    std::transform(words.begin(), words.end(), order_.begin(), [this](std::uint64_t word) { return row_of(word); });
    mover_.copy(to, 0, buffer_.columns(), 0, order_.data(), rows);
    return;
  }
  unpack(spec_, parts_, words, to, 0);
}

}  // namespace lab
