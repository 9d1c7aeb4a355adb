// The common laws of all runs, tested with the smallest family: one thread pumps the sources and counts their events.
#include "run/run.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "streams.h"

namespace {

// One thread emits one output for each block, with the last timestamp of the block. The others end at once.
class Relay final : public lab::Run {
 public:
  explicit Relay(lab::RunSettings settings, const std::atomic<bool>* borrowed = nullptr)
      : settings_(std::move(settings)), borrowed_{borrowed} {
    check(settings_);
    make_threads(settings_.workers, "worker");
  }

  void add_stream(lab::StreamView stream) { add_feed(add_view(std::move(stream))); }
  std::int64_t events() const noexcept override { return events_; }

  bool fails = false;
  std::atomic<int> worked{0};  // threads that have worked
  std::atomic<int> woken{0};

 private:
  // The destructor reads borrowed data, as a runtime might.
  struct Borrower {
    const std::atomic<bool>* flag;
    ~Borrower() { CHECK(flag == nullptr || flag->load()); }
  };

  const lab::RunSettings& settings() const noexcept override { return settings_; }
  void prepare() override { out_ = std::make_unique<lab::OutputBuffer>(std::vector<std::int32_t>{8}); }
  void work(std::int32_t index) override {
    ++worked;
    if (fails) throw std::runtime_error("no");
    if (index != 0) return;
    ++threads().meter(0).counters.yields;
    for (std::size_t i = 0; i < feeds().size(); ++i) {
      lab::Feed& feed = feeds()[i];
      while (!feed.closed) {
        const lab::Block* block = feed.block();
        if (block == nullptr) continue;
        events_ += block->end - block->begin;
        lab::Emit* emit = out_->open(1);
        static_cast<std::int64_t*>(emit->columns[0])[emit->count++] =
            views()[i].ts[static_cast<std::size_t>(block->end) - 1];
        out_->close(0, 0, 0, false);
        feed.closed = block->bound_ts == lab::kEndOfTime;
        feed.pass();
      }
    }
  }
  void wake_others() noexcept override { ++woken; }
  std::vector<const lab::OutputBuffer*> outputs() const override {
    return out_ ? std::vector<const lab::OutputBuffer*>{out_.get()} : std::vector<const lab::OutputBuffer*>();
  }
  void count(Counts& into) const override { into.emplace_back("relayed", events_); }

  lab::RunSettings settings_;
  std::unique_ptr<lab::OutputBuffer> out_;
  std::int64_t events_ = 0;
  Borrower borrowed_;
};

lab::RunSettings settings_of(std::int32_t workers, std::int64_t batch) {
  lab::RunSettings settings;
  settings.workers = workers;
  settings.batch = batch;
  settings.grid_steps = 50;  // sanitizers pay for all steps
  return settings;
}

const std::vector<std::int64_t> kTimes{1, 2, 3, 5, 8};

lab::StreamView stream() {
  lab::StreamView view;
  view.ts = kTimes;
  view.columns = {kTimes.data()};
  return view;
}

void a_run_answers_and_counts() {
  Relay run(settings_of(2, 2));
  CHECK_EQ(run.rows(), 0);
  CHECK_EQ(run.outputs_grown(), 0);
  run.add_stream(stream());
  CHECK(run.run() > 0);
  CHECK_EQ(run.worked.load(), 2);
  CHECK_EQ(run.thread_count(), 2);
  CHECK_EQ(run.events(), 5);
  std::vector<std::int64_t> ts(static_cast<std::size_t>(run.rows()));
  void* columns[] = {ts.data()};
  run.collect(columns);
  CHECK(ts == (std::vector<std::int64_t>{2, 5, 8}));
  CHECK_EQ(lab::test::counter(run, "relayed"), 5);
  CHECK_EQ(lab::test::counter(run, "yields"), 1);
  CHECK_EQ(lab::test::counter(run, "real_time_generator"), 0);
  CHECK(run.lag_counts().empty());
  CHECK_THROWS(run.run(), std::logic_error);
  CHECK_THROWS(run.add_stream(stream()), std::logic_error);
}

void a_load_is_handed_over_by_the_generator() {
  lab::RunSettings settings = settings_of(1, 2);
  settings.load = lab::LoadOptions{};
  Relay run(settings);
  CHECK_THROWS(run.add_stream(stream()), std::invalid_argument);  // it has no due times
  const std::vector<std::int64_t> due(kTimes.size(), 0);
  lab::StreamView view = stream();
  view.due = due;
  run.add_stream(view);
  run.run();
  CHECK_EQ(run.events(), 5);
  CHECK_EQ(lab::test::total_of(run.lag_counts()), 5);
}

void a_failure_is_named_and_wakes_all_threads() {
  Relay run(settings_of(1, 1));
  run.fails = true;
  CHECK_EQ(lab::test::failure_of([&] { run.run(); }), std::string("worker 0: no"));
  CHECK_EQ(run.woken.load(), 1);
}

void borrowed_data_outlives_the_family() {
  std::atomic<bool> alive{true};
  {
    Relay run(settings_of(1, 1), &alive);
    run.keep(std::shared_ptr<const void>(&alive, [](std::atomic<bool>* flag) { flag->store(false); }));
    run.run();
  }
  CHECK(!alive.load());
}

void a_started_run_that_never_ran_ends_without_the_family() {
  for (int i = 0; i < 20; ++i) {
    Relay run(settings_of(4, 1));
    run.start();
    CHECK_THROWS(run.start(), std::logic_error);
    CHECK_EQ(run.worked.load(), 0);
  }
}

void settings_out_of_range_are_refused() {
  void (*const wrong[])(lab::RunSettings&) = {
      [](lab::RunSettings& s) { s.workers = 0; },
      [](lab::RunSettings& s) { s.workers = lab::RunSettings::kMaxWorkers + 1; },
      [](lab::RunSettings& s) { s.batch = 0; },
      [](lab::RunSettings& s) { s.ring_blocks = 0; },
      [](lab::RunSettings& s) { s.ring_blocks = lab::RunSettings::kMaxRingBlocks + 1; },
      [](lab::RunSettings& s) { s.core_count = -1; },
      [](lab::RunSettings& s) { s.grid_steps = 0; },
      [](lab::RunSettings& s) { s.load = lab::LoadOptions{-1, 0, false}; },
  };
  for (const auto make_wrong : wrong) {
    lab::RunSettings settings = settings_of(1, 1);
    make_wrong(settings);
    CHECK_THROWS(lab::check(settings), std::invalid_argument);
  }
}

}  // namespace

int main() {
  a_run_answers_and_counts();
  a_load_is_handed_over_by_the_generator();
  a_failure_is_named_and_wakes_all_threads();
  borrowed_data_outlives_the_family();
  a_started_run_that_never_ran_ends_without_the_family();
  settings_out_of_range_are_refused();
  return 0;
}
