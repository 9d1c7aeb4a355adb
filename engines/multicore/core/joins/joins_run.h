// JoinsRun: runs a hand-written band join: streams, their total order, threads, and measurements. These joins are
// compared with the operator O+ (oplus/oplus_run.h). They share its sources, generator, log, waiting and output, but
// have no epochs, mappings or compiled functions.
//
// Law: any thread moves rows that sources have delivered into the order and notifies the others. A thread sleeps only
// after it has found no rows to read, none to feed and no end, checked between Parker::prepare and commit.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "joins/pair_consumer.h"
#include "log/merged_streams.h"
#include "run/names.h"
#include "run/run.h"

namespace lab {

enum class JoinKind {
  kAdHoc,    // every pair compared, threads over the ordered log
  kSingle,   // every pair compared, one thread that merges the streams itself
  kIndexed,  // a grid, one thread
};

// Names of the kinds, in this order.
inline constexpr Names<3> kJoinKinds = {"adhoc", "1t", "indexed"};

// How all pairs are compared; not with kIndexed.
enum class JoinForm {
  kTiles,   // many new tuples with many stored rows at once
  kTuples,  // a tuple with one stored tuple after another, as published
};
inline constexpr Names<2> kJoinForms = {"tiles", "tuples"};

// More than one worker with kAdHoc only.
struct JoinsOptions : RunSettings {
  JoinKind kind = JoinKind::kAdHoc;
  std::int64_t window = 1;  // greatest time difference of a pair
  std::int32_t band = 0;    // between 0 and kWidestBand
  LogOptions log;
  JoinForm form = JoinForm::kTiles;
  std::string tuple_buffer = "order";  // of kAdHoc: a name of kTupleBuffers
};

class JoinsRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit JoinsRun(JoinsOptions options);

  // Adds L with the columns ts, x, y first, then R with ts, a, b, c, d; see Run::add_view.
  void add_stream(StreamView stream);

  std::int64_t events() const noexcept override;  // tuples that every thread has read
  std::int64_t pair_count() const noexcept;       // comparisons; with kIndexed candidates

 private:
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<PairConsumer> consumer;
    bool done = false;  // has read all tuples; its own thread only
  };

  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  bool take_turn(std::int32_t index);

  JoinsOptions options_;
  BandInputs inputs_;
  std::unique_ptr<TotalOrder> order_;
  std::shared_ptr<OutputPool> pool_;  // of `Worker::out`
  std::vector<Worker> workers_;
};

}  // namespace lab
