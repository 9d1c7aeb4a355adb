// The bounded reordering buffer in every run of some threads: each unit is sent once, in order, by one thread at a
// time, after any number of refusals. None is left, even if the exit had no room.
#include "model/mutants.h"

#include "model/atomics.h"

#include "ordered/bounded_reorder.cc"

namespace {

constexpr std::size_t kMaxUnits = 4;
constexpr std::size_t kMaxThreads = 3;

// Units have fixed addresses: a slot holds an address, and equal states must hash alike.
alignas(lab::Unit) std::byte unit_memory[kMaxUnits * sizeof(lab::Unit)];
lab::Unit* const units = reinterpret_cast<lab::Unit*>(unit_memory);

lab::OrderedWorker& worker_of(std::size_t thread) {
  static lab::Recorder recorder;
  static lab::OrderedWorker workers[kMaxThreads] = {{0, recorder, 1}, {1, recorder, 1}, {2, recorder, 1}};
  return workers[thread];
}

// Each thread adds its units, one by one; a refused thread leaves, as it would retry forever. A further thread makes
// room and looks for an offer, like a worker that has sent something elsewhere.
class Adding final : public lab::model::Program, public lab::BoundedExit {
 public:
  // `adds`: by thread, the serial numbers of its units. `room`: units sent before a further thread makes more.
  Adding(std::vector<std::vector<int>> adds, std::int64_t slots, int room)
      : adds_(std::move(adds)), makes_room_(room < static_cast<int>(kMaxUnits)), buffer_(slots, *this), room_(room) {
    for (const std::vector<int>& serials : adds_) count_ += static_cast<int>(serials.size());
    for (int i = 0; i < count_; ++i) (new (&units[i]) lab::Unit)->serial = i;
  }
  ~Adding() override {
    for (int i = 0; i < count_; ++i) units[i].~Unit();
  }
  std::size_t threads() const override { return adds_.size() + (makes_room_ ? 1 : 0); }
  void run(std::size_t thread) override {
    lab::OrderedWorker& worker = worker_of(thread);
    if (thread == adds_.size()) {
      room_.store(count_, std::memory_order_seq_cst);
    } else {
      for (const int serial : adds_[thread]) {
        records_[serial].set(7);
        if (!buffer_.send(units[serial], worker)) lab::model::leave();
      }
    }
    while (buffer_.resume(worker)) {
    }
  }
  void finally() override { lab::model::check(sent_.get() == count_, "an added unit was not sent"); }

  bool send(lab::Unit& unit, lab::OrderedWorker&) override {
    lab::model::check(unit.serial == sent_.get(), "a unit is sent out of order");
    lab::model::check(records_[unit.serial].get() == 7, "the records of a unit are not there");
    if (makes_room_ && unit.serial >= room_.load(std::memory_order_seq_cst)) return false;
    sent_.set(sent_.get() + 1);
    return true;
  }
  bool has_room() const override { return room_.load(std::memory_order_seq_cst) == count_; }

 private:
  const std::vector<std::vector<int>> adds_;
  const bool makes_room_;
  int count_ = 0;
  lab::model::Plain<int> records_[kMaxUnits];
  lab::model::Plain<int> sent_;  // behind the exit: guarded by the flag
  lab::BoundedNonBlocking buffer_;
  std::atomic<int> room_;
};

lab::model::Make adding(std::vector<std::vector<int>> adds, std::int64_t slots, int room = kMaxUnits) {
  return [=] { return std::make_unique<Adding>(adds, slots, room); };
}

}  // namespace

int main() {
  const std::string left = lab::model::not_found("ordered/bounded_reorder", {
                                                                                adding({{0}, {1}}, 2),
                                                                                adding({{0, 2}, {1}}, 2),
                                                                                adding({{0}}, 2, 0),
                                                                            });
  // For a relaxed taking of an offer, see reorder_model_test.cc. One operation later, a slot is still emptied before
  // `next_` advances. `next_` is sequentially consistent for threads that look for room or for the end. These programs
  // look for them by other means.
  CHECK_EQ(left,
           "BoundedReordering::resume exchange 1 relaxed\n"
           "BoundedReordering::offer exchange 1 relaxed\n"
           "BoundedNonBlocking::send_pending store 1 late\n"
           "BoundedReordering::advance store 1 acquire-release\n");
  return 0;
}
