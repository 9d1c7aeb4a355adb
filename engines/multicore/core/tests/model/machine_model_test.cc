// The machine itself, tested by programs with known outcomes.
#include <cstdio>
#include <set>
#include <string>

#include "check.h"

#include "model/atomics.h"

namespace {

using lab::model::Exploration;
using lab::model::Program;
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSequential = std::memory_order_seq_cst;

// A program of lambdas, whose threads record the values they saw.
struct Shared {
  std::atomic<int> x{0}, y{0};
  int seen[4] = {-1, -1, -1, -1};
};
using Body = void (*)(Shared&);

class Litmus final : public Program {
 public:
  Litmus(std::vector<Body> bodies, std::set<std::string>& outcomes) : bodies_(std::move(bodies)), outcomes_(outcomes) {}
  std::size_t threads() const override { return bodies_.size(); }
  void run(std::size_t thread) override { bodies_[thread](shared_); }
  void finally() override {
    std::string outcome;
    for (const int value : shared_.seen) {
      if (value >= 0) outcome += static_cast<char>('0' + value);
    }
    outcomes_.insert(outcome);
  }

 private:
  Shared shared_;
  std::vector<Body> bodies_;
  std::set<std::string>& outcomes_;
};

std::string outcomes(const std::vector<Body>& bodies) {
  std::set<std::string> all;
  const Exploration result = lab::model::explore([&] { return std::make_unique<Litmus>(bodies, all); });
  CHECK_EQ(result.failure, "");
  std::string text;
  for (const std::string& outcome : all) text += outcome + " ";
  return text;
}

template <std::memory_order kStore, std::memory_order kLoad>
std::string store_buffering() {
  return outcomes({[](Shared& s) {
                     s.x.store(1, kStore);
                     s.seen[0] = s.y.load(kLoad);
                   },
                   [](Shared& s) {
                     s.y.store(1, kStore);
                     s.seen[1] = s.x.load(kLoad);
                   }});
}

template <std::memory_order kStore, std::memory_order kLoad>
std::string message_passing() {
  return outcomes({[](Shared& s) {
                     s.x.store(1, kRelaxed);
                     s.y.store(1, kStore);
                   },
                   [](Shared& s) {
                     s.seen[0] = s.y.load(kLoad);
                     s.seen[1] = s.x.load(kRelaxed);
                   }});
}

template <std::memory_order kStore, std::memory_order kLoad>
std::string independent_reads() {
  return outcomes({[](Shared& s) { s.x.store(1, kStore); }, [](Shared& s) { s.y.store(1, kStore); },
                   [](Shared& s) {
                     s.seen[0] = s.x.load(kLoad);
                     s.seen[1] = s.y.load(kLoad);
                   },
                   [](Shared& s) {
                     s.seen[2] = s.y.load(kLoad);
                     s.seen[3] = s.x.load(kLoad);
                   }});
}

std::string reads_of_one_location() {
  return outcomes({[](Shared& s) { s.x.store(1, kRelaxed); },
                   [](Shared& s) {
                     s.seen[0] = s.x.load(kRelaxed);
                     s.seen[1] = s.x.load(kRelaxed);
                   }});
}

// Of two stores by different threads without knowledge of each other, either may be the later.
std::string two_stores_each() {
  return outcomes({[](Shared& s) {
                     s.x.store(1, kRelaxed);
                     s.y.store(2, kRelaxed);
                     s.seen[0] = s.y.load(kRelaxed);
                   },
                   [](Shared& s) {
                     s.y.store(1, kRelaxed);
                     s.x.store(2, kRelaxed);
                     s.seen[1] = s.x.load(kRelaxed);
                   }});
}

// The order of sequentially consistent operations does not order the relaxed operations near them for others.
std::string sequential_beside_relaxed() {
  return outcomes({[](Shared& s) {
                     s.x.store(1, kSequential);
                     s.y.store(1, kRelaxed);
                   },
                   [](Shared& s) {
                     s.seen[0] = s.y.load(kRelaxed);
                     s.seen[1] = s.x.load(kSequential);
                   }});
}

std::string two_additions() {
  return outcomes({[](Shared& s) { s.seen[0] = s.x.fetch_add(1, kRelaxed); },
                   [](Shared& s) { s.seen[1] = s.x.fetch_add(1, kRelaxed); }});
}

template <std::memory_order kStore, std::memory_order kLoad>
class HandOver final : public Program {
 public:
  std::size_t threads() const override { return 2; }
  void run(std::size_t thread) override {
    if (thread == 0) {
      data_.set(7);
      ready_.store(1, kStore);
    } else if (ready_.load(kLoad) == 1) {
      lab::model::check(data_.get() == 7, "the data are not there");
    }
  }

 private:
  lab::model::Plain<int> data_;
  std::atomic<int> ready_{0};
};

template <std::memory_order kStore, std::memory_order kLoad>
std::string hand_over() {
  return lab::model::explore([] { return std::make_unique<HandOver<kStore, kLoad>>(); }).failure;
}

class Sleeper final : public Program {
 public:
  explicit Sleeper(bool woken) : woken_(woken) {}
  std::size_t threads() const override { return 2; }
  void run(std::size_t thread) override {
    if (thread == 0) {
      lab::model::futex_wait(&word_, 0);
    } else if (woken_) {
      word_.store(1, kRelaxed);
      lab::model::futex_wake(&word_, 1);
    }
  }

 private:
  const bool woken_;
  std::atomic<std::uint32_t> word_{0};
};

std::string asleep(bool woken) {
  return lab::model::explore([=] { return std::make_unique<Sleeper>(woken); }).failure;
}

}  // namespace

int main() {
  // The second letter of each pair is the value read. Both stores may be missed, except with sequential consistency.
  CHECK_EQ((store_buffering<kRelaxed, kRelaxed>()), "00 01 10 11 ");
  CHECK_EQ((store_buffering<kRelease, kAcquire>()), "00 01 10 11 ");
  CHECK_EQ((store_buffering<kRelease, kSequential>()), "00 01 10 11 ");
  CHECK_EQ((store_buffering<kSequential, kSequential>()), "01 10 11 ");
  CHECK_EQ((message_passing<kRelaxed, kAcquire>()), "00 01 10 11 ");
  CHECK_EQ((message_passing<kRelease, kRelaxed>()), "00 01 10 11 ");
  CHECK_EQ((message_passing<kRelease, kAcquire>()), "00 01 11 ");
  // Two readers may disagree on which of two stores came first, except with sequential consistency.
  CHECK((independent_reads<kRelease, kAcquire>().find("1010 ") != std::string::npos));
  CHECK((independent_reads<kSequential, kSequential>().find("1010 ") == std::string::npos));
  CHECK_EQ(reads_of_one_location(), "00 01 11 ");
  CHECK_EQ(two_stores_each(), "11 12 21 22 ");
  CHECK_EQ(sequential_beside_relaxed(), "00 01 10 11 ");
  CHECK_EQ(two_additions(), "01 10 ");
  CHECK_EQ((hand_over<kRelease, kAcquire>()), "");
  CHECK_EQ((hand_over<kRelaxed, kAcquire>()), "race on plain data");
  CHECK_EQ((hand_over<kRelease, kRelaxed>()), "race on plain data");
  CHECK_EQ(asleep(true), "");
  CHECK_EQ(asleep(false), "no thread can continue: a wake-up is lost");
  return 0;
}
