// The comparison loop of the hand-written band joins: which probes have a partner among the rows at hand.
//
// The predicate is the benchmark's (STRETCH, Operator 10): |x - a| <= band and |y - b| <= band. Rows that match are
// one in 200,000, so the loop only answers "any?" for four probes at a time, without a branch, as a plain loop that
// the compiler turns into vectors of the widest kind that the machine has; what it points at is looked at exactly.
//
// Law: the loop never misses a match, and may name a probe that has none: x - a is taken modulo 2^32, and the limits
// y -+ band are rounded outwards. `band_matches` decides.
#pragma once
#include <cmath>
#include <cstdint>

namespace lab {

// So that what lies 2^16 apart never matches (joins/indexed_join.h).
inline constexpr std::int32_t kWidestBand = 1 << 14;

// The two compared attributes of one side: (x, y) of the left, (a, b) of the right.
struct BandColumns {
  const std::int32_t* first = nullptr;
  const float* second = nullptr;
};

// Whether a pair matches; the difference of the second attributes in single precision, as compiled operators have it.
inline bool band_matches(const BandColumns& one, std::int64_t i, const BandColumns& other, std::int64_t j,
                         std::int32_t band) noexcept {
  const std::int64_t first = std::int64_t{one.first[i]} - other.first[j];
  return first <= band && -first <= band && std::fabs(one.second[i] - other.second[j]) <= static_cast<float>(band);
}

// What a probe looks for; made once, as it is compared with many tiles.
struct BandLimits {
  std::uint32_t from;  // first attribute: from .. from + 2 x band, modulo 2^32
  float low, high;     // second attribute
};

// The limits of a tuple (first, second); `band` is between 0 and kWidestBand.
BandLimits band_limits(std::int32_t first, float second, std::int32_t band) noexcept;

// Sets hit[i] for each of `count` probes: 0 when no row of `stored` in [first, last) matches it, else 1 when one may.
using BandMatch = void (*)(const BandLimits* probes, std::int64_t count, const BandColumns& stored, std::int64_t first,
                           std::int64_t last, std::int32_t band, std::uint8_t* hit);

// The widest that this machine runs, and how wide its vectors are in bits: rates of a join that compares all pairs
// double or halve with it. 128 is what the plain loop has on x86-64; 0 where it is not known.
struct ChosenMatch {
  BandMatch match;
  std::int32_t vector_bits;
};
ChosenMatch band_match() noexcept;

}  // namespace lab
