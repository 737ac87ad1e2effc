#include "firmware-host/agent/images/image_reference.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace berth {
namespace {

const std::string kDigits = "7cc4b5aefd1d0cadf8d97d4350462ba51c694ebca145b08d7d41b41acc8db5aa";
const std::string kDigest = "sha256:" + kDigits;

struct ValidName {
  std::string text;
  std::string domain;
  std::string path;
  std::string tag;
  std::string digest;
  friend void PrintTo(const ValidName& name, std::ostream* out) { *out << name.text; }
};

class ValidNames : public testing::TestWithParam<ValidName> {};

TEST_P(ValidNames, ParseToHostRepositoryAndTagOrDigest) {
  const ValidName& name = GetParam();
  const Result<ImageReference> parsed = parse_image_reference(name.text);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->domain, name.domain);
  EXPECT_EQ(parsed->path, name.path);
  EXPECT_EQ(parsed->tag, name.tag);
  EXPECT_EQ(parsed->digest, name.digest);
}

TEST_P(ValidNames, ParseToTheSameAgainFromTheirFullText) {
  const Result<ImageReference> parsed = parse_image_reference(GetParam().text);
  ASSERT_TRUE(parsed) << parsed.error().message();
  const Result<ImageReference> again = parse_image_reference(parsed->text());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, *parsed);
}

// Most are of the tests of github.com/distribution/reference (normalize_test.go, reference_test.go).
INSTANTIATE_TEST_SUITE_P(
    Images, ValidNames,
    testing::Values(ValidName{"busybox", "docker.io", "library/busybox", "latest", ""},
                    ValidName{"busybox:1.36", "docker.io", "library/busybox", "1.36", ""},
                    ValidName{"docker.io/busybox", "docker.io", "library/busybox", "latest", ""},
                    ValidName{"index.docker.io/busybox", "docker.io", "library/busybox", "latest", ""},
                    ValidName{"docker.io/library/foo/bar", "docker.io", "library/foo/bar", "latest", ""},
                    ValidName{"library/debian", "docker.io", "library/debian", "latest", ""},
                    ValidName{"docker/docker", "docker.io", "docker/docker", "latest", ""},
                    ValidName{"test_com/foo", "docker.io", "test_com/foo", "latest", ""},
                    ValidName{"test.com/foo", "test.com", "foo", "latest", ""},
                    ValidName{"test.com:8080/foo:tag", "test.com:8080", "foo", "tag", ""},
                    ValidName{"test-com:8080/foo", "test-com:8080", "foo", "latest", ""},
                    ValidName{"localhost/foo", "localhost", "foo", "latest", ""},
                    ValidName{"localhost:5000/a/b:v1", "localhost:5000", "a/b", "v1", ""},
                    ValidName{"Docker/docker", "Docker", "docker", "latest", ""},
                    ValidName{"xn--n3h.com:18080/foo", "xn--n3h.com:18080", "foo", "latest", ""},
                    ValidName{"127.0.0.1:5000/docker/docker", "127.0.0.1:5000", "docker/docker", "latest", ""},
                    ValidName{"192.168.0.1", "docker.io", "library/192.168.0.1", "latest", ""},
                    ValidName{"192.168.0.1:80", "docker.io", "library/192.168.0.1", "80", ""},
                    ValidName{"[fc00::1]:5000/docker", "[fc00::1]:5000", "docker", "latest", ""},
                    ValidName{"[FC00::1]/docker", "[FC00::1]", "docker", "latest", ""},
                    ValidName{"docker---rules/docker", "docker.io", "docker---rules/docker", "latest", ""},
                    ValidName{"dock__er/d.o_c-k", "docker.io", "dock__er/d.o_c-k", "latest", ""},
                    ValidName{"jess/t", "docker.io", "jess/t", "latest", ""},
                    ValidName{"foo:_a.B-9", "docker.io", "library/foo", "_a.B-9", ""},
                    ValidName{"foo:" + std::string(128, 'T'), "docker.io", "library/foo", std::string(128, 'T'), ""},
                    ValidName{"docker.io/" + kDigits, "docker.io", "library/" + kDigits, "latest", ""},
                    ValidName{kDigits.substr(1), "docker.io", "library/" + kDigits.substr(1), "latest", ""},
                    ValidName{"a.b/" + std::string(255, 'p'), "a.b", std::string(255, 'p'), "latest", ""},
                    ValidName{"redis@" + kDigest, "docker.io", "library/redis", "", kDigest},
                    ValidName{"test:5000/repo@" + kDigest, "test:5000", "repo", "", kDigest},
                    // ParseDockerRef(): of both, only the digest counts.
                    ValidName{"busybox:latest@" + kDigest, "docker.io", "library/busybox", "", kDigest}));

TEST(ImageReference, TextIsTheFullName) {
  EXPECT_EQ(parse_image_reference("busybox")->text(), "docker.io/library/busybox:latest");
  EXPECT_EQ(parse_image_reference("r:5000/a:1@" + kDigest)->text(), "r:5000/a@" + kDigest);
}

struct InvalidName {
  std::string text;
  std::string fault;  // a part of the error
  friend void PrintTo(const InvalidName& name, std::ostream* out) { *out << name.text; }
};

class InvalidNames : public testing::TestWithParam<InvalidName> {};

TEST_P(InvalidNames, AreRefusedWithTheNameAndItsFault) {
  const Result<ImageReference> parsed = parse_image_reference(GetParam().text);
  ASSERT_FALSE(parsed) << parsed->text();
  const std::string error = parsed.error().message();
  EXPECT_NE(error.find(GetParam().fault), std::string::npos) << error;
  EXPECT_EQ(error.find("image name \"" + GetParam().text.substr(0, 20)), 0u) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Images, InvalidNames,
    testing::Values(
        InvalidName{"", "it is empty"}, InvalidName{std::string(5000, 'a'), "more than 1024 characters"},
        InvalidName{kDigits, "are the id of an image"},
        InvalidName{"https://github.com/docker/docker", "must have no scheme"},
        InvalidName{"docker/Docker", "must be in lower case"}, InvalidName{"Busybox", "must be in lower case"},
        InvalidName{"-docker", "the part \"-docker\" must be"}, InvalidName{"docker-/docker", "the part \"docker-\""},
        InvalidName{"-docker.io/docker", "the host \"-docker.io\" must be"},
        InvalidName{"docker///docker", "has an empty part"}, InvalidName{"docker/", "has an empty part"},
        InvalidName{"/docker", "has an empty part"}, InvalidName{"[fc00::1]", "must be"},
        InvalidName{"[fc00::1]:5000", "must be"}, InvalidName{"fc00::1:5000/debian", "the port"},
        InvalidName{"[fe80::1%eth0]:5000/debian", "the host"},
        InvalidName{"[2001:db8:3:4::192.0.2.33]:5000/debian", "the host"},
        InvalidName{"host:port/a", "the port \"port\" must be a number"}, InvalidName{"host:/a", "the port \"\""},
        InvalidName{"my_host.example/a", "the host \"my_host.example\""}, InvalidName{"____/____", "the part \"____\""},
        InvalidName{"a___b", "the part"}, InvalidName{"dock..er/docker", "the host"},
        InvalidName{"a/dock..er", "the part"}, InvalidName{"dock_.er/docker", "the host"},
        InvalidName{"a/dock_.er", "the part"}, InvalidName{"dock-.er/docker", "the host"},
        InvalidName{"a/dock-.er", "the part"}, InvalidName{"a b", "the part \"a b\""}, InvalidName{"a\nb", "the part"},
        InvalidName{"b\xc3\xa4r", "the part"},
        InvalidName{"a.b/" + std::string(256, 'p'), "has 256 characters, at most 255"},
        InvalidName{"foo:", "the tag after the colon is empty"}, InvalidName{"foo:-a", "the tag \"-a\" must be"},
        InvalidName{"foo:.a", "the tag \".a\""}, InvalidName{"foo:a:b", "the tag \"a:b\""},
        InvalidName{"foo:" + std::string(129, 'T'), "has 129 characters, at most 128"},
        InvalidName{"foo/bar:tag/x", "the tag \"tag/x\""}, InvalidName{"foo@", "must begin with sha256:"},
        InvalidName{"foo@sha256:abc", "64 lower-case hexadecimal digits"},
        InvalidName{"foo@SHA256:" + kDigits, "must begin with sha256:"},
        InvalidName{"foo@sha512:" + kDigits + kDigits, "must begin with sha256:"},
        InvalidName{"foo@" + kDigest + "@" + kDigest, "hexadecimal digits"},
        InvalidName{"foo@sha256:" + std::string(64, 'F'), "64 lower-case hexadecimal digits"}));

}  // namespace
}  // namespace berth
