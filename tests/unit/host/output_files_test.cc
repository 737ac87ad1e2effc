// OutputFiles: real files.
#include "firmware-host/agent/output_files.h"

#include "firmware-host/agent/pod_directory.h"
#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

class OutputFilesTest : public RuntimeTest {
 protected:
  OutputFiles open(OutputFiles::Limits limits = {}) {
    OutputFiles output(root_ + "/output", root_ + "/pods", limits, log_);
    EXPECT_TRUE(output.open().is_success());
    return output;
  }
  void write(const Tag& tag, const std::string& name, const std::string& text) {
    fs::create_directories(root_ + "/pods/" + directory_name(tag) + "/scratch");
    std::ofstream(root_ + "/pods/" + directory_name(tag) + "/" + name) << text;
  }
  std::string read(const Tag& tag, const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(root_ + "/output/" + directory_name(tag) + "/" + name).rdbuf();
    return text.str();
  }
};

using Tags = std::vector<Tag>;

TEST_F(OutputFilesTest, OutliveThePodAndItsDirectory) {
  OutputFiles output = open();
  run(tag_, pod("echo out; echo err >&2; exit 3"));
  wait_finished();
  output.keep(tag_);
  output.keep(tag_);
  stop(tag_, 0);
  EXPECT_FALSE(fs::exists(root_ + "/pods/" + directory_name(tag_)));
  EXPECT_TRUE(read(tag_, "main.log").contains(" stdout F out\n")) << read(tag_, "main.log");
  EXPECT_TRUE(read(tag_, "main.log").contains(" stderr F err\n")) << read(tag_, "main.log");
  EXPECT_EQ(open().kept(), Tags{tag_}) << "by another agent too";
  output.drop(tag_);
  EXPECT_EQ(output.kept(), Tags{});
}

TEST_F(OutputFilesTest, AreNoOtherFilesOfThePod) {
  OutputFiles output = open();
  write(tag_, "main.log", "new");
  write(tag_, "main.log.1", "old");
  write(tag_, "main.previous.log", "before");
  write(tag_, "state.json", "{}");
  write(tag_, "scratch/x.log", "x");
  fs::create_symlink("/etc/passwd", root_ + "/pods/" + directory_name(tag_) + "/link.log");
  output.keep(tag_);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(root_ + "/output/" + directory_name(tag_))) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"main.log", "main.log.1", "main.previous.log"}));
}

TEST_F(OutputFilesTest, AreBoundedByPodsAndBytesAndTheOldestGoFirst) {
  OutputFiles output = open({.pods = 3, .bytes = 1000});
  const auto tag = [](std::uint64_t counter) { return Tag{"u" + std::to_string(counter), {1, counter}}; };
  for (std::uint64_t counter = 8; counter <= 12; ++counter) {
    write(tag(counter), "main.log", "x");
    output.keep(tag(counter));
  }
  EXPECT_EQ(output.kept(), (Tags{tag(10), tag(11), tag(12)}));
  write(tag(13), "main.log", std::string(999, 'x'));
  output.keep(tag(13));
  EXPECT_EQ(output.kept(), (Tags{tag(12), tag(13)}));
  EXPECT_EQ(open({.pods = 1, .bytes = 1000}).kept(), Tags{tag(13)}) << "at a start too";
}

TEST_F(OutputFilesTest, OfThePodGoUpToAnEpoch) {
  OutputFiles output = open();
  const Tags tags{{"u1", {1, 5}}, {"u2", {1, 6}}, {"u1", {1, 7}}};
  for (const Tag& tag : tags) {
    write(tag, "main.log", "x");
    output.keep(tag);
  }
  output.drop({"u1", {1, 6}});
  EXPECT_EQ(output.kept(), (Tags{tags[1], tags[2]}));
}

}  // namespace
}  // namespace berth
