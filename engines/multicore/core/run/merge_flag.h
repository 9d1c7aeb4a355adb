// MergeFlag: the right to merge. The first thread takes it; threads that move or merge rows never wait for it.
//
// Law: a thread that finds the flag taken leaves a note (`again`), then checks the flag again. The holder releases the
// flag, then checks for a note. On both sides a store precedes a load, hence all are sequentially consistent: either
// the thread sees the flag free and takes it, or the holder sees the note and makes one more pass. The holder removes a
// note before a pass looks at the sources, so the next pass sees the data that the author of the note had published.
// The author must store that data, and a pass must load it, with sequential consistency as well, since a thread that
// finds a note only reads it, and a read publishes nothing (tests/model/merge_flag_model_test.cc shows an item that is
// lost otherwise).
#pragma once
#include <atomic>
#include <thread>

#include "run/cacheline.h"

namespace lab {

class alignas(kCacheLine) MergeFlag {
 public:
  // Returns whether the caller holds the flag now. If not, the holder will make another pass.
  bool enter() noexcept {
    // relaxed: only saves the exchange. seq_cst exchange: acquires the writes of the last holder; pairs with `leave`.
    if (!busy_.load(std::memory_order_relaxed) && !busy_.exchange(true, std::memory_order_seq_cst)) return true;
    // The holder will see a note that is set now, or a pass removes it after this load and before it looks.
    if (!again_.load(std::memory_order_seq_cst)) again_.store(true, std::memory_order_seq_cst);  // pairs with `leave`
    return !busy_.load(std::memory_order_seq_cst) && !busy_.exchange(true, std::memory_order_seq_cst);
  }

  // Waits for the flag, yielding. Use it only for rare changes, such as of membership.
  void enter_waiting() noexcept {
    while (!enter()) std::this_thread::yield();
  }

  // Removes the notes. Only the holder calls it, before it looks at the sources.
  void begin_pass() noexcept {
    // relaxed load: a missed note stays set. seq_cst store: the following loads see the data that the note announces.
    if (again_.load(std::memory_order_relaxed)) again_.store(false, std::memory_order_seq_cst);
  }

  // Releases the flag. Returns whether a note is set; the caller must then ensure one more pass.
  bool leave() noexcept {
    busy_.store(false, std::memory_order_seq_cst);  // releases the merge's state, pairs with the exchange in `enter`
    return again_.load(std::memory_order_seq_cst);  // pairs with the store in `enter`
  }

 private:
  std::atomic<bool> busy_{false};   // whether some thread merges and owns the state that the flag guards
  std::atomic<bool> again_{false};  // set by threads that find the flag taken, cleared by the holder
};

}  // namespace lab
