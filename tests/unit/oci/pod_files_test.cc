// The files in which a pod's containers look names up.
#include "firmware-host/agent/oci/pod_files.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

constexpr const char* kMachine =
    "# made by a DHCP client\ndomain old.lan\nsearch plant.lan  lan\nnameserver 10.0.0.1\n;nameserver 1.1.1.1\n"
    "nameserver\t10.0.0.2\noptions ndots:1 rotate";

Json pod(const std::string& spec) {
  return Json::parse(R"({"metadata":{"name":"web-0","namespace":"default"},"spec":)" + spec + "}").value();
}

std::string resolver(const std::string& spec) {
  const Result<std::string> text = resolver_file(pod(spec), kMachine);
  return text ? *text : text.error().message();
}

TEST(PodHostname, IsThePodsNameUnlessItHasOne) {
  EXPECT_EQ(hostname_of(pod("{}")), "web-0");
  EXPECT_EQ(hostname_of(pod(R"({"hostname":"front"})")), "front");
}

TEST(PodHostname, OfALongNameIsItsBeginning) {
  const std::string name = std::string(62, 'a') + "-bcd";
  const Json long_named = Json::parse(R"({"metadata":{"name":")" + name + R"("},"spec":{}})").value();
  EXPECT_EQ(hostname_of(long_named), std::string(62, 'a'));
}

TEST(HostsFile, NamesThePodAndItsAliases) {
  const std::string text =
      hosts_file(pod(R"({"hostAliases":[{"ip":"10.1.2.3","hostnames":["db","db.plant.lan"]},{"ip":"10.1.2.4"}]})"), "",
                 "10.88.0.7")
          .value();
  EXPECT_TRUE(text.starts_with("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")) << text;
  EXPECT_TRUE(
      text.ends_with("fe00::2\tip6-allrouters\n10.88.0.7\tweb-0\n\n# Entries added by HostAliases.\n"
                     "10.1.2.3\tdb\tdb.plant.lan\n"))
      << text;
}

TEST(HostsFile, OfAPodOnTheMachinesNetworkIsTheMachines) {
  EXPECT_EQ(hosts_file(pod(R"({"hostNetwork":true})"), "127.0.1.1 gate\n", "10.0.0.9").value(),
            "# Kubernetes-managed hosts file (host network).\n127.0.1.1 gate\n");
}

TEST(ResolverFile, IsTheMachinesByDefault) {
  const std::string machines =
      "search plant.lan lan\nnameserver 10.0.0.1\nnameserver 10.0.0.2\noptions ndots:1 rotate\n";
  EXPECT_EQ(resolver("{}"), machines);
  EXPECT_EQ(resolver(R"({"dnsPolicy":"ClusterFirst"})"), machines);
}

TEST(ResolverFile, TakesWhatThePodAddsAndItsOptionsGoBeforeTheMachines) {
  EXPECT_EQ(resolver(R"({"dnsConfig":{"nameservers":["10.0.0.2","9.9.9.9","8.8.8.8"],"searches":["lan","edge.lan"],
                         "options":[{"name":"ndots","value":"5"},{"name":"edns0"}]}})"),
            "search plant.lan lan edge.lan\nnameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 9.9.9.9\n"
            "options rotate ndots:5 edns0\n");
}

TEST(ResolverFile, ThatOfSystemdResolvedIsKnownByItsOnlyServer) {
  EXPECT_TRUE(
      is_resolver_stub("# This is /run/systemd/resolve/stub-resolv.conf\n\nnameserver 127.0.0.53\n"
                       "options edns0 trust-ad\nsearch .\n"));
  EXPECT_FALSE(is_resolver_stub("#nameserver 127.0.0.53\nnameserver 10.0.0.1\n"));
  EXPECT_FALSE(is_resolver_stub("nameserver 127.0.0.53\nnameserver 10.0.0.1\n")) << "the other one answers pods, too";
  EXPECT_FALSE(is_resolver_stub(""));
}

TEST(ResolverFile, OfThePolicyNoneIsThePodsAlone) {
  EXPECT_EQ(resolver(R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["9.9.9.9"]}})"), "nameserver 9.9.9.9\n");
  EXPECT_EQ(resolver(R"({"dnsPolicy":"None"})"), "spec.dnsConfig.nameservers: dnsPolicy None needs at least one");
}

TEST(ResolverFile, ALineOfItsOwnCannotBeSmuggledIn) {
  EXPECT_EQ(resolver(R"({"dnsConfig":{"nameservers":["9.9.9.9\nnameserver 6.6.6.6"]}})"),
            "spec.dnsConfig.nameservers: must be a list of texts without blanks");
  EXPECT_EQ(resolver(R"({"dnsConfig":{"options":[{"name":"a\nb"}]}})"),
            "spec.dnsConfig.options: each needs a name, and neither it nor the value has blanks");
}

TEST(HostsFile, ALineOfItsOwnCannotBeSmuggledIn) {
  for (const char* alias : {R"({"ip":"10.1.2.3","hostnames":["a\nb"]})", R"({"ip":"10.1.2.3\n","hostnames":["a"]})"}) {
    const Result<std::string> text = hosts_file(pod(R"({"hostAliases":[)" + std::string(alias) + "]}"), "", "");
    ASSERT_FALSE(text) << *text;
    EXPECT_EQ(text.error().message(), "spec.hostAliases: ip and hostnames must be texts without blanks");
  }
}

TEST(ResolverFile, SearchesBeyondTheLimitAreLeftOut) {
  std::string searches;
  for (int i = 0; i < 40; ++i) searches += (i > 0 ? R"(,")" : R"(")") + std::string("s") + std::to_string(i) + "\"";
  const std::string text =
      resolver(R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["9.9.9.9"],"searches":[)" + searches + "]}}");
  EXPECT_NE(text.find(" s31\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("s32"), std::string::npos) << text;
}

}  // namespace
}  // namespace berth
