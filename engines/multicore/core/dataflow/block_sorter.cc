#include "dataflow/block_sorter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

constexpr std::int64_t kFirstRows = 512;
constexpr int kWordBits = 64;
// Below it, comparing words is quicker than counting their digits; from the second on, longer digits are worth their
// counters.
constexpr std::size_t kFewRows = 64;
constexpr std::size_t kManyRows = 2048;
constexpr int kDigitBits = 8;
constexpr int kLongDigitBits = 11;

// Calls f.template operator()<T>() with the type of a column.
template <typename F>
auto with_type(FlowSpec::Field field, std::int32_t size, F f) {
  using Field = FlowSpec::Field;
  if (field == Field::kFloat) return size == 4 ? f.template operator()<float>() : f.template operator()<double>();
  if (field == Field::kUnsigned) {
    if (size == 1) return f.template operator()<std::uint8_t>();
    if (size == 2) return f.template operator()<std::uint16_t>();
    return size == 4 ? f.template operator()<std::uint32_t>() : f.template operator()<std::uint64_t>();
  }
  if (size == 1) return f.template operator()<std::int8_t>();
  if (size == 2) return f.template operator()<std::int16_t>();
  return size == 4 ? f.template operator()<std::int32_t>() : f.template operator()<std::int64_t>();
}

std::uint64_t mask_of(int bits) noexcept {
  return bits == kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// The least and the greatest of some values, of which there is one. Four of each, so that none waits for the one before.
template <typename T>
std::pair<T, T> least_and_most(std::span<const T> values) noexcept {
  constexpr std::size_t kWays = 4;
  std::array<T, kWays> least, most;
  least.fill(values[0]);
  most.fill(values[0]);
  std::size_t i = 0;
  for (; i + kWays <= values.size(); i += kWays) {
    for (std::size_t way = 0; way < kWays; ++way) {
      least[way] = std::min(least[way], values[i + way]);
      most[way] = std::max(most[way], values[i + way]);
    }
  }
  for (; i < values.size(); ++i) {
    least[0] = std::min(least[0], values[i]);
    most[0] = std::max(most[0], values[i]);
  }
  return {*std::min_element(least.begin(), least.end()), *std::max_element(most.begin(), most.end())};
}

}  // namespace

BlockSorter::BlockSorter(const FlowSpec& spec) : spec_(spec), mover_(spec.itemsizes) {
  if (spec.keyed) columns_ = {1, 0};
  else columns_ = {0};
  for (std::size_t c = columns_.size(); c < spec.itemsizes.size(); ++c) columns_.push_back(c);
  floats_ = std::find(spec.fields.begin(), spec.fields.end(), FlowSpec::Field::kFloat) != spec.fields.end();
  kept_.shape(spec.itemsizes, kFirstRows);
  kept_.touch();
}

void BlockSorter::keep(const FlowPiece& piece) {
  const std::int64_t wanted = rows_ + piece.rows;
  if (wanted > std::numeric_limits<std::int32_t>::max()) {
    throw std::runtime_error(spec_.called() +
                             "a block of more than 2^31 rows cannot be sorted; give markers a shorter period");
  }
  if (wanted > kept_.capacity()) kept_.grow(rows_, std::max(wanted, 2 * kept_.capacity()));
  mover_.copy(kept_.columns(), rows_, piece.columns, piece.base, piece.rows);
  rows_ = wanted;
}

BlockSorter::Range BlockSorter::range_of(std::size_t column) const {
  Range range;
  with_type(spec_.fields[column], spec_.itemsizes[column], [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto [least, most] =
          least_and_most(std::span(static_cast<const T*>(kept_.columns()[column]), static_cast<std::size_t>(rows_)));
      range.low = static_cast<std::uint64_t>(least);
      range.bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most) - range.low));
    }
  });
  return range;
}

// What the words have: all columns where they fit; else as many bits as there is room for beside the row's number.
void BlockSorter::choose_parts() {
  parts_.clear();
  int used = 0;
  for (const std::size_t column : columns_) {
    if (spec_.fields[column] == FlowSpec::Field::kFloat) break;
    const Range range = range_of(column);
    parts_.push_back({column, range.low, range.bits, 0, 0});
    used += range.bits;
    if (used > kWordBits) break;
  }
  decided_ = parts_.size();
  row_bits_ = 0;
  if (floats_ || used > kWordBits) {
    row_bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows_)));
    int left = kWordBits - row_bits_;
    for (std::size_t p = 0; p < decided_; ++p) {
      Part& part = parts_[p];
      part.dropped = std::max(0, part.bits - left);
      part.bits -= part.dropped;
      left -= part.bits;
      if (part.dropped != 0) decided_ = p;
    }
    parts_.resize(std::min(parts_.size(), decided_ + 1));
  }
  int shift = row_bits_;
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    part->shift = shift;
    shift += part->bits;
  }
}

void BlockSorter::make_words() {
  words_.assign(static_cast<std::size_t>(rows_), 0);
  for (const Part& part : parts_) {
    if (part.bits == 0) continue;  // all are equal
    with_type(spec_.fields[part.column], spec_.itemsizes[part.column], [&]<typename T>() {
      const T* values = static_cast<const T*>(kept_.columns()[part.column]);
      for (std::size_t i = 0; i < words_.size(); ++i) {
        words_[i] |= ((static_cast<std::uint64_t>(values[i]) - part.low) >> part.dropped) << part.shift;
      }
    });
  }
  for (std::size_t i = 0; row_bits_ != 0 && i < words_.size(); ++i) words_[i] |= i;
}

void BlockSorter::sort_words() {
  const std::size_t rows = words_.size();
  if (rows < kFewRows) {
    std::sort(words_.begin(), words_.end());
    return;
  }
  int bits = 0;
  for (const Part& part : parts_) bits += part.bits;
  const int longest = rows < kManyRows ? kDigitBits : kLongDigitBits;
  const int digits = (bits + longest - 1) / longest;
  const int width = digits == 0 ? 0 : (bits + digits - 1) / digits;
  const std::uint64_t mask = mask_of(width);
  const std::size_t values = mask + 1;
  // All digits are counted at once: where one has many equal values, each count waits for the one before it.
  places_.assign(static_cast<std::size_t>(digits) * values, 0);
  for (const std::uint64_t word : words_) {
    std::uint64_t rest = word >> row_bits_;
    for (std::uint32_t* count = places_.data(); count != places_.data() + places_.size(); count += values) {
      ++count[rest & mask];
      rest >>= width;
    }
  }
  scratch_.resize(rows);
  ends_.resize(values);
  int shift = row_bits_;
  for (std::uint32_t* place = places_.data(); place != places_.data() + places_.size(); place += values) {
    std::uint32_t at = 0;
    for (std::size_t value = 0; value < values; ++value) {
      at += std::exchange(place[value], at);
      ends_[value] = at;
    }
    // From both ends, again so that fewer wait: the first half to where a value's words begin, the second, backwards, to
    // where they end.
    const std::uint64_t* const words = words_.data();
    std::uint64_t* const sorted = scratch_.data();
    for (std::size_t front = 0, back = rows; front < back;) {
      const std::uint64_t last = words[--back];
      sorted[--ends_[(last >> shift) & mask]] = last;
      if (front == back) break;
      const std::uint64_t first = words[front++];
      sorted[place[(first >> shift) & mask]++] = first;
    }
    words_.swap(scratch_);
    shift += width;
  }
}

int BlockSorter::compared(std::size_t column, std::int32_t a, std::int32_t b) const noexcept {
  return with_type(spec_.fields[column], spec_.itemsizes[column], [&]<typename T>() {
    const T x = static_cast<const T*>(kept_.columns()[column])[a];
    const T y = static_cast<const T*>(kept_.columns()[column])[b];
    if constexpr (std::is_floating_point_v<T>) {
      // What is no number comes last, and equals itself: an order must be one.
      if (x != x || y != y) return (x != x ? 1 : 0) - (y != y ? 1 : 0);
    }
    return x < y ? -1 : x > y ? 1 : 0;
  });
}

bool BlockSorter::before(std::int32_t a, std::int32_t b) const noexcept {
  for (std::size_t place = decided_; place < columns_.size(); ++place) {
    const int order = compared(columns_[place], a, b);
    if (order != 0) return order < 0;
  }
  return false;
}

void BlockSorter::sort_ties() {
  for (auto begin = words_.begin(); begin != words_.end();) {
    auto end = std::next(begin);
    while (end != words_.end() && *end >> row_bits_ == *begin >> row_bits_) ++end;
    if (end - begin > 1) {
      std::sort(begin, end, [this](std::uint64_t a, std::uint64_t b) { return before(row_of(a), row_of(b)); });
    }
    begin = end;
  }
}

void BlockSorter::sort() {
  if (rows_ == 0) return;
  choose_parts();
  make_words();
  sort_words();
  if (row_bits_ != 0) sort_ties();
}

void BlockSorter::give(std::int64_t from, std::int64_t rows, void* const* to) {
  const auto words = std::span(words_).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(rows));
  if (row_bits_ != 0) {
    order_.resize(words.size());
    std::transform(words.begin(), words.end(), order_.begin(), [this](std::uint64_t word) { return row_of(word); });
    mover_.copy(to, 0, kept_.columns(), 0, order_.data(), rows);
    return;
  }
  for (const Part& part : parts_) {
    with_type(spec_.fields[part.column], spec_.itemsizes[part.column], [&]<typename T>() {
      T* values = static_cast<T*>(to[part.column]);
      if (part.bits == 0) {
        std::fill_n(values, rows, static_cast<T>(part.low));
        return;
      }
      const std::uint64_t mask = mask_of(part.bits);
      for (std::size_t i = 0; i < words.size(); ++i) {
        values[i] = static_cast<T>(part.low + ((words[i] >> part.shift) & mask));
      }
    });
  }
}

}  // namespace lab
