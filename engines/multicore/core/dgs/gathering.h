// Whether a run's places are worked at by a worker each, or all by the first: decided by what each has been worth.
//
// A synchronization costs two workers what a cache line takes from one core to the other, and a scheduling slice where
// the other worker is not running. Where they are frequent, one worker that does everything is quicker. Which it is
// hangs on program, input, machine and minute, so both are tried, shortly, and the better one is kept for a while:
// longer and longer as long as tries of the other one confirm it, and at least twenty times as long as the last try
// of the other one took, so that tries take a twentieth of the time at most, however long turns and slices are.
#pragma once
#include <algorithm>
#include <cstdint>

namespace lab {

// Of one thread. Pure: times are given.
class Gathering {
 public:
  static constexpr std::int64_t kSettleNs = 50'000;  // of a mode, before it counts: threads wake up
  static constexpr std::int64_t kTryNs = 200'000;
  static constexpr std::int64_t kShortestNs = 2'000'000;  // for which a choice is kept
  static constexpr std::int64_t kLongestNs = 200'000'000;
  static constexpr std::int64_t kRestPerTry = 20;
  static constexpr double kWorthIt = 1.05;  // gathered must be so much quicker

  bool gathered() const noexcept { return gathered_; }

  // Whether there is something to decide: then `look` is due, with the events that are done. Cheap.
  bool due(std::int64_t now_ns) const noexcept { return now_ns >= next_ns_; }

  // Returns whether the mode is another from here on.
  bool look(std::int64_t now_ns, std::int64_t events) noexcept {
    if (postponed_) {
      postponed_ = false;
      gathered_ = !gathered_;
      settle(now_ns, keep_ns_);
      return true;
    }
    if (!due(now_ns)) return false;
    if (from_ns_ == 0) {  // the first look
      begin(gathered_, now_ns, kTryNs);
      return false;
    }
    if (!counting_) {
      counting_ = true;
      since_ns_ = now_ns;
      since_events_ = events;
      next_ns_ = now_ns + keep_ns_;
      return false;
    }
    rate_[gathered_] = static_cast<double>(events - since_events_) / static_cast<double>(now_ns - since_ns_);
    const bool was = gathered_;
    if (!trying_) {
      trying_ = true;
      begin(!chosen_, now_ns, kTryNs);
      return true;
    }
    took_ns_[gathered_] = now_ns - from_ns_;
    if (++tries_ == 1) {
      begin(!gathered_, now_ns, kTryNs);
      return true;
    }
    const bool better = rate_[1] > kWorthIt * rate_[0];
    const bool stays = tries_ > 2 && better == chosen_;
    // A mode that was left at once had flattered itself when it was tried: that confirms the other one.
    const bool returns = tries_ > 2 && !stays && !confirmed_;
    if (stays || returns) rest_ns_[better] = std::min(2 * rest_ns_[better], kLongestNs);
    if (stays && !confirmed_) rest_ns_[!better] = kShortestNs;
    confirmed_ = stays || returns;
    chosen_ = better;
    trying_ = false;
    begin(better, now_ns, std::max(rest_ns_[better], kRestPerTry * took_ns_[!better]));
    return gathered_ != was;
  }

  // The mode could not be changed yet: `look` says so again at once.
  void postpone() noexcept {
    gathered_ = !gathered_;
    postponed_ = true;
    next_ns_ = 0;
  }

 private:
  void begin(bool gathered, std::int64_t now_ns, std::int64_t keep_ns) noexcept {
    gathered_ = gathered;
    from_ns_ = now_ns;
    settle(now_ns, keep_ns);
  }
  void settle(std::int64_t now_ns, std::int64_t keep_ns) noexcept {
    counting_ = false;
    keep_ns_ = keep_ns;
    next_ns_ = now_ns + kSettleNs;
  }

  bool gathered_ = false;
  bool trying_ = true;
  bool chosen_ = false;
  bool counting_ = false;
  bool postponed_ = false;
  bool confirmed_ = true;  // the chosen mode, by a try of the other
  std::int64_t tries_ = 0;
  double rate_[2] = {0, 0};           // events a ns, of the latest time that each was kept
  std::int64_t took_ns_[2] = {0, 0};  // the latest try of each, with what it took to begin
  std::int64_t from_ns_ = 0;          // when the mode was called for; 0: not looked yet
  std::int64_t since_ns_ = 0;         // from when its events count
  std::int64_t since_events_ = 0;
  std::int64_t next_ns_ = 0;
  std::int64_t keep_ns_ = 0;
  std::int64_t rest_ns_[2] = {kShortestNs, kShortestNs};  // for which each is kept when it is chosen
};

}  // namespace lab
