// The hash table of window states: its entries, their removal, and its memory. Also which windows contain a time.
#include "run/key_table.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "check.h"

#include "run/window.h"

namespace {

using lab::WindowShape;
using lab::WindowTable;

constexpr std::size_t kInputs = 2;
constexpr std::size_t kStride = 8 + kInputs * 24;  // stamp; key, left and a sum for each input

std::int64_t word(const std::byte* address) {
  std::int64_t value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
void set_word(std::byte* address, std::int64_t value) { std::memcpy(address, &value, sizeof value); }
std::byte* sum_of(std::byte* entry, std::size_t input) { return entry + 8 + input * 24 + 16; }

void an_entry_is_found_again_and_starts_zeroed_without_a_stamp() {
  WindowTable table;
  const WindowTable::Found fresh = table.find(-7, kStride);
  CHECK(fresh.created);
  CHECK_EQ(word(fresh.entry), WindowTable::kNoStamp);
  CHECK_EQ(WindowTable::key_of(fresh.entry), -7);
  for (std::size_t b = 16; b < kStride; ++b) CHECK(fresh.entry[b] == std::byte{0});
  set_word(fresh.entry, 42);
  const WindowTable::Found again = table.find(-7, kStride);
  CHECK(!again.created && again.entry == fresh.entry);
  CHECK_EQ(word(again.entry), 42);
}

void a_table_holds_what_a_map_holds(unsigned seed) {
  std::mt19937 random(seed);
  WindowTable table;
  std::map<std::int64_t, std::int64_t> sums;
  std::vector<std::int64_t> order;
  for (int i = 0; i < 20'000; ++i) {
    std::int64_t key = static_cast<std::int64_t>(random() % 3000) - 1500;
    if (random() % 4 == 0) key *= std::int64_t{1} << 40;  // keys that differ in high bits only
    const WindowTable::Found found = table.find(key, kStride);
    CHECK_EQ(found.created, !sums.contains(key));
    if (found.created) order.push_back(key);
    sums[key] += i;
    set_word(sum_of(found.entry, 0), word(sum_of(found.entry, 0)) + i);
  }
  CHECK_EQ(table.count(), sums.size());
  for (std::size_t i = 0; i < table.count(); ++i) {  // dense, in order of creation
    std::byte* entry = table.entries() + i * kStride;
    CHECK_EQ(WindowTable::key_of(entry), order[i]);
    CHECK_EQ(word(sum_of(entry, 0)), sums[order[i]]);
  }
}

void cleared_entries_are_absent_and_start_again_zeroed() {
  for (const int keys : {1, 3, 4, 5, 1000, 3000}) {
    WindowTable table;
    for (int round = 0; round < 3; ++round) {
      // After the first round a large table has few keys: it frees its memory and grows again.
      const int n = round == 1 ? 1 : keys;
      for (int key = 0; key < n; ++key) {
        const WindowTable::Found found = table.find(key, kStride);
        CHECK(found.created);
        CHECK_EQ(word(sum_of(found.entry, 1)), 0);
        set_word(sum_of(found.entry, 1), 5);
      }
      CHECK_EQ(table.count(), static_cast<std::size_t>(n));
      table.clear();
      CHECK_EQ(table.count(), std::size_t{0});
      CHECK(table.bytes(kStride).empty());
    }
  }
}

void memory_is_freed_when_little_of_it_was_used() {
  WindowTable table;
  for (int key = 0; key < 10'000; ++key) table.find(key, kStride);
  table.clear();
  const std::byte* kept = table.entries();
  CHECK(kept != nullptr);  // most of it was used: kept
  CHECK(table.find(1, kStride).entry == kept);
  table.clear();
  CHECK(table.entries() == nullptr);  // one entry of 10,000 was used: freed
  CHECK(table.find(1, kStride).created);
}

void entries_of_zeroes_are_removed_and_the_others_keep_their_order(unsigned seed) {
  std::mt19937 random(seed);
  WindowTable table;
  table.remove_zero(kStride, kInputs);  // an empty table
  std::vector<std::int64_t> kept;
  for (std::int64_t key = -200; key < 200; ++key) {
    std::byte* entry = table.find(key, kStride).entry;
    set_word(entry, 9);
    set_word(entry + 16, 77);  // left: not part of the state
    const auto input = random() % 3;
    if (input < kInputs) {
      // A single bit anywhere in a state is enough.
      sum_of(entry, input)[random() % 8] = std::byte{1};
      kept.push_back(key);
    }
  }
  table.remove_zero(kStride, kInputs);
  CHECK_EQ(table.count(), kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK_EQ(WindowTable::key_of(table.entries() + i * kStride), kept[i]);
  for (std::int64_t key = -200; key < 200; ++key) {
    const bool present = std::binary_search(kept.begin(), kept.end(), key);
    CHECK_EQ(table.find(key, kStride).created, !present);
  }
}

void removed_entries_leave_the_others_and_later_free_their_memory() {
  for (const int remaining : {0, 1, 3, 100, 9'999}) {
    WindowTable table;
    for (int key = 0; key < 10'000; ++key) set_word(sum_of(table.find(key, kStride).entry, 0), key);
    const std::size_t max_bytes = table.allocated(kStride);
    // The test looks up the last remaining keys repeatedly, like a key with many tuples.
    for (int round = 0; round < 20; ++round) {
      const int first = 10'000 - remaining;
      table.remove(kStride, [&](const std::byte* entry) { return WindowTable::key_of(entry) < first; });
      CHECK_EQ(table.count(), static_cast<std::size_t>(remaining));
      for (int key = first; key < 10'000; ++key) {
        const WindowTable::Found found = table.find(key, kStride);
        CHECK(!found.created && found.entry == table.entries() + static_cast<std::size_t>(key - first) * kStride);
        CHECK_EQ(word(sum_of(found.entry, 0)), key);
      }
      CHECK(table.find(-1, kStride).created);  // an entry that is removed again
    }
    CHECK(remaining > 100 ? table.allocated(kStride) == max_bytes : table.allocated(kStride) < max_bytes / 16);
  }
}

void hidden_entries_come_back() {
  for (const int keys : {0, 1, 3, 4, 100, 5000}) {
    WindowTable table;
    for (int key = 0; key < keys; ++key) set_word(sum_of(table.find(key * 3, kStride).entry, 0), key);
    const std::size_t bytes = table.allocated(kStride);
    table.hide();
    CHECK_EQ(table.hidden(), keys != 0);
    CHECK_EQ(table.count(), std::size_t{0});
    CHECK_EQ(table.allocated(kStride), bytes);
    WindowTable other = std::move(table);
    CHECK_EQ(other.hidden(), keys != 0);
    other.show();
    CHECK(!other.hidden());
    CHECK_EQ(other.count(), static_cast<std::size_t>(keys));
    for (int key = 0; key < keys; ++key) CHECK_EQ(word(sum_of(other.find(key * 3, kStride).entry, 0)), key);
    other.clear();
    other.hide();
    CHECK(!other.hidden() && other.find(-1, kStride).created);
  }
}

void a_table_is_moved_by_its_bytes() {
  for (const int keys : {0, 1, 3, 4, 100, 5000}) {
    WindowTable from, to;
    for (int key = 0; key < keys; ++key) set_word(sum_of(from.find(key * 3, kStride).entry, 0), key);
    for (int key = 0; key < 50; ++key) to.find(key, kStride);  // to be replaced
    const auto bytes = from.bytes(kStride);
    CHECK_EQ(bytes.size(), static_cast<std::size_t>(keys) * kStride);
    to.assign(bytes, kStride);
    CHECK_EQ(to.count(), static_cast<std::size_t>(keys));
    for (int key = 0; key < keys; ++key) {
      const WindowTable::Found found = to.find(key * 3, kStride);
      CHECK(!found.created);
      CHECK_EQ(word(sum_of(found.entry, 0)), key);
    }
    CHECK(to.find(-1, kStride).created);
  }
}

void windows_are_those_that_contain_a_time() {
  for (const std::int64_t advance : {1, 2, 3, 7, 10}) {
    for (std::int64_t size = advance; size < 30; ++size) {
      const WindowShape window{advance, size, false};
      std::set<std::int64_t> lefts;
      for (std::int64_t ts = -50; ts < 50; ++ts) {
        lefts.clear();
        for (std::int64_t n = -100; n < 100; ++n) {
          if (n * advance <= ts && ts < n * advance + size) lefts.insert(n * advance);
        }
        CHECK_EQ(window.earliest(ts), *lefts.begin());
        CHECK_EQ(window.latest(ts), *lefts.rbegin());
        CHECK(static_cast<std::int64_t>(lefts.size()) <= window.alive());
      }
    }
  }
}

}  // namespace

int main() {
  an_entry_is_found_again_and_starts_zeroed_without_a_stamp();
  for (unsigned seed = 0; seed < 5; ++seed) a_table_holds_what_a_map_holds(seed);
  cleared_entries_are_absent_and_start_again_zeroed();
  memory_is_freed_when_little_of_it_was_used();
  for (unsigned seed = 0; seed < 5; ++seed) entries_of_zeroes_are_removed_and_the_others_keep_their_order(seed);
  removed_entries_leave_the_others_and_later_free_their_memory();
  hidden_entries_come_back();
  a_table_is_moved_by_its_bytes();
  windows_are_those_that_contain_a_time();
  return 0;
}
