// The ordered log with its rows: every tuple is copied once, at the merge, into rings of its kind, so that the
// merged stream is contiguous and a window is one range of it (two where the ring wraps).
//
// Layout: row p of kind k is item p mod ring_rows of the kind's rings: ts, source, payload columns. Written by the
// holder of the merge flag. Valid: p may be overwritten iff every active reader has released it (with
// LogOptions::windows: discarded it). Runs are of a kind, not of a source, and never cross the wrap of the ring, so
// long runs stay long when sources of one kind alternate.
//
// A merge stops when one ring is full: the rings must hold the windows that are kept, or nothing moves any more.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cacheline.h"
#include "order_log.h"

namespace lab {

class ContiguousLog final : public OrderLog {
 public:
  explicit ContiguousLog(const LogOptions& options);

  std::int64_t room(int source, std::int64_t wanted) override;
  std::int64_t consumed(int source) override;
  const LogColumns& columns(std::int32_t source) const override {
    return kinds_[static_cast<std::size_t>(source)].view;
  }

 private:
  struct Kind {
    LogColumns view;
    std::vector<std::int64_t> ts;
    std::vector<std::int32_t> source;
    std::vector<std::vector<std::byte>> columns;
    std::int64_t end = 0;   // rows ever written
    std::int64_t kept = 0;  // a lower bound of what readers still need
  };
  struct alignas(kCacheLine) Merged {
    std::atomic<std::int64_t> rows{0};  // of the source, copied. Written by the holder of the flag, read by the owner
  };

  bool append_rows() noexcept override;
  bool reusable(int source, std::int64_t rows) const noexcept override;
  void reset(int source) noexcept override;
  void check(const LogColumns& rows) const override;

  std::int64_t free_rows() noexcept;
  void copy(const LogRun& run) noexcept;

  std::vector<Kind> kinds_;
  std::array<Merged, static_cast<std::size_t>(kMaxLogSources)> merged_;
  std::array<LogRun, kPiece> runs_;  // of sources, as merged; guarded by the flag
};

}  // namespace lab
