// The hand-written joins, compared with a loop over all pairs: ties, edges of the window and of the band, empty inputs,
// loads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "streams.h"

#include "joins/joins_run.h"

namespace {

using lab::JoinForm;
using lab::JoinKind;
using lab::JoinsOptions;
using lab::JoinsRun;
using Row = std::tuple<std::int64_t, std::int32_t, float, std::int32_t, float, double, int>;

struct Side : lab::test::Times {
  std::vector<std::int32_t> first;
  std::vector<float> second;
  std::vector<double> c;
  std::vector<std::int8_t> d;
};

struct Case {
  Side side[2];
  std::int64_t window;
  std::int32_t band;
};

Case random_case(std::mt19937& random, int max_rows) {
  Case input;
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  input.window = pick(4) == 0 ? 0 : pick(200);
  input.band = pick(3) == 0 ? pick(3) : 10;
  const int step = 1 + pick(3), spread = pick(2) == 0 ? 40 : 2000;
  for (Side& side : input.side) {
    const int rows = pick(5) == 0 ? pick(3) : pick(max_rows);
    std::int64_t now = -50 + pick(40);
    for (int i = 0; i < rows; ++i) {
      now += pick(3) == 0 ? pick(step + 1) : 0;
      if (pick(300) == 0) now += 150;
      side.ts.push_back(now);
      side.first.push_back(pick(spread) - spread / 2);
      side.second.push_back(static_cast<float>(pick(4 * spread) - 2 * spread) / 4);
      side.c.push_back(i);
      side.d.push_back(static_cast<std::int8_t>(pick(2)));
    }
  }
  return input;
}

bool is_in_window(const Case& input, std::size_t i, std::size_t j) {
  return std::llabs(input.side[0].ts[i] - input.side[1].ts[j]) <= input.window;
}

std::int64_t pairs_in_window(const Case& input) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < input.side[0].ts.size(); ++i) {
    for (std::size_t j = 0; j < input.side[1].ts.size(); ++j) count += is_in_window(input, i, j);
  }
  return count;
}

std::vector<Row> expected(const Case& input) {
  std::vector<std::tuple<std::int64_t, bool, std::size_t, std::size_t, Row>> matches;
  const auto& [left, right] = input.side;
  for (std::size_t i = 0; i < left.ts.size(); ++i) {
    for (std::size_t j = 0; j < right.ts.size(); ++j) {
      const std::int64_t x = left.first[i], a = right.first[j];
      if (!is_in_window(input, i, j) || std::llabs(x - a) > input.band) continue;
      if (!(std::fabs(left.second[i] - right.second[j]) <= static_cast<float>(input.band))) continue;
      const bool right_later = left.ts[i] <= right.ts[j];
      const std::int64_t ts = std::max(left.ts[i], right.ts[j]);
      matches.emplace_back(
          ts, right_later, right_later ? j : i, right_later ? i : j,
          Row{ts + 1, left.first[i], left.second[i], right.first[j], right.second[j], right.c[j], right.d[j]});
    }
  }
  std::sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a), std::get<3>(a)) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b), std::get<3>(b));
  });
  std::vector<Row> rows;
  for (const auto& match : matches) rows.push_back(std::get<4>(match));
  return rows;
}

struct Result {
  std::vector<Row> rows;
  std::int64_t pair_count, events, latencies, lags;
};

Result run(const Case& input, JoinsOptions options) {
  options.window = input.window;
  options.band = input.band;
  options.grid_steps = 50;  // sanitizers pay for every step
  JoinsRun join(options);
  for (const Side& side : input.side) {
    static const std::int64_t nothing = 0;
    lab::StreamView view;
    if (options.load) side.show_in(view);
    view.ts = side.ts;
    if (side.ts.empty()) view.ts = {&nothing, 0};  // a log needs an address of timestamps
    view.columns = {side.ts.data(), side.first.data(), side.second.data()};
    if (&side != &input.side[0]) view.columns.insert(view.columns.end(), {side.c.data(), side.d.data()});
    join.add_stream(std::move(view));
  }
  join.run();
  const auto n = static_cast<std::size_t>(join.rows());
  std::vector<std::int64_t> ts(n);
  std::vector<std::int32_t> x(n), a(n);
  std::vector<float> y(n), b(n);
  std::vector<double> c(n);
  std::vector<std::int8_t> d(n);
  std::vector<void*> columns{ts.data(), x.data(), y.data(), a.data(), b.data(), c.data(), d.data()};
  join.collect(columns);
  Result result{{}, join.pair_count(), join.events(), 0, 0};
  for (std::size_t i = 0; i < n; ++i) result.rows.emplace_back(ts[i], x[i], y[i], a[i], b[i], c[i], d[i]);
  result.latencies = lab::test::total_of(join.latency_counts()) + lab::test::total_of(join.warm_up_counts());
  result.lags = lab::test::total_of(join.lag_counts());
  return result;
}

void check_same(const Case& input, const JoinsOptions& options) {
  const std::vector<Row> expected_rows = expected(input);
  Result result = run(input, options);
  CHECK_EQ(result.events, std::ssize(input.side[0].ts) + std::ssize(input.side[1].ts));
  CHECK_EQ(result.rows.size(), expected_rows.size());
  if (options.kind == JoinKind::kIndexed) {
    CHECK(result.pair_count >= static_cast<std::int64_t>(expected_rows.size()));
  } else {
    CHECK_EQ(result.pair_count, pairs_in_window(input));
  }
  if (options.workers == 1) {
    CHECK(result.rows == expected_rows);  // in exactly this order
    return;
  }
  const auto by_time = [](const Row& a, const Row& b) { return std::get<0>(a) < std::get<0>(b); };
  CHECK(std::is_sorted(result.rows.begin(), result.rows.end(), by_time));
  std::vector<Row> sorted = expected_rows;
  std::sort(sorted.begin(), sorted.end());
  std::sort(result.rows.begin(), result.rows.end());
  CHECK(result.rows == sorted);
}

std::vector<JoinsOptions> all_kinds(std::int64_t batch) {
  std::vector<JoinsOptions> result;
  for (const JoinKind kind : {JoinKind::kAdHoc, JoinKind::kSingle, JoinKind::kIndexed}) {
    for (const std::int32_t threads : {1, 2, 5}) {
      if (threads > 1 && kind != JoinKind::kAdHoc) continue;
      auto options = lab::test::short_run<JoinsOptions>(threads, 2);
      options.kind = kind;
      options.batch = batch;
      options.ring_blocks = 4;
      result.push_back(options);
      if (kind == JoinKind::kIndexed) continue;
      options.form = JoinForm::kTuples;
      result.push_back(options);
      if (kind != JoinKind::kAdHoc) continue;
      options.tuple_buffer = "scalegate";
      result.push_back(options);
    }
  }
  return result;
}

void random_inputs_give_all_pairs_once_and_in_order() {
  std::mt19937 random(1);
  const int rounds = lab::test::stress_rounds(25);
  for (int round = 0; round < rounds; ++round) {
    const Case input = random_case(random, round % 5 == 0 ? 3000 : 400);
    for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}}) {
      for (const JoinsOptions& options : all_kinds(batch)) check_same(input, options);
    }
  }
}

void a_small_log_and_empty_streams_do_not_block() {
  std::mt19937 random(2);
  Case input = random_case(random, 2000);
  for (JoinsOptions options : all_kinds(1)) {
    options.log.entries = 8;
    options.log.rows_in_flight = 16;
    check_same(input, options);
    check_same(Case{{input.side[0], Side{}}, 10, 10}, options);
    check_same(Case{{Side{}, input.side[1]}, 10, 10}, options);
    check_same(Case{{Side{}, Side{}}, 10, 10}, options);
  }
}

void the_window_and_the_band_end_where_they_should() {
  const std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                     highest = std::numeric_limits<std::int32_t>::max();
  const float tiny = std::nextafter(10.0F, 11.0F), inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN(), far = std::ldexp(1.0F, 60);
  Case input;
  input.window = 5;
  input.band = 10;
  Side& left = input.side[0];
  Side& right = input.side[1];
  const auto both = [&](std::int64_t lt, std::int32_t x, float y, std::int64_t rt, std::int32_t a, float b) {
    left.ts.push_back(lt), left.first.push_back(x), left.second.push_back(y);
    right.ts.push_back(rt), right.first.push_back(a), right.second.push_back(b);
    right.c.push_back(0.5), right.d.push_back(1);
  };
  both(0, 0, 0, 5, 10, 10);               // match, with every value at its edge
  both(100, 0, 0, 106, 0, 0);             // too late
  both(205, 0, 0, 200, -10, -10);         // match, with the sides exchanged
  both(306, 0, 0, 300, 0, 0);             // too late
  both(400, 0, 0, 400, 11, 0);            // outside the band of x
  both(500, 0, 0, 500, 0, tiny);          // outside the band of y by the smallest difference
  both(600, lowest, 0, 600, highest, 0);  // adjacent modulo 2^32 only
  both(700, 0, inf, 700, 0, inf);         // the difference is not a number
  both(800, 0, nan, 800, 0, nan);
  both(900, 0, far, 900, 0, far);  // match
  both(1000, 0, -far, 1000, 0, far);
  both(1100, lowest, 0, 1100, lowest + 10, -10);  // match
  both(1200, -5, -5.5F, 1200, 5, 4.5F);           // match across zero
  CHECK_EQ(expected(input).size(), std::size_t{5});
  for (const JoinsOptions& options : all_kinds(3)) check_same(input, options);
}

void rounding_never_hides_a_match() {
  // Neighbouring floats around the band's edge, where y - b rounds to the band or just past it.
  std::mt19937 random(3);
  Case input;
  input.window = 1;
  input.band = 10;
  for (int i = 0; i < 400; ++i) {
    const float y = std::ldexp(static_cast<float>(random() % 100000), static_cast<int>(random() % 24) - 18);
    float b = random() % 2 == 0 ? y - 10 : y + 10;
    for (unsigned k = 0; k < random() % 3; ++k) b = std::nextafter(b, random() % 2 == 0 ? 1e30F : -1e30F);
    input.side[0].ts.push_back(3 * i), input.side[0].first.push_back(0), input.side[0].second.push_back(y);
    input.side[1].ts.push_back(3 * i), input.side[1].first.push_back(0), input.side[1].second.push_back(b);
    input.side[1].c.push_back(i), input.side[1].d.push_back(0);
  }
  CHECK(expected(input).size() > 100 && expected(input).size() < 400);
  for (const JoinsOptions& options : all_kinds(64)) check_same(input, options);
}

void under_a_load_every_tuple_is_handed_over_and_every_output_has_a_latency() {
  std::mt19937 random(4);
  for (int round = 0; round < 4; ++round) {
    Case input = random_case(random, 2500);
    std::int64_t last = 0;
    for (Side& side : input.side) {
      side.due.clear();
      for (const std::int64_t ts : side.ts) side.due.push_back((ts + 60) * 20'000);
      if (!side.due.empty()) last = std::max(last, side.due.back());
      // Time passes on both sides, though one is silent.
      for (std::int64_t ts = -40; (ts + 60) * 20'000 < last; ts += 10) {
        side.heartbeats.push_back(ts);
        side.heartbeat_due.push_back((ts + 61) * 20'000);
      }
    }
    for (JoinsOptions options : all_kinds(64)) {
      options.load = lab::LoadOptions{last / 4, last, round % 2 == 1};
      options.ring_blocks = 1024;
      check_same(input, options);
      const Result result = run(input, options);
      CHECK_EQ(result.latencies, static_cast<std::int64_t>(result.rows.size()));
      CHECK_EQ(result.lags, result.events);
    }
  }
}

void invalid_options_are_refused() {
  JoinsOptions options;
  options.kind = JoinKind::kSingle;
  options.workers = 2;
  CHECK_THROWS(JoinsRun{options}, std::invalid_argument);
  options.workers = 1;
  options.band = lab::kWidestBand + 1;
  CHECK_THROWS(JoinsRun{options}, std::invalid_argument);
  options.band = 1;
  options.window = -1;
  CHECK_THROWS(JoinsRun{options}, std::invalid_argument);
  options.window = 0;
  options.tuple_buffer = "queue";
  CHECK_THROWS(JoinsRun{options}, std::invalid_argument);
  options.tuple_buffer = "order";
  JoinsRun join(options);
  CHECK_THROWS(join.add_stream({}), std::invalid_argument);
  CHECK_THROWS(join.start(), std::logic_error);
}

}  // namespace

int main() {
  invalid_options_are_refused();
  the_window_and_the_band_end_where_they_should();
  rounding_never_hides_a_match();
  a_small_log_and_empty_streams_do_not_block();
  random_inputs_give_all_pairs_once_and_in_order();
  under_a_load_every_tuple_is_handed_over_and_every_output_has_a_latency();
  return 0;
}
