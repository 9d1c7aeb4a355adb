// ScaleJoin as published (STRETCH, section 8.3 and Operator 10's source): every thread takes every tuple, one at a time,
// drops what has left the window, compares the tuple with each one that it keeps of the other input, and keeps it itself
// when it is its turn: tuples of an input go round the threads one by one. With one thread, the paper's 1T.
//
// BandJoin makes the same comparisons by columns, several at once; this one is what the O+ (oplus/), whose f_U handles a
// tuple at a time too, is to be compared with.
#pragma once
#include "joins/pair_consumer.h"

namespace lab {

class TupleJoin final : public PairConsumer {
 public:
  TupleJoin(std::int32_t index, std::int32_t threads, const BandInputs& inputs, OutputBuffer& out, Recorder& recorder,
            const std::atomic<bool>& stop);

  // `looked_at` counts the pairs of the window, each once, that this thread compared.
  void process(std::span<const LogRun> runs) override;

 private:
  struct Kept {
    std::int64_t ts;
    std::int64_t row;
    std::int32_t first;
    float second;
  };
  // Kept tuples from `begin` on, in order of arrival, in one piece.
  struct Queue {
    std::vector<Kept> tuples;
    std::size_t begin = 0;
  };

  void one(std::size_t input, std::int64_t row);

  const std::int32_t threads_;
  Queue kept_[2];
  std::vector<Pair> pairs_;
};

}  // namespace lab
