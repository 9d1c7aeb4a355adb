// The right to merge: taken by whoever comes first; nobody waits for it.
//
// Law: who finds it taken has left a note (`again`) before it looked, and the holder looks for a note after it has
// let go. That is a store/load pair on both sides, hence sequentially consistent: either the late-comer sees the
// flag free and takes it, or the holder sees the note and makes one more pass. A note is taken down before a pass
// looks at the sources, so a pass that follows sees what the note's author had published before: given that this was
// stored, and is looked at in a pass, with sequential consistency as well. Who finds a note there only reads it, and a
// read makes nothing visible (tests/model/merge_flag_model_test.cc shows the item that is lost otherwise).
#pragma once
#include <atomic>
#include <thread>

#include "run/cacheline.h"

namespace lab {

class alignas(kCacheLine) MergeFlag {
 public:
  // Returns whether the caller holds the flag now. False: the holder will look again.
  bool enter() noexcept {
    // relaxed: only spares the exchange; seq_cst exchange: acquires what the last holder did, pairs with `leave`.
    if (!busy_.load(std::memory_order_relaxed) && !busy_.exchange(true, std::memory_order_seq_cst)) return true;
    // A note that is still there will be seen, or was taken down after this load by a pass yet to look.
    if (!again_.load(std::memory_order_seq_cst)) again_.store(true, std::memory_order_seq_cst);  // with `leave`
    return !busy_.load(std::memory_order_seq_cst) && !busy_.exchange(true, std::memory_order_seq_cst);
  }

  // Waits for the flag, politely: for changes of membership, which are rare.
  void enter_waiting() noexcept {
    while (!enter()) std::this_thread::yield();
  }

  // Takes the notes down. Holder only, before it looks at anything.
  void begin_pass() noexcept {
    // relaxed load: a note that it misses stays up. seq_cst store: what follows sees what the note speaks of.
    if (again_.load(std::memory_order_relaxed)) again_.store(false, std::memory_order_seq_cst);
  }

  // Lets go. Returns whether there is a note: the caller must see to one more pass.
  bool leave() noexcept {
    busy_.store(false, std::memory_order_seq_cst);  // releases the merge's state, pairs with the exchange in `enter`
    return again_.load(std::memory_order_seq_cst);  // pairs with the store in `enter`
  }

 private:
  std::atomic<bool> busy_{false};   // true: some thread merges, and owns the state that the flag guards
  std::atomic<bool> again_{false};  // set by late-comers, cleared by the holder
};

}  // namespace lab
