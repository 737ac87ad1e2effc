// Archives of images that come over a stream: what is kept of them, and when it goes.
#include "firmware-host/agent/streams/load_streams.h"

#include <gtest/gtest.h>

#include "tests/unit/images/store_fixture.h"

namespace berth {
namespace {

class LoadStreamsTest : public ImageStoreTest {
 protected:
  void SetUp() override {
    ImageStoreTest::SetUp();
    if (!IsSkipped()) streams_ = std::make_unique<LoadStreams>(store_.get(), 100, loop_.context());
  }
  void TearDown() override { source_.reset(); }

  Status open(const LoadQuery& query) {
    Result<OpenedStream> opened = streams_->open(query, [this] { ++ready_; });
    if (!opened) return opened.error();
    EXPECT_TRUE(opened->takes_input);
    source_ = std::move(opened->source);
    return Status::ok();
  }
  // The texts until its end, and the reason of that.
  std::pair<std::string, std::string> read_to_end() {
    std::string text;
    for (;;) {
      StreamSource::Part part = source_->read(16);
      text += part.bytes;
      if (part.end) return {text, part.reason};
      if (!part.more) loop_.run_until([this, before = ready_] { return ready_ > before; });
    }
  }
  std::string saved() {
    const std::string file = directory_.file("saved.tar");
    skopeo({"copy", layout_of({{.layers = three_layers()}}), "docker-archive:" + file + ":r.example/app:1"});
    return contents(file);
  }
  bool has_upload() const { return fs::exists(store_->upload_path()); }

  std::unique_ptr<LoadStreams> streams_;
  std::unique_ptr<StreamSource> source_;
  int ready_ = 0;
};

TEST_F(LoadStreamsTest, AnArchiveIsLoadedOnceAllOfItIsThereAndItsFileGoes) {
  const std::string archive = saved();
  ASSERT_TRUE(open({.name = {}, .bytes = archive.size()}).is_success());
  source_->write(archive.substr(0, 1000), false);
  EXPECT_EQ(source_->taken(), 1000u);
  EXPECT_TRUE(has_upload());
  source_->write(archive.substr(1000), true);
  EXPECT_EQ(read_to_end(), (std::pair<std::string, std::string>("Loaded image: r.example/app:1\n", "")));
  EXPECT_FALSE(has_upload());
  EXPECT_NE(store_->find(named("r.example/app:1")), nullptr);
}

TEST_F(LoadStreamsTest, MoreAndLessThanWasAnnouncedAreRefused) {
  ASSERT_TRUE(open({.name = {}, .bytes = 10}).is_success());
  source_->write("12345678901", false);
  EXPECT_EQ(read_to_end().second, "more came than the 10 bytes that were announced");
  EXPECT_FALSE(has_upload());
  source_.reset();
  ASSERT_TRUE(open({.name = {}, .bytes = 10}).is_success());
  source_->write("123456789", true);
  EXPECT_EQ(read_to_end().second, "only 9 of 10 bytes came");
  EXPECT_FALSE(has_upload());
}

TEST_F(LoadStreamsTest, WhatCannotBeLoadedIsRefusedBeforeItComes) {
  EXPECT_TRUE(open({.name = "A B", .bytes = {}}).message().starts_with("name: "));
  EXPECT_TRUE(open({.name = {}, .bytes = LoadStreams::kArchiveBytes + 1}).message().starts_with("bytes: "));
  LoadStreams without(nullptr, 100, loop_.context());
  EXPECT_NE(without.open({}, [] {}).error().message().find("no containers"), std::string::npos);
  LoadStreams full(store_.get(), 0, loop_.context());
  EXPECT_NE(full.open({}, [] {}).error().message().find("containers.image_high_percent"), std::string::npos);
  EXPECT_FALSE(has_upload());
}

TEST_F(LoadStreamsTest, OneIsLoadedAtATimeAndItsEndMakesRoomForTheNext) {
  ASSERT_TRUE(open({}).is_success());
  source_->write("half", false);
  EXPECT_NE(streams_->open({}, [] {}).error().message().find("another archive"), std::string::npos);
  EXPECT_TRUE(has_upload());
  source_.reset();
  EXPECT_FALSE(has_upload());
  EXPECT_TRUE(open({}).is_success());
}

TEST_F(LoadStreamsTest, AStreamThatEndsWhileItsImagesAreLoadedLeavesNoFile) {
  const std::string archive = saved();
  ASSERT_TRUE(open({}).is_success());
  source_->write(archive, true);
  loop_.run_until_true([&] { return count("staging") == 2; });  // its own, and that of the image
  source_.reset();
  EXPECT_FALSE(has_upload());
  loop_.run_until_true([&] { return count("staging") == 0; });
  ASSERT_TRUE(open({}).is_success());
  source_->write(archive, true);
  EXPECT_EQ(read_to_end().first, "Loaded image: r.example/app:1\n");
}

}  // namespace
}  // namespace berth
