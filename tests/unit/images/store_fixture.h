// An image store, and a real registry (docker-registry) on a loopback port, which skopeo talks to.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "firmware-host/agent/images/image_store.h"
#include "tests/unit/images/images_loop.h"
#include "tests/unit/images/made_image.h"
#include "tests/unit/transports/mosquitto_child.h"

namespace berth {

namespace fs = std::filesystem;

// Whether a program of the packages that these tests need is installed.
inline bool has_program(const std::string& name) {
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string directory; std::getline(path, directory, ':');) {
    if (access((directory + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

class RegistryChild {
 public:
  // Whom it may ask for.
  static constexpr const char* kUser = "anna";
  static constexpr const char* kPassword = "pass word";

  explicit RegistryChild(const TempDir& directory, bool asks_for_user = false)
      : port_(free_port()), log_(directory.file("registry.log")) {
    const std::string config = directory.file("registry.yml");
    std::ofstream out(config);
    out << "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: " << directory.file("registry")
        << "\nhttp:\n  addr: 127.0.0.1:" << port_ << "\n";
    if (asks_for_user) {
      const std::string users = directory.file("htpasswd");
      std::ofstream(users) << kUser << ":$2b$04$uc4/1ggeMuQlx8VH3VXt6..jVQUVQAD.9usjQ89pCwgggCcmVQyn.\n";
      out << "auth:\n  htpasswd:\n    realm: test\n    path: " << users << "\n";
    }
    out.close();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(log, 1);
      dup2(log, 2);
      execlp("docker-registry", "docker-registry", "serve", config.c_str(), nullptr);
      _exit(127);
    }
  }
  ~RegistryChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  RegistryChild(const RegistryChild&) = delete;
  RegistryChild& operator=(const RegistryChild&) = delete;

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // By its log. A port where nobody listens yet may be connected to itself, if it is tried often enough.
  bool is_listening() const { return requests("listening on " + address()) > 0; }
  // How many lines of its log have this, `"GET /v2/app/blobs/` say.
  int requests(const std::string& part) const {
    std::ifstream in(log_);
    int count = 0;
    for (std::string line; std::getline(in, line);) count += line.find(part) != std::string::npos;
    return count;
  }

 private:
  int port_;
  std::string log_;
  pid_t pid_;
};

class ImageStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "unpacking needs root: chroot(2), mknod(2) and trusted.* attributes";
    if (!has_program("skopeo") || !has_program("docker-registry")) {
      GTEST_SKIP() << "skopeo and docker-registry are not installed; see tests/packages";
    }
    registry_ = std::make_unique<RegistryChild>(directory_);
    loop_.run_until_true([&] { return registry_->is_listening(); });
    options_.root = directory_.file("images");
    options_.source.platform = {.os = "linux", .architecture = "amd64", .variant = {}};
    options_.source.insecure_registries = {registry_->address()};
    options_.limits = {.bytes = 64 << 20, .entries = 1000};
    open_store();
  }

  void open_store() {
    store_.reset();
    auto opened = ImageStore::open(loop_.context(), loop_.clock(), options_);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }

  // A base, a layer that adds and hides, and one that replaces a directory.
  static std::vector<MadeLayer> three_layers() {
    return {layer_of({folder("etc"), file("etc/old", "old"), file("etc/kept", "kept"), folder("opt"),
                      file("opt/one", "1"), file("gone", "gone")}),
            layer_of({folder("etc"), file("etc/.wh.old"), file("etc/new", "new"), file(".wh.gone")}),
            layer_of({folder("opt"), file("opt/.wh..wh..opq"), file("opt/two", "2")})};
  }

  ImageReference name(const std::string& text) const {
    return parse_image_reference(registry_->address() + "/" + text).value();
  }

  static ImageReference named(const std::string& text) { return parse_image_reference(text).value(); }

  // Runs skopeo to its end; its success is expected.
  void skopeo(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "skopeo");
    std::optional<ChildEnd> ended;
    auto task = ChildTask::start(loop_.context(), executing(arguments), [&](ChildEnd end) { ended = std::move(end); });
    ASSERT_TRUE(task);
    loop_.run_until([&] { return ended.has_value(); });
    ASSERT_EQ(ended->code, 0) << ended->text;
  }

  std::string layout_of(const std::vector<MadeImage>& images) {
    MadeLayout layout(directory_.file("layout" + std::to_string(layouts_++)));
    layout.write(images);
    return layout.source();
  }
  void push(const std::vector<MadeImage>& images, const std::string& text) {
    skopeo({"copy", "--all", "--dest-tls-verify=false", layout_of(images),
            "docker://" + registry_->address() + "/" + text});
  }

  Result<ImageRecord> wait_for(const std::function<Status(ImageStore::OnImage)>& start) {
    std::optional<Result<ImageRecord>> result;
    const Status started = start([&](const Result<ImageRecord>& image) { result = image; });
    if (!started.is_success()) return started;
    loop_.run_until([&] { return result.has_value(); });
    return *result;
  }
  Result<ImageRecord> pull(const ImageReference& reference) {
    return wait_for([&](ImageStore::OnImage on_image) { return store_->pull(reference, std::move(on_image)); });
  }
  Result<ImageRecord> import(const std::string& source, const ImageReference& reference) {
    return wait_for(
        [&](ImageStore::OnImage on_image) { return store_->import(source, reference, std::move(on_image)); });
  }
  ImageStore::Collected collect() {
    std::optional<Result<ImageStore::Collected>> result;
    store_->collect_garbage([&](const Result<ImageStore::Collected>& collected) { result = collected; });
    loop_.run_until([&] { return result.has_value(); });
    return result->value();
  }

  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string blob(const std::string& digest) const { return options_.root + "/blobs/sha256/" + digest.substr(7); }
  std::size_t count(const std::string& below) const { return StoreFiles::entries(options_.root + "/" + below).size(); }

  TempDir directory_;
  ImagesLoop loop_;
  std::unique_ptr<RegistryChild> registry_;
  ImageStore::Options options_;
  std::unique_ptr<ImageStore> store_;
  int layouts_ = 0;
};

}  // namespace berth
