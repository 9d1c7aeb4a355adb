// Queries of several native operators for the tests: the operator of `behaviour`, then up to two links behind it.
//
// A link reads records (ts, key, value): a record has the keys `key` and `key + 1` modulo `modulus`, its value is added
// to both. f_O emits the sum, and f_U the value, so that the order of ties does not matter.
#pragma once
#include <limits>

#include "oplus/tests/operator_run_case.h"

namespace lab::test {

struct Link {
  WindowShape window{10, 10, false};
  std::int64_t buckets = 7;
  std::int64_t modulus = 5;
  bool emits_on_update = false;
  bool expires = true;
  bool slides = false;
  std::int64_t raises_at = std::numeric_limits<std::int64_t>::min();  // kernels fail at this key
};
constexpr int kMostLinks = 2;
inline std::array<Link, kMostLinks> links;  // as `behaviour`: set before threads start

inline std::int64_t key_of(const Link& link, std::int64_t key, std::int64_t n) {
  return ((key + n) % link.modulus + link.modulus) % link.modulus;
}

template <int kLink>
std::int64_t process_link(const InstanceView* view, std::int64_t begin, std::int64_t end, Emit* out) {
  const Link& link = links[kLink];
  KeySet& keys = *view->keys;
  for (std::int64_t i = begin; i < end; ++i) {
    const Place place = place_of(view, i);
    const auto ts = place.of<std::int64_t>(0);
    const auto key = place.of<std::int64_t>(1);
    const auto value = place.of<std::int64_t>(2);
    if (ts >= view->expire_at) return i + 1;
    if (key == link.raises_at) return 0;
    const std::int64_t first = link.window.earliest(ts);
    const std::int64_t last = link.window.single ? first : link.window.latest(ts);
    if (link.emits_on_update && out->capacity - out->count < 2) return i + 1;
    for (std::int64_t n = 0; n < 2; ++n) {
      const std::int64_t mine = key_of(link, key, n);
      const auto bucket = static_cast<std::int64_t>(mix_key(mine) % static_cast<std::uint64_t>(link.buckets));
      if (keys.owner[bucket] != keys.me) continue;
      void* found = view->find(view->instance, mine, bucket, first, view->stamp + i - begin);
      if (found == nullptr) continue;
      for (std::int64_t left = first; left <= last; left += link.window.advance) {
        windows_at<1>(found, link.window, left)->sum += value;
        if (link.emits_on_update) append(out, left + link.window.size, mine, value);
      }
    }
  }
  return end + 1;
}

template <int kLink>
std::int64_t expire_link(void* entries, std::int64_t begin, std::int64_t end, std::int64_t left, Emit* out) {
  struct Entry {
    std::int64_t stamp;
    Sums sums;
  };
  const Link& link = links[kLink];
  auto* all = static_cast<std::byte*>(entries);
  const std::int64_t stride = entry_bytes_of(link.window, 1);
  for (std::int64_t i = begin; i < end; ++i) {
    if (out->count == out->capacity) return i + 1;
    Sums& sums = reinterpret_cast<Entry*>(all + i * stride)->sums;
    CHECK_EQ(sums.left, left);
    if (link.expires) append(out, left + link.window.size, sums.key, sums.sum);
    if (!link.window.single) continue;
    if (link.slides) sums.sum /= 2;
    sums.left = left + link.window.advance;
  }
  return end + 1;
}

inline OperatorSpec spec_of(int index) {
  const Link& link = links[static_cast<std::size_t>(index)];
  OperatorSpec result;
  result.name = "link " + std::to_string(index);
  result.window = link.window;
  result.entry_bytes = entry_bytes_of(link.window, 1);
  result.buckets = static_cast<std::int32_t>(link.buckets);
  result.max_outputs = 2;  // one for each key
  result.emits_on_update = link.emits_on_update;
  if (link.expires || link.slides) result.expire = index == 0 ? &expire_link<0> : &expire_link<1>;
  return result;
}

// Puts the first `count` links behind the operator.
inline auto behind(int count) {
  return [count](OplusRun& runtime, std::int32_t instances) {
    for (int k = 0; k < count; ++k) {
      runtime.add_operator(spec_of(k), k == 0 ? &process_link<0> : &process_link<1>, {8, 8, 8});
      const std::int64_t buckets = links[static_cast<std::size_t>(k)].buckets;
      runtime.map(OperatorRunCase::owners(buckets, instances), static_cast<std::size_t>(k) + 1);
    }
  };
}

// A link's expected answer to records in order of time, sorted. `watermark`: in, the earlier operator's at the end;
// out, the link's own.
inline std::vector<Record> link_oracle(const Link& link, const std::vector<Record>& records,
                                       std::optional<std::int64_t>& watermark) {
  const WindowShape& window = link.window;
  std::vector<Record> out;
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> open;  // left, key, sum
  const auto close = [&](std::int64_t until) {
    while (!open.empty() && open.begin()->first + window.size <= until) {
      const auto [left, keys] = *open.begin();
      open.erase(open.begin());
      for (const auto& [key, sum] : keys) {
        if (link.expires) out.emplace_back(left + window.size, key, sum);
        const std::int64_t kept = link.slides ? sum / 2 : sum;
        if (window.single && kept != 0) open[left + window.advance][key] = kept;
      }
    }
  };
  for (const auto& [ts, key, value] : records) {
    close(ts);
    std::vector<std::int64_t> lefts;
    for (std::int64_t left = window.latest(ts); left + window.size > ts; left -= window.advance) lefts.push_back(left);
    if (window.single) lefts = {lefts.back()};
    for (const std::int64_t left : lefts) {
      for (std::int64_t n = 0; n < (link.modulus == 1 ? 1 : 2); ++n) {
        open[left][key_of(link, key, n)] += value;
        if (link.emits_on_update) out.emplace_back(left + window.size, key_of(link, key, n), value);
      }
    }
    watermark = std::max(watermark.value_or(ts), ts);
  }
  if (watermark) close(*watermark);
  std::sort(out.begin(), out.end());
  return out;
}

inline std::vector<Record> chain_oracle(const std::vector<Tuples>& streams, int count, bool join,
                                        std::optional<std::int64_t> end = {}) {
  std::vector<Record> records = join ? join_oracle(streams).records : keyed_oracle(streams, end);
  std::optional<std::int64_t> watermark;
  if (tuples_in(streams) != 0) watermark = end.value_or(total_order(streams).back().ts);
  for (int k = 0; k < count; ++k) records = link_oracle(links[static_cast<std::size_t>(k)], records, watermark);
  return records;
}

// Draws a random link; it emits in order of time.
inline Link random_link(std::mt19937& random) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  Link link;
  const std::int64_t advance = pick(1, 20);
  link.window = {advance, advance + pick(0, 1) * pick(0, 25), pick(0, 2) == 0};
  link.buckets = pick(1, 12);
  link.modulus = pick(1, 9);
  link.emits_on_update = (link.window.single || link.window.advance == link.window.size) && pick(0, 1) == 1;
  link.expires = !link.emits_on_update || pick(0, 1) == 1;
  link.slides = link.window.single && pick(0, 1) == 1;
  return link;
}

}  // namespace lab::test
