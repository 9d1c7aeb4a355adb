// BandJoin: compares every pair, as ScaleJoin's threads do (the ad hoc implementation of STRETCH, section 8.3).
// With one thread it is the optimised sequential join.
//
// Stored tuples are dealt to the threads in turn, `kShareRows` consecutive rows at a time. A thread compares new tuples
// with its stored rows of the other input. So the earlier tuple of a pair, in the total order, decides which thread
// compares the pair. This holds no matter how each thread cuts the sequence of tuples into runs. Up to `kProbeRows` new
// tuples are compared with a tile of `kTileRows` stored rows (8 KiB of two attributes, a fraction of the first-level
// cache). A tile is thus fetched once for all of these new tuples.
#pragma once
#include "joins/pair_consumer.h"

namespace lab {

class BandJoin final : public PairConsumer {
 public:
  static constexpr std::int64_t kShareRows = 512;
  static constexpr std::int64_t kTileRows = 1024;
  static constexpr std::int64_t kProbeRows = 256;

  // Share s of the rows belongs to thread s mod `threads`.
  BandJoin(std::int32_t index, std::int32_t threads, const BandInputs& inputs, OutputBuffer& out, Recorder& recorder,
           const std::atomic<bool>& stop);

  // `pair_count` counts the pairs of the window that this thread compared, each once.
  void process(std::span<const LogRun> runs) override;

 private:
  struct Rows {
    std::int64_t begin, end;
    std::int64_t size() const noexcept { return end - begin; }
  };

  void join(const Rows (&new_rows)[2]);
  void probe_all(std::size_t prober, Rows probes, Rows stored, bool all_earlier);
  void compare_at_edge(std::size_t prober, Rows probes, Rows stored);
  void compare(std::size_t prober, Rows probes, Rows stored, bool all_pairs);
  void sort();

  const std::int32_t threads_;
  const ProbeLoop probe_loop_;
  std::int64_t first_[2] = {0, 0};  // first row of each input that a later tuple can match
  std::vector<Pair> pairs_;         // matches of the current tuples
  std::vector<BandLimits> limits_;  // limits of the current probes
  std::int64_t limits_begin_ = 0;   // row of the first probe in `limits_`
  std::uint8_t hit_[kProbeRows];
  Rows reach_[kProbeRows];  // at an edge, by probe: the stored rows with which the probe makes pairs
};

}  // namespace lab
