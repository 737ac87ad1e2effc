#include "firmware-host/agent/images/image_source.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

std::vector<std::string> arguments_of(const SourceOptions& options, const std::string& source) {
  return skopeo_arguments(options, source, "/store/blobs", "/store/staging/0").value();
}

bool contains(const std::vector<std::string>& arguments, const std::string& argument) {
  return std::ranges::find(arguments, argument) != arguments.end();
}

TEST(ImageSource, ASkopeoThatLacksOptionsIsToldFromOneThatHasThem) {
  for (const char* usable : {"skopeo version 1.6.0\n", "skopeo version 1.9.3\n", "skopeo version 1.13.3 commit: 0a1b\n",
                             "skopeo version 2.0.0-dev\n", "skopeo version unknown\n", "another program 0.1\n", ""}) {
    EXPECT_TRUE(check_skopeo_version(usable).is_success()) << usable;
  }
  EXPECT_EQ(check_skopeo_version("skopeo version 1.2.2\n").message(),
            "it is of version 1.2.2, expected 1.6 or newer, as Debian 12 has it");
  for (const char* old : {"skopeo version 0.1.41", "skopeo version 1.5.99-dev commit: 1\n"}) {
    EXPECT_FALSE(check_skopeo_version(old).is_success()) << old;
  }
}

TEST(ImageSource, IsCopiedToTheSharedBlobsForThePlatform) {
  const SourceOptions options{.skopeo = "/usr/bin/skopeo",
                              .curl = {},
                              .platform = {.os = "linux", .architecture = "arm", .variant = "v7"},
                              .authfile = "/etc/auth.json",
                              .insecure_registries = {},
                              .mirrors = {}};
  EXPECT_EQ(arguments_of(options, "docker://docker.io/library/a:1"),
            (std::vector<std::string>{"/usr/bin/skopeo", "--tmpdir", "/store/staging/0", "--override-os", "linux",
                                      "--override-arch", "arm", "--override-variant", "v7", "copy", "--quiet",
                                      "--dest-shared-blob-dir", "/store/blobs", "--dest-oci-accept-uncompressed-layers",
                                      "--src-authfile", "/etc/auth.json", "docker://docker.io/library/a:1",
                                      "oci:/store/staging/0/layout:image"}));
}

TEST(ImageSource, VerifiesTlsUnlessTheRegistryIsListed) {
  SourceOptions options;
  options.insecure_registries = {"plain:5000"};
  EXPECT_TRUE(contains(arguments_of(options, "docker://plain:5000/a:1"), "--src-tls-verify=false"));
  for (const char* source :
       {"docker://plain/a:1", "docker://plain:5001/a:1", "docker://a.plain:5000/a:1", "oci:/plain:5000"}) {
    EXPECT_FALSE(contains(arguments_of(options, source), "--src-tls-verify=false")) << source;
  }
}

TEST(ImageSource, UsesNoCredentialsThatItWasNotTold) {
  EXPECT_TRUE(contains(arguments_of({}, "docker://r.example/a:1"), "--src-no-creds"));
}

TEST(ImageSource, IsNoOptionOfTheProgram) {
  for (const char* source : {"", "--debug", "-x:y", ":a", "/path", "Docker://a"}) {
    EXPECT_FALSE(skopeo_arguments({}, source, "b", "s")) << source;
  }
}

TEST(ImageSource, OfAReferenceIsItsRegistry) {
  EXPECT_EQ(registry_source(*parse_image_reference("busybox")), "docker://docker.io/library/busybox:latest");
}

}  // namespace
}  // namespace berth
