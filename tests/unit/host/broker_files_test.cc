// The pure parts of the embedded broker's accounts and TLS: what is read from its files.
#include <gtest/gtest.h>

#include "firmware-host/gateway/authority.h"
#include "firmware-host/gateway/broker_accounts.h"
#include "firmware-host/gateway/broker_tls.h"
#include "firmware-host/loopback_address.h"

namespace berth {
namespace {

using Role = BrokerIdentity::Role;

std::string config(const std::string& listen, bool is_plaintext, int certificate_port) {
  return broker_config({listen, 1000, is_plaintext, certificate_port, 1002}, "berth", {"/p", "/o", "/a", "/t"},
                       1 << 20);
}

TEST(BrokerFilesTest, TellsEnrolledAccountsFromConfiguredOnes) {
  const std::string access = broker_access("f", "gw",
                                           {{"gw", Role::gateway, ""},
                                            {"a", Role::node, ""},
                                            {"b", Role::node, "", true},
                                            {"ann", Role::operator_, "", true}});
  const std::vector<BrokerIdentity> found = enrolled_in(access);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "b");
  EXPECT_EQ(found[0].role, Role::node);
  EXPECT_TRUE(found[0].is_enrolled);
  EXPECT_EQ(found[1].name, "ann");
  EXPECT_EQ(found[1].role, Role::operator_);
  EXPECT_TRUE(enrolled_in("").empty());
  EXPECT_TRUE(enrolled_in("# enrolled\ntopic read x").empty());
}

TEST(BrokerFilesTest, AnAclNamesTheFleetAndItsGateway) {
  const ServedFleet served = served_by(broker_access("f", "gw", {{"a", Role::node, ""}, {"gw", Role::gateway, ""}}));
  EXPECT_EQ(served.fleet, "f");
  EXPECT_EQ(served.gateway, "gw");
  EXPECT_EQ(served_by(broker_access("f", "gw", {{"a", Role::node, ""}})).fleet, "");
}

TEST(BrokerFilesTest, NoOperatorReadsWhatDevicesAreAsked) {
  const std::string access = broker_access("f", "gw", {{"ann", Role::operator_, ""}});
  EXPECT_NE(access.find("topic read berth/v1/f/nodes/+/state\n"), std::string::npos);
  EXPECT_EQ(access.find("nodes/#"), std::string::npos);
  EXPECT_EQ(access.find("requests"), std::string::npos);
}

TEST(BrokerFilesTest, ADeviceMayWriteToFewTopicsOfStreamsOfEachOperator) {
  const std::string node = broker_access("f", "gw", {{"a", Role::node, ""}});
  EXPECT_EQ(node.find("streams"), std::string::npos) << "so that no account needs to know the others";
  const std::string access = broker_access("f", "gw", {{"ann", Role::operator_, ""}});
  for (const char* slot : {"0", "7"}) {
    EXPECT_NE(access.find(std::string("pattern write berth/v1/f/streams/%u/ann/") + slot + "/up\n"), std::string::npos);
  }
  EXPECT_NE(access.find("pattern read berth/v1/f/streams/%u/ann/+/down\n"), std::string::npos);
  EXPECT_EQ(access.find("/8/up"), std::string::npos);
}

TEST(BrokerFilesTest, FindsThePasswordOfOneName) {
  EXPECT_EQ(password_line("aa:1\na:2\n", "a"), "a:2\n");
  EXPECT_EQ(password_line("aa:1", "aa"), "aa:1\n");
  EXPECT_EQ(password_line("aa:1\n", "a"), "");
}

TEST(BrokerFilesTest, OnlyDevicesBeyondLoopbackWithoutTlsWereServedInPlaintext) {
  EXPECT_TRUE(served_plaintext(config("0.0.0.0", true, 0)));
  EXPECT_TRUE(served_plaintext(config("192.0.2.1", true, 1001)));
  EXPECT_FALSE(served_plaintext(config("0.0.0.0", false, 1001)));
  EXPECT_FALSE(served_plaintext(config("127.0.0.1", true, 0)));
  EXPECT_FALSE(served_plaintext(""));
}

TEST(BrokerFilesTest, OperatorsAndTheGatewayStayOnLoopback) {
  EXPECT_NE(config("0.0.0.0", false, 1001).find("listener 1002 127.0.0.1\n"), std::string::npos);
}

TEST(BrokerFilesTest, ACertificateIsMadeForNamesAndAddressesOnly) {
  EXPECT_EQ(subject_names({"gw.example", "192.0.2.1", "::1", "not a name", "a,DNS:b", ""}),
            "DNS:gw.example,IP:192.0.2.1,IP:::1");
}

TEST(BrokerFilesTest, TheMachineIsKnownByConfiguredNamesAndLoopbackEachOnce) {
  const std::vector<std::string> names = names_of_machine({"gw.example", "localhost"});
  EXPECT_EQ(names.front(), "gw.example");
  EXPECT_EQ(std::count(names.begin(), names.end(), "localhost"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "127.0.0.1"), 1);
}

TEST(BrokerFilesTest, OnlyLoopbackIsThisMachine) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"}) EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1", "gateway", "", "128.0.0.1"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace berth
