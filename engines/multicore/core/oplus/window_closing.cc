// Implements how a KeyedInstance closes windows: it emits outputs at once and removes entries bucket by bucket; see
// oplus/instance.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "oplus/instance.h"
#include "run/errors.h"

namespace lab {

void KeyedInstance::advance(std::int64_t watermark, std::int64_t due_ns) {
  if (!started_) return;
  cause_due_ns_ = due_ns;
  watermark_ = std::max(watermark_, watermark);
  if (lazy_ && spec_.window.single) {
    // Purge once per window size. So memory holds at most the tuples of two windows and one purge, and keys without
    // stored tuples are removed.
    if (spec_.matches_stored && watermark >= sweep_at_) {
      leave_to_tidy(earliest_left_);
      sweep_at_ = watermark + spec_.window.size;
      set_expiry();
    }
    return;
  }
  while (earliest_left_ + spec_.window.size <= watermark) {
    clean_all();
    if (live_entries_ == 0) {
      earliest_left_ = std::max(earliest_left_, spec_.window.earliest(watermark));
      break;
    }
    expire(earliest_left_);
    earliest_left_ += spec_.window.advance;
  }
  set_expiry();
}

// Closes the windows that begin at `left`: emits their outputs, and hides the tables until `clean` removes the windows.
void KeyedInstance::expire(std::int64_t left) {
  for (std::size_t word = 0; word < filled_buckets_.size(); ++word) {
    for (std::uint64_t rest = filled_buckets_[word]; rest != 0; rest &= rest - 1) {
      WindowTable& table = state_.table(static_cast<std::int64_t>(word) * 64 + std::countr_zero(rest));
      if (!lazy_) emit_window(table, left);
      table.hide();
    }
  }
  leave_to_tidy(left);
}

// Makes `clean` visit all tables, to remove the windows that begin at `left` or to purge stored tuples.
void KeyedInstance::leave_to_tidy(std::int64_t left) {
  clean_all();
  closed_left_ = left;
  unclean_buckets_ = filled_buckets_;
  unclean_word_ = 0;
  for (const std::uint64_t word : unclean_buckets_) unclean_count_ += std::popcount(word);
}

bool KeyedInstance::tidy() {
  if (unclean_count_ == 0) return false;
  clean_some(kRemovedAtOnce);
  return true;
}

// Cleans whole tables, until the cleaned tables had at least `entries` entries in total, or no table is left.
void KeyedInstance::clean_some(std::int64_t entries) {
  while (unclean_count_ != 0 && entries > 0) {
    while (unclean_buckets_[unclean_word_] == 0) ++unclean_word_;
    throw_if_stopped(stop_);
    entries -= clean(static_cast<std::int64_t>(unclean_word_) * 64 + std::countr_zero(unclean_buckets_[unclean_word_]));
  }
}

// Removes closed windows from a table. Returns the number of entries that it had before.
std::int64_t KeyedInstance::clean(std::int64_t bucket) {
  WindowTable& table = state_.table(bucket);
  table.show();
  const auto before = static_cast<std::int64_t>(table.count());
  if (lazy_ && spec_.window.single) {
    purge_stored(table);
  } else {
    forget_window(table, closed_left_);
  }
  live_entries_ -= before - static_cast<std::int64_t>(table.count());
  const std::uint64_t bit = std::uint64_t{1} << (bucket % 64);
  const auto word = static_cast<std::size_t>(bucket) / 64;
  unclean_buckets_[word] &= ~bit;
  --unclean_count_;
  if (table.count() == 0) filled_buckets_[word] &= ~bit;
  return before;
}

// Purges stored tuples of keys without new tuples (a new tuple would purge them). Removes keys without stored tuples.
void KeyedInstance::purge_stored(WindowTable& table) {
  const std::int64_t before = watermark_ - spec_.window.size;
  spec_.stored().each(table.entries(stride()), [before](StoredTuples& tuples) { tuples.purge(before); });
  state_.release_empty(table);
  table.remove_zero(stride(), static_cast<std::size_t>(spec_.inputs));
}

// Releases the stored tuples of the windows that begin at `left`, but not those of later windows.
void KeyedInstance::release_window(WindowTable& table, std::int64_t left) const noexcept {
  const StoredPlaces places = spec_.stored();
  if (!places.any) return;
  for (std::size_t i = 0; i < table.count(); ++i) {
    std::byte* const windows = table.entries() + i * places.stride + WindowTable::kKeyOffset + window_offset(left);
    places.each_of(windows, static_cast<std::size_t>(spec_.inputs), [](StoredTuples& tuples) { tuples.release(); });
  }
}

// Emits the outputs of the windows that begin at `left`. A key's live windows are consecutive and include the earliest
// live window, because each tuple of the key is in that window. So every entry has the expiring window.
void KeyedInstance::emit_window(WindowTable& table, std::int64_t left) {
  const auto end = static_cast<std::int64_t>(table.count());
  std::byte* const windows = table.entries() + window_offset(left);
  for (std::int64_t at = 0; at < end;) {
    throw_if_stopped(stop_);
    Emit* emit = out_.open(spec_.max_outputs);
    const std::int64_t next = spec_.expire(windows, at, end, left, emit) - 1;
    ++kernel_calls_;
    if (next < at) throw std::runtime_error("expire or slide raised an exception");
    const std::int64_t added = out_.close(index_, index_, 0, false);
    if (added != 0) recorder_.tick();
    account(added, cause_due_ns_);
    at = next;
  }
}

// Removes the windows that begin at `left`.
void KeyedInstance::forget_window(WindowTable& table, std::int64_t left) {
  if (spec_.window.single) {
    state_.release_empty(table);
    table.remove_zero(stride(), static_cast<std::size_t>(spec_.inputs));
  } else if (spec_.window.places() == 1) {
    state_.release_stored(table);
    table.clear();
  } else {
    release_window(table, left);
    const std::int64_t next_left = left + spec_.window.advance;
    const std::size_t at = WindowTable::kKeyOffset + window_offset(next_left) + sizeof(std::int64_t);
    table.remove(stride(), [=](const std::byte* entry) {  // an entry stays only if it has the next window
      std::int64_t begins;
      std::memcpy(&begins, entry + at, sizeof begins);
      return begins != next_left;
    });
  }
}

}  // namespace lab
