// What leaves a thread: a link to each consumer, waiting for room, and keeping promises.
//
// Why nobody waits for ever. A thread that waits for room for a row timed t has promised t on all its links, and a
// thread that waits for rows has promised what it was promised. Let Y be one that waits for room, of those with the
// smallest t the furthest downstream. Its consumer C sleeps over rows of Y (else it would make room; C does not wait
// for room itself, because it would do so for a row that is not later). Were a row of Y at C timed before t, the first
// row of C in order would miss another producer's promise from before t; that producer does not wait for room, hence
// it waits for a promise that is smaller still, and so on up to a source, which always goes on. So all rows of Y at C
// are timed t, and then Y does not wait: it spills (LayerLink::may_wait). Rows of one time beyond what a ring holds are
// thus kept in memory that grows; that is what an order by (time, producer) costs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "layers_link.h"
#include "operator_threads.h"

namespace lab {

// One writer, read when its thread has ended.
struct LayerCounts {
  std::int64_t kernel_calls = 0;
  std::int64_t room_waits = 0;  // for room in a link
  std::int64_t sleeps = 0;
  std::int64_t yields = 0;
};

class LayerOut {
 public:
  // `unit`: rows of a hand-over, at most; `eager`: everything is said at once, since more may not come soon.
  LayerOut(Parker& parker, const OperatorThreads& threads, LayerCounts& counts,
           std::vector<std::unique_ptr<LayerLink>> links, std::int64_t unit, bool eager);

  std::size_t size() const noexcept { return links_.size(); }
  LayerLink& link(std::size_t to) noexcept { return *links_[to]; }

  // Sends rows [from, from + rows) to one link, in blocks; all of them have ts >= what was promised. May wait; returns
  // early when the run has failed.
  void send(std::size_t to, const void* const* columns, std::int64_t from, std::int64_t rows);

  // Sends row from + i to link to[i].
  void deal(const void* const* columns, std::int64_t from, std::int64_t rows, const std::int32_t* to);

  // Later rows, of all links, have ts >= `ts`; kEndOfTime: there are none.
  void promise(std::int64_t ts) noexcept { promised_ = std::max(promised_, ts); }

  // The thread has done `rows` more: now and then it says so.
  void did(std::int64_t rows) noexcept {
    unsaid_rows_ += rows;
    if (eager_ || unsaid_rows_ >= kRowsUnsaid) say();
  }

  // The thread has nothing to do for the moment: says all that there is to say, and moves what was spilled. Returns
  // whether some was. Before `commit` of its parker it must have been called since `prepare`.
  bool settle();

  // Whether all links are closed: the end was promised, and nothing is left.
  bool closed() const noexcept;

 private:
  // A sleeping consumer waits for at most so many rows of a busy producer, at full speed.
  static constexpr std::int64_t kRowsUnsaid = 64;

  void say() noexcept;
  bool wait(LayerLink& link, std::int64_t ts);

  Parker& parker_;
  const OperatorThreads& threads_;
  LayerCounts& counts_;
  const std::vector<std::unique_ptr<LayerLink>> links_;
  const std::int64_t unit_;
  const bool eager_;
  std::int64_t promised_ = LayerLink::kNothingPromised;
  std::int64_t unsaid_rows_ = 0;
  std::vector<std::int64_t> dealt_;         // by link
  std::vector<std::int32_t> lists_;         // `unit` entries for each link
};

}  // namespace lab
