// Gathering: decides from measured rates whether each worker serves its place or the first worker serves all places.
// DgsRun uses it.
//
// A synchronization costs two workers the transfer of a cache line between their cores. If one of the workers does not
// run, the synchronization costs a scheduling slice. If synchronizations are frequent, one worker that does all the
// work is quicker. The better mode depends on program, input, machine and time. So the run tries both modes briefly and
// keeps the better mode for a while. If a later try of the other mode confirms the choice, the run keeps the chosen
// mode longer. The run also keeps a mode at least twenty times as long as the last try of the other mode. So tries take
// at most a twentieth of the time, however long turns and scheduling slices are.
#pragma once
#include <algorithm>
#include <cstdint>

namespace lab {

// Only one thread uses it. The caller passes all times, so the class reads no clock.
class Gathering {
 public:
  static constexpr std::int64_t kSettleNs = 50'000;        // unmeasured start of a mode, in which threads wake up
  static constexpr std::int64_t kTryNs = 200'000;          // measured time of a try
  static constexpr std::int64_t kShortestNs = 2'000'000;   // shortest time for which a chosen mode is kept
  static constexpr std::int64_t kLongestNs = 200'000'000;  // longest time for which a chosen mode is kept
  static constexpr std::int64_t kRestPerTry = 20;          // a mode is kept at least this many times as long as a try
  static constexpr double kMinGain = 1.05;                 // the gathered mode must be quicker by this factor

  bool gathered() const noexcept { return gathered_; }

  // Returns whether a decision is due. If so, the caller calls `decide`. This check is cheap.
  bool due(std::int64_t now_ns) const noexcept { return now_ns >= next_ns_; }

  // Returns whether the mode changes now. `events`: number of events processed so far.
  bool decide(std::int64_t now_ns, std::int64_t events) noexcept {
    if (postponed_) {
      postponed_ = false;
      gathered_ = !gathered_;
      settle(now_ns, keep_ns_);
      return true;
    }
    if (!due(now_ns)) return false;
    if (from_ns_ == 0) {  // the first call
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
    const bool was_gathered = gathered_;
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
    const bool better_mode = rate_[1] > kMinGain * rate_[0];
    const bool is_same = tries_ > 2 && better_mode == chosen_;
    // If the run leaves a mode again at once, the try of that mode overrated it. Leaving it confirms the other mode.
    const bool left_at_once = tries_ > 2 && !is_same && !confirmed_;
    if (is_same || left_at_once) rest_ns_[better_mode] = std::min(2 * rest_ns_[better_mode], kLongestNs);
    if (is_same && !confirmed_) rest_ns_[!better_mode] = kShortestNs;
    confirmed_ = is_same || left_at_once;
    chosen_ = better_mode;
    trying_ = false;
    begin(better_mode, now_ns, std::max(rest_ns_[better_mode], kRestPerTry * took_ns_[!better_mode]));
    return gathered_ != was_gathered;
  }

  // Notes that the caller could not change the mode yet, so that the next `decide` requests the change again.
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

  bool gathered_ = false;   // the current mode
  bool trying_ = true;      // whether the current mode is a try
  bool chosen_ = false;     // the mode chosen last
  bool counting_ = false;   // whether events are counted, after kSettleNs
  bool postponed_ = false;  // whether the caller could not change the mode yet
  bool confirmed_ = true;   // whether a try of the other mode has confirmed the chosen mode
  std::int64_t tries_ = 0;
  double rate_[2] = {0, 0};           // events per ns in the latest period of each mode
  std::int64_t took_ns_[2] = {0, 0};  // duration of the latest try of each mode, including its start
  std::int64_t from_ns_ = 0;          // time at which the current mode was requested; 0 before the first call
  std::int64_t since_ns_ = 0;         // time from which the mode's events are counted
  std::int64_t since_events_ = 0;     // number of events at `since_ns_`
  std::int64_t next_ns_ = 0;          // time of the next decision
  std::int64_t keep_ns_ = 0;          // time for which events are counted
  std::int64_t rest_ns_[2] = {kShortestNs, kShortestNs};  // by mode: how long to keep it after it is chosen
};

}  // namespace lab
