// How berthctl finds its gateway: command line, --config and --state-dir.
#include "firmware-host/ctl/connection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace berth {
namespace {

class CtlConnection : public testing::Test {
 protected:
  CtlConnection() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("ctl_connection_") + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "broker/password");
  }
  ~CtlConnection() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
  ConnectionOptions options_;
};

TEST_F(CtlConnection, ConnectsToThisMachineByDefault) {
  const Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_TRUE(connection);
  EXPECT_EQ(connection->broker(), "127.0.0.1:1883");
  EXPECT_EQ(connection->identity, "operator");
}

TEST_F(CtlConnection, FindsPortAndPasswordInTheStateDirectory) {
  write("broker/local-port", "4711\n");
  write("broker/password/operator", "secret\n");
  options_.state_dir = folder_.string();
  const Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_TRUE(connection) << connection.error().text;
  EXPECT_EQ(connection->broker(), "127.0.0.1:4711");
  EXPECT_EQ(connection->username, "operator");
  EXPECT_EQ(connection->password, "secret");
}

TEST_F(CtlConnection, ReportsThatNoBrokerRunsInTheStateDirectory) {
  options_.state_dir = folder_.string();
  const Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().exit, Exit::unreachable);
  EXPECT_NE(connection.error().text.find("broker/local-port"), std::string::npos);
}

TEST_F(CtlConnection, TheCommandLineOverridesTheFile) {
  options_.config_file =
      write("ctl.yaml", "broker: {host: far, port: 1}\nfleet: barn\nidentity: anna\nnamespace: shop\n");
  options_.broker = "near:2";
  const Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_TRUE(connection) << connection.error().text;
  EXPECT_EQ(connection->broker(), "near:2");
  EXPECT_EQ(connection->fleet, "barn");
  EXPECT_EQ(connection->identity, "anna");
  EXPECT_EQ(connection->name_space, "shop");
}

TEST_F(CtlConnection, ReportsAnUnknownKeyWithItsPosition) {
  options_.config_file = write("ctl.yaml", "fleet: barn\nbrokr: x\n");
  const Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().exit, Exit::usage);
  EXPECT_NE(connection.error().text.find("ctl.yaml:2:"), std::string::npos) << connection.error().text;
  EXPECT_NE(connection.error().text.find("brokr"), std::string::npos);
}

TEST_F(CtlConnection, ReadsAddressesOfEveryForm) {
  for (const auto& [text, want] :
       {std::pair{"host", "host:1883"}, std::pair{"10.0.0.1:99", "10.0.0.1:99"}, std::pair{"[::1]:99", "::1:99"}}) {
    options_.broker = text;
    const Outcome<Connection> connection = resolve_connection(options_);
    ASSERT_TRUE(connection) << text;
    EXPECT_EQ(connection->broker(), want);
  }
  for (const char* text : {"host:", "host:0", "host:65536", "host:1x", ":1", "[::1", "[::1]1"}) {
    options_.broker = text;
    EXPECT_FALSE(resolve_connection(options_)) << text;
  }
}

TEST_F(CtlConnection, RefusesNamesThatAreNotValidTopicLevels) {
  options_.fleet = "a/b";
  EXPECT_FALSE(resolve_connection(options_));
  options_.fleet.clear();
  options_.identity = "+";
  EXPECT_FALSE(resolve_connection(options_));
}

TEST_F(CtlConnection, RequiresCertificateAndKeyTogether) {
  options_.cert_file = "c.pem";
  EXPECT_FALSE(resolve_connection(options_));
}

TEST_F(CtlConnection, ReportsAMissingPasswordFile) {
  options_.password_file = (folder_ / "none").string();
  const Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_FALSE(connection);
  EXPECT_NE(connection.error().text.find("none"), std::string::npos);
}

TEST_F(CtlConnection, ADirectoryInPlaceOfAFileIsAnError) {
  options_.config_file = folder_.string();
  Outcome<Connection> connection = resolve_connection(options_);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().exit, Exit::usage);
  EXPECT_EQ(connection.error().text, folder_.string() + ": cannot read file: Is a directory");
  options_.config_file.clear();
  options_.password_file = folder_.string();
  connection = resolve_connection(options_);
  ASSERT_FALSE(connection);
  EXPECT_TRUE(connection.error().text.starts_with("password: " + folder_.string())) << connection.error().text;
}

}  // namespace
}  // namespace berth
