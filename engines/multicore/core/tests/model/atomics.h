// Replaces `std` in a product header within a model: atomics are those of the machine, the rest is the real `std`.
//
// Include the product header after this file.
#pragma once
#include "model/machine.h"
#include "model/standard.h"

namespace lab_model_std {
using namespace std;  // NOLINT: the purpose of this file

template <typename T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);

 public:
  static constexpr bool is_always_lock_free = true;
  atomic() : atomic(T{}) {}
  atomic(T value) : location_(lab::model::add_location(bits(value))) {}  // NOLINT: as in std::atomic
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order, std::source_location where = std::source_location::current()) const {
    return value_from(lab::model::load(location_, order, where));
  }
  void store(T value, std::memory_order order, std::source_location where = std::source_location::current()) {
    lab::model::store(location_, bits(value), order, where);
  }
  T exchange(T value, std::memory_order order, std::source_location where = std::source_location::current()) {
    return value_from(lab::model::modify(location_, [&](std::uint64_t) { return bits(value); }, order, where));
  }
  T fetch_add(T value, std::memory_order order, std::source_location where = std::source_location::current()) {
    const auto change = [&](std::uint64_t old_bits) { return bits(static_cast<T>(value_from(old_bits) + value)); };
    return value_from(lab::model::modify(location_, change, order, where));
  }

 private:
  static std::uint64_t bits(T value) {
    std::uint64_t all = 0;
    std::memcpy(&all, &value, sizeof value);
    return all;
  }
  static T value_from(std::uint64_t all) {
    T value;
    std::memcpy(&value, &all, sizeof value);
    return value;
  }
  std::uint32_t location_;  // the first member: a futex finds it by the word's address
};

}  // namespace lab_model_std

#define std lab_model_std
