// The reordering buffer in every run of some threads: each unit is sent once, in order, by one thread at a time, and
// none is left.
#include "model/mutants.h"

#include "model/atomics.h"

#include "ordered/reorder.cc"

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

// Each thread adds its units, one by one, and takes the offered turns, like a worker before it sleeps.
class Adding final : public lab::model::Program, public lab::OrderedExit {
 public:
  // `adds`: by thread, the serial numbers of its units. `window`, `max_sends`: of the buffer.
  Adding(std::vector<std::vector<int>> adds, std::int64_t window, std::int64_t max_sends)
      : adds_(std::move(adds)), window_(static_cast<int>(window)), buffer_(window, *this, max_sends) {
    for (const std::vector<int>& serials : adds_) count_ += static_cast<int>(serials.size());
    for (int i = 0; i < count_; ++i) (new (&units[i]) lab::Unit)->serial = i;
  }
  ~Adding() override {
    for (int i = 0; i < count_; ++i) units[i].~Unit();
  }
  std::size_t threads() const override { return adds_.size(); }
  void run(std::size_t thread) override {
    lab::OrderedWorker& worker = worker_of(thread);
    for (const int serial : adds_[thread]) {
      // Admitted when the unit a window before it is out.
      if (serial >= window_ && out_.load(std::memory_order_acquire) <= serial - window_) lab::model::leave();
      records_[serial].set(7);
      lab::Unit* const unit = &units[serial];
      buffer_.add({&unit, 1}, worker);
    }
    while (buffer_.resume(worker)) {
    }
  }
  void finally() override { lab::model::check(sent_.get() == count_, "an added unit was not sent"); }

  void send(lab::Units going, lab::OrderedWorker&) override {
    for (const lab::Unit* unit : going) {
      lab::model::check(unit->serial == sent_.get(), "a unit is sent out of order");
      lab::model::check(records_[unit->serial].get() == 7, "the records of a unit are not there");
      sent_.set(sent_.get() + 1);
    }
    out_.store(sent_.get(), std::memory_order_release);
  }
  void offer(lab::OrderedWorker&) override {}

 private:
  const std::vector<std::vector<int>> adds_;
  const int window_;
  int count_ = 0;
  lab::model::Plain<int> records_[kMaxUnits];
  lab::model::Plain<int> sent_;  // behind the exit: guarded by the flag
  std::atomic<int> out_{0};
  lab::NonBlockingReordering buffer_;
};

lab::model::Make adding(std::vector<std::vector<int>> adds, std::int64_t window, std::int64_t max_sends) {
  return [=] { return std::make_unique<Adding>(adds, window, max_sends); };
}

}  // namespace

int main() {
  lab::model::right(adding({{0}, {1}, {2}}, 4, 8));
  const std::string left = lab::model::not_found("ordered/reorder.cc", {
                                                                           adding({{0}, {1}}, 2, 8),
                                                                           adding({{0, 2}, {1}}, 4, 8),
                                                                           adding({{0, 2}, {1}}, 2, 8),
                                                                           adding({{0, 2}, {1}}, 4, 1),
                                                                       });
  // `resume` looks for an offer after its thread has announced its sleep: that pair is the parker's, and not in these
  // programs. One operation later, a slot is still emptied before its unit is sent. A thread that takes an offer
  // relaxed would have to come to the flag before the exchange that precedes the offer. That is a cycle of reads and
  // program order, which the checker does not draw (nor does any known processor). So the release of the offer, its
  // partner, is not needed here either.
  CHECK_EQ(left,
           "NonBlockingReordering::resume load 1 relaxed\n"
           "NonBlockingReordering::resume load 1 acquire-release\n"
           "NonBlockingReordering::resume exchange 1 relaxed\n"
           "NonBlockingReordering::take_turn store 1 late\n"
           "NonBlockingReordering::take_turn store 2 relaxed\n"
           "NonBlockingReordering::take_turn store 2 acquire-release\n");
  return 0;
}
