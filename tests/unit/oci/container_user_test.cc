// Who a container runs as.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "firmware-host/agent/oci/image_user.h"

namespace berth {
namespace {

constexpr UserFiles kFiles{
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nbroken\napp:x:1000:1001:App:/home/app:/bin/"
    "sh\n",
    "root:x:0:\napp:x:1001:\nvideo:x:44:app,other\nsilly:x:minus:app\ndialout:x:20:root,app"};

std::string refusal_of_user(const std::string& named, const Security& security = {}) {
  const Result<UserIds> ids = find_user(named, security, kFiles);
  return ids ? "" : ids.error().message();
}

TEST(ContainerUser, IsRootUnlessTheImageNamesOne) {
  const UserIds ids = find_user("", {}, kFiles).value();
  EXPECT_EQ(ids.user, 0u);
  EXPECT_EQ(ids.group, 0u);
  EXPECT_EQ(ids.home, "/root");
  EXPECT_EQ(ids.more_groups, std::vector<std::uint32_t>{20});
}

TEST(ContainerUser, OfANameHasItsGroupsAndItsHome) {
  const UserIds ids = find_user("app", {}, kFiles).value();
  EXPECT_EQ(ids.user, 1000u);
  EXPECT_EQ(ids.group, 1001u);
  EXPECT_EQ(ids.home, "/home/app");
  EXPECT_EQ(ids.more_groups, (std::vector<std::uint32_t>{20, 44}));
}

TEST(ContainerUser, OfANumberIsLookedUpTooAndNeedNotBeThere) {
  EXPECT_EQ(find_user("1000", {}, kFiles).value().group, 1001u);
  const UserIds unknown = find_user("4711", {}, kFiles).value();
  EXPECT_EQ(unknown.user, 4711u);
  EXPECT_EQ(unknown.group, 0u);
  EXPECT_EQ(unknown.home, "/");
}

TEST(ContainerUser, TakesAGroupByNameOrNumber) {
  EXPECT_EQ(find_user("app:video", {}, kFiles).value().group, 44u);
  EXPECT_EQ(find_user("4711:4712", {}, kFiles).value().group, 4712u);
}

TEST(ContainerUser, OfThePodGoesBeforeTheImagesWithItsGroup) {
  Security security;
  security.user = 65534;
  const UserIds ids = find_user("app:video", security, kFiles).value();
  EXPECT_EQ(ids.user, 65534u);
  EXPECT_EQ(ids.group, 65534u);
  security.group = 7;
  security.groups = {7, 9, 9};
  const UserIds with_groups = find_user("app", security, kFiles).value();
  EXPECT_EQ(with_groups.group, 7u);
  EXPECT_EQ(with_groups.more_groups, std::vector<std::uint32_t>{9});
}

TEST(ContainerUser, ThatNobodyKnowsIsRefused) {
  EXPECT_EQ(refusal_of_user("ghost"),
            "image: its user 'ghost' is not in its /etc/passwd: set securityContext.runAsUser");
  EXPECT_EQ(refusal_of_user("app:ghosts"),
            "image: its group 'ghosts' is not in its /etc/group: set securityContext.runAsGroup");
  EXPECT_EQ(refusal_of_user("99999999999"),
            "image: its user '99999999999' is not in its /etc/passwd: set securityContext.runAsUser");
}

TEST(ContainerUser, ThatMustNotBeRootIsANumberOtherThanZero) {
  Security security;
  security.must_not_be_root = true;
  EXPECT_EQ(refusal_of_user("", security), "securityContext.runAsNonRoot: the image runs as root: set runAsUser");
  EXPECT_EQ(refusal_of_user("0:44", security), "securityContext.runAsNonRoot: the image runs as root: set runAsUser");
  EXPECT_NE(refusal_of_user("app", security), "");
  EXPECT_EQ(refusal_of_user("1000", security), "");
  security.user = 1000;
  EXPECT_EQ(refusal_of_user("app", security), "");
}

TEST(ContainerUser, OfAnImageWithoutFilesIsItsNumber) {
  EXPECT_EQ(find_user("12:34", {}, {}).value().group, 34u);
  EXPECT_EQ(find_user("", {}, {}).value().user, 0u);
}

}  // namespace
}  // namespace berth
