// Files that change all at once, also when the writer is killed.
#include "firmware-host/agent/volumes/atomic_directory.h"

#include <sys/ptrace.h>

#include <csignal>
#include <set>

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class AtomicDirectory : public VolumeTest {
 protected:
  static constexpr std::optional<gid_t> kNoGroup = std::nullopt;

  bool write(const Payload& payload, std::optional<gid_t> group = kNoGroup) {
    const Result<bool> written = write_payload(folder_, payload, group);
    EXPECT_TRUE(written) << (written ? "" : written.error().message());
    return written.value_or(false);
  }
  // All entries of the directory itself, but those that hold the state.
  std::set<std::string> visible() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    names.erase("..data");
    names.erase(fs::read_symlink(folder_ + "/..data").string());
    return names;
  }
};

TEST_F(AtomicDirectory, ShowsFilesThroughOneLink) {
  EXPECT_TRUE(write({{"app.conf", {"one", 0644}}, {"tls/key.pem", {"secret", 0400}}}));
  EXPECT_EQ(text_of(folder_ + "/app.conf"), "one");
  EXPECT_EQ(text_of(folder_ + "/tls/key.pem"), "secret");
  EXPECT_EQ(fs::read_symlink(folder_ + "/app.conf"), "..data/app.conf");
  EXPECT_EQ(fs::read_symlink(folder_ + "/tls"), "..data/tls");
  EXPECT_TRUE(fs::read_symlink(folder_ + "/..data").string().starts_with(".."));
  EXPECT_EQ(mode_of(folder_ + "/..data/tls/key.pem").substr(0, 4), "0400");
  EXPECT_EQ(mode_of(folder_ + "/..data/tls").substr(0, 4), "0755");
  EXPECT_EQ(visible(), (std::set<std::string>{"app.conf", "tls"}));
}

TEST_F(AtomicDirectory, WritesNothingWhenNothingChanged) {
  const Payload payload{{"a", {"one", 0644}}, {"b/c", {"", 0600}}};
  EXPECT_TRUE(write(payload));
  const fs::path before = fs::read_symlink(folder_ + "/..data");
  const auto time = fs::last_write_time(folder_);
  EXPECT_FALSE(write(payload));
  EXPECT_EQ(fs::read_symlink(folder_ + "/..data"), before);
  EXPECT_EQ(fs::last_write_time(folder_), time);
  EXPECT_TRUE(write({{"a", {"one", 0640}}, {"b/c", {"", 0600}}})) << "another mode is a change";
  EXPECT_TRUE(write({{"a", {"two", 0640}}, {"b/c", {"", 0600}}})) << "other bytes of the same length are a change";
}

TEST_F(AtomicDirectory, RemovesKeysThatAreGone) {
  write({{"a", {"1"}}, {"b", {"2"}}, {"d/x", {"3"}}, {"d/y", {"4"}}});
  write({{"b", {"2"}}, {"d/y", {"4"}}});
  EXPECT_EQ(visible(), (std::set<std::string>{"b", "d"}));
  EXPECT_FALSE(fs::exists(folder_ + "/d/x"));
  write({});
  EXPECT_TRUE(visible().empty());
  EXPECT_FALSE(write({}));
}

TEST_F(AtomicDirectory, GivesFilesToAGroupThatMayReadThem) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(write({{"d/key", {"secret", 0400}}}, gid_t{2000}));
  EXPECT_EQ(mode_of(folder_ + "/..data/d/key"), "0440:2000");
  EXPECT_EQ(mode_of(folder_ + "/..data/d"), "2755:2000");
  EXPECT_FALSE(write({{"d/key", {"secret", 0400}}}, gid_t{2000}));
  EXPECT_TRUE(write({{"d/key", {"secret", 0400}}}, gid_t{2001}));
}

TEST_F(AtomicDirectory, RefusesPathsThatLeadElsewhere) {
  const auto refused = [](const std::string& path) { return check_payload({{path, {}}}).message(); };
  EXPECT_EQ(refused(""), "a path must not be empty");
  EXPECT_EQ(refused("/etc/passwd"), "path '/etc/passwd' must be relative");
  EXPECT_EQ(refused("../up"), "path '../up' must not start with '..'");
  EXPECT_EQ(refused("..data"), "path '..data' must not start with '..'");
  for (const char* path : {"a/../b", "a/..", "a//b", "a/", "./a", "a/./b"}) {
    EXPECT_NE(refused(path).find("must not have empty parts, '.' or '..'"), std::string::npos) << path;
  }
  EXPECT_NE(refused(std::string(256, 'a')).find("at most 255"), std::string::npos);
  EXPECT_NE(refused(std::string("a\0b", 3)).find("no NUL"), std::string::npos);
  EXPECT_NE(refused(std::string(2100, 'a').replace(2000, 1, "/")), "");
  EXPECT_EQ(refused("a/..b"), "") << "only the first part is reserved";
  EXPECT_EQ(check_payload({{"a", {}}, {"a/b", {}}}).message(), "path 'a' must not be both a file and a directory");
  EXPECT_FALSE(write_payload(folder_, {{"../up", {}}}, kNoGroup));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(AtomicDirectory, RefusesMoreThanItsBounds) {
  Payload payload{{"a", {std::string(kMostPayloadBytes, 'x')}}};
  EXPECT_TRUE(check_payload(payload).is_success());
  payload["b"] = {"x"};
  EXPECT_EQ(check_payload(payload).message(), "must have at most 4194304 bytes in all, got 4194305");
  payload.clear();
  for (std::size_t i = 0; i <= kMostPayloadFiles; ++i) payload[std::to_string(i)] = {};
  EXPECT_EQ(check_payload(payload).message(), "must have at most 4096 files, got 4097");
}

// Kills a process at its n-th system call. False: it ended before.
bool run_until(int calls, const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (int i = 0; WIFSTOPPED(status) && i < calls; ++i) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  if (!WIFSTOPPED(status)) return false;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return true;
}

TEST_F(AtomicDirectory, AWriterThatIsKilledLeavesOneStateAndTheNextOneFinishesIt) {
  const Payload before{{"both", {"before"}}, {"old", {"before"}}, {"d/both", {"before"}}};
  const Payload after{{"both", {"after"}}, {"new", {"after"}}, {"d/both", {"after"}}, {"d/new", {"after"}}};
  bool was_killed = true;
  int calls = 1, before_switch = 0, after_switch = 0;
  for (; was_killed; ++calls) {
    write(before);
    was_killed = run_until(calls, [&] { EXPECT_TRUE(write_payload(folder_, after, kNoGroup)); });
    const std::string seen = text_of(folder_ + "/both");
    ASSERT_TRUE(seen == "before" || seen == "after") << "'" << seen << "' after call " << calls;
    ASSERT_EQ(text_of(folder_ + "/d/both"), seen) << calls;
    ASSERT_EQ(fs::exists(folder_ + "/..data/new"), seen == "after") << calls;
    ++(seen == "before" ? before_switch : after_switch);
    write(after);
    ASSERT_EQ(visible(), (std::set<std::string>{"both", "d", "new"})) << calls;
    ASSERT_EQ(text_of(folder_ + "/new"), "after");
    ASSERT_FALSE(write(after));
  }
  if (calls < 20) GTEST_SKIP() << "processes cannot be traced here";
  EXPECT_GT(before_switch, 10);
  EXPECT_GT(after_switch, 3);
}

}  // namespace
}  // namespace berth
