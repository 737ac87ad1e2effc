// ContainerTest: pods as real containers of an image that has busybox, run by the OCI runtime of this machine. On top
// of RuntimeTest; each test has an image store, a network and control groups of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "firmware-host/agent/containers/container_machine.h"
#include "firmware-host/agent/containers/keeper_objects.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/pulling_runtime.h"
#include "tests/unit/containers/made_objects.h"
#include "tests/unit/host/runtime_fixture.h"
#include "tests/unit/images/made_image.h"

namespace berth {

class ContainerTest : public RuntimeTest {
 protected:
  static constexpr const char* kImage = "busybox:1";

  void SetUp() override {
    if (!is_possible()) GTEST_SKIP() << "needs root, skopeo, busybox-static, and runc or crun";
    settings_.cni_config_dir = root_ + "/cni";
    fs::create_directories(settings_.cni_config_dir);
    fs::create_directories(root_ + "/seccomp");
    settings_.seccomp_dir = root_ + "/seccomp";
    open_containers();
    import({layer_of(busybox_entries())});
  }
  void TearDown() override {
    if (!containers_) return;
    stop_all();
    EXPECT_EQ(PodCgroup::names_below(cgroup_of_node("test", node_)), std::vector<std::string>());
    containers_.reset();
  }

  bool is_possible() {
    const char* path = std::getenv("PATH");
    auto machine = find_container_machine(settings_, path != nullptr ? path : "");
    if (machine) machine_ = *machine;
    return machine && fs::exists("/bin/busybox");
  }

  Runtime& top() override { return containers_ ? static_cast<Runtime&>(*containers_) : *runtime_; }

  void open_containers() {
    machine_->settings = settings_;
    ImageStore::Options options;
    options.root = root_ + "/images";
    options.source = source_options_of(*machine_);
    options.bytes_per_day = settings_.image_bytes_per_day;
    auto store = ImageStore::open(loop_.context(), clock_, std::move(options));
    ASSERT_TRUE(store) << store.error().message();
    store_ = store->get();
    object_files_.emplace("/dev/shm" + root_, log_);  // a tmpfs
    keeper_objects_.emplace(*object_files_);
    runtime_->planner().set_objects(*keeper_objects_);
    containers_ =
        std::make_unique<PullingRuntime>(*runtime_, runtime_->planner(), std::move(*store), clock_, timers_, log_,
                                         CrashBackoff{first_backoff_ms_, longest_backoff_ms_, 60000}, 10);
    containers_->set_objects(&objects_);
    containers_->set_handler(this);
    runtime_->planner().set_containers(*machine_, *containers_);
  }

  static std::vector<MadeEntry> busybox_entries() {
    std::ifstream in("/bin/busybox", std::ios::binary);
    std::vector<MadeEntry> entries = {folder("bin"), folder("etc"), folder("tmp", 01777)};
    entries.push_back(file("bin/busybox", {std::istreambuf_iterator<char>(in), {}}));
    entries.back().mode = 0755;
    entries.push_back(file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:100::/home/anna:/bin/sh\n"));
    for (const char* name :
         {"sh",    "cat",  "id",     "echo", "hostname", "ls", "sleep", "touch", "dd",   "ip",   "nc",      "test",
          "mkdir", "kill", "printf", "env",  "pwd",      "ps", "head",  "sync",  "true", "grep", "readlink"}) {
      entries.push_back(symbolic_link(std::string("bin/") + name, "busybox"));
    }
    return entries;
  }

  void import(std::vector<MadeLayer> layers, const std::string& name = kImage,
              const std::string& config = R"({"Env":["PATH=/bin"],"Cmd":["sh","-c","echo of the image"]})") {
    MadeLayout layout(root_ + "/layout" + std::to_string(layouts_++));
    layout.write({{platform_of_machine().architecture, std::move(layers), config}});
    std::optional<Result<ImageRecord>> result;
    ASSERT_TRUE(store_
                    ->import(layout.source(), parse_image_reference(name).value(),
                             [&](const Result<ImageRecord>& image) {
                               result = image;
                               loop_.stop();
                             })
                    .is_success());
    while (!result) ASSERT_TRUE(loop_.run().is_success());
    ASSERT_TRUE(*result) << result->error().message();
  }

  // A pod in the machine's network; `more`: members of its only container, each followed by a comma.
  static std::string container_pod(const std::string& script, const std::string& more = "",
                                   const std::string& policy = "Never", const std::string& of_spec = "") {
    Json command = Json::array();
    for (const std::string& text : {std::string("sh"), std::string("-c"), script}) command.push_back(Json(text));
    return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":")" + policy +
           R"(","hostNetwork":true,)" + of_spec + R"("containers":[{"name":"main","image":")" + kImage + R"(",)" +
           more + R"("command":)" + command.dump() + "}]}}";
  }

  // A network with addresses of its own, and nothing behind it.
  void make_network() {
    const std::string bridge = "bt" + std::to_string(getpid());
    const std::string subnet = "10." + std::to_string(getpid() % 200 + 20) + "." + std::to_string(getpid() / 200 % 250);
    std::ofstream(settings_.cni_config_dir + "/10-test.conflist")
        << R"({"cniVersion":"1.0.0","name":")" << bridge << R"(","plugins":[{"type":"bridge","bridge":")" << bridge
        << R"(","isGateway":true,"ipam":{"type":"host-local","dataDir":")" << root_ << R"(/addresses","subnet":")"
        << subnet << R"(.0/24"}}]})";
    bridges_.push_back(bridge);
  }

  ~ContainerTest() override {
    fs::remove_all("/dev/shm" + root_);
    for (const std::string& bridge : bridges_) {
      if (std::system(("ip link del " + bridge + " 2>/dev/null").c_str()) != 0) ADD_FAILURE() << bridge;
    }
  }

  ContainerSettings settings_;
  std::optional<ContainerMachine> machine_;
  std::unique_ptr<PullingRuntime> containers_;
  MadeObjects objects_;
  std::optional<SecretFiles> object_files_;
  std::optional<KeeperObjects> keeper_objects_;
  ImageStore* store_ = nullptr;
  std::vector<std::string> bridges_;
  Millis first_backoff_ms_ = 1;
  int layouts_ = 0;
};

}  // namespace berth
