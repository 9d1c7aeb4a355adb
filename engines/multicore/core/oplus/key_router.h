// Algorithm 1 for the rows of a stream: which instances of a keyed operator are responsible for a key of each.
#pragma once
#include <cstdint>
#include <vector>

#include "oplus/instance.h"

namespace lab {

class KeyRouter {
 public:
  // Instances have a bit each.
  static constexpr std::int32_t kMostInstances = 63;

  KeyRouter();

  // Writes for rows [begin, end) of a stream, at least one, the bits of the instances that `owner` gives one of its
  // keys' buckets to; returns the first row that has none yet. Throws std::runtime_error when f_MK raised.
  std::int64_t route(const OperatorStream& stream, std::int64_t begin, std::int64_t end, const std::int32_t* owner,
                     std::uint64_t* masks);

 private:
  void grow(std::size_t wanted);

  std::vector<std::int64_t> keys_;  // scratch: what f_MK gives
  std::vector<std::int32_t> buckets_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace lab
