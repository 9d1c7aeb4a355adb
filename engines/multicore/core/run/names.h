// Names, index_of: options with named values. Python reads the lists of names.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lab {

template <std::size_t N>
using Names = std::array<std::string_view, N>;

// Returns the index of `name` in `names`. If there is none, throws std::invalid_argument, which names the `option`.
template <std::size_t N>
std::size_t index_of(std::string_view option, const Names<N>& names, std::string_view name) {
  const auto match = std::find(names.begin(), names.end(), name);
  if (match != names.end()) return static_cast<std::size_t>(match - names.begin());
  std::string list;
  for (const std::string_view known_name : names) list += (list.empty() ? "" : ", ") + std::string(known_name);
  throw std::invalid_argument(std::string(option) + " must be one of " + list + ", not " + std::string(name));
}

}  // namespace lab
