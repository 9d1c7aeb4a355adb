// ordered_log_bench FORM SOURCES READERS BATCH TUPLES [RUN [ENTRIES]]: one threaded trial of an ordered log.
//
// Prints tuples/s from the first publish until the last reader has every tuple. Also prints the CPU time of all threads
// per tuple in ns, which is more reliable on a shared machine. Timestamps are columns in memory. RUN rows (default 1)
// of one source precede RUN rows of the next; ENTRIES is the size of the log's ring. Readers merge, sum all timestamps
// and check the order. The program fails if a reader does not get every tuple once, in order.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

#include "log/tuple_buffer.h"
#include "run/clock.h"
#include "run/parker.h"

namespace {

struct Trial {
  std::unique_ptr<lab::TupleBuffer> log;
  std::vector<std::vector<std::int64_t>> ts;
  std::vector<lab::Parker> sources;
  std::vector<lab::Parker> readers;
  std::int32_t spins = 0;
  std::atomic<bool> go{false};  // set once, after all threads have started
};

void tell(std::vector<lab::Parker>& parkers) {
  for (lab::Parker& parker : parkers) parker.notify();
}

void publish_all(Trial& trial, int source, std::int64_t batch) {
  while (!trial.go.load(std::memory_order_acquire)) std::this_thread::yield();  // pairs with the store in `run`
  const auto& ts = trial.ts[static_cast<std::size_t>(source)];
  lab::Parker& parker = trial.sources[static_cast<std::size_t>(source)];
  lab::Backoff backoff(trial.spins, 4);
  std::int64_t next = 0;
  const auto size = static_cast<std::int64_t>(ts.size());
  while (next < size) {
    const std::int64_t room = trial.log->room(source);
    if (room == 0) {
      const auto step = backoff.next();
      if (step == lab::Backoff::Step::kSpin) lab::spin_pause();
      if (step == lab::Backoff::Step::kYield) std::this_thread::yield();
      if (step == lab::Backoff::Step::kSleep) {
        const std::uint32_t ticket = parker.prepare();
        if (trial.log->room(source) == 0)
          parker.commit(ticket);
        else
          parker.cancel();
      }
      continue;
    }
    backoff.reset();
    for (const std::int64_t stop = next + std::min(room, size - next); next < stop;) {
      next = std::min(stop, next + batch);
      trial.log->publish(source, next, ts[static_cast<std::size_t>(next) - 1]);
      tell(trial.readers);
    }
  }
  trial.log->close(source);
  tell(trial.readers);
}

// Returns the sum of all timestamps, -1 when they are out of order.
std::int64_t read_all(Trial& trial, int reader) {
  lab::Parker& parker = trial.readers[static_cast<std::size_t>(reader)];
  lab::Backoff backoff(trial.spins, 4);
  std::vector<const lab::LogColumns*> columns;  // looked up once, because the log's function is virtual
  std::vector<std::int64_t> next(trial.ts.size(), 0);
  for (int s = 0; s < static_cast<int>(trial.ts.size()); ++s) {
    columns.push_back(&trial.log->columns(s));
  }
  std::int64_t sum = 0;
  std::int64_t last = -1;
  bool ordered = true;
  for (;;) {
    const auto runs = trial.log->read(reader);
    if (!runs.empty()) {
      backoff.reset();
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
        const lab::LogColumns& from = *columns[static_cast<std::size_t>(run.source)];
        ordered = ordered && from.ts[static_cast<std::uint64_t>(run.begin) & from.mask] > last;
        for (std::int64_t i = run.begin; i < run.end; ++i) sum += from.ts[static_cast<std::uint64_t>(i) & from.mask];
        last = from.ts[static_cast<std::uint64_t>(run.end - 1) & from.mask];
      }
      trial.log->release(reader, runs.size());
      tell(trial.sources);
      continue;
    }
    if (trial.log->advance()) {
      tell(trial.readers);
      continue;
    }
    if (trial.log->ended(reader)) break;
    const auto step = backoff.next();
    if (step == lab::Backoff::Step::kSpin) lab::spin_pause();
    if (step == lab::Backoff::Step::kYield) std::this_thread::yield();
    if (step == lab::Backoff::Step::kSleep) {
      const std::uint32_t ticket = parker.prepare();
      const bool news = trial.log->advance();
      if (news) tell(trial.readers);
      if (news || !trial.log->read(reader).empty() || trial.log->ended(reader))
        parker.cancel();
      else
        parker.commit(ticket);
    }
  }
  tell(trial.readers);
  return ordered ? sum : -1;
}

std::int64_t cpu_ns() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return spent.tv_sec * 1'000'000'000 + spent.tv_nsec;
}

struct Result {
  double rate_eps;
  double cpu_ns;  // per tuple
};

Result run(const std::string& form, int sources, int readers, std::int64_t batch, std::int64_t tuples,
           std::int64_t run_rows, std::int64_t entries) {
  Trial trial;
  lab::LogOptions options;
  options.watermarks = false;
  if (entries > 0) options.entries = entries;
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
  const std::int64_t cpu_start = cpu_ns();
  const std::int64_t start = lab::now_ns();
  trial.go.store(true, std::memory_order_release);  // pairs with the load in `publish_all`
  for (std::thread& thread : threads) thread.join();
  const auto spent = static_cast<double>(lab::now_ns() - start);
  const auto cpu = static_cast<double>(cpu_ns() - cpu_start);
  for (const std::int64_t sum : sums) {
    if (sum != tuples * (tuples - 1) / 2) throw std::logic_error("a reader has not had every tuple once, in order");
  }
  return {static_cast<double>(tuples) * 1e9 / spent, cpu / static_cast<double>(tuples)};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6 || count > 8) {
    std::fputs("usage: ordered_log_bench FORM SOURCES READERS BATCH TUPLES [RUN [ENTRIES]]\n", stderr);
    return 2;
  }
  try {
    const std::int64_t batch = std::stoll(arguments[4]);
    const std::int64_t tuples = std::stoll(arguments[5]);
    const std::int64_t run_rows = count >= 7 ? std::stoll(arguments[6]) : 1;
    const int sources = std::stoi(arguments[2]);
    if (sources < 1 || batch < 1 || tuples < 1 || run_rows < 1) throw std::invalid_argument("a number below 1");
    const Result result = run(arguments[1], sources, std::stoi(arguments[3]), batch, tuples, run_rows,
                              count == 8 ? std::stoll(arguments[7]) : 0);
    std::printf("%.0f %.2f\n", result.rate_eps, result.cpu_ns);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ordered_log_bench: %s\n", error.what());
    return 1;
  }
}
