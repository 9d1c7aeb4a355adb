// The error that a run throws when memory runs out. Its message lives in the object, so reporting allocates nothing.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <new>

namespace lab {

class NoMemory final : public std::bad_alloc {
 public:
  // Formats as printf does; cuts off a message that is too long.
  [[gnu::format(printf, 2, 3)]] explicit NoMemory(const char* format, ...) noexcept {
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(what_, sizeof what_, format, values);
    va_end(values);
  }
  const char* what() const noexcept override { return what_; }

 private:
  char what_[512];
};

}  // namespace lab
