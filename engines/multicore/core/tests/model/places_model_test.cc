// The places of workers, in every run of the first worker and another. One of them at a time works at a place, neither
// sleeps forever for one, and a worker that takes a place sees the work done there.
#include "model/kernel.h"
#include "model/mutants.h"

#include "model/atomics.h"

#include "dgs/places.h"
#include "run/parker.cc"

namespace {

// The first worker gathers the places, works at that of the other, and returns it. Meanwhile the other takes its turns.
class Gathering final : public lab::model::Program {
 public:
  Gathering(int turns, int gatherings) : turns_(turns), gatherings_(gatherings), places_(2, parkers_) {}
  std::size_t threads() const override { return 2; }
  void run(std::size_t thread) override {
    if (thread == 0) {
      for (int i = 0; i < gatherings_; ++i) {
        places_.gather();
        lab::model::await(parkers_[0], kMaxChecks, [this] { return places_.is_free(1); });
        work();
        lab::model::check(places_.scatter(), "a place that is free is not given back");
      }
    } else {
      for (int i = 0; i < turns_; ++i) {
        lab::model::await(parkers_[1], kMaxChecks, [this] { return places_.serves(1); });
        work();
      }
      places_.leave(1);
    }
  }
  void finally() override { lab::model::check(done_.get() == turns_ + gatherings_, "work is lost"); }

 private:
  void work() { done_.set(done_.get() + 1); }

  static constexpr int kMaxChecks = 3;

  const int turns_;
  const int gatherings_;
  lab::Parker parkers_[2];
  lab::Places places_;
  lab::model::Plain<int> done_;  // work at the place
};

}  // namespace

int main() {
  const std::string left = lab::model::not_found("dgs/places.h", {
                                                                     [] { return std::make_unique<Gathering>(1, 1); },
                                                                     [] { return std::make_unique<Gathering>(2, 1); },
                                                                 });
  // The first notify after it is that of the first worker itself.
  CHECK_EQ(left, "Places::next_epoch store 1 late\n");
  return 0;
}
