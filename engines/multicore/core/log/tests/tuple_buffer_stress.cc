// Stress test of every form of the ordered log. Each reader sees every row once, in the total order, with control
// entries at the same place, for any batches, ties, silences and ring sizes. Idle threads sleep, so a lost wake-up
// hangs the test. The same is then tested while sources and readers come and go.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "check.h"

#include "log/tests/forms.h"
#include "log/tuple_buffer.h"
#include "run/parker.h"
#include "run/recorder.h"
#include "run/threads.h"

namespace {

using lab::LogRun;

constexpr std::int32_t kControl = -1;

struct Seen {
  std::int64_t ts;
  std::int32_t source;
  std::int64_t row;
  auto operator<=>(const Seen&) const = default;
};

// A column as a ring, into which a source writes the timestamps as it publishes. So the test detects timestamps that
// are overwritten too early.
struct Feed {
  std::vector<std::int64_t> ts;  // all rows
  std::vector<std::int64_t> ring;
  std::vector<std::int64_t> rows;  // payload: the row
};

struct Case {
  std::string form;
  int sources;
  int readers;
  std::int64_t batch;
  lab::LogOptions options;
};

Feed make_feed(std::mt19937_64& random, std::int64_t count, std::int64_t start, std::size_t ring) {
  Feed feed;
  std::int64_t t = start;
  const std::uint64_t shape = random() % 3;
  for (std::int64_t i = 0; i < count; ++i) {
    if (shape == 0)
      t += static_cast<std::int64_t>(random() % 3);  // many ties
    else if (shape == 1)
      t += 2;  // rows alternate
    else if (random() % 64 == 0)
      t += static_cast<std::int64_t>(random() % 300);  // bursts
    feed.ts.push_back(t);
  }
  feed.ring.resize(ring);
  feed.rows.resize(ring);
  return feed;
}

class Run {
 public:
  explicit Run(const Case& test_case)
      : log_(lab::test::make_form(test_case.form, test_case.options)), parkers_(kSlots), source_parkers_(kSlots) {}

  lab::TupleBuffer& log() { return *log_; }

  int add(Feed& feed, std::int64_t from_ts) {
    return log_->add_source(
        {.ts = feed.ring.data(), .mask = feed.ring.size() - 1, .kind = 0, .columns = {feed.rows.data()}}, from_ts);
  }

  void notify_readers() {
    for (lab::Parker& parker : parkers_) parker.notify();
  }
  void notify_sources() {
    for (lab::Parker& parker : source_parkers_) parker.notify();
  }

  // Merges the ready rows, unless another thread is merging.
  void push() {
    while (log_->advance()) notify_readers();
  }

  // Publishes rows [begin, end) of a feed in batches. If `merges`, the source itself merges.
  void feed(int source, Feed& feed, std::int64_t begin, std::int64_t end, std::int64_t batch, bool merges,
            std::mt19937_64& random) {
    std::int64_t next = begin;
    const auto publish = [&](bool) {
      const std::int64_t room = log_->room(source);
      if (room == 0) return false;
      for (const std::int64_t stop = next + std::min({room, batch, end - next}); next < stop; ++next) {
        const std::size_t slot = static_cast<std::size_t>(next) % feed.ring.size();
        feed.ring[slot] = feed.ts[static_cast<std::size_t>(next)];
        feed.rows[slot] = next;
        if (random() % 8 == 0) log_->publish(source, next + 1, feed.ring[slot], true);
      }
      const std::int64_t last = feed.ts[static_cast<std::size_t>(next) - 1];
      const std::int64_t following = next < std::ssize(feed.ts) ? feed.ts[static_cast<std::size_t>(next)] : last;
      log_->publish(source, next, random() % 4 == 0 ? following : last);
      announce(merges, random);
      return true;
    };
    lab::Counters counts;
    lab::take_turns(
        lab::Backoff(0, 2), counts, publish, [&] { return next == end; }, [] { return false; },
        [&]() -> lab::Parker& { return source_parkers_[static_cast<std::size_t>(source)]; });
  }

  void close(int source) {
    log_->close(source);
    push();
    notify_readers();
  }

  void announce(bool merges, std::mt19937_64& random) {
    if (merges) {
      push();
    } else {
      // An active reader must merge, no matter which.
      notify_readers();
    }
    if (random() % 16 == 0) std::this_thread::yield();
  }

  // Reads to the end, or until `stop` returns true after some entries. Records rows and control entries.
  void read(int reader, std::vector<Seen>& seen, const std::function<bool()>& stop, std::mt19937_64& random) {
    bool stopped = false;
    const auto take = [&](bool) {
      const std::span<const LogRun> runs = log_->read(reader);
      if (runs.empty()) {
        const bool merged = log_->advance();
        if (merged) notify_readers();
        return merged;
      }
      const std::size_t count = random() % 3 == 0 ? 1 + random() % runs.size() : runs.size();
      record(reader, runs.first(count), seen);
      log_->release(reader, count);
      notify_sources();
      stopped = stop && stop();
      return true;
    };
    lab::Counters counts;
    lab::take_turns(
        lab::Backoff(0, 2), counts, take, [&] { return stopped; }, [&] { return log_->ended(reader); },
        [&]() -> lab::Parker& { return parkers_[static_cast<std::size_t>(reader)]; });
    if (!stopped) notify_readers();
  }

 private:
  void record(int reader, std::span<const LogRun> runs, std::vector<Seen>& seen) {
    const auto add_row = [&](std::int32_t source, std::int64_t r) {
      const lab::LogColumns& from = log_->columns(source);
      const auto slot = static_cast<std::uint64_t>(r) & from.mask;
      const std::int64_t row = static_cast<const std::int64_t*>(from.columns[0])[slot];
      CHECK_EQ(row, r);
      seen.push_back({from.ts[slot], source, row});
    };
    lab::test::each_row(*log_, reader, runs, add_row, [&](const LogRun& run) {
      if (run.source == lab::kControlEntry) seen.push_back({run.end, kControl, run.begin});
    });
  }

  std::unique_ptr<lab::TupleBuffer> log_;
  static constexpr std::size_t kSlots = 64;  // more than a test uses

  std::vector<lab::Parker> parkers_;
  std::vector<lab::Parker> source_parkers_;
};

std::vector<Seen> without_control(const std::vector<Seen>& seen) {
  std::vector<Seen> rows;
  std::copy_if(seen.begin(), seen.end(), std::back_inserter(rows), [](const Seen& s) { return s.source != kControl; });
  return rows;
}

void all_readers_see_all_rows_in_order(const Case& test_case, std::int64_t rows, std::uint64_t seed) {
  Run run(test_case);
  std::mt19937_64 random(seed);
  std::vector<Feed> feeds;
  std::vector<Seen> expected;
  for (int s = 0; s < test_case.sources; ++s) {
    // The last source may close early.
    const std::int64_t count = s > 0 && s + 1 == test_case.sources ? rows / 3 : rows;
    feeds.push_back(make_feed(random, count, -5, std::size_t{1} << (1 + random() % 10)));
    for (std::int64_t i = 0; i < count; ++i) expected.push_back({feeds.back().ts[static_cast<std::size_t>(i)], s, i});
  }
  std::sort(expected.begin(), expected.end());
  for (int r = 0; r < test_case.readers; ++r) CHECK_EQ(run.log().add_reader(), r);
  for (int s = 0; s < test_case.sources; ++s) CHECK_EQ(run.add(feeds[static_cast<std::size_t>(s)], -5), s);
  std::vector<std::vector<Seen>> seen(static_cast<std::size_t>(test_case.readers));
  std::vector<std::thread> threads;
  for (int r = 0; r < test_case.readers; ++r) {
    threads.emplace_back([&run, &seen, r, seed] {
      std::mt19937_64 its_random(seed + 1000 + static_cast<std::uint64_t>(r));
      run.read(r, seen[static_cast<std::size_t>(r)], {}, its_random);
    });
  }
  for (int s = 0; s < test_case.sources; ++s) {
    threads.emplace_back([&run, &feeds, &test_case, s, seed] {
      std::mt19937_64 its_random(seed + 2000 + static_cast<std::uint64_t>(s));
      Feed& feed = feeds[static_cast<std::size_t>(s)];
      const auto count = static_cast<std::int64_t>(feed.ts.size());
      const bool merges = its_random() % 2 == 0;
      const std::int64_t half = count / 2;
      run.feed(s, feed, 0, half, test_case.batch, merges, its_random);
      // The source is silent for a while. The others must neither lose rows nor run ahead of its promises.
      for (int i = 0; half < count && i < 5; ++i) {
        run.log().publish(s, half, feed.ts[static_cast<std::size_t>(half)]);
        run.announce(merges, its_random);
        std::this_thread::yield();
      }
      run.feed(s, feed, half, count, test_case.batch, merges, its_random);
      run.close(s);
    });
  }
  std::int64_t controls = 0;
  for (; controls < 20 && run.log().control(controls); ++controls) {
    run.push();
    run.notify_readers();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Seen>& trace : seen) {
    CHECK(trace == seen[0]);
    const std::vector<Seen> only_rows = without_control(trace);
    CHECK_EQ(only_rows.size(), expected.size());
    CHECK(only_rows == expected);
    CHECK_EQ(static_cast<std::int64_t>(trace.size() - only_rows.size()), controls);
  }
}

// Sources that start others midway, and readers that start from other readers and stop again.
void sources_and_readers_come_and_go(const Case& test_case, std::int64_t rows, std::uint64_t seed) {
  Run run(test_case);
  std::mutex mutex;  // guards the fields below
  std::deque<Feed> feeds;
  std::deque<std::vector<Seen>> traces;
  std::vector<std::thread> threads;
  std::int64_t published = 0;
  int more_sources = 40;
  int more_readers = 20;
  std::array<bool, static_cast<std::size_t>(lab::kMaxLogReaders)> taken{};

  // Publishes its feed. Sometimes starts another source from its current place.
  std::function<void(int, Feed*, std::uint64_t)> source_thread = [&](int index, Feed* feed, std::uint64_t its_seed) {
    std::mt19937_64 random(its_seed);
    const auto count = static_cast<std::int64_t>(feed->ts.size());
    for (std::int64_t next = 0; next < count;) {
      const std::int64_t stop = std::min<std::int64_t>(count, next + 1 + static_cast<std::int64_t>(random() % 200));
      run.feed(index, *feed, next, stop, test_case.batch, random() % 2 == 0, random);
      next = stop;
      const std::lock_guard lock(mutex);
      if (more_sources == 0 || random() % 4 != 0) continue;
      --more_sources;
      // No row of the new source is below the frontier of this one, which holds the log back meanwhile.
      const std::int64_t from = next < count ? feed->ts[static_cast<std::size_t>(next)] : feed->ts.back();
      feeds.push_back(make_feed(random, rows / 10 + 1, from + static_cast<std::int64_t>(random() % 3), 64));
      Feed* child = &feeds.back();
      published += static_cast<std::int64_t>(child->ts.size());
      const int slot = run.add(*child, from);
      threads.emplace_back(source_thread, slot, child, random());
    }
    run.close(index);
  };

  std::function<void(int, std::vector<Seen>*, std::uint64_t, bool)> reader_thread =
      [&](int index, std::vector<Seen>* trace, std::uint64_t its_seed, bool stays) {
        std::mt19937_64 random(its_seed);
        bool left = false;
        run.read(
            index, *trace,
            [&] {
              if (random() % 64 != 0) return false;
              const std::lock_guard lock(mutex);
              if (!stays && random() % 2 == 0) {
                run.log().remove_reader(index);
                taken[static_cast<std::size_t>(index)] = false;
                left = true;
                return true;
              }
              const auto free = std::find(taken.begin(), taken.begin() + 8, false);
              if (more_readers == 0 || free == taken.begin() + 8) return false;
              --more_readers;
              const auto slot = static_cast<int>(free - taken.begin());
              *free = true;
              run.log().add_reader_at(slot, index);
              run.notify_readers();
              traces.push_back(*trace);  // continues from here
              threads.emplace_back(reader_thread, slot, &traces.back(), random(), false);
              return false;
            },
            random);
        if (left) {
          run.notify_sources();
          run.push();
        }
      };

  {
    const std::lock_guard lock(mutex);
    std::mt19937_64 random(seed);
    for (int r = 0; r < test_case.readers; ++r) {
      CHECK_EQ(run.log().add_reader(), r);
      taken[static_cast<std::size_t>(r)] = true;
    }
    for (int s = 0; s < test_case.sources; ++s) {
      feeds.push_back(make_feed(random, rows, 0, 64));
      published += rows;
      CHECK_EQ(run.add(feeds.back(), 0), s);
    }
    for (int s = 0; s < test_case.sources; ++s) {
      threads.emplace_back(source_thread, s, &feeds[static_cast<std::size_t>(s)], random());
    }
    for (int r = 0; r < test_case.readers; ++r) {
      traces.emplace_back();
      threads.emplace_back(reader_thread, r, &traces.back(), random(), r == 0);
    }
  }
  for (std::int64_t id = 0; id < 10 && run.log().control(id); ++id) {
    run.push();
    run.notify_readers();
    std::this_thread::yield();
  }
  for (std::size_t joined = 0;; ++joined) {
    std::thread next;
    {
      const std::lock_guard lock(mutex);
      if (joined == threads.size()) break;
      next = std::move(threads[joined]);
    }
    next.join();
  }
  const std::vector<Seen>& whole = traces[0];  // its reader stayed
  const std::vector<Seen> only_rows = without_control(whole);
  CHECK_EQ(static_cast<std::int64_t>(only_rows.size()), published);
  std::vector<std::int64_t> next_row(static_cast<std::size_t>(lab::kMaxLogSources), 0);
  for (std::size_t i = 0; i < only_rows.size(); ++i) {
    const Seen& row = only_rows[i];
    std::int64_t& next = next_row[static_cast<std::size_t>(row.source)];
    CHECK(row.row == next || row.row == 0);  // 0: the slot's next owner
    next = row.row + 1;
    if (i == 0) continue;
    const Seen& before = only_rows[i - 1];
    CHECK(std::tie(before.ts, before.source) <= std::tie(row.ts, row.source));
  }
  for (const std::vector<Seen>& trace : traces) {
    CHECK(trace.size() <= whole.size());
    CHECK(std::equal(trace.begin(), trace.end(), whole.begin()));
  }
}

// Sources that leave and join again repeatedly, on behalf of one that stays and whose frontier is at that place. No row
// is lost, the rows of each stay in order, and all readers see one sequence. OrderLog sorts it by source at each time
// if the lowest source stays; if the highest stays, others join behind its rows of the same time. ScaleGate puts the
// rows at the time of their source's join behind all others of that time, in order of the joins. Returns how often a
// source that had left by itself joined again, which depends on the scheduler.
std::int64_t sources_leave_and_join_again(const Case& test_case, bool lowest_stays, std::int64_t rows,
                                          std::uint64_t seed) {
  Run run(test_case);
  std::mt19937_64 random(seed);
  const auto count = static_cast<std::size_t>(test_case.sources);
  const std::size_t staying = lowest_stays ? 0 : count - 1;
  std::vector<Feed> feeds(count);
  std::vector<std::thread> sources(count);
  std::vector<std::atomic<bool>> away(count);
  // By source and row: the number of the join at the time of the row, or 0.
  std::vector<std::vector<std::int64_t>> join_of(count);
  std::vector<std::vector<Seen>> traces(static_cast<std::size_t>(test_case.readers));
  std::vector<std::thread> readers;
  for (std::size_t s = 0; s < count; ++s) feeds[s] = make_feed(random, s == staying ? rows : 0, 0, 64);
  for (int r = 0; r < test_case.readers; ++r) CHECK_EQ(run.log().add_reader(), r);
  for (int s = 0; s < test_case.sources; ++s) CHECK_EQ(run.add(feeds[static_cast<std::size_t>(s)], 0), s);
  for (int s = 0; s < test_case.sources; ++s) {
    if (static_cast<std::size_t>(s) == staying) continue;
    run.log().close(s);
    away[static_cast<std::size_t>(s)].store(true, std::memory_order_relaxed);  // relaxed: threads start after it
  }
  for (int r = 0; r < test_case.readers; ++r) {
    readers.emplace_back([&run, &traces, r, seed] {
      std::mt19937_64 its_random(seed + static_cast<std::uint64_t>(r));
      run.read(r, traces[static_cast<std::size_t>(r)], [] { return false; }, its_random);
    });
  }
  join_of[staying].resize(static_cast<std::size_t>(rows));
  std::int64_t number = 0, joins = 0;
  for (std::int64_t next = 0; next < rows;) {
    const std::int64_t stop = std::min<std::int64_t>(rows, next + 1 + static_cast<std::int64_t>(random() % 100));
    run.feed(static_cast<int>(staying), feeds[staying], next, stop, test_case.batch, random() % 2 == 0, random);
    next = stop;
    if (next == rows) break;
    const std::int64_t from = feeds[staying].ts[static_cast<std::size_t>(next)];  // at or above its frontier
    for (std::size_t s = 0; s < count; ++s) {
      // acquire: pairs with the store when it has left; the staying source is never away
      if (!away[s].load(std::memory_order_acquire) || random() % 3 == 0) continue;
      if (sources[s].joinable()) sources[s].join();
      std::vector<std::int64_t>& ts = feeds[s].ts;
      const auto begin = static_cast<std::int64_t>(ts.size());
      const std::int64_t joined_ts = std::max(from, ts.empty() ? from : ts.back());
      run.log().rejoin(static_cast<int>(s), joined_ts);
      ++number;
      joins += begin != 0 ? 1 : 0;
      std::int64_t now = joined_ts;
      for (auto new_rows = random() % 60; new_rows > 0; --new_rows) {
        ts.push_back(now += static_cast<std::int64_t>(random() % 3));
        join_of[s].push_back(now == joined_ts ? number : 0);
      }
      away[s].store(false, std::memory_order_relaxed);  // relaxed: its thread starts after it
      sources[s] = std::thread([&run, &test_case, &feed = feeds[s], &gone = away[s], begin, s, its_seed = random()] {
        std::mt19937_64 its_random(its_seed);
        const auto end = static_cast<std::int64_t>(feed.ts.size());
        run.feed(static_cast<int>(s), feed, begin, end, test_case.batch, its_random() % 2 == 0, its_random);
        run.close(static_cast<int>(s));
        gone.store(true, std::memory_order_release);  // pairs with the load above
      });
    }
  }
  run.close(static_cast<int>(staying));
  for (std::thread& thread : sources) {
    if (thread.joinable()) thread.join();
  }
  for (std::thread& thread : readers) thread.join();
  std::size_t published = 0;
  for (const Feed& feed : feeds) published += feed.ts.size();
  const std::vector<Seen>& whole = traces[0];
  CHECK_EQ(whole.size(), published);
  if (lab::test::is_skip_list(test_case.form)) {
    CHECK(std::ranges::is_sorted(whole, {}, [&](const Seen& row) {
      const std::int64_t join = join_of[static_cast<std::size_t>(row.source)][static_cast<std::size_t>(row.row)];
      return std::tuple(row.ts, join, row.source, row.row);
    }));
  } else if (lowest_stays) {
    CHECK(std::is_sorted(whole.begin(), whole.end()));  // (timestamp, source, row)
  } else {
    CHECK(std::ranges::is_sorted(whole, {}, &Seen::ts));
  }
  std::vector<std::int64_t> next_row(count, 0);
  for (const Seen& row : whole) CHECK_EQ(row.row, next_row[static_cast<std::size_t>(row.source)]++);
  for (const std::vector<Seen>& trace : traces) CHECK(trace == whole);
  return joins;
}

}  // namespace

int main() {
  const int rounds = lab::test::stress_rounds(1);
  std::int64_t runs = 0;
  std::int64_t joins = 0;
  for (const std::string& form : lab::test::kForms) {
    for (const auto& [sources, readers] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 3}, {4, 4}, {8, 8}}) {
      for (const std::int64_t batch : {1, 64}) {
        for (int round = 0; round < rounds; ++round) {
          Case test_case{form, sources, readers, batch, {}};
          test_case.options.entries = round % 2 == 0 ? 16 : 4096;
          test_case.options.rows_in_flight = 512;
          const std::int64_t rows = lab::test::share_of(batch == 1 ? 6'000 : 20'000) / sources;
          // The same rows each time: eight repeats must give one trace.
          const int repeats = sources == 2 && readers == 2 ? 8 : 2;
          for (int i = 0; i < repeats; ++i) {
            all_readers_see_all_rows_in_order(test_case, rows, static_cast<std::uint64_t>(round));
          }
          if (sources > 1 && sources <= 4) {
            for (const bool lowest_stays : {true, false}) {
              joins += sources_leave_and_join_again(test_case, lowest_stays, lab::test::share_of(3'000),
                                                    static_cast<std::uint64_t>(round));
              ++runs;
            }
          }
          if (sources <= 4) {
            for (std::uint64_t i = 0; i < 3; ++i) {
              sources_and_readers_come_and_go(test_case, lab::test::share_of(3'000),
                                              100 * static_cast<std::uint64_t>(round) + i);
            }
          }
        }
      }
    }
  }
  // At least one join for each run, with further runs if necessary.
  while (joins < runs) joins += sources_leave_and_join_again({lab::test::kForms[0], 4, 2, 1, {}}, true, 3'000, 0);
  return 0;
}
