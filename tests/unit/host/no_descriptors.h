// NoDescriptors: while it exists, this process can open no file (EMFILE). Descriptors that are open already stay
// usable.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define BERTH_NEEDS_DESCRIPTORS true
#endif
#endif
#ifndef BERTH_NEEDS_DESCRIPTORS
#define BERTH_NEEDS_DESCRIPTORS false
#endif

namespace berth {

// UBSan asks a pipe whether memory can be read, and without descriptors takes every object for a wrong one.
inline constexpr bool kNeedsDescriptors = BERTH_NEEDS_DESCRIPTORS;

class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace berth
