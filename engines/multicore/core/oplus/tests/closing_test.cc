// Tests that the entries of a closed window are removed in small steps, and that no output shows it.
#include "oplus/tests/oplus_rig.h"

namespace {

using lab::test::Behaviour;
using lab::test::behaviour;
using lab::test::Record;
using lab::test::Tuples;

constexpr std::int64_t kBuckets = 64;
constexpr std::int64_t kKeys = 20'000;
constexpr std::int64_t kRowsBetween = 200;  // of one key each, between two windows that close

// One instance, which processes the rows of one stream.
class Alone {
 public:
  explicit Alone(const Tuples& tuples)
      : spec_(lab::test::operator_spec(false)),
        view_(lab::test::view_of(tuples)),
        streams_{{&view_, 0, lab::test::process_of(0)}},
        state_(spec_),
        out_(std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 8, 8}, spec_.max_outputs)),
        instance_(0, spec_, streams_, out_, recorder_, stop_, state_, false) {
    instance_.adopt(owner_.data());
  }

  void process(std::int64_t row) {
    lab::LogRun run{};
    run.begin = row;
    run.end = row + 1;
    instance_.process({&run, 1}, lab::LogOrder{});
  }
  bool tidy() { return instance_.tidy(); }

  std::int64_t hidden() {
    std::int64_t result = 0;
    for (std::int64_t b = 0; b < kBuckets; ++b) result += state_.table(b).hidden() ? 1 : 0;
    return result;
  }

  std::int64_t rows() const { return out_.rows(); }
  std::vector<Record> outputs() const {
    std::vector<std::int64_t> columns[3];
    std::vector<void*> targets;
    for (auto& column : columns) {
      column.resize(static_cast<std::size_t>(rows()));
      targets.push_back(column.data());
    }
    const lab::OutputBuffer* const buffers[] = {&out_};
    lab::merge_outputs(buffers, targets);
    std::vector<Record> result;
    for (std::size_t i = 0; i < columns[0].size(); ++i) {
      result.emplace_back(columns[0][i], columns[1][i], columns[2][i]);
    }
    return result;
  }

 private:
  const std::vector<std::int32_t> owner_ = std::vector<std::int32_t>(kBuckets, 0);
  const lab::OperatorSpec spec_;
  const lab::StreamView view_;
  const std::vector<lab::OperatorStream> streams_;
  lab::WindowState state_;
  lab::OutputBuffer out_;
  lab::Recorder recorder_;
  const std::atomic<bool> stop_{false};
  lab::KeyedInstance instance_;
};

const Behaviour kBehaviours[] = {
    {.window = {10, 10, false}},                                             // all entries are removed
    {.window = {10, 10, false}, .emits_on_update = true},                    // tuples emit behind the window
    {.window = {10, 10, false}, .emits_on_update = true, .expires = false},  // no trace
    {.window = {5, 20, false}},                                              // those without the next window
    {.window = {10, 30, true}, .slides = true},                              // those whose sums are zero
};

// Many keys in one window, then tuples of one key each while it and later windows close.
Tuples burst_and_trickle(const Behaviour& what) {
  behaviour = what;
  behaviour.buckets = kBuckets;
  Tuples tuples;
  for (std::int64_t first = 0; first < kKeys; first += 100) tuples.add(1, first, 100);
  std::mt19937 random(1);
  const std::int64_t end = 2 * behaviour.window.size;
  for (std::int64_t ts = behaviour.window.advance; ts <= end; ts += behaviour.window.advance) {
    for (std::int64_t i = 0; i < kRowsBetween; ++i) {
      tuples.add(ts, static_cast<std::int64_t>(random() % static_cast<unsigned>(kKeys)), 1);
    }
  }
  return tuples;
}

// Its own, and the first one left; of small buckets several.
void a_tuple_waits_for_the_removal_of_few_buckets() {
  for (const Behaviour& what : kBehaviours) {
    const Tuples tuples = burst_and_trickle(what);
    Alone instance(tuples);
    std::int64_t closed = 0;
    for (std::int64_t row = 0; row < std::ssize(tuples.ts); ++row) {
      const std::int64_t before = instance.hidden(), outputs = instance.rows();
      instance.process(row);
      const std::int64_t now = tuples.ts[static_cast<std::size_t>(row)];
      const bool closes = row != 0 && tuples.ts[static_cast<std::size_t>(row) - 1] != now;
      if (!closes) {
        CHECK(instance.hidden() >= before - (closed == 1 ? 2 : 5));
        continue;
      }
      CHECK_EQ(before, 0);  // of the last window that closed
      if (now == behaviour.window.advance) {
        CHECK(instance.hidden() >= kBuckets - 2);
        if (behaviour.expires) CHECK(instance.rows() >= outputs + kKeys);  // they do not wait
      }
      ++closed;
    }
    CHECK(closed >= 2);
    CHECK_EQ(instance.hidden(), 0);
    CHECK(lab::test::sorted(instance.outputs()) == lab::test::keyed_oracle({tuples}));
  }
}

// Also with a thread that is idle after each tuple and removes everything at once.
void the_sequence_of_outputs_does_not_depend_on_the_removal() {
  for (const Behaviour& what : kBehaviours) {
    const Tuples tuples = burst_and_trickle(what);
    Alone busy(tuples), idle(tuples);
    for (std::int64_t row = 0; row < std::ssize(tuples.ts); ++row) {
      busy.process(row);
      idle.process(row);
      while (idle.tidy()) {
      }
      CHECK_EQ(idle.hidden(), 0);
    }
    CHECK(busy.outputs() == idle.outputs());
  }
}

}  // namespace

int main() {
  a_tuple_waits_for_the_removal_of_few_buckets();
  the_sequence_of_outputs_does_not_depend_on_the_removal();
  return 0;
}
