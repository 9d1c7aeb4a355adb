// A run that fails to allocate, at any point, reports it: the process continues, and no thread waits forever.
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "check.h"
#include "starve.h"

#include "dgs/tests/keyed_sum.h"
#include "dgs/tests/message_sum.h"
#include "joins/joins_run.h"
#include "oplus/tests/oplus_rig.h"

namespace {

template <typename Case>
struct Holder {  // holds a case that stores its run
  template <typename... Arguments>
  explicit Holder(Arguments&&... arguments) : test_case(std::forward<Arguments>(arguments)...) {}
  void run() { test_case.runtime().run(); }
  Case test_case;
};

void operators() {
  using lab::test::behaviour;
  lab::test::links = {};
  std::mt19937 random(7);
  const auto streams = lab::test::random_tuples(random, 2, 2, 40, 3);
  auto options = lab::test::short_run<lab::OplusOptions>(2, 2);
  const auto make = [&](bool join, int links) {
    return [&, join, links] {
      return std::make_unique<Holder<lab::test::OperatorRunCase>>(streams, options, join, links);
    };
  };
  behaviour = {};
  behaviour.window = {10, 20, false};
  behaviour.buckets = 13;
  for (const char* log : {"order", "scalegate"}) {
    options.tuple_buffer = log;
    lab::test::starves_saying(make(false, 0), "the window table of bucket ");
  }
  options.tuple_buffer = "order";
  options.workers = 1;  // the link's tables come after the operator's
  lab::test::starves_saying(make(false, 1), ": operator link 0: out of memory: the window table of ");
}

void plans() {
  const std::vector<lab::test::Events> streams{{{1, 2}, {0, 0}, {1, 1}}, {{3}, {1}, {0}}, {{2}, {0}, {5}}};
  auto options = lab::test::short_run<lab::DgsOptions>(2, 2);
  // A plan allocates only outputs and the notes on them, once their first chunk is full.
  const auto errors = lab::test::starve([&] {
    auto run = std::make_unique<Holder<lab::test::KeyedSumRun>>(streams, 2, options);
    run->test_case.runtime().start();
    return run;
  });
  CHECK(errors.empty());
}

void actors() {
  const std::vector<lab::test::Events> streams{{{1, 2}, {0, 0}, {1, 1}}, {{3}, {1}, {0}}, {{2}, {0}, {5}}};
  const auto options = lab::test::short_run<lab::MessageOptions>(2, 2);
  const auto errors = lab::test::starve([&] {
    using Shape = lab::test::MessageSumRun::Shape;
    auto run = std::make_unique<Holder<lab::test::MessageSumRun>>(streams, 2, options, Shape{2, false});
    run->test_case.runtime().start();
    return run;
  });
  CHECK(lab::test::any_has(errors, "out of memory"));
}

void joins() {
  std::vector<std::int64_t> ts;
  for (std::int64_t i = 0; i < 500; ++i) ts.push_back(i);
  const std::vector<std::int32_t> x(ts.size(), 1);
  const std::vector<float> y(ts.size(), 1);
  const std::vector<double> c(ts.size(), 1);
  const std::vector<std::int8_t> d(ts.size(), 1);
  for (const lab::JoinKind kind : {lab::JoinKind::kAdHoc, lab::JoinKind::kSingle, lab::JoinKind::kIndexed}) {
    const auto errors = lab::test::starve([&] {
      auto options = lab::test::short_run<lab::JoinsOptions>(kind == lab::JoinKind::kAdHoc ? 2 : 1, 0);
      options.kind = kind;
      options.window = 20;
      auto run = std::make_unique<lab::JoinsRun>(options);
      lab::StreamView left, right;
      left.ts = right.ts = ts;
      left.columns = {ts.data(), x.data(), y.data()};
      right.columns = {ts.data(), x.data(), y.data(), c.data(), d.data()};
      run->add_stream(std::move(left));
      run->add_stream(std::move(right));
      run->start();
      return run;
    });
    CHECK(lab::test::any_has(errors, "thread 0: out of memory"));
  }
}

}  // namespace

int main() {
  operators();
  plans();
  actors();
  joins();
  return 0;
}
