// The command line of berth-agent.
#include "firmware-host/agent/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "firmware-host/broker_address.h"

namespace berth {
namespace {

Result<CommandLine> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "berth-agent");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

std::string refusal(const std::vector<const char*>& arguments) {
  const Result<CommandLine> line = read(arguments);
  return line ? "" : line.error().message();
}

TEST(AgentSettings, TakesDefaultsFromTheMachine) {
  const AgentSettings settings = default_settings();
  EXPECT_FALSE(settings.agent.node.empty());
  EXPECT_GE(settings.agent.capacity.at("cpu").value(), 1);
  EXPECT_GT(settings.agent.capacity.at("memory").value(), 1 << 20);
  EXPECT_EQ(settings.agent.capacity.at("pods").value(), 110);
  EXPECT_TRUE(settings.state_directory.starts_with("/"));
}

TEST(AgentSettings, ReadsEveryFlag) {
  const Result<CommandLine> line = read({"--node",          "n1",
                                         "--fleet",         "plant",
                                         "--gateway",       "gw",
                                         "--state-dir",     "/s",
                                         "--broker",        "broker:1884",
                                         "--label",         "zone=a",
                                         "--label",         "disk=ssd",
                                         "--taint",         "dedicated=cam:NoSchedule",
                                         "--taint",         "old:NoExecute",
                                         "--capacity",      "cpu=2",
                                         "--volume",        "data=/srv/a:b:10Gi:fast",
                                         "--volume",        "v=/srv/v:1Gi",
                                         "--username",      "u",
                                         "--password-file", "/p",
                                         "--ca-file",       "/ca",
                                         "--log-level",     "debug",
                                         "--log-format",    "json"});
  ASSERT_TRUE(line.has_value()) << line.error().message();
  const AgentSettings& settings = line->settings;
  EXPECT_EQ(settings.agent.node, "n1");
  EXPECT_EQ(settings.agent.fleet, "plant");
  EXPECT_EQ(settings.agent.gateway, "gw");
  EXPECT_EQ(settings.state_directory, "/s");
  EXPECT_EQ(settings.broker.host, "broker");
  EXPECT_EQ(settings.broker.port, 1884);
  EXPECT_EQ(settings.broker.username, "u");
  EXPECT_EQ(settings.broker.password_file, "/p");
  EXPECT_EQ(settings.broker.ca_file, "/ca");
  EXPECT_EQ(settings.agent.labels, (Labels{{"disk", "ssd"}, {"zone", "a"}}));
  EXPECT_EQ(settings.agent.taints,
            (std::vector<Taint>{{"dedicated", "cam", TaintEffect::no_schedule}, {"old", "", TaintEffect::no_execute}}));
  EXPECT_EQ(settings.agent.capacity.at("cpu").value(), 2);
  ASSERT_EQ(settings.agent.volumes.size(), 2u);
  EXPECT_EQ(settings.agent.volumes[0].path, "/srv/a:b");
  EXPECT_EQ(settings.agent.volumes[0].capacity, "10Gi");
  EXPECT_EQ(settings.agent.volumes[0].storage_class, "fast");
  EXPECT_EQ(settings.agent.volumes[1].storage_class, "local");
  EXPECT_EQ(settings.log_level, Level::debug);
  EXPECT_EQ(settings.log_format, LogFormat::json);
}

TEST(AgentSettings, ReadsBrokerAddresses) {
  BrokerSettings broker;
  EXPECT_TRUE(parse_broker("[fe80::1]:99", broker).is_success());
  EXPECT_EQ(broker.host, "fe80::1");
  EXPECT_EQ(broker.port, 99);
  EXPECT_TRUE(parse_broker("host", broker).is_success());
  EXPECT_EQ(broker.port, 99);
  for (const char* bad : {"", ":1", "h:", "h:0", "h:70000", "h:1x", "[::1", "[::1]x"}) {
    EXPECT_FALSE(parse_broker(bad, broker).is_success()) << bad;
  }
  EXPECT_EQ(read({"--broker", "h", "--ca-file", "/ca"})->settings.broker.port, 8883);
}

TEST(AgentSettings, RefusesWithTheExpectedForm) {
  EXPECT_EQ(refusal({"--label", "zone"}), "label 'zone': expected key=value");
  EXPECT_TRUE(refusal({"--taint", "a=b:Never"}).starts_with("taint 'a=b:Never': expected key=value:Effect"));
  EXPECT_TRUE(refusal({"--volume", "d=/x"}).starts_with("volume 'd=/x': expected name=path:capacity"));
  EXPECT_TRUE(refusal({"--capacity", "cpu=two"}).starts_with("capacity 'cpu=two': "));
  EXPECT_TRUE(refusal({"--node", "Bad/Name"}).starts_with("node 'Bad/Name' (--node): "));
  EXPECT_TRUE(refusal({"--state-dir", "here"}).find("must be an absolute path") != std::string::npos);
  EXPECT_TRUE(refusal({"--cert-file", "/c"}).find("set --cert-file and --key-file together") != std::string::npos);
  EXPECT_NE(refusal({"--no-such-flag"}), "");
}

std::string clash(const std::string& one, const std::string& relation, const std::string& other) {
  return "volume 'b' (volumes, --volume): its directory " + other + " " + relation + " " + one +
         ", that of volume 'a' (volumes, --volume); give each volume and pool a directory of its own";
}

std::string refusal_of(const std::string& one, const std::string& other) {
  const std::string a = "a=" + one + ":1Gi";
  const std::string b = "b=" + other + ":1Gi";
  return refusal({"--volume", a.c_str(), "--volume", b.c_str()});
}

TEST(AgentSettings, RefusesTwoVolumesOfOneDirectoryHoweverItIsWritten) {
  for (const char* other : {"/srv/d", "/srv/d/", "/srv/./d", "//srv///d", "/srv/e/../d/."}) {
    EXPECT_EQ(refusal_of("/srv/d", other), clash("/srv/d", "is", other));
  }
  EXPECT_EQ(refusal_of("/srv/d", "/srv/d2"), "");
  EXPECT_EQ(refusal({"--volume", "a=/srv/d:1Gi", "--volume", "b=/srv/d2:1Gi", "--volume", "a=/srv/d:2Gi"}), "");
}

TEST(AgentSettings, RefusesAVolumeWithinAnother) {
  EXPECT_EQ(refusal_of("/srv/d", "/srv/d/e"), clash("/srv/d", "lies in", "/srv/d/e"));
  EXPECT_EQ(refusal_of("/srv/d/e", "/srv/x/../d"), clash("/srv/d/e", "contains", "/srv/x/../d"));
  EXPECT_EQ(refusal_of("/srv/d", "/"), clash("/srv/d", "contains", "/"));
}

TEST(AgentSettings, AnswersHelpAndVersionWithText) {
  EXPECT_TRUE(read({"--version"})->text->starts_with("berth-agent "));
  EXPECT_NE(read({"--help"})->text->find("Exit codes: 0"), std::string::npos);
}

// A configuration file that is removed after the test.
class AgentConfigFlag : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "berth_agent_config_" + std::to_string(getpid()); }
  void TearDown() override { std::remove(path_.c_str()); }
  const char* write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_.c_str();
  }
  std::string path_;
};

TEST_F(AgentConfigFlag, TheFileOverridesTheDefaultsAndFlagsOverrideTheFile) {
  const char* file = write("node: n1\nfleet: plant\nstate_dir: /s\nlabels: {zone: a, disk: ssd}\n");
  const Result<CommandLine> line = read({"--config", file, "--node", "n2", "--label", "zone=b"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->settings.agent.node, "n2");
  EXPECT_EQ(line->settings.agent.fleet, "plant");
  EXPECT_EQ(line->settings.state_directory, "/s");
  EXPECT_EQ(line->settings.agent.labels, (Labels{{"zone", "b"}, {"disk", "ssd"}}));
  EXPECT_EQ(line->settings.agent.capacity.at("pods").value(), 110);
}

TEST_F(AgentConfigFlag, VolumesAndPoolsAreComparedByWhereTheirLinksLead) {
  namespace fs = std::filesystem;
  const fs::path folder = path_ + "_disk";
  fs::create_directories(folder / "real/pool");
  fs::create_directory_symlink("real", folder / "link");
  const std::string at = folder.string();
  const auto refused = [&](const std::string& volume, const std::string& first, const std::string& second) {
    const std::string pools = "volume_pools:\n- {class: a, root: " + first +
                              ", capacity: 1}\n- {class: b, root: " + second + ", capacity: 1}\n";
    return refusal({"--config", write("volumes: [{name: v, path: " + volume + ", capacity: 1}]\n" + pools)});
  };
  const std::string fix = "; give each volume and pool a directory of its own";
  EXPECT_EQ(refused(at + "/v", at + "/p", at + "/q"), "");
  EXPECT_EQ(refused(at + "/v", at + "/link/pool", at + "/real/pool"),
            "volume_pools[1].root: its directory " + at + "/real/pool is " + at +
                "/link/pool, that of volume_pools[0].root" + fix);
  EXPECT_EQ(refused(at + "/link/pool", at + "/p", at + "/real/pool"),
            "volume_pools[1].root: its directory " + at + "/real/pool is " + at +
                "/link/pool, that of volume 'v' (volumes, --volume)" + fix);
  EXPECT_EQ(refused(at + "/link/not-there-yet", at + "/real", at + "/p"),
            "volume_pools[0].root: its directory " + at + "/real contains " + at +
                "/link/not-there-yet, that of volume 'v' (volumes, --volume)" + fix);
  fs::remove_all(folder);
}

TEST_F(AgentConfigFlag, RefusesAFileWithThePositionOfTheFault) {
  const char* file = write("fleet: plant\nlabel: {}\n");
  EXPECT_EQ(refusal({"--config", file}), path_ + ":2:1: label: unknown field; did you mean labels?");
  EXPECT_EQ(refusal({"--config", "/nowhere/a.yaml"}), "/nowhere/a.yaml: cannot read file: No such file or directory");
}

}  // namespace
}  // namespace berth
