// ImagePull: one image on its way into the store: its layers fetched by curl where that can be (layer_fetch.h), the
// rest by skopeo, checked, and its missing layers unpacked one after the other, lowest first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/images/day_budget.h"
#include "firmware-host/agent/images/image_record.h"
#include "firmware-host/agent/images/image_source.h"
#include "firmware-host/agent/images/layer_fetch.h"
#include "firmware-host/agent/images/layer_unpacker.h"
#include "firmware-host/agent/images/store_files.h"

namespace berth {

struct PullProgress {
  std::int64_t present = 0;
  std::int64_t total = 0;
  bool operator==(const PullProgress&) const = default;
};

class ImagePull {
 public:
  struct Plan {
    std::string reference;
    std::vector<PullAttempt> attempts;  // tried one after the other; at least one
    std::string staging;                // a directory of its own, to be made
    SourceOptions options;
    UnpackLimits limits;
    DayBudget* budget = nullptr;        // outlives it
    std::function<void()> on_no_space;  // before it ends for that; may be empty
  };
  // Once: its blobs are here, and unpack() may be called. At another time than that of other pulls: they may share
  // layers.
  using OnFetched = std::function<void()>;
  // Once, not before start() has returned. May destroy the pull.
  using OnEnd = std::function<void(Result<ImageRecord> image)>;

  // All must outlive it.
  ImagePull(asio::io_context& context, StoreFiles& files, Plan plan, OnFetched on_fetched, OnEnd on_end);
  ~ImagePull();
  ImagePull(const ImagePull&) = delete;
  ImagePull& operator=(const ImagePull&) = delete;

  Status start();
  void unpack();
  // Bytes of the layers that are missing, and of what has come of them; 0 of 0: not known, or none is.
  PullProgress progress();

 private:
  Status fetch();
  // `credential`: for curl. skopeo has that of the attempt, or the device's own file.
  Status fetch_layers(const ImageReference& image, const std::optional<Credential>& credential);
  void on_layers(const ChildEnd& end);
  Status copy();
  void try_next(const std::string& why);
  void end_fetch();
  void note_fetched();
  void on_copied(const ChildEnd& end);
  // Reads what was fetched. `is_damaged`: a blob is not what its name says.
  Status resolve(bool& is_damaged);
  void fetch_again(const Status& why);
  void on_unpacked(std::size_t layer, const UnpackEnd& end);
  void end_without_space(const Status& why);
  void finish(Result<ImageRecord> image);

  asio::io_context& context_;
  StoreFiles& files_;
  Plan plan_;
  OnFetched on_fetched_;
  OnEnd on_end_;
  ImageRecord image_;
  std::shared_ptr<FetchCounters> counters_ = shared_counters();  // null: there is no memory
  std::int64_t noted_bytes_ = 0;                                 // of counters_->fetched, with the budget
  std::size_t attempt_ = 0;
  std::vector<std::string> refusals_;  // of those before
  bool is_again_ = false;
  bool is_unpacking_ = false;
  std::unique_ptr<ChildTask> copy_;
  std::unique_ptr<LayerUnpack> unpack_;
};

}  // namespace berth
