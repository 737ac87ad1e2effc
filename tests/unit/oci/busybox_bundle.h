// A container with busybox as its only program, for an OCI runtime of this machine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "firmware-host/agent/oci/capabilities.h"
#include "firmware-host/agent/oci/oci_spec.h"

namespace berth {

namespace fs = std::filesystem;

inline constexpr const char* kBusybox = "/bin/busybox";

// crun needs control groups in one hierarchy; runc takes both kinds.
inline std::string runtime() {
  const bool is_unified = fs::exists("/sys/fs/cgroup/cgroup.controllers");
  for (const char* path : {"/usr/bin/crun", "/usr/sbin/runc"}) {
    if (fs::exists(path) && (is_unified || std::string(path).ends_with("runc"))) return path;
  }
  return {};
}

class BusyboxBundle : public testing::Test {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "needs root";
    if (runtime().empty() || !fs::exists(kBusybox)) GTEST_SKIP() << "needs runc or crun, and busybox-static";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    for (const char* directory : {"bin", "proc", "dev", "sys", "tmp", "etc", "data"}) {
      fs::create_directories(root() + "/" + directory);
    }
    fs::copy_file(kBusybox, root() + "/bin/busybox");
    for (const char* name : {"sh", "cat", "id", "echo", "hostname", "grep", "ls", "touch", "mount", "chroot"}) {
      fs::create_symlink("busybox", root() + "/bin/" + name);
    }
    container_.root = root();
    container_.env = {"PATH=/bin", "COLOR=blue"};
    container_.cgroup = "/" + id();
    container_.capabilities = capabilities_of({}, 40).value();
  }
  void TearDown() override {
    if (fs::exists(folder_)) fs::remove_all(folder_);
  }

  std::string root() const { return folder_ + "/root"; }
  std::string id() const { return fs::path(folder_).filename().string(); }

  void write_config(const std::string& script) {
    container_.argv = {"sh", "-c", script};
    std::ofstream(folder_ + "/config.json") << oci_spec(container_).dump();
  }

  std::string folder_ = (fs::temp_directory_path() / "berth-oci-XXXXXX").string();
  OciContainer container_;
};

}  // namespace berth
