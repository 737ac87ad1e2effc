#include "firmware-host/agent/images/image_config.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "firmware-host/agent/images/image_manifest.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

const std::string kOne = "sha256:c6f988f4874bb0add23a778f753c65efe992244e148a1d2ec2a8b664fb66bbd1";
const std::string kTwo = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

std::string config_with(const std::string& process) {
  return R"({"architecture":"arm64","os":"linux","config":{)" + process +
         R"(},"rootfs":{"type":"layers","diff_ids":[")" + kOne + R"("]}})";
}

TEST(ImageConfig, ReadsTheExampleOfTheSpec) {
  const Result<ImageConfig> config = read_image_config(R"({
    "created": "2015-10-31T22:22:56.015925234Z", "author": "Alyssa P. Hacker <alyspdev@example.com>",
    "architecture": "arm", "variant": "v7", "os": "linux",
    "config": {"User": "alice", "Memory": 2048, "MemorySwap": 4096, "CpuShares": 8,
      "ExposedPorts": {"8080/tcp": {}, "53": {}},
      "Env": ["PATH=/usr/local/sbin:/usr/local/bin", "FOO=oci_is_a", "EMPTY="],
      "Entrypoint": ["/bin/my-app-binary"], "Cmd": ["--foreground", "--config", "/etc/my-app.d/default.cfg"],
      "Volumes": {"/var/job-result-data": {}, "/var/log/my-app-logs": {}}, "WorkingDir": "/home/alice",
      "StopSignal": "SIGRTMIN+3", "Labels": {"org.opencontainers.image.title": "app", "empty": ""}},
    "rootfs": {"diff_ids": [")" + kOne + R"(", ")" + kTwo +
                                                       R"("], "type": "layers"},
    "history": [{"created": "2015-10-31T22:22:54.690851953Z", "empty_layer": true}]})");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->architecture, "arm");
  EXPECT_EQ(config->variant, "v7");
  EXPECT_EQ(config->os, "linux");
  EXPECT_EQ(config->user, "alice");
  EXPECT_EQ(config->exposed_ports, (Strings{"8080/tcp", "53"}));
  EXPECT_EQ(config->env, (Strings{"PATH=/usr/local/sbin:/usr/local/bin", "FOO=oci_is_a", "EMPTY="}));
  EXPECT_EQ(config->entrypoint, Strings{"/bin/my-app-binary"});
  EXPECT_EQ(config->cmd.size(), 3u);
  EXPECT_EQ(config->volumes, (Strings{"/var/job-result-data", "/var/log/my-app-logs"}));
  EXPECT_EQ(config->working_dir, "/home/alice");
  EXPECT_EQ(config->stop_signal, "SIGRTMIN+3");
  EXPECT_EQ(config->labels.size(), 2u);
  EXPECT_EQ(config->diff_ids, (Strings{kOne, kTwo}));
}

TEST(ImageConfig, WhatIsNullIsAbsent) {
  const Result<ImageConfig> config = read_image_config(config_with(
      R"("User":null,"ExposedPorts":null,"Env":null,"Entrypoint":null,"Cmd":null,"Volumes":null,"WorkingDir":"","Labels":null)"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_TRUE(config->env.empty());
  EXPECT_TRUE(read_image_config(
      R"({"architecture":"a","os":"l","config":null,"rootfs":{"type":"layers","diff_ids":[")" + kOne + R"("]}})"));
}

struct WrongConfig {
  std::string process;
  std::string error;
  friend void PrintTo(const WrongConfig& wrong, std::ostream* out) { *out << wrong.process.substr(0, 60); }
};

class WrongConfigs : public testing::TestWithParam<WrongConfig> {};

TEST_P(WrongConfigs, AreRefusedWithTheNameOfTheField) {
  const Result<ImageConfig> config = read_image_config(config_with(GetParam().process));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message(), "image config: config." + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Images, WrongConfigs,
    testing::Values(
        WrongConfig{R"("Env":"A=b")", "Env: expected a list, got \"A=b\"; write it in [ ]"},
        WrongConfig{R"("Env":["A=b",1])", "Env[1]: expected a string, got 1"},
        WrongConfig{R"("Env":["A=b","B"])", "Env[1]: expected NAME=value, got \"B\""},
        WrongConfig{R"("Env":["=b"])", "Env[0]: expected NAME=value, got \"=b\""},
        WrongConfig{R"("Cmd":{})", "Cmd: expected a list, got an object; write it in [ ]"},
        WrongConfig{R"("Entrypoint":[null])", "Entrypoint[0]: expected a string, got null"},
        WrongConfig{R"("WorkingDir":"home")", "WorkingDir: expected an absolute path, got \"home\""},
        WrongConfig{R"("User":"a b")", "User: expected a user, uid, or one of them with :group or :gid, got \"a b\""},
        WrongConfig{R"("User":1000)", "User: expected a string, got 1000; put it in quotes"},
        WrongConfig{R"("StopSignal":"kill me")", "StopSignal: expected a signal such as SIGTERM, got \"kill me\""},
        WrongConfig{R"("ExposedPorts":["80"])", "ExposedPorts: expected an object, got a list"},
        WrongConfig{R"("ExposedPorts":{"70000/tcp":{}})",
                    "ExposedPorts[0]: expected PORT, PORT/tcp, PORT/udp or PORT/sctp, got \"70000/tcp\""},
        WrongConfig{R"("ExposedPorts":{"80/icmp":{}})",
                    "ExposedPorts[0]: expected PORT, PORT/tcp, PORT/udp or PORT/sctp, got \"80/icmp\""},
        WrongConfig{R"("Volumes":{"":{}})", "Volumes[0]: expected a directory, got \"\""},
        WrongConfig{R"("Labels":{"a":1})", "Labels.a: expected a string, got 1; put it in quotes"},
        WrongConfig{R"("Cmd":[")" + std::string(ImageConfig::kLongestString + 1, 'x') + R"("])",
                    "Cmd[0]: expected a string of at most 131072 bytes, got 131073"}));

std::string error_of(const std::string& json) {
  const Result<ImageConfig> config = read_image_config(json);
  return config ? "" : config.error().message();
}

TEST(ImageConfig, NeedsPlatformAndLayers) {
  const std::string rootfs = R"("rootfs":{"type":"layers","diff_ids":[")" + kOne + R"("]})";
  EXPECT_EQ(error_of(R"({"os":"linux",)" + rootfs + "}"),
            "image config: architecture: missing; expected a string that is not empty");
  EXPECT_EQ(error_of(R"({"architecture":"arm",)" + rootfs + "}"),
            "image config: os: missing; expected a string that is not empty");
  EXPECT_EQ(error_of(R"({"architecture":"arm","os":"linux"})"), "image config: rootfs: missing; expected an object");
  EXPECT_EQ(error_of(R"({"architecture":"arm","os":"linux","rootfs":{"type":"cake"}})"),
            "image config: rootfs.type: expected \"layers\", got \"cake\"");
  EXPECT_EQ(error_of(R"({"architecture":"arm","os":"linux","rootfs":{"type":"layers","diff_ids":[]}})"),
            "image config: rootfs.diff_ids: expected the digests of 1 to 500 layers, got 0");
  EXPECT_EQ(error_of(R"({"architecture":"arm","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:../../x"]}})"),
            "image config: rootfs.diff_ids[0]: expected a sha256 digest, got \"sha256:../../x\"");
  EXPECT_EQ(error_of("[]"), "image config: expected an object, got a list");
  EXPECT_NE(error_of("{"), "");
  EXPECT_NE(error_of("\"" + std::string(ImageConfig::kMostBytes, ' ') + "\""), "");
}

TEST(ImageConfig, AListHasABound) {
  std::string env = R"("Env":["A=1")";
  for (std::size_t i = 0; i < ImageConfig::kMostEntries; ++i) env += R"(,"A=1")";
  EXPECT_EQ(error_of(config_with(env + "]")), "image config: config.Env: expected at most 4096 entries, got 4097");
}

std::string manifest_with(const std::string& config_type, const std::string& layer_type, const std::string& digest) {
  return R"({"schemaVersion":2,"config":{"mediaType":")" + config_type + R"(","digest":")" + kOne +
         R"(","size":7},"layers":[{"mediaType":")" + layer_type + R"(","digest":")" + digest + R"(","size":5}]})";
}

TEST(ImageManifest, NamesItsBlobs) {
  const std::string config = "application/vnd.oci.image.config.v1+json";
  const std::string layer = "application/vnd.oci.image.layer.v1.tar+gzip";
  const Result<ImageManifest> manifest = read_image_manifest(manifest_with(config, layer, kTwo));
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->config.digest, kOne);
  EXPECT_EQ(manifest->layers.at(0).digest, kTwo);
  EXPECT_EQ(manifest->layers.at(0).size, 5);
  EXPECT_EQ(read_image_manifest(manifest_with(config, layer, "sha256:../x")).error().message(),
            "image manifest: layers[0].digest: expected a sha256 digest, got \"sha256:../x\"");
  EXPECT_FALSE(read_image_manifest(manifest_with(config, layer + "+encrypted", kTwo)));
  EXPECT_FALSE(read_image_manifest(manifest_with("application/vnd.cncf.helm.config.v1+json", layer, kTwo)));
  EXPECT_FALSE(read_image_manifest(R"({"manifests":[]})"));
}

TEST(ImageManifest, TheIndexOfALayoutHasOne) {
  const std::string one = R"({"digest":")" + kOne + R"(","size":9})";
  EXPECT_EQ(read_layout_index(R"({"manifests":[)" + one + "]}")->digest, kOne);
  EXPECT_FALSE(read_layout_index(R"({"manifests":[)" + one + "," + one + "]}"));
  EXPECT_FALSE(read_layout_index("{}"));
}

TEST(ChainId, NamesALayerWithThoseBelow) {
  // printf '%s %s' ONE TWO | sha256sum
  EXPECT_EQ(chain_ids({kOne, kTwo}),
            (Strings{kOne, "sha256:c3191d32a37d7159b2e30830937d2e30268ad6c375a773a8994911a3aba9b93f"}));
  EXPECT_EQ(chain_ids({kTwo, kOne})[0], kTwo);
}

}  // namespace
}  // namespace berth
