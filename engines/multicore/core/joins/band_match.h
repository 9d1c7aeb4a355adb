// ProbeLoop: the comparison loop of the hand-written band joins. It finds the probes with a partner among some stored
// rows.
//
// The predicate is that of the benchmark (STRETCH, Operator 10): |x - a| <= band and |y - b| <= band. Only one row in
// 200,000 matches, so the loop only answers whether any row matches, for four probes at a time, without a branch. It is
// a plain loop that the compiler translates to the machine's widest vectors. The callers then test each hit exactly.
//
// Law: the loop never misses a match. It may report a probe without a match, since x - a is taken modulo 2^32 and the
// limits y -+ band are rounded outwards. `is_match` decides.
#pragma once
#include <cmath>
#include <cstdint>

namespace lab {

// Maximum band. With it, values that are 2^16 apart never match (joins/indexed_join.h).
inline constexpr std::int32_t kWidestBand = 1 << 14;

// The two compared attributes of one side: (x, y) of the left, (a, b) of the right.
struct BandColumns {
  const std::int32_t* first = nullptr;
  const float* second = nullptr;
};

// Returns whether row `i` of `left` and row `j` of `right` match. The difference of the second attributes is in single
// precision, as in compiled operators.
inline bool is_match(const BandColumns& left, std::int64_t i, const BandColumns& right, std::int64_t j,
                     std::int32_t band) noexcept {
  const std::int64_t first = std::int64_t{left.first[i]} - right.first[j];
  return first <= band && -first <= band && std::fabs(left.second[i] - right.second[j]) <= static_cast<float>(band);
}

// The limits of a probe, computed once because the probe is compared with many tiles.
struct BandLimits {
  std::uint32_t from;  // first attribute: from .. from + 2 x band, modulo 2^32
  float low, high;     // second attribute
};

// Returns the limits of a tuple (first, second); `band` is between 0 and kWidestBand.
BandLimits band_limits(std::int32_t first, float second, std::int32_t band) noexcept;

// Sets hit[i] for each of `count` probes: 0 if no row of `stored` in [first, last) matches, else 1 (a row may match).
using ProbeLoop = void (*)(const BandLimits* probes, std::int64_t count, const BandColumns& stored, std::int64_t first,
                           std::int64_t last, std::int32_t band, std::uint8_t* hit);

// The widest loop that this machine runs, and its vector width in bits. The rate of an all-pairs join is proportional
// to the width. The width is 128 for the plain loop on x86-64, and 0 if unknown.
struct ChosenLoop {
  ProbeLoop loop;
  std::int32_t vector_bits;
};
ChosenLoop choose_probe_loop() noexcept;

}  // namespace lab
