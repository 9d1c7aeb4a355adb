// BandMatch: the comparison loop of the hand-written band joins: finds the probes with a partner among some stored
// rows.
//
// The predicate is the benchmark's (STRETCH, Operator 10): |x - a| <= band and |y - b| <= band. One row in 200,000
// matches, so the loop only answers "any?" for four probes at a time, without a branch. It is a plain loop that the
// compiler turns into the machine's widest vectors; its hits are then tested exactly.
//
// Law: the loop never misses a match, and may name a probe without one: x - a is taken modulo 2^32, and the limits y -+
// band are rounded outwards. `band_matches` decides.
#pragma once
#include <cmath>
#include <cstdint>

namespace lab {

// Values 2^16 apart then never match (joins/indexed_join.h).
inline constexpr std::int32_t kWidestBand = 1 << 14;

// The two compared attributes of one side: (x, y) of the left, (a, b) of the right.
struct BandColumns {
  const std::int32_t* first = nullptr;
  const float* second = nullptr;
};

// Returns whether a pair matches; the difference of the second attributes is in single precision, as in compiled
// operators.
inline bool band_matches(const BandColumns& one, std::int64_t i, const BandColumns& other, std::int64_t j,
                         std::int32_t band) noexcept {
  const std::int64_t first = std::int64_t{one.first[i]} - other.first[j];
  return first <= band && -first <= band && std::fabs(one.second[i] - other.second[j]) <= static_cast<float>(band);
}

// The limits of a probe; computed once, as it is compared with many tiles.
struct BandLimits {
  std::uint32_t from;  // first attribute: from .. from + 2 x band, modulo 2^32
  float low, high;     // second attribute
};

// The limits of a tuple (first, second); `band` is between 0 and kWidestBand.
BandLimits band_limits(std::int32_t first, float second, std::int32_t band) noexcept;

// Sets hit[i] for each of `count` probes: 0 when no row of `stored` in [first, last) matches it, else 1 when one may.
using BandMatch = void (*)(const BandLimits* probes, std::int64_t count, const BandColumns& stored, std::int64_t first,
                           std::int64_t last, std::int32_t band, std::uint8_t* hit);

// The widest loop that this machine runs, and the bits of its vectors: rates of a join that compares all pairs double
// or halve with it. 128: the plain loop on x86-64; 0: unknown.
struct ChosenMatch {
  BandMatch match;
  std::int32_t vector_bits;
};
ChosenMatch band_match() noexcept;

}  // namespace lab
