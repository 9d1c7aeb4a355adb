// Copies records between columns, few at a time: what blocks of a tuple or two cost.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace lab {

// Fewer rows than this are copied item by item, which a call of memcpy for each column would take longer for.
inline constexpr std::int64_t kFewRows = 16;

namespace layers {

template <std::size_t kWidth>
void copy_few(std::byte* to, const std::byte* from, std::int64_t rows) noexcept {
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * kWidth;
    std::memcpy(to + at, from + at, kWidth);  // of a constant size: a load and a store
  }
}

template <std::size_t kWidth>
void copy_listed(std::byte* to, const std::byte* from, const std::int32_t* list, std::int64_t rows) noexcept {
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * kWidth, from + static_cast<std::size_t>(list[i]) * kWidth, kWidth);
  }
}

}  // namespace layers

// Copies `rows` items of one width.
inline void copy_items(std::byte* to, const std::byte* from, std::int64_t rows, std::size_t width) noexcept {
  if (rows < kFewRows) {
    switch (width) {
      case 1: return layers::copy_few<1>(to, from, rows);
      case 2: return layers::copy_few<2>(to, from, rows);
      case 4: return layers::copy_few<4>(to, from, rows);
      case 8: return layers::copy_few<8>(to, from, rows);
      case 16: return layers::copy_few<16>(to, from, rows);
      default: break;
    }
  }
  std::memcpy(to, from, static_cast<std::size_t>(rows) * width);
}

// Copies the items that are listed, in the order of the list.
inline void copy_items(std::byte* to, const std::byte* from, const std::int32_t* list, std::int64_t rows,
                       std::size_t width) noexcept {
  switch (width) {
    case 1: return layers::copy_listed<1>(to, from, list, rows);
    case 2: return layers::copy_listed<2>(to, from, list, rows);
    case 4: return layers::copy_listed<4>(to, from, list, rows);
    case 8: return layers::copy_listed<8>(to, from, list, rows);
    case 16: return layers::copy_listed<16>(to, from, list, rows);
    default: break;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * width, from + static_cast<std::size_t>(list[i]) * width, width);
  }
}

}  // namespace lab
