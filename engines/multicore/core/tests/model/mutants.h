// not_found: tries every change of a product's atomic operations, and returns the changes that no program detects.
#pragma once
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "model/machine.h"

namespace lab::model {

using Make = std::function<std::unique_ptr<Program>()>;

// Shortens `unsigned int lab::Parker::prepare()` to `Parker::prepare`.
inline std::string short_name(const std::string& function) {
  const std::size_t end = function.find('(');
  const std::size_t begin = function.rfind(' ', end);
  const std::string name = function.substr(begin == std::string::npos ? 0 : begin + 1, end - begin - 1);
  return name.starts_with("lab::") ? name.substr(5) : name;
}

// Checks that all runs of a program are right; returns the operations found.
inline std::vector<Site> right(const Make& make) {
  const Exploration result = explore(make);
  std::printf("%lld runs, %lld states\n", static_cast<long long>(result.runs), static_cast<long long>(result.states));
  if (!result.failure.empty()) std::printf("%s\n%s", result.failure.c_str(), result.trace.c_str());
  CHECK_EQ(result.failure, "");
  return result.sites;
}

// Checks that all runs of all programs are right, and returns the mutants that no program detects, one a line:
// function, operation with its number there, change. `file`: part of the product's file name.
inline std::string not_found(const std::string& file, const std::vector<Make>& programs) {
  std::vector<Site> sites;
  for (const Make& make : programs) {
    for (const Site& site : right(make)) {
      if (site.file.find(file) == std::string::npos) continue;
      if (std::ranges::find(sites, site) == sites.end()) sites.push_back(site);
    }
  }
  std::ranges::sort(sites, {}, [](const Site& site) { return std::tuple(site.file, site.line, site.column); });
  const std::pair<Mutant::Kind, const char*> kinds[] = {{Mutant::Kind::kRelaxed, "relaxed"},
                                                        {Mutant::Kind::kNotSequential, "acquire-release"},
                                                        {Mutant::Kind::kDropped, "dropped"},
                                                        {Mutant::Kind::kLate, "late"}};
  std::string survivors;
  int tried = 0;
  for (const Site& site : sites) {
    int number = 1;
    for (const Site& other : sites) {
      if (&other == &site) break;
      number += other.function == site.function && other.operation == site.operation;
    }
    for (const auto& [kind, change] : kinds) {
      if (kind == Mutant::Kind::kRelaxed && site.order == std::memory_order_relaxed) continue;
      if (kind == Mutant::Kind::kNotSequential && site.order != std::memory_order_seq_cst) continue;
      if ((kind == Mutant::Kind::kDropped || kind == Mutant::Kind::kLate) && site.operation != "store") continue;
      ++tried;
      bool seen = false;
      std::string failure;
      for (const Make& make : programs) {
        failure = explore(make, {kind, site}).failure;
        seen = seen || !failure.empty();
        if (seen) break;
      }
      const std::string name =
          short_name(site.function) + " " + site.operation + " " + std::to_string(number) + " " + change;
      std::printf("%-60s %s\n", name.c_str(), seen ? failure.c_str() : "not found");
      if (!seen) survivors += name + "\n";
    }
  }
  std::printf("%d mutants\n", tried);
  return survivors;
}

}  // namespace lab::model
