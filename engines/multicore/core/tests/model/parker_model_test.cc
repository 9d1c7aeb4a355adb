// The parker in every run of a sleeper and its wakers: no thread sleeps forever, and the sleeper sees ready items.
#include "model/kernel.h"
#include "model/mutants.h"

#include "model/atomics.h"

#include "run/parker.cc"

namespace {

// A sleeper waits, in turn, for an item from each of `wakers`.
class Sleeper final : public lab::model::Program {
 public:
  explicit Sleeper(std::size_t wakers) : wakers_(wakers) {}
  std::size_t threads() const override { return wakers_ + 1; }
  void run(std::size_t thread) override {
    if (thread > 0) {
      Waker& waker = all_wakers_[thread - 1];
      waker.data.set(7);
      waker.ready.store(true, std::memory_order_seq_cst);
      parker_.notify();
      return;
    }
    for (std::size_t i = 0; i < wakers_; ++i) {
      const std::atomic<bool>& ready = all_wakers_[i].ready;
      lab::model::await(parker_, 3, [&] { return ready.load(std::memory_order_seq_cst); });
      lab::model::check(all_wakers_[i].data.get() == 7, "the sleeper does not see the data");
    }
  }

 private:
  struct Waker {
    lab::model::Plain<int> data;
    std::atomic<bool> ready{false};
  };
  const std::size_t wakers_;
  lab::Parker parker_;
  Waker all_wakers_[2];
};

}  // namespace

int main() {
  const std::string left = lab::model::not_found("run/parker.", {
                                                                    [] { return std::make_unique<Sleeper>(1); },
                                                                    [] { return std::make_unique<Sleeper>(2); },
                                                                });
  // Clearing the flag saves a call of `wake`. If it stays, or is cleared later, that costs only one call.
  // Acquire and release would suffice for the epoch; the flag and the condition need sequential consistency.
  CHECK_EQ(left,
           "Parker::commit store 1 dropped\n"
           "Parker::commit store 1 late\n"
           "Parker::wake store 1 dropped\n"
           "Parker::wake exchange 1 acquire-release\n"
           "Parker::prepare load 1 acquire-release\n"
           "Parker::cancel store 1 dropped\n"
           "Parker::cancel store 1 late\n");
  return 0;
}
