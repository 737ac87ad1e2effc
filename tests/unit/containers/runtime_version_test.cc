#include "firmware-host/agent/containers/runtime_version.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

namespace fs = std::filesystem;

class RuntimeVersionTest : public ::testing::Test {
 protected:
  RuntimeVersionTest() {
    std::string name = "/tmp/berth-version-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~RuntimeVersionTest() override { fs::remove_all(directory_); }

  std::string program(const std::string& script) const {
    const std::string path = directory_ + "/crun";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }

  std::string directory_;
};

TEST_F(RuntimeVersionTest, IsTheFirstNumberThatTheProgramTells) {
  const std::string path = program("test \"$1\" = --version && echo 'crun version 1.8.1' && echo 'spec: 1.0.0'");
  const RuntimeVersion version = runtime_version(path);
  EXPECT_EQ(feature_of(version), "runtimes/crun-1.8.1");
  EXPECT_EQ(container_runtime_version(version), "crun://1.8.1");
}

TEST_F(RuntimeVersionTest, IsLeftOutWhereTheProgramTellsNoneOrCannotBeRun) {
  const RuntimeVersion none = runtime_version(program("echo a b; exit 1"));
  EXPECT_EQ(feature_of(none), "runtimes/crun");
  EXPECT_EQ(container_runtime_version(none), "crun://Unknown");
  EXPECT_EQ(feature_of(runtime_version(program("echo 1.2/../../$(printf '%200s' | tr ' ' x)"))), "runtimes/crun");
  EXPECT_EQ(feature_of(runtime_version(directory_ + "/not-there")), "runtimes/not-there");
}

TEST_F(RuntimeVersionTest, OfAProgramThatHangsIsNotWaitedForAndNothingOfItIsLeft) {
  EXPECT_EQ(feature_of(runtime_version(program("exec sleep 1000"), 20)), "runtimes/crun");
}

}  // namespace
}  // namespace berth
