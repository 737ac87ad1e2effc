#include "firmware-host/agent/containers/runtime_version.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

namespace fs = std::filesystem;

class RuntimeVersion : public ::testing::Test {
 protected:
  RuntimeVersion() {
    std::string name = "/tmp/berth-version-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~RuntimeVersion() override { fs::remove_all(directory_); }

  std::string program(const std::string& script) const {
    const std::string path = directory_ + "/crun";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }

  std::string directory_;
};

TEST_F(RuntimeVersion, IsTheFirstNumberThatTheProgramTells) {
  const std::string path = program("test \"$1\" = --version && echo 'crun version 1.8.1' && echo 'spec: 1.0.0'");
  EXPECT_EQ(runtime_feature(path), "runtimes/crun-1.8.1");
}

TEST_F(RuntimeVersion, IsLeftOutWhereTheProgramTellsNoneOrCannotBeRun) {
  EXPECT_EQ(runtime_feature(program("echo a b; exit 1")), "runtimes/crun");
  EXPECT_EQ(runtime_feature(program("echo 1.2/../../$(printf '%200s' | tr ' ' x)")), "runtimes/crun");
  EXPECT_EQ(runtime_feature(directory_ + "/not-there"), "runtimes/not-there");
}

TEST_F(RuntimeVersion, OfAProgramThatHangsIsNotWaitedForAndNothingOfItIsLeft) {
  EXPECT_EQ(runtime_feature(program("exec sleep 1000"), 20), "runtimes/crun");
}

}  // namespace
}  // namespace berth
