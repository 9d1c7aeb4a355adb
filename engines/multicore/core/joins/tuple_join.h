// TupleJoin: ScaleJoin as published (STRETCH, section 8.3 and Operator 10's source), one tuple at a time. Every thread
// takes every tuple, drops the rows that have left the window, and compares the tuple with each stored tuple of the
// other input. The threads take turns to store the tuples of an input. With one thread, this is the paper's 1T.
//
// BandJoin makes the same comparisons by columns, several at once. TupleJoin is the fair counterpart of the operator O+
// (oplus/), whose f_U also handles one tuple at a time.
#pragma once
#include "joins/pair_consumer.h"

namespace lab {

class TupleJoin final : public PairConsumer {
 public:
  TupleJoin(std::int32_t index, std::int32_t threads, const BandInputs& inputs, OutputBuffer& out, Recorder& recorder,
            const std::atomic<bool>& stop);

  // `pair_count` counts the pairs of the window that this thread compared, each once.
  void process(std::span<const LogRun> runs) override;

 private:
  struct StoredTuple {
    std::int64_t ts;
    std::int64_t row;
    std::int32_t first;
    float second;
  };
  // Stored tuples in order of arrival. Tuples before `begin` have left the window.
  struct Queue {
    std::vector<StoredTuple> tuples;
    std::size_t begin = 0;
  };

  void process_tuple(std::size_t input, std::int64_t row);

  const std::int32_t threads_;
  Queue stored_[2];
  std::vector<Pair> pairs_;
};

}  // namespace lab
