#include "dataflow/block_sorter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

constexpr std::int64_t kFirstRows = 512;
constexpr int kWordBits = 64;
constexpr int kDigitBits = 8;
// Below it, comparing words is quicker than counting their digits.
constexpr std::size_t kFewRows = 128;

// Calls f with a null pointer to the type of a column; f.template operator()<T>().
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

}  // namespace

BlockSorter::BlockSorter(const FlowSpec& spec) : spec_(spec), mover_(spec.itemsizes) {
  if (spec.keyed) columns_ = {1, 0};
  else columns_ = {0};
  for (std::size_t c = columns_.size(); c < spec.itemsizes.size(); ++c) columns_.push_back(c);
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

// Adds a column to the words when it fits into `bits_left`; `used`: the bits that it took, -1 when it did not fit.
void BlockSorter::pack(std::size_t column, int bits_left, int& used) {
  used = -1;
  with_type(spec_.fields[column], spec_.itemsizes[column], [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* values = static_cast<const T*>(kept_.columns()[column]);
      const auto [least, most] = std::minmax_element(values, values + rows_);
      const auto low = static_cast<std::uint64_t>(*least);
      const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(*most) - low));
      if (bits > bits_left) return;
      used = bits;
      if (bits == 0) return;  // all are equal
      for (Entry& entry : entries_) {
        const auto value = static_cast<std::uint64_t>(values[entry.row]) - low;
        entry.word = (bits == kWordBits ? 0 : entry.word << bits) | value;
      }
    }
  });
}

void BlockSorter::sort_by_words(int bits) {
  if (entries_.size() < kFewRows) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.word < b.word; });
    return;
  }
  scratch_.resize(entries_.size());
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    std::array<std::uint32_t, std::size_t{1} << kDigitBits> place{};
    for (const Entry& entry : entries_) ++place[(entry.word >> shift) & (place.size() - 1)];
    std::uint32_t at = 0;
    for (std::uint32_t& of : place) at += std::exchange(of, at);
    for (const Entry& entry : entries_) scratch_[place[(entry.word >> shift) & (place.size() - 1)]++] = entry;
    entries_.swap(scratch_);
  }
}

int BlockSorter::compared(std::size_t place, std::int32_t a, std::int32_t b) const noexcept {
  const std::size_t column = columns_[place];
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
  for (std::size_t place = packed_; place < columns_.size(); ++place) {
    const int order = compared(place, a, b);
    if (order != 0) return order < 0;
  }
  return false;
}

void BlockSorter::sort_ties() {
  for (auto begin = entries_.begin(); begin != entries_.end();) {
    auto end = std::next(begin);
    while (end != entries_.end() && end->word == begin->word) ++end;
    if (end - begin > 1) {
      std::sort(begin, end, [this](const Entry& a, const Entry& b) { return before(a.row, b.row); });
    }
    begin = end;
  }
}

std::span<const std::int32_t> BlockSorter::sort() {
  entries_.resize(static_cast<std::size_t>(rows_));
  for (std::int64_t i = 0; i < rows_; ++i) entries_[static_cast<std::size_t>(i)] = {0, static_cast<std::int32_t>(i)};
  int bits = 0;
  for (packed_ = 0; rows_ != 0 && packed_ < columns_.size(); ++packed_) {
    int used = 0;
    pack(columns_[packed_], kWordBits - bits, used);
    if (used < 0) break;
    bits += used;
  }
  sort_by_words(bits);
  if (packed_ < columns_.size()) sort_ties();
  order_.resize(entries_.size());
  std::transform(entries_.begin(), entries_.end(), order_.begin(), [](const Entry& entry) { return entry.row; });
  return order_;
}

}  // namespace lab
