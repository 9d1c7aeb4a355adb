// Tests the laws of every form of the ordered log, step by step in one thread.
#include "log/tuple_buffer.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "check.h"

#include "log/tests/forms.h"

namespace {

using lab::LogRun;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

struct Row {
  std::int64_t ts;
  std::int32_t source;
  std::int64_t row;
  auto operator<=>(const Row&) const = default;
};

// A log of form `form` with growing columns, and readers whose rows and entries are collected.
struct Rig {
  explicit Rig(const std::string& form_name, const lab::LogOptions& options = {})
      : form(form_name), log(lab::test::make_form(form_name, options)) {}

  // A source's column is a ring large enough for the whole test.
  int source(std::int64_t from_ts, std::size_t size = 1 << 14) {
    columns.emplace_back(size);
    rows.emplace_back(size);
    const int index = log->add_source(
        {.ts = columns.back().data(), .mask = size - 1, .kind = 0, .columns = {rows.back().data()}}, from_ts);
    const auto i = static_cast<std::size_t>(index);
    if (owners.size() <= i) owners.resize(i + 1);
    owners[i] = columns.size() - 1;
    if (ends.size() <= i) ends.resize(i + 1);
    ends[i] = 0;
    return index;
  }

  void add(int source_index, std::initializer_list<std::int64_t> ts, std::int64_t frontier = kLowest) {
    const auto i = static_cast<std::size_t>(source_index);
    auto& column = columns[owners[i]];
    std::int64_t last = frontier;
    for (const std::int64_t t : ts) {
      column[static_cast<std::size_t>(ends[i]) % column.size()] = t;
      rows[owners[i]][static_cast<std::size_t>(ends[i]) % column.size()] = ends[i];
      ++ends[i];
      last = std::max(last, t);
    }
    log->publish(source_index, ends[i], last);
  }

  // Reads all available rows, and adds other entries to `entries`.
  std::vector<Row> drain(int reader) {
    std::vector<Row> result;
    for (;;) {
      log->advance();
      const auto runs = log->read(reader);
      if (runs.empty()) {
        if (!log->advance() && log->read(reader).empty()) return result;
        continue;
      }
      const auto add_row = [&](std::int32_t source, std::int64_t row) {
        const lab::LogColumns& from = log->columns(source);
        const auto index = static_cast<std::uint64_t>(row) & from.mask;
        result.push_back({from.ts[index], source, static_cast<const std::int64_t*>(from.columns[0])[index]});
      };
      lab::test::each_row(*log, reader, runs, add_row, [&](const LogRun& run) { entries.push_back(run); });
      log->release(reader, runs.size());
    }
  }

  std::string form;
  std::unique_ptr<lab::TupleBuffer> log;
  std::deque<std::vector<std::int64_t>> columns;
  std::deque<std::vector<std::int64_t>> rows;
  std::vector<std::size_t> owners;
  std::vector<std::int64_t> ends;
  std::vector<LogRun> entries;
};

void ties_are_broken_by_source_and_row(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  for (int s = 0; s < 3; ++s) CHECK_EQ(rig.source(0), s);
  rig.add(2, {5, 5});
  rig.add(1, {5, 5});
  CHECK(rig.drain(reader).empty());
  rig.add(0, {5});
  // Source 0 may still add rows at 5, so those of the others must wait.
  CHECK((rig.drain(reader) == std::vector<Row>{{5, 0, 0}}));
  rig.add(0, {}, 6);
  CHECK((rig.drain(reader) == std::vector<Row>{{5, 1, 0}, {5, 1, 1}}));
  rig.log->close(1);
  CHECK((rig.drain(reader) == std::vector<Row>{{5, 2, 0}, {5, 2, 1}}));
  rig.log->close(0);
  rig.log->close(2);
  CHECK(rig.drain(reader).empty());
  CHECK(rig.log->ended(reader));
}

// Random rows, promises and ends. After each, the reader must have exactly the rows that are ready by definition.
void ready_rows_are_those_of_the_definition(const std::string& form, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  lab::LogOptions options;
  options.entries = 1 << (1 + below(10));
  options.watermarks = below(2) == 0;
  Rig rig(form, options);
  const int reader = rig.log->add_reader();
  const int count = seed % 3 == 0 ? 2 : 1 + below(9);  // two sources have their own merge
  struct State {
    std::int64_t frontier;
    bool open = true;
    std::deque<Row> waiting;
  };
  std::vector<State> states;
  const std::int64_t start = below(3) - 1;
  for (int s = 0; s < count; ++s) {
    CHECK_EQ(rig.source(start), s);
    states.push_back({start, true, {}});
  }
  for (int step = 0; step < 400; ++step) {
    const int s = below(count);
    State& state = states[static_cast<std::size_t>(s)];
    if (!state.open) continue;
    if (below(150) == 0) {
      rig.log->close(s);
      state.open = false;
    } else {
      const int n = below(3) == 0 ? below(30) : below(3);
      const int spread = below(5) == 0 ? 1 : 4;
      for (int i = 0; i < n; ++i) {
        state.frontier += below(spread);
        state.waiting.push_back({state.frontier, s, rig.ends[static_cast<std::size_t>(s)]});
        auto& column = rig.columns[static_cast<std::size_t>(s)];
        auto& rows = rig.rows[static_cast<std::size_t>(s)];
        const auto row = static_cast<std::size_t>(rig.ends[static_cast<std::size_t>(s)]++);
        column[row] = state.frontier;
        rows[row] = static_cast<std::int64_t>(row);
      }
      if (below(4) == 0) state.frontier += below(8);
      rig.log->publish(s, rig.ends[static_cast<std::size_t>(s)], state.frontier);
    }
    std::vector<Row> expected;
    for (;;) {
      const Row* lowest = nullptr;
      for (const State& each : states) {
        if (each.waiting.empty() || (lowest != nullptr && !(each.waiting.front() < *lowest))) continue;
        lowest = &each.waiting.front();
      }
      if (lowest == nullptr) break;
      bool ready = true;
      for (int q = 0; q < count; ++q) {
        const State& other = states[static_cast<std::size_t>(q)];
        if (q == lowest->source || !other.waiting.empty() || !other.open) continue;
        ready = ready && (q < lowest->source ? other.frontier > lowest->ts : other.frontier >= lowest->ts);
      }
      if (!ready) break;
      expected.push_back(*lowest);
      states[static_cast<std::size_t>(expected.back().source)].waiting.pop_front();
    }
    const std::vector<Row> seen = rig.drain(reader);
    CHECK_EQ(seen.size(), expected.size());
    CHECK(seen == expected);
  }
  for (const LogRun& entry : rig.entries) {
    CHECK_EQ(entry.source, lab::kWatermarkEntry);
    CHECK(options.watermarks);
  }
}

void promises_of_silent_sources_arrive_as_watermarks(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  rig.source(0);
  rig.source(0);
  rig.add(0, {1, 2, 3});
  rig.add(1, {}, 10);
  CHECK_EQ(rig.drain(reader).size(), 3U);
  rig.entries.clear();  // the skip list has one at the sources' start
  rig.add(0, {}, 7);
  CHECK(rig.drain(reader).empty());
  CHECK_EQ(rig.entries.size(), 1U);
  CHECK_EQ(rig.entries[0].source, lab::kWatermarkEntry);
  CHECK_EQ(rig.entries[0].end, 7);
}

void control_entries_do_not_wait_for_sources(const std::string& form) {
  Rig rig(form);
  const int first = rig.log->add_reader();
  const int second = rig.log->add_reader();
  rig.source(0);
  rig.source(0);
  CHECK(rig.log->control(7));  // before any row
  rig.add(0, {4, 5});
  rig.add(1, {}, 4);
  CHECK_EQ(rig.drain(first).size(), 1U);  // (4, 0)
  CHECK(rig.log->control(8));
  CHECK(rig.log->control(9));
  CHECK(rig.drain(first).empty());  // no row is ready, but the entries come
  rig.add(1, {}, 9);
  CHECK_EQ(rig.drain(first).size(), 1U);
  rig.log->close(0);
  rig.log->close(1);
  CHECK(rig.log->control(10));
  CHECK(rig.drain(first).empty());
  std::vector<std::int64_t> ids;
  for (const LogRun& entry : rig.entries) {
    if (entry.source == lab::kControlEntry) ids.push_back(entry.begin);
  }
  CHECK((ids == std::vector<std::int64_t>{7, 8, 9, 10}));
  const std::vector<LogRun> seen = rig.entries;
  CHECK(rig.log->ended(first));
  CHECK(!rig.log->control(11));
  CHECK(!rig.log->ended(second));
  rig.entries.clear();
  CHECK_EQ(rig.drain(second).size(), 2U);
  CHECK(rig.log->ended(second));
  CHECK_EQ(rig.entries.size(), seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK_EQ(rig.entries[i].begin, seen[i].begin);
    CHECK_EQ(rig.entries[i].end, seen[i].end);
  }
  CHECK_THROWS(rig.log->add_source(rig.columns[0].data(), 15, 100), std::exception);
}

void slowest_reader_bounds_what_may_be_published(const std::string& form) {
  lab::LogOptions options;
  options.entries = 4;
  options.rows_in_flight = 8;
  Rig rig(form, options);
  const int fast = rig.log->add_reader();
  const int slow = rig.log->add_reader();
  rig.source(0);
  rig.source(0);  // silent
  CHECK_EQ(rig.log->room(0), 8);
  rig.add(0, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK_EQ(rig.log->room(0), 0);
  CHECK(rig.drain(fast).empty());
  rig.add(1, {}, 100);  // always allowed
  CHECK_EQ(rig.drain(fast).size(), 8U);
  CHECK_EQ(rig.log->room(0), 0);
  CHECK_EQ(rig.log->consumed(0), 0);
  CHECK_EQ(rig.drain(slow).size(), 8U);
  CHECK_EQ(rig.log->room(0), 8);
  CHECK_EQ(rig.log->consumed(0), 8);
}

void small_ring_of_entries_stops_the_merge_and_nothing_else(const std::string& form) {
  lab::LogOptions options;
  options.entries = 4;
  Rig rig(form, options);
  const int fast = rig.log->add_reader();
  const int slow = rig.log->add_reader();
  rig.source(0);
  rig.source(0);
  std::size_t fast_seen = 0;
  for (std::int64_t t = 0; t < 100; ++t) {
    rig.add(0, {2 * t});
    rig.add(1, {2 * t + 1});
    fast_seen += rig.drain(fast).size();
  }
  std::size_t slow_seen = 0;
  for (int i = 0; i < 200; ++i) {
    slow_seen += rig.drain(slow).size();
    fast_seen += rig.drain(fast).size();
  }
  CHECK_EQ(slow_seen, 199U);  // the last row waits for source 0
  CHECK_EQ(fast_seen, 199U);
}

void sources_join_and_leave_at_a_timestamp(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  rig.source(0);
  rig.add(0, {1, 2, 3});
  CHECK_EQ(rig.drain(reader).size(), 3U);
  CHECK_THROWS(rig.source(2), std::logic_error);
  rig.columns.pop_back();
  rig.rows.pop_back();
  CHECK_EQ(rig.source(3), 1);
  rig.add(0, {3, 4}, 9);
  CHECK((rig.drain(reader) == std::vector<Row>{{3, 0, 3}}));  // the new source is silent since 3
  rig.add(1, {3, 8});
  CHECK((rig.drain(reader) == std::vector<Row>{{3, 1, 0}, {4, 0, 4}, {8, 1, 1}}));
  rig.log->close(0);
  rig.add(1, {10});
  CHECK((rig.drain(reader) == std::vector<Row>{{10, 1, 2}}));
  CHECK_EQ(rig.source(11), 0);  // the slot is free again, and its rows start at 0
  rig.add(1, {}, 20);
  rig.add(0, {11, 12});
  CHECK((rig.drain(reader) == std::vector<Row>{{11, 0, 0}, {12, 0, 1}}));
  // At the log's current timestamp, only a slot after that of the last row keeps the order.
  rig.log->close(0);
  rig.add(1, {20});
  CHECK_EQ(rig.drain(reader).size(), 1U);
  CHECK_EQ(rig.source(20), 2);
}

// Rows that a source published before it left come in their place; its next rows follow, and it delays later ones.
void a_source_that_has_left_joins_again(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  for (int s = 0; s < 3; ++s) CHECK_EQ(rig.source(0), s);
  CHECK_THROWS(rig.log->rejoin(1, 5), std::logic_error);  // it has not left
  rig.log->close(2);                                      // without a row
  rig.add(1, {2, 7});
  rig.log->close(1);
  rig.add(0, {1, 4});
  CHECK((rig.drain(reader) == std::vector<Row>{{1, 0, 0}, {2, 1, 0}, {4, 0, 1}}));  // 7 waits for source 0
  CHECK_THROWS(rig.log->rejoin(1, 3), std::logic_error);                            // the log is at 4 already
  rig.log->rejoin(1, 7);
  rig.add(0, {9}, 20);
  CHECK((rig.drain(reader) == std::vector<Row>{{7, 1, 1}}));  // more of 1 may come at 7 and before 9
  rig.log->rejoin(2, 9);
  rig.add(1, {7, 8, 12});
  CHECK((rig.drain(reader) == std::vector<Row>{{7, 1, 2}, {8, 1, 3}, {9, 0, 2}}));
  rig.log->add_reader_at(7, reader);  // has the number of earlier rows of each source
  rig.add(2, {12, 13});
  rig.log->close(1);
  rig.log->close(2);
  const std::vector<Row> rest{{12, 1, 4}, {12, 2, 0}, {13, 2, 1}};
  CHECK(rig.drain(reader) == rest);
  CHECK(rig.drain(7) == rest);
  CHECK_EQ(rig.log->consumed(1), 5);
  rig.log->rejoin(2, 20);
  rig.log->close(0);
  CHECK(!rig.log->ended(reader));
  rig.add(2, {20});
  CHECK((rig.drain(reader) == std::vector<Row>{{20, 2, 2}}));
  rig.log->close(2);
  CHECK(rig.drain(reader).empty());
  CHECK(rig.log->ended(reader));
  CHECK_THROWS(rig.log->rejoin(1, 30), std::logic_error);  // the log has ended
}

// Lower sources join at the timestamp of the last row: their rows come behind it and the control entry after it. With
// ScaleGate, they also come behind later rows of that timestamp, in order of the joins.
void a_source_joins_again_at_the_timestamp_of_the_log(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  const int late = rig.log->add_reader();  // reads everything at the end
  for (int s = 0; s < 4; ++s) CHECK_EQ(rig.source(0), s);
  rig.add(0, {3});
  rig.add(1, {4});
  for (int s = 0; s < 3; ++s) rig.log->close(s);
  rig.add(3, {5, 5});
  std::vector<Row> all = rig.drain(reader);
  CHECK((all == std::vector<Row>{{3, 0, 0}, {4, 1, 0}, {5, 3, 0}, {5, 3, 1}}));
  const auto check_next = [&](std::initializer_list<Row> rows) {
    CHECK(rig.drain(reader) == std::vector<Row>(rows));
    all.insert(all.end(), rows);
  };
  CHECK(rig.log->control(7));
  rig.log->advance();
  CHECK_THROWS(rig.log->rejoin(1, 4), std::logic_error);  // the log is at 5 already
  rig.log->rejoin(1, 5);
  rig.log->rejoin(0, 5);
  rig.add(0, {5});
  rig.add(3, {5, 6});
  const Row low{5, 0, 1}, high{5, 3, 2};
  const bool by_join = lab::test::is_skip_list(form);
  check_next({by_join ? high : low});  // more of 1 may come at 5
  rig.add(1, {5, 5});
  rig.add(0, {}, 6);
  check_next({{5, 1, 1}, {5, 1, 2}});
  rig.add(1, {}, 7);
  check_next({by_join ? low : high});
  rig.log->rejoin(2, 6);
  for (int s = 0; s < 4; ++s) rig.log->close(s);
  check_next({{6, 3, 3}});
  CHECK(rig.drain(late) == all);
  CHECK(rig.log->ended(reader) && rig.log->ended(late));
  const auto is_control = [](const LogRun& entry) { return entry.source == lab::kControlEntry; };
  CHECK_EQ(std::count_if(rig.entries.begin(), rig.entries.end(), is_control), 2);
}

// A source leaves behind a frontier and joins again below it. Its last watermark tuple then comes after newer ones.
void an_old_watermark_tuple_takes_back_no_acknowledgement() {
  lab::LogOptions options;
  options.rows_in_flight = 4;
  options.acknowledged_rows = 2;
  const auto log = lab::make_tuple_buffer("scalegate", options);
  const int reader = log->add_reader();
  const std::vector<std::int64_t> none(2), ts{50, 50, 50, 60, 60, 60, 60};
  const int other = log->add_source(none.data(), ~std::uint64_t{0}, 0);
  const int source = log->add_source(ts.data(), ~std::uint64_t{0}, 0);
  const auto drain = [&] {
    for (std::span<const LogRun> runs = log->read(reader); !runs.empty(); runs = log->read(reader)) {
      log->release(reader, runs.size());
    }
  };
  log->publish(other, 0, 60);
  log->publish(source, 3, 100);
  log->close(source);
  drain();
  log->rejoin(source, 60);
  log->publish(source, 7, 61);
  log->publish(other, 0, 200);
  log->publish(source, 7, 200);
  drain();
  CHECK_EQ(log->consumed(source), 7);
}

void readers_start_at_the_position_of_others(const std::string& form) {
  lab::LogOptions options;
  options.entries = 64;
  options.watermarks = false;
  Rig rig(form, options);
  const int first = rig.log->add_reader();
  rig.source(0);
  rig.source(0);
  for (std::int64_t t = 0; t < 40; ++t) {
    rig.add(static_cast<int>(t % 2), {t});
    if (t % 4 == 3) rig.log->advance();
  }
  CHECK(rig.log->read(first).size() >= 3);
  rig.log->release(first, 2);
  rig.log->add_reader_at(5, first);
  CHECK_THROWS(rig.log->add_reader_at(5, first), std::invalid_argument);
  CHECK_THROWS(rig.log->add_reader_at(6, 9), std::invalid_argument);
  const std::vector<Row> rest = rig.drain(first);
  if (form == "order") CHECK_EQ(rest.front().ts, 2);
  for (std::int64_t t = 40; t < 60; ++t) rig.add(static_cast<int>(t % 2), {t});
  rig.drain(first);
  CHECK(rig.log->consumed(0) < 30);  // the new reader still needs the rows
  std::vector<Row> other = rig.drain(5);
  CHECK(std::equal(rest.begin(), rest.end(), other.begin()));
  rig.log->remove_reader(5);
  for (std::int64_t t = 60; t < 300; ++t) {
    rig.add(static_cast<int>(t % 2), {t});
    rig.drain(first);
  }
  CHECK_EQ(rig.log->consumed(0), 150);
}

void timestamps_may_be_anywhere_below_the_end_of_time(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  constexpr std::int64_t kLast = lab::kEndOfTime - 1;
  rig.source(kLowest);
  rig.source(kLowest);
  rig.source(kLowest);
  rig.add(0, {kLowest, -1, 0, std::int64_t{1} << 60, kLast});
  rig.add(1, {kLowest, kLowest + 1, std::int64_t{1} << 59, kLast, kLast});
  rig.add(2, {kLast});
  for (int s = 0; s < 3; ++s) rig.log->close(s);
  CHECK((rig.drain(reader) == std::vector<Row>{{kLowest, 0, 0},
                                               {kLowest, 1, 0},
                                               {kLowest + 1, 1, 1},
                                               {-1, 0, 1},
                                               {0, 0, 2},
                                               {std::int64_t{1} << 59, 1, 2},
                                               {std::int64_t{1} << 60, 0, 3},
                                               {kLast, 0, 4},
                                               {kLast, 1, 3},
                                               {kLast, 1, 4},
                                               {kLast, 2, 0}}));
  CHECK(rig.log->ended(reader));
}

// Their rows alternate, or have the same time.
void as_many_sources_as_permitted_are_merged(const std::string& form) {
  Rig rig(form);
  const int reader = rig.log->add_reader();
  std::vector<Row> expected;
  for (int s = 0; s < lab::kMaxLogSources; ++s) CHECK_EQ(rig.source(0, 4), s);
  for (std::int64_t r = 0; r < 3; ++r) {
    for (int s = 0; s < lab::kMaxLogSources; ++s) {
      const std::int64_t ts = r == 1 ? 1000 : 1000 * r + s;
      rig.add(s, {ts});
      expected.push_back({ts, s, r});
    }
  }
  for (int s = 0; s < lab::kMaxLogSources; ++s) rig.log->close(s);
  CHECK(rig.drain(reader) == expected);
  CHECK(rig.log->ended(reader));
}

void wrong_use_is_refused(const std::string& form) {
  lab::LogOptions options;
  options.rows_in_flight = 0;
  CHECK_THROWS(lab::test::make_form(form, options), std::invalid_argument);
  options = {};
  options.readers = 2;
  Rig few(form, options);
  for (int r = 0; r < 2; ++r) CHECK_EQ(few.log->add_reader(), r);
  CHECK_THROWS(few.log->add_reader(), std::length_error);
  CHECK_THROWS(few.log->add_reader_at(2, 0), std::invalid_argument);
  for (const int readers : {0, lab::kMaxLogReaders + 1}) {
    options.readers = readers;
    CHECK_THROWS(lab::test::make_form(form, options), std::invalid_argument);
  }
  Rig rig(form);
  const std::vector<std::int64_t> ts(4);
  CHECK_THROWS(rig.log->add_source(nullptr, 3, 0), std::invalid_argument);
  CHECK_THROWS(rig.log->add_source(ts.data(), 2, 0), std::invalid_argument);
  for (int s = 0; s < lab::kMaxLogSources; ++s) CHECK_EQ(rig.source(0, 2), s);
  CHECK_THROWS(rig.source(0, 2), std::length_error);
  for (int r = 0; r < lab::kMaxLogReaders; ++r) CHECK_EQ(rig.log->add_reader(), r);
  CHECK_THROWS(rig.log->add_reader(), std::length_error);
}

// The lengths of the runs and interleaved entries that a reader gets from two alternating sources.
std::vector<std::pair<bool, std::int64_t>> entries_of_turns(std::int64_t turn, std::int64_t rows) {
  Rig rig("interleaved");
  const int reader = rig.log->add_reader();
  for (int s = 0; s < 2; ++s) CHECK_EQ(rig.source(0), s);
  for (int s = 0; s < 2; ++s) {
    for (std::int64_t r = 0; r < rows; ++r) rig.add(s, {r / turn * 2 * turn + s * turn + r % turn});
  }
  for (int s = 0; s < 2; ++s) rig.log->close(s);
  std::vector<std::pair<bool, std::int64_t>> result;
  while (rig.log->advance() || !rig.log->read(reader).empty()) {
    const auto runs = rig.log->read(reader);
    for (const LogRun& run : runs) result.emplace_back(run.source == lab::kInterleavedEntry, run.end - run.begin);
    rig.log->release(reader, runs.size());
  }
  return result;
}

void short_runs_are_interleaved() {
  constexpr std::int64_t kRows = 8192;
  const auto by_one = entries_of_turns(1, kRows);
  CHECK(by_one.size() < 100);
  std::int64_t interleaved_rows = 0;
  for (const auto& [interleaved, rows] : by_one) interleaved_rows += interleaved ? rows : 0;
  CHECK(interleaved_rows > 2 * kRows - 200);  // all but those before the switch to interleaving
  for (const auto& [interleaved, rows] : entries_of_turns(64, kRows)) CHECK(!interleaved && rows % 64 == 0);
}

}  // namespace

int main() {
  an_old_watermark_tuple_takes_back_no_acknowledgement();
  CHECK_THROWS(lab::make_tuple_buffer("heap", {}), std::invalid_argument);
  short_runs_are_interleaved();
  for (const std::string& form : lab::test::kForms) {
    ties_are_broken_by_source_and_row(form);
    const auto seeds = static_cast<unsigned>(lab::test::stress_rounds(60));
    for (unsigned seed = 0; seed < seeds; ++seed) ready_rows_are_those_of_the_definition(form, seed);
    promises_of_silent_sources_arrive_as_watermarks(form);
    control_entries_do_not_wait_for_sources(form);
    slowest_reader_bounds_what_may_be_published(form);
    if (!lab::test::is_skip_list(form)) small_ring_of_entries_stops_the_merge_and_nothing_else(form);
    sources_join_and_leave_at_a_timestamp(form);
    a_source_that_has_left_joins_again(form);
    a_source_joins_again_at_the_timestamp_of_the_log(form);
    readers_start_at_the_position_of_others(form);
    timestamps_may_be_anywhere_below_the_end_of_time(form);
    as_many_sources_as_permitted_are_merged(form);
    wrong_use_is_refused(form);
  }
  return 0;
}
