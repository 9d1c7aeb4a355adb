// Every pair compared, by hand-written code: what ScaleJoin's threads do (STRETCH 8.3's ad hoc implementation), and
// with one thread the optimised sequential join.
//
// Tuples are kept round-robin, `kShareRows` consecutive rows at a time; a thread compares new tuples with what it
// keeps of the other input: the earlier tuple of a pair, in the total order, says who compares it, so that threads need
// not cut the sequence up alike. Stored rows are taken in tiles of `kTileRows` (8 KiB of two attributes, a fraction of the
// first-level cache) against up to `kProbeRows` new tuples, so that a tile is fetched once for all of them.
#pragma once
#include "joins/pair_consumer.h"

namespace lab {

class BandJoin final : public PairConsumer {
 public:
  static constexpr std::int64_t kShareRows = 512;
  static constexpr std::int64_t kTileRows = 1024;
  static constexpr std::int64_t kProbeRows = 256;

  // Share s belongs to thread s mod `threads`.
  BandJoin(std::int32_t index, std::int32_t threads, const BandInputs& inputs, OutputBuffer& out, Recorder& recorder,
           const std::atomic<bool>& stop);

  // `looked_at` counts the pairs of the window, each once, that this thread compared.
  void process(std::span<const LogRun> runs) override;

 private:
  struct Rows {
    std::int64_t begin, end;
    std::int64_t size() const noexcept { return end - begin; }
  };

  void join(const Rows (&fresh)[2]);
  void probe_all(std::size_t prober, Rows probes, Rows stored, bool old);
  void at_edge(std::size_t prober, Rows probes, Rows stored);
  void compare(std::size_t prober, Rows probes, Rows stored, bool whole);
  void sort();

  const std::int32_t threads_;
  const BandMatch match_;
  std::int64_t first_[2] = {0, 0};  // first row of each input that a tuple to come can match
  std::vector<Pair> pairs_;         // of the tuples at hand
  std::vector<BandLimits> limits_;  // of the probes at hand
  std::int64_t limits_from_ = 0;    // the first of them
  std::uint8_t hit_[kProbeRows];
  Rows reach_[kProbeRows];  // of each probe, at an edge: the stored rows that it makes pairs with
};

}  // namespace lab
