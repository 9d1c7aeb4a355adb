// Tests switches of shared-nothing operators at one event time, on one thread: sources halt, states move, new instances
// continue to read.
#include "oplus/tests/queues_rig.h"

namespace {

using lab::test::behaviour;
using lab::test::Era;
using lab::test::kLogs;
using lab::test::kLowest;
using lab::test::Rig;
using lab::test::Texts;
using lab::test::word_in;

constexpr std::size_t kEntry = 8 + 2 * 24;

// Stamp, then key, left and state of two windows.
std::vector<std::int64_t> entry_of(std::int64_t b, std::int64_t key) {
  std::vector<std::int64_t> words{77};
  for (const std::int64_t left : {0, 10}) words.insert(words.end(), {100 * b + key, left, 1000 * b + left + key});
  return words;
}

// Three keys in every bucket, in two windows.
void fill(Rig& rig, std::int64_t buckets) {
  for (std::int64_t b = 0; b < buckets; ++b) {
    const std::int32_t owner = rig.now.owner[static_cast<std::size_t>(b)];
    for (std::int64_t key = 0; key < 3; ++key) {
      std::byte* entry = rig.queues().state(owner)->table(b).find(100 * b + key, kEntry).entry;
      const std::vector<std::int64_t> words = entry_of(b, key);
      std::memcpy(entry, words.data(), kEntry);
    }
  }
}

// Every bucket's entries are complete, with its owner and no other instance.
void check_filled(Rig& rig, std::int64_t buckets, std::int32_t most, const std::vector<std::int32_t>& before) {
  for (std::int64_t b = 0; b < buckets; ++b) {
    const auto at = static_cast<std::size_t>(b);
    for (std::int32_t i = 0; i < most; ++i) {
      CHECK_EQ(rig.queues().state(i)->table(b).count(), rig.now.owner[at] == i ? std::size_t{3} : std::size_t{0});
    }
    for (std::int64_t key = 0; key < 3; ++key) {
      const auto found = rig.queues().state(rig.now.owner[at])->table(b).find(100 * b + key, kEntry);
      CHECK(!found.created);
      std::vector<std::int64_t> words = entry_of(b, key);
      // Stamps count the tuples of one instance; those of another are meaningless.
      if (before[at] != rig.now.owner[at]) words[0] = lab::WindowTable::kNoStamp;
      CHECK(std::memcmp(found.entry, words.data(), kEntry) == 0);
    }
  }
}

void a_switch_halts_the_sources_at_the_latest_tuple_handed_over() {
  std::vector<std::int32_t> all_words;
  for (const std::int64_t b : {0, 1, 2}) all_words.push_back(word_in(b));
  std::vector<Texts> streams(3);
  for (std::int64_t i = 0; i < 9; ++i) streams[0].add(10 * i, all_words, i);
  for (const std::int64_t ts : {5, 15, 25, 25, 25, 26, 60}) streams[1].add(ts, all_words, ts);
  streams[2].add(1, all_words);  // has ended when the switch is requested
  for (const char* log : kLogs) {
    Rig rig(streams, 4, {0, 1, 0}, 2, log);
    fill(rig, 3);
    for (int i = 0; i < 3; ++i) CHECK(rig.feed());  // up to 20, 25 and the end
    CHECK(rig.queues().append_switch(1));
    std::int64_t until = 0;
    CHECK(rig.queues().switch_time(&until));
    CHECK_EQ(until, 25);
    rig.settle();
    const std::vector<Era> before{{25, rig.now.owner}, {lab::kEndOfTime, {9, 9, 9}}};
    lab::test::check_rows(rig, streams, before, 2);
    for (const std::int32_t i : {0, 1}) {
      CHECK_EQ(rig.of(i).rows.size(), std::size_t{9});  // rows at the time of the switch are before it
      CHECK(rig.of(i).switches == std::vector<std::int64_t>{1});
    }
    CHECK(!rig.feed());  // it halts
    // Each tuple once, however many instances have a copy: 0 to 20, 5 to 25, 1.
    CHECK_EQ(rig.queues().delivered_of(0), 3);
    CHECK_EQ(rig.queues().delivered_of(1), 5);
    CHECK_EQ(rig.queues().delivered_of(2), 1);

    rig.standing(0).stand_at(25);
    rig.standing(1).stand_at(26);  // promises have brought it further
    const std::vector<std::int32_t> old = rig.now.owner;
    CHECK_EQ(rig.change({0, 1, 2}, {2, 1, 2}), static_cast<std::int64_t>(2 * 3 * kEntry));
    for (const std::int32_t i : {0, 1, 2}) CHECK_EQ(rig.standing(i).settled, 26);
    CHECK_EQ(rig.standing(3).settled, kLowest);
    check_filled(rig, 3, 4, old);

    rig.settle();
    const std::vector<Era> after{{25, old}, {lab::kEndOfTime, rig.now.owner}};
    for (std::int32_t i = 0; i < 4; ++i) {
      CHECK(rig.of(i).rows == lab::test::expected(streams, after, i));
      rig.read(i);
      CHECK(rig.ended(i));
    }
    CHECK(rig.of(2).switches.empty());
    CHECK(!rig.queues().append_switch(2));  // all sources have ended
  }
}

// No instance remains, and others than the first ones follow: all state moves, and rows go to the new ones only.
void a_switch_may_replace_all_instances() {
  std::vector<std::int32_t> all_words;
  for (const std::int64_t b : {0, 1, 2}) all_words.push_back(word_in(b));
  std::vector<Texts> streams(2);
  for (std::int64_t i = 0; i < 30; ++i) streams[0].add(10 * i, all_words, i);
  for (std::int64_t i = 0; i < 30; ++i) streams[1].add(10 * i + 3, all_words, i);
  for (const char* log : kLogs) {
    Rig rig(streams, 5, {0, 1, 0}, 2, log);
    fill(rig, 3);
    std::vector<Era> eras;
    std::int64_t number = 0;
    const auto change = [&](std::vector<std::int32_t> instances, std::vector<std::int32_t> owner) {
      for (int i = 0; i < 3; ++i) CHECK(rig.feed());
      CHECK(rig.queues().append_switch(++number));
      rig.settle();
      std::int64_t until = 0;
      CHECK(rig.queues().switch_time(&until));
      eras.push_back({until, rig.now.owner});
      for (const std::int32_t i : rig.now.instances) CHECK_EQ(rig.of(i).switches.back(), number);
      const auto moved = rig.change(std::move(instances), std::move(owner));
      CHECK_EQ(moved, static_cast<std::int64_t>(3 * 3 * kEntry));
    };
    change({2}, {2, 2, 2});
    change({1, 3}, {3, 1, 3});
    change({0, 2, 4}, {4, 0, 2});
    change({3, 4}, {3, 3, 4});
    rig.settle();
    eras.push_back({lab::kEndOfTime, rig.now.owner});
    lab::test::check_rows(rig, streams, eras, 5);
    for (std::int32_t i = 0; i < 5; ++i) {
      rig.read(i);
      CHECK(rig.ended(i));
    }
  }
}

// A source without later rows: its earlier promises let the new instance read.
void an_instance_that_joins_gets_earlier_promises() {
  const std::int32_t zeroth = word_in(0), first = word_in(1);
  std::vector<Texts> streams(2);
  for (const std::int64_t ts : {10, 20, 30, 40}) streams[0].add(ts, {zeroth, first});
  streams[0].due = {0, 0, 50, 400};
  streams[1].add(90, {first});
  streams[1].due = {500};
  streams[1].heartbeats = {35};
  streams[1].heartbeat_due = {0};
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0, 0}, 1, log, true);
    const auto advance = [&](std::int64_t elapsed_ns) {
      for (const std::size_t s : {0, 1}) rig.feeds.publish_due(s, elapsed_ns);
      rig.settle();
    };
    advance(0);
    CHECK_EQ(rig.of(0).rows.size(), std::size_t{2});
    CHECK(rig.queues().append_switch(1));
    rig.settle();
    CHECK(rig.of(0).switches.empty());  // the first source may still have a tuple of time 20
    advance(50);
    CHECK(rig.of(0).switches == std::vector<std::int64_t>{1});
    CHECK_EQ(rig.of(0).rows.size(), std::size_t{2});
    rig.change({0, 1}, {0, 1});
    rig.settle();
    for (const std::int32_t i : {0, 1}) CHECK_EQ(rig.of(i).rows.back().ts, 30);  // the second source promises 36
    CHECK_EQ(rig.of(1).rows.size(), std::size_t{1});
    advance(500);
    CHECK_EQ(rig.of(1).rows.size(), std::size_t{3});
    CHECK(rig.ended(0) && rig.ended(1));
  }
}

// Switches at random places: the owner of a tuple depends on its time alone.
void every_tuple_goes_to_the_owners_of_its_time(unsigned seed) {
  std::mt19937 random(seed);
  behaviour.buckets = 1 + static_cast<std::int64_t>(seed % 9);
  const auto streams = lab::test::random_texts(random, 1 + static_cast<int>(seed % 4), 200);
  const std::int32_t most = 5;
  Rig rig(streams, most, lab::test::random_owner(random, {0, 1}), 2, kLogs[seed % 2]);
  std::vector<Era> eras;
  std::int64_t number = 0;
  bool switching = false;
  for (bool moved = true; moved || switching;) {
    moved = false;
    for (auto turns = random() % 12; turns > 0; --turns) moved |= rig.feed();
    for (const std::int32_t i : rig.now.instances) {
      if (random() % 2 == 0) moved |= rig.read(i, 1 + random() % 20);
    }
    if (!switching && random() % 3 == 0) {
      if (rig.queues().append_switch(number + 1)) {
        ++number;
        switching = moved = true;
      }
    } else if (switching) {
      rig.settle();
      std::int64_t until = 0;
      rig.queues().switch_time(&until);
      for (const std::int32_t i : rig.now.instances) CHECK_EQ(rig.of(i).switches.back(), number);
      const auto after = lab::test::random_instances(random, most);
      if (eras.empty() || until > eras.back().until) eras.push_back({until, rig.now.owner});
      rig.change(after, lab::test::random_owner(random, after));
      switching = false;
      moved = true;
    }
  }
  rig.settle();
  eras.push_back({lab::kEndOfTime, rig.now.owner});
  for (std::int32_t i = 0; i < most; ++i) {
    CHECK(rig.of(i).rows == lab::test::expected(streams, eras, i));
    rig.read(i);
    CHECK(rig.ended(i));
  }
}

}  // namespace

int main() {
  behaviour = {.window = {10, 20, false}};
  behaviour.buckets = 2;
  an_instance_that_joins_gets_earlier_promises();
  behaviour.buckets = 3;
  a_switch_halts_the_sources_at_the_latest_tuple_handed_over();
  a_switch_may_replace_all_instances();
  for (unsigned seed = 0; seed < 60; ++seed) every_tuple_goes_to_the_owners_of_its_time(seed);
  return 0;
}
