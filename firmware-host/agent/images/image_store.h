// ImageStore: the images of a device. Below its root:
//   partial/HEX        layers that have not come whole; a later fetch goes on with them
//   blobs/sha256/HEX   manifests, configs and layers as they came, by their digests
//   layers/HEX         each layer unpacked once, by its chain id, for all images that have it
//   images/*.json      what each reference was resolved to; written last, so that what it names is there
//   pins/*.json        who needs which image, whatever its reference is resolved to later
//   staging, trash     fetches that have not ended, and what is being deleted; a start empties both
// It is used by one process at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/image_pull.h"
#include "firmware-host/agent/images/image_record.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/images/image_source.h"
#include "firmware-host/agent/images/store_files.h"

namespace berth {

class ImageStore {
 public:
  struct Options {
    std::string root;  // the directory that it is in must exist
    SourceOptions source;
    UnpackLimits limits;             // of each layer
    std::int64_t bytes_per_day = 0;  // of layers that are fetched by curl; 0: no limit
  };
  struct Collected {
    std::int64_t blobs = 0;
    std::int64_t layers = 0;
  };
  using OnImage = std::function<void(const Result<ImageRecord>& image)>;
  using OnCollected = std::function<void(const Result<Collected>& collected)>;

  // Finds what is there again. An image of which something is missing is forgotten: the next pull fetches only that.
  // Context and clock must outlive it. Destroyed, it ends all pulls; their callbacks are not called.
  static Result<std::unique_ptr<ImageStore>> open(asio::io_context& context, const Clock& clock, Options options);
  ImageStore(const ImageStore&) = delete;
  ImageStore& operator=(const ImageStore&) = delete;

  // From the registry that the reference names, with `credentials` as RegistryKeyring finds them. A second request for
  // the same reference joins the first; one with other credentials is made after it, since it may see what that may
  // not. After an error here nothing was started, and the callback is not called.
  Status pull(const ImageReference& reference, OnImage on_image, std::vector<Credential> credentials = {});
  // From any source that skopeo reads (containers-transports(5)): "docker-archive:/path", "oci-archive:/path",
  // "oci:/path:tag". It is listed as `reference`; where that is being pulled, from a registry that cannot be reached
  // say, it is taken after that.
  Status import(const std::string& source, const ImageReference& reference, OnImage on_image);

  // Ends all pulls and imports, which say why, and refuses others; empty: they are taken again. What they have unpacked
  // only in part goes, layers that have come in part stay until they are collected.
  void hold(const std::string& why);

  // Where a file may be written that is to be imported: nobody else's, and gone with the next start.
  std::string upload_path() const { return files_.staging() + "/upload"; }

  // Called when list() may have changed; empty: nobody is.
  void set_on_change(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // Called when an image ends for want of space on the disk, before its callback: another attempt may find some.
  void set_on_no_space(std::function<void()> on_no_space) { on_no_space_ = std::move(on_no_space); }

  // Of a pull that is under way.
  PullProgress progress(const ImageReference& reference);

  std::vector<ImageRecord> list() const;
  // Valid until anything of this store changes.
  const ImageRecord* find(const ImageReference& reference) const;
  Result<ImageConfig> config(const ImageRecord& image) const;
  // For lowerdir= of overlayfs: topmost first.
  std::vector<std::string> directories(const ImageRecord& image) const;
  // Its reference only: blobs and layers stay until they are collected.
  Status remove(const ImageReference& reference);

  // An owner has one pin. It is durable: a program that starts again finds it, and takes back what has no owner any
  // more. It counts as a use of the image.
  Status pin(const std::string& owner, const ImageReference& reference);
  Status unpin(const std::string& owner);
  // By owner: the images as they were when they were pinned.
  const std::map<std::string, ImageRecord>& pins() const { return pins_; }

  // Deletes blobs and layers that no image and no pin refers to; not before the pulls that are under way have ended.
  // `partial`: those that have not come whole too, with which a later pull would go on.
  void collect_garbage(OnCollected on_collected, bool partial = true);

 private:
  struct Later {
    std::string source;  // of an import; empty: the registry
    std::vector<Credential> credentials;
    OnImage on_image;
  };
  struct Pulling {
    std::unique_ptr<ImagePull> pull;
    std::string staging;
    std::vector<Credential> credentials;
    std::vector<OnImage> waiting;
    std::vector<Later> later;  // have other credentials, or another source
  };

  ImageStore(asio::io_context& context, const Clock& clock, Options options);
  void load();
  Status fetch(std::vector<PullAttempt> attempts, const ImageReference& reference, OnImage on_image,
               std::vector<Credential> credentials);
  void pull_later(const std::string& reference, std::vector<Later> later);
  Status keep(ImageRecord image, bool durable);
  void on_fetched(const std::string& reference);
  void unpack_next();
  void on_pulled(const std::string& reference, Result<ImageRecord> image);
  void collect_if_idle();
  Result<Collected> discard_unused(bool partial);
  void empty_trash();
  void on_trash_emptied();

  asio::io_context& context_;
  const Clock& clock_;
  Options options_;
  StoreFiles files_;
  DayBudget budget_;
  std::map<std::string, ImageRecord> images_;  // by reference
  std::map<std::string, ImageRecord> pins_;    // by owner
  std::map<std::string, Pulling> pulls_;       // by reference
  std::deque<std::string> fetched_;            // wait to be unpacked
  std::string unpacking_;                      // a reference, or empty
  std::uint64_t fetches_ = 0;
  std::string held_;  // why nothing is fetched; empty: it is
  std::vector<OnCollected> to_collect_;
  bool collects_partial_ = false;
  std::vector<std::function<void()>> when_emptied_;
  std::function<void()> on_change_;
  std::function<void()> on_no_space_;
  bool is_more_trash_ = false;
  std::unique_ptr<ChildTask> emptying_;
};

}  // namespace berth
