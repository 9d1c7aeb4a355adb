// The parts of the ordered-pipeline runtime, one by one: queues, worklists, groups, buffers.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "check.h"

#include "ordered/groups.h"
#include "ordered/tests/units.h"
#include "ordered/worklist.h"

namespace {

using lab::Group;
using lab::OrderedWorker;
using lab::Unit;
using lab::test::make_worker;
using lab::test::Units;

void push(lab::Worklist& list, Unit& unit) {
  Unit* const units[] = {&unit};
  list.push(units);
}

void a_ring_gives_each_item_to_one_consumer_in_order() {
  constexpr std::int64_t kItems = 40'000;
  for (const std::int64_t at_once : {1, 8}) {
    lab::ItemRing<std::int64_t> ring(static_cast<std::uint64_t>(kItems));  // room for all, as in a pipeline
    std::vector<std::vector<std::int64_t>> seen(3);
    std::vector<std::thread> consumers;
    std::atomic<bool> over{false};
    for (auto& taken : seen) {
      consumers.emplace_back([&] {
        std::int64_t items[8];
        for (;;) {
          const bool last = over.load(std::memory_order_acquire);
          const std::int64_t count = ring.pop(items, at_once);
          taken.insert(taken.end(), items, items + count);
          if (count == 0 && last) return;
          if (count == 0) std::this_thread::yield();
        }
      });
    }
    for (std::int64_t i = 0; i < kItems; ++i) {
      ring.put(i);
      if (i % 3 == 0) ring.publish();
    }
    ring.publish();
    over.store(true, std::memory_order_release);
    for (std::thread& consumer : consumers) consumer.join();
    std::vector<std::int64_t> all;
    for (const auto& taken : seen) {
      CHECK(std::is_sorted(taken.begin(), taken.end()));
      all.insert(all.end(), taken.begin(), taken.end());
    }
    std::sort(all.begin(), all.end());
    CHECK_EQ(static_cast<std::int64_t>(all.size()), kItems);
    for (std::int64_t i = 0; i < kItems; ++i) CHECK_EQ(all[static_cast<std::size_t>(i)], i);
    CHECK(ring.empty());
  }
}

void a_ring_is_used_again_and_shows_nothing_before_it_is_published() {
  lab::ItemRing<std::int32_t> ring(3);  // room for 4
  std::int32_t items[8];
  for (std::int32_t round = 0; round < 50; ++round) {
    for (std::int32_t i = 0; i < 4; ++i) ring.put(4 * round + i);
    CHECK(ring.empty());
    CHECK_EQ(ring.pop(items, 8), 0);
    ring.publish();
    CHECK(!ring.empty());
    CHECK_EQ(ring.pop(items, 8), 2);  // half
    CHECK_EQ(ring.pop(items + 2, 8), 1);
    CHECK_EQ(ring.pop(items + 3, 1), 1);
    for (std::int32_t i = 0; i < 4; ++i) CHECK_EQ(items[i], 4 * round + i);
    for (std::int32_t i = 0; i < 4; ++i) ring.put(i);
    ring.publish();
    CHECK_EQ(ring.pop(items, 8, true), 4);  // takes all, as there is no other consumer
    CHECK_EQ(items[3], 3);
  }
}

// A processor for lists of groups, which never calls the other functions.
struct GroupProcessor : lab::UnitProcessor {
  void operate(Unit&, OrderedWorker&) override {}
  void hand_over(OrderedWorker&) override {}
  bool stopped() const noexcept override { return false; }
};

// Records the groups taken, and checks that no two of a partition run at once.
class Watch final : public GroupProcessor {
 public:
  explicit Watch(std::size_t partitions, int yields = 0) : inside_(partitions), seen(partitions), yields_(yields) {}
  void operate(Unit& unit, OrderedWorker&) override {
    const std::lock_guard lock(mutex_);
    units.push_back(unit.serial);
  }
  void operate_group(Group& group, OrderedWorker&) override {
    const auto partition = static_cast<std::size_t>(group.partition);
    CHECK_EQ(inside_[partition].fetch_add(1, std::memory_order_relaxed), 0);
    seen[partition].push_back(group.unit->serial);  // unsynchronised: the list guarantees a single thread here
    for (int i = 0; i < yields_; ++i) std::this_thread::yield();
    CHECK_EQ(inside_[partition].fetch_sub(1, std::memory_order_relaxed), 1);
    done.fetch_add(1, std::memory_order_relaxed);
  }
  void hand_over(OrderedWorker&) override { handed_over = true; }

 private:
  std::vector<std::atomic<int>> inside_;

 public:
  std::vector<std::vector<std::int64_t>> seen;  // by partition
  std::atomic<std::int64_t> done{0};
  std::vector<std::int64_t> units;
  std::atomic<bool> handed_over{false};

 private:
  std::mutex mutex_;
  int yields_;
};

void groups_of_a_partition_come_one_at_a_time_and_in_order() {
  constexpr std::int32_t kPartitions = 5;
  std::mt19937 random(3);
  for (const char* name : {"hybrid", "partitioned", "shared"}) {
    for (const int threads : {1, 2, 4}) {
      for (const bool hot : {false, true}) {
        std::vector<std::vector<std::int32_t>> partition_of(512);
        std::int64_t total = 0;
        for (auto& partitions : partition_of) {
          for (std::int32_t p = 0; p < kPartitions; ++p) {
            if (hot ? p == 2 : random() % 2 == 0) partitions.push_back(p);
          }
          std::shuffle(partitions.begin(), partitions.end(), random);
          total += static_cast<std::int64_t>(partitions.size());
        }
        Units units(partition_of);
        const auto list = lab::make_group_list(name, 512, kPartitions, threads, 0);
        Watch watch(kPartitions, 1);
        CHECK(list->empty());
        std::vector<std::thread> workers;
        for (int i = 0; i < threads; ++i) {
          workers.emplace_back([&, i] {
            const auto worker = make_worker(i);
            while (watch.done.load(std::memory_order_relaxed) < total) {
              if (list->work(1 + i * 7, watch, *worker) == 0) std::this_thread::yield();
            }
          });
        }
        for (Unit& unit : units.units) {
          if (unit.records != 0) push(*list, unit);
        }
        for (std::thread& worker : workers) worker.join();
        std::vector<std::vector<std::int64_t>> expected(kPartitions);
        for (std::size_t u = 0; u < partition_of.size(); ++u) {
          for (const std::int32_t p : partition_of[u]) {
            expected[static_cast<std::size_t>(p)].push_back(static_cast<std::int64_t>(u));
          }
        }
        CHECK(watch.seen == expected);
        if (total != 0) CHECK(watch.handed_over.load());
        CHECK(list->empty());
        CHECK_EQ(list->queued(), 0);
      }
    }
  }
}

// Bundles split while workers work on them: the groups of one key still come one at a time, in order.
void bundles_split_and_the_keys_of_each_stay_in_order() {
  constexpr std::int32_t kKeys = 6;
  constexpr std::int64_t kUnits = 600;
  struct Keys final : GroupProcessor {
    void operate_group(Group& group, OrderedWorker&) override {
      const Unit& unit = *group.unit;
      for (std::int32_t i = group.begin; i < group.end; ++i) {
        const auto key = static_cast<std::size_t>(unit.order[static_cast<std::size_t>(i)]);
        CHECK_EQ(inside[key].fetch_add(1, std::memory_order_relaxed), 0);
        seen[key].push_back(unit.serial);  // unsynchronised: the list guarantees a single thread here
        if (key == 0) std::this_thread::yield();
        CHECK_EQ(inside[key].fetch_sub(1, std::memory_order_relaxed), 1);
      }
      done.fetch_add(group.end - group.begin, std::memory_order_relaxed);
    }
    std::array<std::atomic<int>, kKeys> inside{};
    std::array<std::vector<std::int64_t>, kKeys> seen;
    std::atomic<std::int64_t> done{0};
  };
  std::mt19937 random(5);
  for (const int threads : {2, 3, 4}) {
    for (const unsigned every : {1U, 20U, 200U}) {  // units between attempts to split
      const auto list = lab::make_group_list("homed", kUnits, kKeys, threads, 0);
      CHECK_EQ(list->bundles(), 1);
      CHECK_EQ(list->heaviest_share(), 0.0);
      Keys keys;
      std::vector<Unit> units(static_cast<std::size_t>(kUnits));
      std::atomic<bool> over{false};
      std::vector<std::thread> workers;
      for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] {
          const auto worker = make_worker(i);
          for (;;) {
            const bool last = over.load(std::memory_order_acquire);
            if (list->work(1 + i * 7, keys, *worker) != 0) continue;
            if (last && list->empty()) return;
            std::this_thread::yield();
          }
        });
      }
      std::int64_t total = 0;
      int splits = 0;
      for (Unit& unit : units) {
        unit.serial = &unit - units.data();
        if (random() % every == 0) splits += list->split() ? 1 : 0;
        const std::int32_t bundles = list->bundles();
        const std::int32_t mask = bundles < kKeys ? bundles - 1 : 7;
        for (std::int32_t b = 0; b < bundles; ++b) {
          Group group;
          group.unit = &unit;
          group.partition = b;
          group.begin = static_cast<std::int32_t>(unit.order.size());
          for (std::int32_t key = 0; key < kKeys; ++key) {
            if ((key & mask) == b && (key == 0 || random() % 2 == 0)) unit.order.push_back(key);
          }
          group.end = static_cast<std::int32_t>(unit.order.size());
          if (group.begin != group.end) unit.groups.push_back(std::move(group));
        }
        unit.group_count = static_cast<std::int32_t>(unit.groups.size());
        unit.records = static_cast<std::int64_t>(unit.order.size());
        total += unit.records;
        push(*list, unit);
        if (unit.serial % 16 == 0) std::this_thread::yield();
      }
      over.store(true, std::memory_order_release);
      for (std::thread& worker : workers) worker.join();
      CHECK_EQ(keys.done.load(), total);
      CHECK(list->empty());
      CHECK_EQ(list->queued(), 0);
      if (every < 200) CHECK(splits > 0);
      std::size_t done = 0;
      for (const auto& seen : keys.seen) {
        CHECK(std::is_sorted(seen.begin(), seen.end()));
        done += seen.size();
      }
      CHECK_EQ(static_cast<std::int64_t>(done), total);
    }
  }
}

void a_list_of_one_worker_does_not_split_and_a_split_waits_for_the_last() {
  Watch watch(4);
  const auto worker = make_worker(0);
  CHECK(!lab::make_group_list("homed", 4, 8, 1, 0)->split());
  CHECK(!lab::make_group_list("hybrid", 4, 8, 2, 0)->split());
  const auto list = lab::make_group_list("homed", 4, 8, 2, 0);
  CHECK(list->split());
  CHECK_EQ(list->bundles(), 2);
  CHECK(!list->split());  // no worker has reached the mark
  CHECK(!list->empty());
  CHECK_EQ(list->work(1, watch, *worker), 1);
  CHECK(list->split());
  CHECK_EQ(list->bundles(), 4);
  CHECK(list->work(1, watch, *worker) + list->work(1, watch, *worker) > 0);
  while (list->work(1, watch, *worker) != 0) continue;
  CHECK(!list->split());  // two for each of two workers are enough
}

void the_hybrid_list_leaves_a_group_to_the_worker_that_is_at_its_partition() {
  // Worker 0 is at the partition until the other has taken a token of it.
  Units units({{0}, {0}, {1}});
  const auto list = lab::make_group_list("hybrid", 4, 2, 2, 0);
  for (Unit& unit : units.units) push(*list, unit);
  struct Slow final : GroupProcessor {
    void operate_group(Group& group, OrderedWorker& worker) override {
      by[group.unit->serial] = worker.index;
      if (group.unit->serial != 0) return;
      inside.store(true, std::memory_order_release);
      while (!left.load(std::memory_order_acquire)) std::this_thread::yield();
    }
    std::array<int, 3> by{-1, -1, -1};
    std::atomic<bool> inside{false}, left{false};
  } slow;
  std::thread first([&] {
    const auto worker = make_worker(0);
    CHECK_EQ(list->work(1, slow, *worker), 2);  // its own group and the one left to it
  });
  while (!slow.inside.load(std::memory_order_acquire)) std::this_thread::yield();
  const auto worker = make_worker(1);
  CHECK_EQ(list->work(1, slow, *worker), 1);
  CHECK_EQ(worker->counts.delegated, 1);
  slow.left.store(true, std::memory_order_release);
  first.join();
  CHECK(slow.by == (std::array<int, 3>{0, 0, 1}));
}

void a_worker_takes_groups_of_its_home_first() {
  std::vector<std::vector<std::int32_t>> partition_of(6, {0, 1, 2});
  Units units(partition_of);
  const auto list = lab::make_group_list("homed", 8, 3, 2, 0);
  Watch watch(3);
  const auto first = make_worker(0);
  const auto second = make_worker(1);
  while (list->split()) {
    while (list->work(1, watch, *first) != 0) continue;
  }
  CHECK_EQ(list->bundles(), 3);
  std::vector<Unit*> all;
  for (Unit& unit : units.units) all.push_back(&unit);
  list->push(all);
  CHECK_EQ(list->work(1000, watch, *second), 6);  // partition 1
  CHECK_EQ(static_cast<int>(watch.seen[1].size()), 6);
  CHECK(watch.seen[0].empty() && watch.seen[2].empty());
  CHECK(list->work(1000, watch, *second) > 0);  // of the other worker's groups, at most half of the available ones
  CHECK(watch.seen[0].size() + watch.seen[2].size() <= 6);
  while (list->work(1000, watch, *first) != 0) continue;
  const std::vector<std::int64_t> in_order{0, 1, 2, 3, 4, 5};
  for (const auto& seen : watch.seen) CHECK(seen == in_order);
  CHECK(list->empty());
  CHECK_EQ(list->queued(), 0);
}

void units_are_distributed_over_workers_and_taken_from_an_absent_one() {
  Units units(std::vector<std::vector<std::int32_t>>(32, {0}));
  lab::UnitList list(32, 2);
  std::vector<Unit*> all;
  for (Unit& unit : units.units) all.push_back(&unit);
  list.push(all);
  Watch watch(1);
  const auto worker = make_worker(1);
  CHECK_EQ(list.work(1000, watch, *worker), 16);
  CHECK(std::all_of(watch.units.begin(), watch.units.end(), [](std::int64_t serial) { return serial / 8 % 2 == 1; }));
  CHECK(!list.empty());
  while (list.work(1000, watch, *worker) != 0) continue;
  CHECK_EQ(static_cast<int>(watch.units.size()), 32);
  CHECK(list.empty());
  CHECK_EQ(list.queued(), 0);
}

void a_list_that_is_too_large_is_refused() {
  CHECK_THROWS(lab::make_group_list("hybrid", 1 << 12, 1 << 13, 1, 0), std::invalid_argument);
  CHECK_THROWS(lab::make_group_list("heap", 4, 4, 1, 0), std::invalid_argument);
}

void whole_units_come_in_order() {
  Units units(std::vector<std::vector<std::int32_t>>(20, {0, 0, 0}));
  lab::UnitList list(20, 1);
  for (Unit& unit : units.units) push(list, unit);
  CHECK_EQ(list.queued(), 60);
  Watch watch(1);
  const auto worker = make_worker();
  CHECK_EQ(list.work(1, watch, *worker), 3);  // at least one
  while (list.work(10, watch, *worker) != 0) continue;
  CHECK_EQ(static_cast<int>(watch.units.size()), 20);
  CHECK(std::is_sorted(watch.units.begin(), watch.units.end()));
  CHECK_EQ(list.queued(), 0);
}

// Partition of a record: its value modulo the number of partitions.
std::int64_t by_value(const void* const* columns, std::int64_t base, std::int64_t records, std::int64_t partitions,
                      std::int32_t* result) {
  const auto* value = static_cast<const std::int64_t*>(columns[1]);
  for (std::int64_t i = 0; i < records; ++i) {
    if (value[base + i] < 0) return 0;
    result[i] = static_cast<std::int32_t>(value[base + i] % partitions);
  }
  return records + 1;
}

void outputs_of_groups_are_joined_in_the_order_of_their_records() {
  const std::vector<std::int32_t> itemsizes{8, 1, 2, 4, 16};
  std::mt19937 random(1);
  const auto worker = make_worker();
  Unit unit;  // reused, as in a pipeline
  for (int round = 0; round < 200; ++round) {
    const auto records = static_cast<std::int64_t>(1 + random() % 40);
    const auto partitions = static_cast<std::int32_t>(1 + random() % 9);
    constexpr std::int64_t kBase = 5;
    std::vector<std::int64_t> ts(static_cast<std::size_t>(kBase + records)), value(ts.size());
    for (auto& each : value) each = static_cast<std::int64_t>(random() % 30);
    const void* columns[] = {ts.data(), value.data()};
    unit.columns = columns;
    unit.base = kBase;
    unit.records = records;
    CHECK(lab::make_groups(unit, {&by_value, partitions, partitions}, *worker));
    // Each record is in one group, in order, and in that of its partition.
    std::set<std::int32_t> seen;
    for (std::int32_t g = 0; g < unit.group_count; ++g) {
      const Group& group = unit.groups[static_cast<std::size_t>(g)];
      CHECK(group.begin < group.end);
      for (std::int32_t i = group.begin; i < group.end; ++i) {
        const std::int32_t record = unit.order[static_cast<std::size_t>(i)];
        CHECK(seen.insert(record).second);
        CHECK_EQ(value[static_cast<std::size_t>(kBase + record)] % partitions, group.partition);
        if (i > group.begin) CHECK(unit.order[static_cast<std::size_t>(i - 1)] < record);
      }
    }
    CHECK_EQ(static_cast<std::int64_t>(seen.size()), records);
    // Record r makes r % 4 outputs, each marked with r and its number. Some groups write to a buffer of their own.
    const auto write_output = [](void* const* columns_out, std::int64_t row, std::int64_t record, std::int64_t n) {
      static_cast<std::int64_t*>(columns_out[0])[row] = 100 * record + n;
      static_cast<std::int8_t*>(columns_out[1])[row] = static_cast<std::int8_t>(record);
      static_cast<std::int16_t*>(columns_out[2])[row] = static_cast<std::int16_t>(record * 7 + n);
      static_cast<std::int32_t*>(columns_out[3])[row] = static_cast<std::int32_t>(-record);
      static_cast<std::int64_t*>(columns_out[4])[2 * row] = record;
      static_cast<std::int64_t*>(columns_out[4])[2 * row + 1] = n;
    };
    unit.part_room = 3;
    unit.buffers[Unit::parts].shape(itemsizes, records * unit.part_room);
    for (std::int32_t g = 0; g < unit.group_count; ++g) {
      Group& group = unit.groups[static_cast<std::size_t>(g)];
      lab::RecordBuffer* buffer = &unit.buffers[Unit::parts];
      std::int64_t row = group.begin * unit.part_room;
      if (random() % 4 == 0) {
        group.overflow = std::make_unique<lab::RecordBuffer>();
        group.overflow->shape(itemsizes, 4 * records);
        buffer = group.overflow.get();
        row = 0;
      }
      for (std::int32_t i = group.begin; i < group.end; ++i) {
        const std::int32_t record = unit.order[static_cast<std::size_t>(i)];
        for (std::int64_t n = 0; n < record % 4; ++n, ++row, ++group.outputs) {
          write_output(buffer->columns(), row, record, n);
          buffer->sources()[row] = record;
        }
      }
    }
    const std::int64_t outputs = lab::join_groups(unit, itemsizes, *worker);
    const lab::RecordBuffer& out = unit.buffers[unit.out];
    lab::RecordBuffer expected;
    expected.shape(itemsizes, 4 * records);
    std::int64_t row = 0;
    for (std::int64_t record = 0; record < records; ++record) {
      for (std::int64_t n = 0; n < record % 4; ++n, ++row) {
        write_output(expected.columns(), row, record, n);
        CHECK_EQ(out.sources()[row], record);
      }
    }
    CHECK_EQ(outputs, row);
    for (std::size_t c = 0; c < itemsizes.size(); ++c) {
      const auto* expected_column = static_cast<const char*>(expected.columns()[c]);
      CHECK(std::equal(expected_column, expected_column + outputs * itemsizes[c],
                       static_cast<const char*>(out.columns()[c])));
    }
  }
  std::vector<std::int64_t> negative{0, -1};
  const void* columns[] = {negative.data(), negative.data()};
  unit.columns = columns;
  unit.base = 0;
  unit.records = 2;
  CHECK(!lab::make_groups(unit, {&by_value, 2, 2}, *worker));  // its kernel raised an error
}

void a_buffer_keeps_its_records_when_it_grows() {
  const std::vector<std::int32_t> itemsizes{8, 2};
  lab::RecordBuffer buffer;
  buffer.shape(itemsizes, 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    static_cast<std::int64_t*>(buffer.columns()[0])[i] = i;
    static_cast<std::int16_t*>(buffer.columns()[1])[i] = static_cast<std::int16_t>(-i);
    buffer.sources()[i] = static_cast<std::int32_t>(10 * i);
  }
  buffer.grow(3, 1000);
  CHECK_EQ(buffer.capacity(), 1000);
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK_EQ(static_cast<std::int64_t*>(buffer.columns()[0])[i], i);
    CHECK_EQ(static_cast<std::int16_t*>(buffer.columns()[1])[i], -i);
    CHECK_EQ(buffer.sources()[i], 10 * i);
  }
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(buffer.columns()[1]) % 64, std::uintptr_t{0});
}

}  // namespace

int main() {
  a_ring_gives_each_item_to_one_consumer_in_order();
  a_ring_is_used_again_and_shows_nothing_before_it_is_published();
  groups_of_a_partition_come_one_at_a_time_and_in_order();
  bundles_split_and_the_keys_of_each_stay_in_order();
  a_list_of_one_worker_does_not_split_and_a_split_waits_for_the_last();
  the_hybrid_list_leaves_a_group_to_the_worker_that_is_at_its_partition();
  a_worker_takes_groups_of_its_home_first();
  units_are_distributed_over_workers_and_taken_from_an_absent_one();
  a_list_that_is_too_large_is_refused();
  whole_units_come_in_order();
  outputs_of_groups_are_joined_in_the_order_of_their_records();
  a_buffer_keeps_its_records_when_it_grows();
  return 0;
}
