// Tests the path from sources through map instances to aggregate instances, on one thread: order, routing, repeats,
// full queues, ends.
#include "oplus/map_stage.h"

#include <set>

#include "oplus/tests/queues_rig.h"

namespace {

using lab::LogRun;
using lab::MapStage;
using lab::OperatorStream;
using lab::TupleBuffer;
using lab::test::behaviour;
using lab::test::bucket_of;
using lab::test::kLogs;
using lab::test::kLowest;
using lab::test::Texts;
using lab::test::word_in;

struct Arrived {
  std::int64_t ts;
  std::int32_t stream;
  std::int64_t key;
  std::int64_t value;
  bool operator==(const Arrived&) const = default;
};

class Rig {
 public:
  Rig(const std::vector<Texts>& streams, std::int32_t maps, std::vector<std::int32_t> mapping, std::int32_t instances,
      const char* log, bool bag = false, bool scheduled = false)
      : read(static_cast<std::size_t>(instances)),
        feeds(streams, nullptr, scheduled),
        maps_(maps),
        now_{lab::first_instances(instances), std::move(mapping)} {
    spec_.window = {10, 10, false};
    spec_.entry_bytes = lab::test::entry_bytes_of(spec_.window, 1);
    spec_.buckets = static_cast<std::int32_t>(behaviour.buckets);
    spec_.bag = bag;
    mapped_.assign(streams.size(), lab::test::kMappedTexts);
    stage = std::make_unique<MapStage>(spec_, maps, log, lab::LogOptions{}, feeds.streams, mapped_, feeds.feeds);
    stage->start(instances, now_);
    for (std::int32_t i = 0; i < instances; ++i)
      CHECK_EQ(stage->streams(i).size(), streams.size() * static_cast<std::size_t>(maps));
  }

  // Feeds and reads until no row moves; instances for which `stuck` holds do not read.
  void settle(std::uint64_t stuck = 0) {
    for (bool moved = true; moved;) {
      moved = stage->feed(recorder_, now_);
      for (std::size_t i = 0; i < read.size(); ++i) {
        if ((stuck >> i & 1) == 0) moved |= take(static_cast<std::int32_t>(i));
      }
    }
  }

  bool ended() {
    bool all = true;
    for (std::size_t i = 0; i < read.size(); ++i) all &= stage->log(static_cast<std::int32_t>(i)).ended(0);
    return all;
  }

  std::vector<std::vector<Arrived>> read;  // by instance
  lab::test::TextFeeds feeds;
  std::unique_ptr<MapStage> stage;

 private:
  bool take(std::int32_t i) {
    TupleBuffer& log = stage->log(i);
    bool some = false;
    for (log.advance();; log.advance()) {
      const std::span<const LogRun> runs = log.read(0);
      if (runs.empty()) return some;
      for (const LogRun& part : runs) {
        if (part.source < 0) continue;
        const OperatorStream& stream = stage->streams(i)[static_cast<std::size_t>(part.source)];
        for (std::int64_t row = part.begin; row < part.end; ++row) {
          const std::size_t item = stream.item(row);
          read[static_cast<std::size_t>(i)].push_back(
              {stream.ts(row), part.source / maps_, static_cast<const std::int64_t*>(stream.view->columns[1])[item],
               static_cast<const std::int64_t*>(stream.view->columns[2])[item]});
        }
      }
      log.release(0, runs.size());
      some = true;
    }
  }

  lab::OperatorSpec spec_;
  std::int32_t maps_;
  lab::InstanceMapping now_;
  std::vector<lab::MappedStream> mapped_;
  lab::Recorder recorder_{false};
};

// The tuples that instance `i` must read: one for each of its keys, in the order of the streams' tuples and of their
// keys.
std::vector<Arrived> expected(const std::vector<Texts>& streams, const std::vector<std::int32_t>& owner, std::int32_t i,
                              bool bag) {
  std::vector<Arrived> result;
  for (const auto& [ts, s, row] : lab::test::total_order(streams)) {
    const Texts& from = streams[s];
    std::vector<std::int32_t> words(from.words.begin() + from.begins[row], from.words.begin() + from.ends[row]);
    if (!words.empty()) words.push_back(words[0]);
    std::set<std::int32_t> seen;
    for (const std::int32_t word : words) {
      if (!seen.insert(word).second && !bag) continue;
      if (owner[static_cast<std::size_t>(bucket_of(word))] != i) continue;
      result.push_back({ts, static_cast<std::int32_t>(s), word, from.value[row]});
    }
  }
  return result;
}

void a_tuple_for_each_key_comes_in_the_order_of_the_streams() {
  behaviour.buckets = 5;
  for (unsigned seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    const auto streams = lab::test::random_texts(random, 1 + static_cast<int>(seed % 4), 150);  // with ties
    const std::int32_t instances = 1 + static_cast<std::int32_t>(seed % 3);
    const std::int32_t maps = 1 + static_cast<std::int32_t>(seed % 7);
    const auto owner = lab::test::random_owner(random, lab::first_instances(instances));
    const bool bag = seed % 2 == 0;
    for (const char* log : kLogs) {
      Rig rig(streams, maps, owner, instances, log, bag);
      rig.settle();
      std::int64_t emitted = 0;
      for (std::int32_t i = 0; i < instances; ++i) {
        const auto& read = rig.read[static_cast<std::size_t>(i)];
        CHECK(read == expected(streams, owner, i, bag));
        emitted += std::ssize(read);
      }
      CHECK(rig.ended());
      CHECK_EQ(rig.stage->delivered(), lab::test::events_in(streams));
      CHECK_EQ(rig.stage->emitted(), emitted);
    }
  }
}

// Queues of 4,096 rows; they wrap more than twice. The reading instance gets ahead by no more than they hold.
void a_full_queue_holds_up_the_map_instances_and_loses_nothing() {
  behaviour.buckets = 2;
  const std::int32_t zeroth = word_in(0), first = word_in(1);
  std::vector<Texts> streams(1);
  for (std::int64_t i = 0; i < 10'000; ++i) streams[0].add(i, {zeroth, first}, i);
  for (const char* log : kLogs) {
    for (const std::int32_t maps : {1, 3}) {
      Rig rig(streams, maps, {0, 1}, 2, log);
      rig.settle(0b01);  // 0 does not read
      CHECK(std::ssize(rig.read[1]) >= MapStage::kQueueRows);
      CHECK(std::ssize(rig.read[1]) <= maps * (MapStage::kQueueRows + 1));
      CHECK(rig.read[0].empty());
      rig.settle();
      for (const std::int32_t i : {0, 1}) {
        CHECK(rig.read[static_cast<std::size_t>(i)] == expected(streams, {0, 1}, i, false));
      }
      CHECK(rig.ended());
    }
  }
}

// More keys than a queue holds, and more than the initial room.
void a_tuple_of_very_many_keys_goes_in_pieces() {
  behaviour.buckets = 3;
  std::vector<Texts> streams(2);
  std::vector<std::int32_t> many(20'000);
  std::iota(many.begin(), many.end(), 0);
  for (std::int64_t i = 0; i < 40; ++i) {
    streams[0].add(i, i == 7 || i == 8 ? many : std::vector<std::int32_t>{1, 2}, i);
    streams[1].add(i, {3}, i);
  }
  for (const char* log : kLogs) {
    Rig rig(streams, 4, {0, 1, 0}, 2, log);
    rig.settle();
    for (const std::int32_t i : {0, 1})
      CHECK(rig.read[static_cast<std::size_t>(i)] == expected(streams, {0, 1, 0}, i, false));
    CHECK(rig.ended());
  }
}

// Ready tuples do not wait for map instances whose turn has not come.
void a_tuple_is_read_as_soon_as_its_stream_has_passed_it() {
  behaviour.buckets = 1;
  std::vector<Texts> streams(1);
  for (std::int64_t i = 0; i < 6; ++i) {
    streams[0].add(10 * i, {1}, i);
    streams[0].due.push_back(i);
  }
  for (const char* log : kLogs) {
    Rig rig(streams, 5, {0}, 1, log, false, true);
    for (std::int64_t i = 0; i < 6; ++i) {
      rig.feeds.publish_due(0, i);
      rig.settle();
      CHECK(std::ssize(rig.read[0]) >= i);  // the last one may have ties to come
    }
    CHECK_EQ(std::ssize(rig.read[0]), 6);
    CHECK(rig.ended());
  }
}

void tuples_of_one_time_stay_with_one_map_instance() {
  behaviour.buckets = 1;
  std::vector<Texts> streams(1);
  for (std::int64_t i = 0; i < 5'000; ++i) streams[0].add(i / 1000, {static_cast<std::int32_t>(i)}, i);
  for (const char* log : kLogs) {
    Rig rig(streams, 3, {0}, 1, log);
    rig.settle();
    CHECK(rig.read[0] == expected(streams, {0}, 0, false));
  }
}

// All rows of one time belong to the second map instance. They exceed the rows that a stream may be ahead of its parts.
void very_many_tuples_of_one_time_do_not_halt_the_stage() {
  behaviour.buckets = 1;
  std::vector<Texts> streams(1);
  streams[0].add(0, {1}, 0);
  for (std::int32_t i = 0; i < 9'000; ++i) streams[0].add(1, {i}, i);
  streams[0].add(2, {7}, 0);
  for (const char* log : kLogs) {
    Rig rig(streams, 2, {0}, 1, log);
    rig.settle();
    CHECK(rig.read[0] == expected(streams, {0}, 0, false));
  }
}

void too_many_map_instances_are_refused() {
  std::vector<Texts> streams(2);
  behaviour.buckets = 1;
  for (const std::int32_t maps : {0, 129}) {
    CHECK_THROWS(Rig(streams, maps, {0}, 1, "order"), std::invalid_argument);
  }
}

}  // namespace

int main() {
  behaviour = {};
  a_tuple_for_each_key_comes_in_the_order_of_the_streams();
  a_full_queue_holds_up_the_map_instances_and_loses_nothing();
  a_tuple_of_very_many_keys_goes_in_pieces();
  a_tuple_is_read_as_soon_as_its_stream_has_passed_it();
  tuples_of_one_time_stay_with_one_map_instance();
  very_many_tuples_of_one_time_do_not_halt_the_stage();
  too_many_map_instances_are_refused();
  return 0;
}
