// ordered_log_bench FORM SOURCES READERS BATCH TUPLES [RUN]: one threaded trial of an ordered log.
//
// FORM is order, interleaved or scalegate. Prints the tuples/s from the first publish until the last reader has every
// tuple. Also prints the CPU time of all threads per tuple in ns, which is more reliable on a shared machine.
// Timestamps are columns in memory. Sources alternate after every RUN rows (default 1). Readers merge, sum all
// timestamps and check the order. The program fails if a reader does not get every tuple once, in order.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

#include "log/tuple_buffer.h"
#include "run/clock.h"
#include "run/parker.h"
#include "run/recorder.h"
#include "run/threads.h"

namespace {

struct Trial {
  std::unique_ptr<lab::TupleBuffer> log;
  std::vector<std::vector<std::int64_t>> ts;
  std::vector<lab::Parker> sources;
  std::vector<lab::Parker> readers;
  std::int32_t spins = 0;
  std::atomic<bool> go{false};  // set once, after all threads have started
};

void notify_all(std::vector<lab::Parker>& parkers) {
  for (lab::Parker& parker : parkers) parker.notify();
}

void publish_all(Trial& trial, int source, std::int64_t batch) {
  while (!trial.go.load(std::memory_order_acquire)) std::this_thread::yield();  // pairs with the store in `run`
  const auto& ts = trial.ts[static_cast<std::size_t>(source)];
  const auto size = static_cast<std::int64_t>(ts.size());
  std::int64_t next = 0;
  const auto publish = [&](bool) {
    const std::int64_t room = trial.log->room(source);
    for (const std::int64_t stop = next + std::min(room, size - next); next < stop;) {
      next = std::min(stop, next + batch);
      trial.log->publish(source, next, ts[static_cast<std::size_t>(next) - 1]);
      notify_all(trial.readers);
    }
    return room != 0;
  };
  lab::Counters counts;
  lab::take_turns(
      lab::Backoff(trial.spins, 4), counts, publish, [&] { return next == size; }, [] { return false; },
      [&]() -> lab::Parker& { return trial.sources[static_cast<std::size_t>(source)]; });
  trial.log->close(source);
  notify_all(trial.readers);
}

// Returns the sum of all timestamps, or -1 if they are out of order.
std::int64_t read_all(Trial& trial, int reader) {
  std::vector<const lab::LogColumns*> columns;  // looked up once, because the log's function is virtual
  std::vector<std::int64_t> next(trial.ts.size(), 0);
  for (int s = 0; s < static_cast<int>(trial.ts.size()); ++s) columns.push_back(&trial.log->columns(s));
  std::int64_t sum = 0;
  std::int64_t last = -1;
  bool ordered = true;
  const auto read = [&](bool) {
    const auto runs = trial.log->read(reader);
    if (runs.empty()) {
      const bool merged = trial.log->advance();
      if (merged) notify_all(trial.readers);
      return merged;
    }
    for (const lab::LogRun& run : runs) {
      if (run.source == lab::kInterleavedEntry) {
        const std::uint8_t* const sources = trial.log->order().of(run.begin);
        for (std::int64_t i = 0; i < run.end - run.begin; ++i) {
          const std::size_t s = sources[i];
          const std::int64_t ts = columns[s]->ts[static_cast<std::uint64_t>(next[s]++) & columns[s]->mask];
          ordered = ordered && ts > last;
          last = ts;
          sum += ts;
        }
        continue;
      }
      next[static_cast<std::size_t>(run.source)] = run.end;
      const lab::LogColumns& column = *columns[static_cast<std::size_t>(run.source)];
      ordered = ordered && column.ts[static_cast<std::uint64_t>(run.begin) & column.mask] > last;
      for (std::int64_t i = run.begin; i < run.end; ++i) sum += column.ts[static_cast<std::uint64_t>(i) & column.mask];
      last = column.ts[static_cast<std::uint64_t>(run.end - 1) & column.mask];
    }
    trial.log->release(reader, runs.size());
    notify_all(trial.sources);
    return true;
  };
  lab::Counters counts;
  lab::take_turns(
      lab::Backoff(trial.spins, 4), counts, read, [] { return false; }, [&] { return trial.log->ended(reader); },
      [&]() -> lab::Parker& { return trial.readers[static_cast<std::size_t>(reader)]; });
  notify_all(trial.readers);
  return ordered ? sum : -1;
}

struct Result {
  double rate_eps;
  double cpu_ns;  // per tuple
};

Result run(const std::string& form, int sources, int readers, std::int64_t batch, std::int64_t tuples,
           std::int64_t run_rows) {
  Trial trial;
  lab::LogOptions options;
  options.watermarks = false;
  options.interleaved = form == "interleaved";
  trial.log = lab::make_tuple_buffer(options.interleaved ? "order" : form, options);
  trial.sources = std::vector<lab::Parker>(static_cast<std::size_t>(sources));
  trial.readers = std::vector<lab::Parker>(static_cast<std::size_t>(readers));
  trial.spins = static_cast<int>(std::thread::hardware_concurrency()) >= sources + readers ? 50 : 0;
  trial.ts.resize(static_cast<std::size_t>(sources));
  for (std::int64_t t = 0; t < tuples; ++t) trial.ts[static_cast<std::size_t>(t / run_rows % sources)].push_back(t);
  for (int r = 0; r < readers; ++r) trial.log->add_reader();
  for (auto& column : trial.ts) {
    column.reserve(1);
    trial.log->add_source(column.data(), ~std::uint64_t{0}, 0);
  }
  std::vector<std::int64_t> sums(static_cast<std::size_t>(readers));
  std::vector<std::thread> threads;
  for (int r = 0; r < readers; ++r) {
    threads.emplace_back([&trial, &sums, r] { sums[static_cast<std::size_t>(r)] = read_all(trial, r); });
  }
  for (int s = 0; s < sources; ++s) threads.emplace_back([&trial, s, batch] { publish_all(trial, s, batch); });
  const std::int64_t cpu_start = lab::bench::cpu_ns();
  const std::int64_t start = lab::now_ns();
  trial.go.store(true, std::memory_order_release);  // pairs with the load in `publish_all`
  for (std::thread& thread : threads) thread.join();
  const auto spent = static_cast<double>(lab::now_ns() - start);
  const auto cpu = static_cast<double>(lab::bench::cpu_ns() - cpu_start);
  for (const std::int64_t sum : sums) {
    if (sum != tuples * (tuples - 1) / 2) throw std::logic_error("a reader missed, repeated or reordered a tuple");
  }
  return {static_cast<double>(tuples) * 1e9 / spent, cpu / static_cast<double>(tuples)};
}

}  // namespace

int main(int count, char** arguments) {
  constexpr const char* kUsage = "FORM SOURCES READERS BATCH TUPLES [RUN]";
  return lab::bench::run_program("ordered_log_bench", kUsage, count, 5, 6, [&] {
    const std::int64_t batch = std::stoll(arguments[4]);
    const std::int64_t tuples = std::stoll(arguments[5]);
    const std::int64_t run_rows = count >= 7 ? std::stoll(arguments[6]) : 1;
    const int sources = std::stoi(arguments[2]);
    if (sources < 1 || batch < 1 || tuples < 1 || run_rows < 1) {
      throw std::invalid_argument("SOURCES, BATCH, TUPLES and RUN must be at least 1");
    }
    const Result result = run(arguments[1], sources, std::stoi(arguments[3]), batch, tuples, run_rows);
    std::printf("%.0f %.2f\n", result.rate_eps, result.cpu_ns);
  });
}
