// CHECK: a violated invariant aborts the process, in release builds too. Runtime errors are Status values instead.
#pragma once

namespace berth {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace berth

#define CHECK(expression) ((expression) ? static_cast<void>(0) : ::berth::check_failed(#expression, __FILE__, __LINE__))
