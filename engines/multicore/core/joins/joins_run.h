// JoinsRun: runs a hand-written band join: streams, their total order, threads, and measurements. These joins are
// compared with the operator O+ (oplus/oplus_run.h). They use the same sources, generator, log, waiting and output as
// O+, but have no epochs, mappings or compiled functions.
//
// Law: any thread moves rows that sources have delivered into the total order and notifies the other threads. A thread
// sleeps only if, between Parker::prepare and commit, it finds no rows to read, no rows to move, and not the end of the
// input.
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
  kAdHoc,    // several threads read the ordered log and compare all pairs
  kSingle,   // one thread merges the streams itself and compares all pairs
  kIndexed,  // one thread searches a grid
};

// Names of the kinds, in the order of JoinKind.
inline constexpr Names<3> kJoinKinds = {"adhoc", "1t", "indexed"};

// How pairs are compared. kIndexed permits only kTiles.
enum class JoinForm {
  kTiles,   // compare many new tuples with many stored rows at once
  kTuples,  // compare one tuple with one stored tuple at a time, as published
};
inline constexpr Names<2> kJoinForms = {"tiles", "tuples"};

// Only kAdHoc permits more than one worker.
struct JoinsOptions : RunSettings {
  JoinKind kind = JoinKind::kAdHoc;
  std::int64_t window = 1;  // maximum time difference of a pair
  std::int32_t band = 0;    // between 0 and kWidestBand
  LogOptions log;
  JoinForm form = JoinForm::kTiles;
  std::string tuple_buffer = "order";  // a name of kTupleBuffers, for kAdHoc
};

class JoinsRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit JoinsRun(JoinsOptions options);

  // Adds first L with the columns ts, x, y, then R with ts, a, b, c, d; see Run::add_view.
  void add_stream(StreamView stream);

  std::int64_t events() const noexcept override;  // number of tuples that every thread has read
  std::int64_t pair_count() const noexcept;       // number of comparisons; with kIndexed, of candidates

 private:
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<PairConsumer> consumer;
    bool done = false;  // whether the worker has read all tuples; only the worker's thread uses it
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
  std::shared_ptr<OutputPool> pool_;  // memory of `Worker::out`
  std::vector<Worker> workers_;
};

}  // namespace lab
