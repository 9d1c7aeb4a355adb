// The merge flag in every run of some threads: all published items are merged, by one thread at a time.
#include "model/mutants.h"

#include "model/atomics.h"

#include "run/merge_flag.h"

namespace {

// Each thread publishes some items. After each item it merges the available ones, unless another thread does so. This
// is like OrderLog::merge.
class Merging final : public lab::model::Program {
 public:
  // `items`: by thread, their number. `publishing`, `looking`: the orders of the store and of the load in a pass.
  explicit Merging(std::vector<int> items, std::memory_order publishing = std::memory_order_seq_cst,
                   std::memory_order looking = std::memory_order_seq_cst)
      : items_(std::move(items)), publishing_(publishing), looking_(looking) {}
  std::size_t threads() const override { return items_.size(); }
  void run(std::size_t thread) override {
    for (int item = 1; item <= items_[thread]; ++item) {
      published_[thread].store(item, publishing_);
      // Two threads can exchange notes without end, if each comes just as the other has released the flag.
      for (int passes = 0; flag_.enter(); ++passes) {
        if (passes == kMaxPasses) lab::model::leave();
        flag_.begin_pass();
        pass();
        if (!flag_.leave()) break;
      }
    }
  }
  void finally() override {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      lab::model::check(merged_[i].get() == items_[i], "an item was published and is not merged");
    }
  }

 private:
  void pass() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const int seen = published_[i].load(looking_);
      lab::model::check(seen >= merged_[i].get(), "the holder does not see what the last one saw");
      merged_[i].set(seen);
    }
  }

  static constexpr int kMaxPasses = 1;

  const std::vector<int> items_;
  const std::memory_order publishing_;
  const std::memory_order looking_;
  lab::MergeFlag flag_;
  std::atomic<int> published_[3];
  lab::model::Plain<int> merged_[3];  // guarded by the flag
};

}  // namespace

int main() {
  const std::string left =
      lab::model::not_found("run/merge_flag.h", {
                                                    [] { return std::make_unique<Merging>(std::vector{1, 1}); },
                                                    [] { return std::make_unique<Merging>(std::vector{2, 1}); },
                                                });
  // An exchange needs acquire and release only: the loads and stores around it order it. A note that is never removed
  // costs endless passes, and the programs leave those.
  CHECK_EQ(left,
           "MergeFlag::enter exchange 1 acquire-release\n"
           "MergeFlag::enter exchange 2 acquire-release\n"
           "MergeFlag::begin_pass store 1 dropped\n");
  // The law for users of the flag: the items themselves need sequential consistency, on both sides.
  const std::string lost = "an item was published and is not merged";
  const auto with = [](std::memory_order publishing, std::memory_order looking) {
    const auto make = [=] { return std::make_unique<Merging>(std::vector{2, 1}, publishing, looking); };
    return lab::model::explore(make).failure;
  };
  CHECK_EQ(with(std::memory_order_release, std::memory_order_seq_cst), lost);
  CHECK_EQ(with(std::memory_order_seq_cst, std::memory_order_acquire), lost);
  return 0;
}
