// A pod, objects in memory, and a directory, for tests of volumes.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/agent/pod_objects.h"
#include "firmware-host/agent/volumes/pod_fields.h"

namespace berth {

namespace fs = std::filesystem;

class ObjectsInMemory : public PodObjects {
 public:
  void set(PodObjectKind kind, const std::string& name, std::map<std::string, std::string> values) {
    objects_[{kind, name}] = std::make_shared<PodObject>(PodObject{std::move(values), false});
  }
  void remove(PodObjectKind kind, const std::string& name) { objects_.erase({kind, name}); }
  std::shared_ptr<const PodObject> find(const Tag&, PodObjectKind kind, const std::string& name) const override {
    const auto found = objects_.find({kind, name});
    return found == objects_.end() ? nullptr : found->second;
  }
  bool is_absent(const Tag&, PodObjectKind, const std::string& name) const override { return name != "on-its-way"; }

 private:
  std::map<std::pair<PodObjectKind, std::string>, std::shared_ptr<const PodObject>> objects_;
};

// A manifest with these volumes and this container, as JSON; both may be empty.
inline Json pod_with(const std::string& volumes, const std::string& container = "{}",
                     const std::string& more_of_spec = "") {
  const std::string text =
      R"({"metadata":{"name":"web-0","namespace":"shop","labels":{"app":"web","tier":"a\"b"},"annotations":{"note":"two\nlines"}},
          "spec":{"volumes":[)" +
      volumes + R"(],"containers":[)" + container + "]" + more_of_spec + "}}";
  const Result<Json> pod = Json::parse(text);
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().message()) << text;
  return pod.value_or(Json::object());
}

inline PodFacts facts_of(const Json& pod) {
  PodFacts facts{pod, {"uid-1", {}}, "edge-a", {"10.1.2.3", "fd00::3"}, {"192.168.0.7"}, {}};
  facts.allocatable = {{"cpu", Quantity(4)}, {"memory", Quantity(8LL << 30)}, {"ephemeral-storage", Quantity(1 << 30)}};
  return facts;
}

inline const Json& first_container(const Json& pod) { return pod.find("spec")->find("containers")->as_array().front(); }

class VolumeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Its permissions in octal and its group: "0644:0".
  static std::string mode_of(const std::string& path) {
    struct stat found{};
    if (lstat(path.c_str(), &found) != 0) return "none";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%04o:%u", found.st_mode & 07777, found.st_gid);
    return text.data();
  }
  // What `look` answers in a process with mounts of its own, which are gone afterwards. An exception ends it.
  static std::string with_own_mounts(const std::function<std::string()>& look) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool is_separate =
          unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
      const auto ends_here = [&]() noexcept { return look(); };
      const std::string answer = is_separate ? ends_here() : "cannot separate mounts";
      _exit(write(ends[1], answer.data(), answer.size()) < 0 ? 1 : 0);
    }
    close(ends[1]);
    std::array<char, 4096> answer{};
    const ssize_t got = ::read(ends[0], answer.data(), answer.size());
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return {answer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

  std::string folder_ = (fs::temp_directory_path() / "berth-volumes-XXXXXX").string();
};

}  // namespace berth
