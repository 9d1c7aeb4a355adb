// PairConsumer: one thread's part of a hand-written join; the base class of the joins of JoinsRun.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "joins/band_match.h"
#include "log/tuple_buffer.h"
#include "run/cacheline.h"
#include "run/kernel.h"
#include "run/recorder.h"
#include "run/sink.h"
#include "run/source.h"

namespace lab {

// The two inputs L(ts, x, y) and R(ts, a, b, c, d). The columns are borrowed.
struct BandInputs {
  std::int64_t window = 0;  // maximum time difference of a pair
  std::int32_t band = 0;    // between 0 and kWidestBand
  const StreamView* view[2] = {nullptr, nullptr};

  std::int64_t ts(std::size_t input, std::int64_t row) const noexcept {
    return view[input]->ts[static_cast<std::size_t>(row)];
  }
  template <typename T>
  const T* column(std::size_t input, std::size_t index) const noexcept {
    return static_cast<const T*>(view[input]->columns[index]);
  }
  BandColumns band_columns(std::size_t input) const noexcept {
    return {column<std::int32_t>(input, 1), column<float>(input, 2)};
  }
};

// One thread's share of a join. The streams' columns are the window store.
class alignas(kCacheLine) PairConsumer {
 public:
  // `stop`: see run/errors.h.
  PairConsumer(std::int32_t index, const BandInputs& inputs, OutputBuffer& out, Recorder& recorder,
               const std::atomic<bool>& stop)
      : index_(index), inputs_(inputs), out_(out), recorder_(recorder), stop_(stop) {}
  virtual ~PairConsumer() = default;
  PairConsumer(const PairConsumer&) = delete;
  PairConsumer& operator=(const PairConsumer&) = delete;

  // Processes the next runs in the total order of all tuples. The rows of each input must follow the rows of the
  // preceding call.
  virtual void process(std::span<const LogRun> runs) = 0;

  std::int64_t tuples() const noexcept { return seen_[0] + seen_[1]; }
  std::int64_t pair_count() const noexcept { return pair_count_; }  // each class defines which pairs it counts

 protected:
  // Emits pairs, which must be in canonical order, and clears them. An output's time is that of the later tuple plus 1.
  void emit(std::vector<Pair>& pairs);

  // Returns the input of the pair's later tuple in the total order.
  std::size_t later(const Pair& pair) const noexcept {
    return inputs_.ts(0, pair.left) > inputs_.ts(1, pair.right) ? 0 : 1;
  }

  const std::int32_t index_;
  const BandInputs& inputs_;
  OutputBuffer& out_;
  Recorder& recorder_;
  const std::atomic<bool>& stop_;
  std::int64_t seen_[2] = {0, 0};  // by input: number of processed rows
  std::int64_t pair_count_ = 0;
};

}  // namespace lab
