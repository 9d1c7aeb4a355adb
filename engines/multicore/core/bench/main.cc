// core_bench --list                         names, sizes and units, separated by tabs
// core_bench --check                       all benchmarks at small sizes; prints nothing, fails if a checksum is wrong
// core_bench NAME [--n N] [--plant PERCENT] one benchmark; prints its checksum, fails if the checksum is wrong
//
// `--plant` makes the benchmark do PERCENT more work: a slow-down of known size, to test a gate.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench.h"

namespace {

constexpr int kWrongUse = 2;

template <typename Number>
Number number(std::string_view option, const char* text) {
  Number value{};
  const char* end = text + std::strlen(text);
  const auto [parsed_end, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || parsed_end != end) {
    throw std::invalid_argument(std::string(option) + " is '" + text + "', expected a number");
  }
  return value;
}

int list() {
  for (const lab::bench::Bench& bench : lab::bench::all()) {
    std::printf("%s\t%lld\t%s\n", bench.name, static_cast<long long>(bench.n), bench.unit);
  }
  return 0;
}

int check() {
  for (const lab::bench::Bench& bench : lab::bench::all()) {
    for (const std::int64_t n : {1, 2, 63, 10'007}) lab::bench::run_checked(bench, n);
  }
  return 0;
}

int run(int count, char** arguments) {
  const lab::bench::Bench& bench = lab::bench::find(arguments[1]);
  std::int64_t n = bench.n;
  double plant = 0;
  for (int i = 2; i < count; i += 2) {
    const std::string_view option = arguments[i];
    if (i + 1 == count) throw std::invalid_argument(std::string(option) + " needs a value");
    if (option == "--n") {
      n = number<std::int64_t>(option, arguments[i + 1]);
    } else if (option == "--plant") {
      plant = number<double>(option, arguments[i + 1]);
    } else {
      throw std::invalid_argument("unknown option '" + std::string(option) + "'; there are --n and --plant");
    }
  }
  if (!(plant >= 0 && plant <= 1000)) throw std::invalid_argument("--plant needs a percentage from 0 to 1000");
  n += static_cast<std::int64_t>(static_cast<double>(n) * plant / 100);
  std::printf("%lld\n", static_cast<long long>(lab::bench::run_checked(bench, n)));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: core_bench --list | --check | NAME [--n N] [--plant PERCENT]\n", stderr);
    return kWrongUse;
  }
  try {
    const std::string_view first = arguments[1];
    if (first == "--list") return list();
    return first == "--check" ? check() : run(count, arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "core_bench: %s\n", error.what());
    return kWrongUse;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "core_bench: %s\n", error.what());
    return 1;
  }
}
