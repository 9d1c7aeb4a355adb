// Implements the probe loop for several instruction sets; see joins/band_match.h.
#include "joins/band_match.h"

#include <limits>

namespace lab {
namespace {

// Number of probes per pass. A pass loads each stored row once for four comparisons, and the limits and results of four
// probes still fit into registers.
constexpr int kProbes = 4;

template <int Count>
[[gnu::always_inline]] inline void match_some(const BandLimits* probes, const BandColumns& stored, std::int64_t first,
                                              std::int64_t last, std::int32_t band, std::uint8_t* hit) {
  const std::int32_t* __restrict a = stored.first;
  const float* __restrict b = stored.second;
  std::uint32_t from[Count];
  float low[Count], high[Count];
  std::uint32_t any[Count] = {};
  for (int k = 0; k < Count; ++k) {
    from[k] = probes[k].from;
    low[k] = probes[k].low;
    high[k] = probes[k].high;
  }
  const auto width = static_cast<std::uint32_t>(2 * band);
  for (std::int64_t j = first; j < last; ++j) {
    const auto value = static_cast<std::uint32_t>(a[j]);
    const float second = b[j];
    for (int k = 0; k < Count; ++k) {
      const bool is_hit = (value - from[k] <= width) & (second >= low[k]) & (second <= high[k]);
      any[k] |= static_cast<std::uint32_t>(is_hit);
    }
  }
  for (int k = 0; k < Count; ++k) hit[k] = any[k] != 0 ? 1 : 0;
}

[[gnu::always_inline]] inline void match_all(const BandLimits* probes, std::int64_t count, const BandColumns& stored,
                                             std::int64_t first, std::int64_t last, std::int32_t band,
                                             std::uint8_t* hit) {
  std::int64_t probe = 0;
  for (; probe + kProbes <= count; probe += kProbes)
    match_some<kProbes>(probes + probe, stored, first, last, band, hit + probe);
  for (; probe < count; ++probe) match_some<1>(probes + probe, stored, first, last, band, hit + probe);
}

void match_plain(const BandLimits* probes, std::int64_t count, const BandColumns& stored, std::int64_t first,
                 std::int64_t last, std::int32_t band, std::uint8_t* hit) {
  match_all(probes, count, stored, first, last, band, hit);
}

// One loop body, compiled for several instruction sets. An ifunc could choose among them, but programs with sanitizers
// do not start with ifuncs.
#if defined(__x86_64__)
[[gnu::target("avx2")]] void match_avx2(const BandLimits* probes, std::int64_t count, const BandColumns& stored,
                                        std::int64_t first, std::int64_t last, std::int32_t band, std::uint8_t* hit) {
  match_all(probes, count, stored, first, last, band, hit);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void match_avx512(
    const BandLimits* probes, std::int64_t count, const BandColumns& stored, std::int64_t first, std::int64_t last,
    std::int32_t band, std::uint8_t* hit) {
  match_all(probes, count, stored, first, last, band, hit);
}
#endif

}  // namespace

BandLimits band_limits(std::int32_t first, float second, std::int32_t band) noexcept {
  // Round outwards twice: once for the rounding of y - b, at the size of the band, and once for that of the limit.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float reach = std::nextafter(static_cast<float>(band), kInfinity);
  return {static_cast<std::uint32_t>(first) - static_cast<std::uint32_t>(band),
          std::nextafter(second - reach, -kInfinity), std::nextafter(second + reach, kInfinity)};
}

ChosenLoop choose_probe_loop() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return {&match_avx512, 512};
  }
  if (__builtin_cpu_supports("avx2")) return {&match_avx2, 256};
  return {&match_plain, 128};
#else
  return {&match_plain, 0};
#endif
}

}  // namespace lab
