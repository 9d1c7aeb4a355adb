// HASH: each instance has equally many small keys, all threads agree on the owner of a key, and other keys go by hash.
#include "dataflow/key_owners.h"

#include <thread>
#include <vector>

#include "check.h"

namespace {

using lab::KeyOwners;

// Returns the number of keys of each instance.
std::vector<int> keys_by_instance(std::int32_t degree, std::int64_t first, std::int64_t step, int keys) {
  KeyOwners owners(degree);
  std::vector<int> count(static_cast<std::size_t>(degree), 0);
  for (int i = 0; i < keys; ++i) {
    const std::int32_t owner = owners.owner_of(first + i * step);
    CHECK(owner >= 0 && owner < degree);
    CHECK_EQ(owners.owner_of(first + i * step), owner);
    ++count[static_cast<std::size_t>(owner)];
  }
  return count;
}

void small_keys_are_assigned_in_turn_for_any_step() {
  for (const std::int64_t step : {1, 2, 3, 64, 1000}) {
    CHECK(keys_by_instance(2, 0, step, 16) == (std::vector<int>{8, 8}));
    CHECK(keys_by_instance(3, 5, step, 16) == (std::vector<int>{6, 5, 5}));
  }
}

void other_keys_go_by_hash() {
  for (const std::int64_t first : {-10'000L, KeyOwners::kAssignedInTurn + 0L, std::int64_t{1} << 60}) {
    KeyOwners owners(4);
    KeyOwners others(4);
    others.owner_of(3);
    for (std::int64_t key = first; key < first + 10'000; ++key) CHECK_EQ(owners.owner_of(key), others.owner_of(key));
    for (const int count : keys_by_instance(4, first, 1, 10'000)) CHECK(count > 2'300 && count < 2'700);
  }
}

void threads_that_meet_keys_at_once_agree() {
  for (int round = 0; round < lab::test::stress_rounds(20); ++round) {
    constexpr std::size_t kThreads = 3;
    KeyOwners owners(2);
    std::vector<std::vector<std::int32_t>> found(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&owners, &its_owners = found[t]] {
        for (std::int64_t key = 0; key < 2'000; ++key) its_owners.push_back(owners.owner_of(key));
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(found[0] == found[1] && found[0] == found[2]);
  }
}

}  // namespace

int main() {
  small_keys_are_assigned_in_turn_for_any_step();
  other_keys_go_by_hash();
  threads_that_meet_keys_at_once_agree();
  return 0;
}
