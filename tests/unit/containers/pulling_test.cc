// Images on their way to a pod, from a real registry.
#include <gtest/gtest.h>

#include "tests/unit/containers/container_fixture.h"
#include "tests/unit/images/cutting_proxy.h"
#include "tests/unit/images/store_fixture.h"

namespace berth {
namespace {

class Pulling : public ContainerTest {
 protected:
  void SetUp() override {
    if (!has_program("docker-registry")) GTEST_SKIP() << "needs docker-registry";
    registry_ = std::make_unique<RegistryChild>(directory_, asks_for_user_);
    run_while([&] { return !registry_->is_listening(); });
    image_ = registry_->address() + "/app:1";
    settings_.insecure_registries = {registry_->address()};
    ContainerTest::SetUp();
  }

  const std::string& image() const { return image_; }

  void push() {
    std::vector<MadeEntry> entries = busybox_entries();
    entries.push_back(file("etc/pushed", "so that this is not the layer that SetUp imported"));
    MadeLayout layout(root_ + "/pushed" + std::to_string(layouts_++));
    layout.write(
        {{platform_of_machine().architecture, {layer_of(entries)}, R"({"Env":["PATH=/bin"],"Cmd":["echo","ran"]})"}});
    const std::string command =
        "skopeo copy --quiet --dest-tls-verify=false " +
        (asks_for_user_ ? "--dest-creds '" + std::string(RegistryChild::kUser) + ":" + RegistryChild::kPassword + "' "
                        : "") +
        layout.source() + " docker://" + image();
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  std::string pod_of_image(const std::string& policy = "IfNotPresent") const {
    return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":"Never","hostNetwork":true,
               "containers":[{"name":"main","image":")" +
           image() + R"(","imagePullPolicy":")" + policy + R"("}]}})";
  }

  // The reasons of what is told with a status.
  static std::string events_of(const Event& event) {
    std::string reasons;
    const Json* events = event.pod_status.find("events");
    if (events == nullptr) return reasons;
    for (const Json& each : events->as_array()) reasons += each.string_at("reason") + " ";
    return reasons;
  }
  static std::string reason(const Event& event) {
    const Json* waiting = container(event).find("state")->find("waiting");
    return waiting == nullptr ? "" : waiting->string_at("reason");
  }
  Event wait_reason(const std::string& wanted) {
    return wait_for([&](const Event& event) { return event.kind == "status" && reason(event) == wanted; });
  }

  TempDir directory_;
  bool asks_for_user_ = false;
  std::unique_ptr<RegistryChild> registry_;
  std::string image_;
};

TEST_F(Pulling, APodStartsOnceItsImageIsThere) {
  push();
  run(tag_, pod_of_image());
  const Event pulling = wait_reason("ContainerCreating");
  EXPECT_EQ(container(pulling).find("state")->find("waiting")->string_at("message"),
            "Pulling image \"" + image() + "\"");
  EXPECT_EQ(events_of(pulling), "Pulling ");
  const Event finished = wait_finished();
  EXPECT_EQ(phase(finished), "Succeeded");
  EXPECT_EQ(events_of(finished), "Pulling Pulled ");
  const std::string pulled = finished.pod_status.find("events")->as_array().back().string_at("message");
  EXPECT_TRUE(pulled.starts_with("Successfully pulled image \"" + image() + "\" in ")) << pulled;
  EXPECT_EQ(output(tag_), "ran\n");
}

TEST_F(Pulling, AnImageThatIsThereIsNotFetchedAgain) {
  push();
  run(tag_, pod_of_image());
  wait_finished();
  const int fetched = registry_->requests("\"GET /v2/app/");
  const Tag other{"u2", {1, 6}};
  run(other, pod_of_image());
  EXPECT_EQ(events_of(wait_for([&](const Event& event) { return event.finished && event.tag == other; })), "Pulled ");
  EXPECT_EQ(registry_->requests("\"GET /v2/app/"), fetched);
}

TEST_F(Pulling, AnImageThatIsNowhereIsTriedAgainWithAReasonAndAPodComesWhenItDoes) {
  longest_backoff_ms_ = 2000;
  run(tag_, pod_of_image());
  const Event failed = wait_reason("ErrImagePull");
  EXPECT_NE(container(failed).find("state")->find("waiting")->string_at("message").find(image()), std::string::npos);
  push();
  const Event finished = wait_finished();
  EXPECT_EQ(phase(finished), "Succeeded");
  EXPECT_TRUE(events_of(finished).starts_with("Pulling Failed BackOff ")) << events_of(finished);
  EXPECT_TRUE(events_of(finished).ends_with("Pulled ")) << events_of(finished);
}

TEST_F(Pulling, APodThatMayNotPullSaysSo) {
  push();
  run(tag_, pod_of_image("Never"));
  wait_reason("ErrImageNeverPull");
  stop(tag_, 0);
  EXPECT_EQ(registry_->requests("\"GET /v2/app/"), 0);
}

TEST_F(Pulling, APodThatIsStoppedWhileItWaitsIsGone) {
  run(tag_, pod_of_image());
  wait_reason("ErrImagePull");
  stop(tag_, 0);
  EXPECT_FALSE(fs::exists(directory(tag_)));
  EXPECT_TRUE(store_->pins().empty());
}

TEST_F(Pulling, APodThatRanStartsAgainWithoutARegistryEvenIfItsImageWasReplaced) {
  push();
  start(tag_, pod_of_image("Always"));
  run_while([&] { return store_->pins().empty(); });
  registry_.reset();
  ASSERT_TRUE(store_->remove(parse_image_reference(image()).value()).is_success());
  containers_.reset();
  open_containers();
  ASSERT_EQ(top().list().value().size(), 1u);
  ASSERT_TRUE(top().start(tag_, pod_of_image("Always"), {}));
  top().go(tag_);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
}

TEST_F(Pulling, APodThatIsGoneKeepsNoImage) {
  push();
  run(tag_, pod_of_image());
  wait_finished();
  EXPECT_EQ(store_->pins().size(), 1u);
  stop(tag_, 0);
  EXPECT_TRUE(store_->pins().empty());
}

TEST_F(Pulling, TheStatusSaysHowFarAPullHasComeAndWhyItWaits) {
  push();
  CuttingProxy proxy(registry_->port(), 200'000);  // of a layer of a megabyte
  proxy.hold_from(150'000);
  image_ = proxy.address() + "/app:1";
  settings_.insecure_registries = {proxy.address()};
  settings_.image_bytes_per_day = 500'000;
  containers_.reset();
  open_containers();
  run(tag_, pod_of_image());
  const auto says = [this](const std::string& text) {
    wait_for([&](const Event& event) {
      const Json* waiting = event.kind == "status" ? container(event).find("state")->find("waiting") : nullptr;
      return waiting != nullptr && waiting->string_at("message").find(text) != std::string::npos;
    });
  };
  says("Pulling image \"" + image() + "\": 0.");
  proxy.release();
  says("containers.image_bytes_per_day");
  stop(tag_, 0);
}

TEST_F(Pulling, NothingIsFetchedWhileTheDiskIsShortAndPodsComeWhenItIsNot) {
  push();
  CuttingProxy proxy(registry_->port(), std::int64_t{1} << 60);
  proxy.hold_from(150'000);
  image_ = proxy.address() + "/app:1";
  settings_.insecure_registries = {proxy.address()};
  containers_.reset();
  open_containers();
  run(tag_, pod_of_image());
  const std::string partial = fs::path(store_->upload_path()).parent_path().parent_path() / "partial";
  run_while([&] { return StoreFiles::entries(partial).empty(); });
  containers_->set_disk_pressure(true);
  const Event failed = wait_reason("ErrImagePull");
  EXPECT_NE(container(failed).find("state")->find("waiting")->string_at("message").find("DiskPressure"),
            std::string::npos);
  const ImageReference reference = parse_image_reference(image()).value();
  const auto ignored = [](const Result<ImageRecord>&) {};
  EXPECT_FALSE(store_->pull(reference, ignored).is_success());
  EXPECT_FALSE(store_->import("oci:/nowhere:1", reference, ignored).is_success());
  bool is_collected = false;
  store_->collect_garbage([&](const Result<ImageStore::Collected>&) { is_collected = true; });
  run_while([&] { return !is_collected; });
  EXPECT_TRUE(StoreFiles::entries(partial).empty()) << "no pull is in its way";
  proxy.release();
  containers_->set_disk_pressure(false);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
}

class PullingWithSecrets : public Pulling {
 protected:
  PullingWithSecrets() { asks_for_user_ = true; }

  std::string pod_with_secrets(const std::string& names) const {
    std::string pod = pod_of_image();
    const std::string spec = R"("spec":{)";
    return pod.insert(pod.find(spec) + spec.size(), R"("imagePullSecrets":[)" + names + "],");
  }
  std::map<std::string, std::string>& secret(const std::string& name) {
    return objects_.made[{PodObjectKind::secret, name}];
  }
  std::string auths(const std::string& password) const {
    return R"({"auths":{")" + registry_->address() + R"(":{"username":")" + RegistryChild::kUser + R"(","password":")" +
           password + R"("}}})";
  }
  // Of what failed, with the status.
  static std::string message(const Event& event) {
    return container(event).find("state")->find("waiting")->string_at("message");
  }
};

TEST_F(PullingWithSecrets, AnImageComesWithTheSecretsOfItsPodTriedOneAfterTheOther) {
  push();
  secret("old")[".dockerconfigjson"] = auths("as it was");
  secret("new")[".dockerconfigjson"] = auths(RegistryChild::kPassword);
  run(tag_, pod_with_secrets(R"({"name":"old"},{"name":"gone"},{"name":"new"})"));
  const Event finished = wait_finished();
  EXPECT_EQ(phase(finished), "Succeeded");
  EXPECT_EQ(events_of(finished), "FailedToRetrieveImagePullSecret Pulling Pulled ");
}

TEST_F(PullingWithSecrets, AnImageThatNeedsAnotherSecretIsRefusedAndComesAtOnceWhenTheSecretChanges) {
  push();
  longest_backoff_ms_ = 3'600'000;
  first_backoff_ms_ = 3'600'000;
  containers_.reset();
  open_containers();
  secret("s")[".dockerconfigjson"] = auths("as it was");
  run(tag_, pod_with_secrets(R"({"name":"s"})"));
  const Event failed = wait_reason("ErrImagePull");
  EXPECT_NE(message(failed).find("unauthorized"), std::string::npos) << message(failed);
  EXPECT_EQ(message(failed).find("as it was"), std::string::npos) << message(failed);
  wait_reason("ImagePullBackOff");
  secret("s")[".dockerconfigjson"] = auths(RegistryChild::kPassword);
  top().objects_changed(tag_);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
}

TEST_F(PullingWithSecrets, AMalformedSecretIsNamedAndNotShown) {
  secret("s")[".dockerconfigjson"] = "hunter2";
  run(tag_, pod_with_secrets(R"({"name":"s"})"));
  EXPECT_EQ(message(wait_reason("ErrImagePull")),
            "image pull secret \"s\": key .dockerconfigjson: must be a JSON object");
  stop(tag_, 0);
}

// Whoever may not see an image does not get it since another pod, which may, is just pulling it.
TEST_F(PullingWithSecrets, TwoPodsThatPullOneImageEachUseTheirOwnSecrets) {
  push();
  secret("s")[".dockerconfigjson"] = auths(RegistryChild::kPassword);
  const Tag other{"u2", {1, 6}};
  run(tag_, pod_with_secrets(R"({"name":"s"})"));
  run(other, pod_of_image("Always"));
  bool is_refused = false;
  bool has_run = false;
  wait_for([&](const Event& event) {
    is_refused = is_refused || (event.tag == other && event.kind == "status" && reason(event) == "ErrImagePull");
    has_run = has_run || (event.tag == tag_ && event.finished);
    return is_refused && has_run;
  });
  stop(other, 0);
}

}  // namespace
}  // namespace berth
