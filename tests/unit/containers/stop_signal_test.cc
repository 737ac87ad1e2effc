#include "firmware-host/agent/stop_signal.h"

#include <gtest/gtest.h>

#include <csignal>

namespace berth {
namespace {

TEST(StopSignal, IsReadByNameWithOrWithoutItsPrefixAndByNumber) {
  EXPECT_EQ(signal_number("SIGQUIT"), SIGQUIT);
  EXPECT_EQ(signal_number("WINCH"), SIGWINCH);
  EXPECT_EQ(signal_number("15"), SIGTERM);
  EXPECT_EQ(signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(signal_number("RTMAX-1"), SIGRTMAX - 1);
}

TEST(StopSignal, WhatIsNoSignalIsNone) {
  for (const char* text : {"", "SIG", "SIGNONE", "0", "-1", "99", "15x", "RTMIN-1", "RTMIN+99", "RTMAX+1", "quit"}) {
    EXPECT_EQ(signal_number(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth
