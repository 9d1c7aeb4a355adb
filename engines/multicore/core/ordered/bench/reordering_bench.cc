// reordering_bench SCHEME WORKERS UNITS SPINS [HOLD]: measures the cost of putting units back into order
// (ordered/reorder.h).
//
// WORKERS threads take units in turn. For each unit a thread spins SPINS times, to imitate an operator, and adds the
// unit to a reordering buffer. The buffer's exit spins HOLD times (default 0) per unit, to imitate the sending of
// outputs. SCHEME is nonblocking, lock, or none. With none, each thread only counts its units, as a baseline for the
// other schemes. As in a pipeline, a unit is admitted once the unit one window before it is out.
//
// Prints the wall time and the CPU time of all threads per unit in ns. Fails if the exit does not see all units in
// order.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

#include "ordered/reorder.h"
#include "ordered/unit.h"
#include "ordered/worker.h"
#include "run/clock.h"
#include "run/parker.h"

namespace {

constexpr std::int64_t kWindow = 1024;

struct Setting {
  std::string scheme;
  int workers = 1;
  std::int64_t units = 0;
  std::int64_t spins = 0;
  std::int64_t hold = 0;
};

void spin(std::int64_t times) {
  for (volatile std::int64_t s = 0; s < times;) s = s + 1;
}

// Counts the units, and checks their order.
class Exit final : public lab::OrderedExit {
 public:
  explicit Exit(std::int64_t hold) : hold_(hold) {}

  void send(lab::Units units, lab::OrderedWorker&) override {
    for (const lab::Unit* unit : units) {
      ordered_ = ordered_ && unit->serial == next_;
      ++next_;
      spin(hold_);
    }
    done_.store(next_, std::memory_order_seq_cst);  // pairs with the load in `done`; also releases the slot
  }
  void offer(lab::OrderedWorker&) override {}  // no thread sleeps: threads resume when they take or await a unit

  std::int64_t done() const noexcept { return done_.load(std::memory_order_seq_cst); }
  bool ordered() const noexcept { return ordered_; }

 private:
  const std::int64_t hold_;
  alignas(lab::kCacheLine) std::int64_t next_ = 0;  // only the sending thread uses it
  bool ordered_ = true;
  alignas(lab::kCacheLine) std::atomic<std::int64_t> done_{0};
};

struct alignas(lab::kCacheLine) OwnCount {
  volatile std::int64_t units = 0;
};

class Bench {
 public:
  explicit Bench(const Setting& setting) : setting_(setting), exit_(setting.hold), units_(kWindow) {
    if (setting.scheme != "none") reordering_ = lab::make_reordering(setting.scheme, kWindow, exit_);
  }

  void work(int index) {
    lab::Recorder recorder;
    lab::OrderedWorker worker(index, recorder, 1);
    OwnCount own;
    for (;;) {
      const std::int64_t serial = next_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only assigns numbers
      if (serial >= setting_.units) break;
      if (reordering_ == nullptr) {
        spin(setting_.spins);
        own.units = own.units + 1;
        spin(setting_.hold);
        continue;
      }
      for (int looks = 0; exit_.done() + kWindow <= serial; ++looks) {
        if (reordering_->resume(worker)) continue;
        if (looks < 64) {
          lab::spin_pause();
        } else {
          std::this_thread::yield();
        }
      }
      lab::Unit& unit = units_[static_cast<std::size_t>(serial % kWindow)];
      unit.serial = serial;
      spin(setting_.spins);
      lab::Unit* const added[] = {&unit};
      reordering_->add(added, worker);
    }
    while (reordering_ != nullptr && exit_.done() < setting_.units) {
      if (!reordering_->resume(worker)) std::this_thread::yield();
    }
  }

  void check() const {
    if (reordering_ == nullptr) return;
    if (exit_.done() != setting_.units || !exit_.ordered()) throw std::logic_error("units are missing or out of order");
  }

 private:
  const Setting setting_;
  Exit exit_;
  std::unique_ptr<lab::Reordering> reordering_;
  std::vector<lab::Unit> units_;
  alignas(lab::kCacheLine) std::atomic<std::int64_t> next_{0};
};

void run(const Setting& setting) {
  Bench bench(setting);
  const std::int64_t wall_start = lab::now_ns();
  const std::int64_t cpu_start = lab::bench::cpu_ns();
  std::vector<std::thread> threads;
  for (int i = 0; i < setting.workers; ++i) threads.emplace_back([&bench, i] { bench.work(i); });
  for (std::thread& thread : threads) thread.join();
  const auto cpu = static_cast<double>(lab::bench::cpu_ns() - cpu_start);
  const auto wall = static_cast<double>(lab::now_ns() - wall_start);
  bench.check();
  const auto each = static_cast<double>(setting.units);
  std::printf("%.2f %.2f\n", wall / each, cpu / each);
}

}  // namespace

int main(int count, char** arguments) {
  return lab::bench::run_program("reordering_bench", "SCHEME WORKERS UNITS SPINS [HOLD]", count, 4, 5, [&] {
    Setting setting;
    setting.scheme = arguments[1];
    setting.workers = std::stoi(arguments[2]);
    setting.units = std::stoll(arguments[3]);
    setting.spins = std::stoll(arguments[4]);
    if (count == 6) setting.hold = std::stoll(arguments[5]);
    run(setting);
  });
}
