#include "firmware-host/agent/images/image_pull.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/image_manifest.h"

namespace berth {

namespace {

std::string platform_text(const Platform& platform) {
  return platform.os + "/" + platform.architecture + (platform.variant.empty() ? "" : "/") + platform.variant;
}

// An index offers the manifest of the right platform, an archive or a single manifest has what it has.
Status check_platform(const ImageConfig& config, const Platform& wanted) {
  const Platform found{.os = config.os, .architecture = config.architecture, .variant = config.variant};
  if (can_run(wanted, found)) return Status::ok();
  return Status::error("it is of the platform " + platform_text(found) + ", expected " + platform_text(wanted));
}

// What skopeo says of a failure, without its time stamp: time="..." level=fatal msg="...".
std::string message_of(const ChildEnd& end) {
  constexpr std::string_view kMessage = " msg=";
  std::string text = end.text;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return end.code < 0 ? "it was killed" : "exit code " + std::to_string(end.code);
  const std::size_t last = text.rfind("level=fatal" + std::string(kMessage));
  return last == std::string::npos ? text : text.substr(text.find(kMessage, last) + kMessage.size());
}

// As Kubernetes joins errors (util/errors, Aggregate).
std::string joined(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors[0];
  std::string text;
  for (const std::string& error : errors) text += (text.empty() ? "[" : ", ") + error;
  return text + "]";
}

}  // namespace

ImagePull::ImagePull(asio::io_context& context, StoreFiles& files, Plan plan, OnFetched on_fetched, OnEnd on_end)
    : context_(context),
      files_(files),
      plan_(std::move(plan)),
      on_fetched_(std::move(on_fetched)),
      on_end_(std::move(on_end)) {}

Status ImagePull::start() {
  if (mkdir(plan_.staging.c_str(), 0700) != 0) {
    return Status::error("cannot make " + plan_.staging + ": " + std::strerror(errno));
  }
  return fetch();
}

Status ImagePull::fetch() {
  const PullAttempt& attempt = plan_.attempts[attempt_];
  const std::optional<ImageReference> image = registry_image_of(attempt.source);
  const bool is_left_to_skopeo =
      !image || plan_.options.curl.empty() || counters_ == nullptr || is_configured_for_skopeo(image->domain);
  if (is_left_to_skopeo) return copy();
  if (attempt.credential || plan_.options.authfile.empty()) return fetch_layers(*image, attempt.credential);
  // Read for each pull, as skopeo does: it may have been replaced.
  const auto of_device = credential_of_file(plan_.options.authfile, *image);
  return of_device ? fetch_layers(*image, *of_device) : copy();
}

Status ImagePull::fetch_layers(const ImageReference& image, const std::optional<Credential>& credential) {
  const PullAttempt& attempt = plan_.attempts[attempt_];
  SourceOptions options = plan_.options;
  LayerFetch layers;
  if (attempt.credential) {
    options.authfile = kSecretFile;
    layers.inspect_secret = auth_file_text(image.domain, *attempt.credential);
  }
  layers.curl = options.curl;
  layers.inspect = inspect_arguments(options, attempt.source);
  layers.image = image;
  layers.is_insecure = options.is_insecure(image.domain);
  layers.credential = credential;
  layers.blobs = files_.blobs();
  layers.partial = files_.partial();
  layers.left = plan_.budget == nullptr ? nullptr : plan_.budget->left();
  layers.limits = plan_.limits;
  counters_->present = counters_->total = 0;
  auto task = ChildTask::start(context_, fetching(std::move(layers), counters_.get()),
                               [this](const ChildEnd& end) { on_layers(end); });
  if (!task) return task.error();
  copy_ = std::move(*task);
  return Status::ok();
}

void ImagePull::on_layers(const ChildEnd& end) {
  end_fetch();
  if (end.code == LayerFetch::kUsedUp) {
    return finish(
        Status::error("today's bytes of images are used up (containers.image_bytes_per_day); the rest is "
                      "fetched tomorrow"));
  }
  if (end.code == LayerFetch::kNoSpace) return end_without_space(Status::error(end.text));  // whoever is asked
  if (end.code != LayerFetch::kAllHere && end.code != LayerFetch::kLeftToSkopeo) {
    const bool is_of_skopeo = end.text.find(" level=") != std::string::npos;
    return try_next((is_of_skopeo ? plan_.options.skopeo + ": " : std::string()) + message_of(end));
  }
  if (const Status status = copy(); !status.is_success()) finish(status);
}

Status ImagePull::copy() {
  const PullAttempt& attempt = plan_.attempts[attempt_];
  SourceOptions options = plan_.options;
  std::string secret;
  if (attempt.credential) {
    options.authfile = kSecretFile;
    secret = auth_file_text(registry_image_of(attempt.source)->domain, *attempt.credential);
  }
  const auto arguments = skopeo_arguments(options, attempt.source, files_.blobs(), plan_.staging);
  if (!arguments) return arguments.error();
  auto task = ChildTask::start(context_, executing(*arguments, std::move(secret)),
                               [this](const ChildEnd& end) { on_copied(end); });
  if (!task) return task.error();
  copy_ = std::move(*task);
  return Status::ok();
}

// Whatever the one before failed for, as the kubelet does.
void ImagePull::try_next(const std::string& why) {
  if (std::ranges::find(refusals_, why) == refusals_.end()) refusals_.push_back(why);
  if (attempt_ + 1 == plan_.attempts.size()) return finish(Status::error(joined(refusals_)));
  ++attempt_;
  if (const Status status = fetch(); !status.is_success()) finish(status);
}

ImagePull::~ImagePull() { end_fetch(); }

// What a child holds that was killed goes to the other pulls.
void ImagePull::end_fetch() {
  copy_.reset();
  note_fetched();
  if (counters_ != nullptr && plan_.budget != nullptr) plan_.budget->give_back(counters_->held.exchange(0));
}

void ImagePull::note_fetched() {
  if (counters_ == nullptr || plan_.budget == nullptr) return;
  const std::int64_t fetched = counters_->fetched;
  plan_.budget->note(fetched - std::exchange(noted_bytes_, fetched));
}

PullProgress ImagePull::progress() {
  note_fetched();
  if (counters_ == nullptr) return {};
  return {counters_->present, counters_->total};
}

void ImagePull::on_copied(const ChildEnd& end) {
  copy_.reset();
  if (end.code != 0) return try_next(plan_.options.skopeo + ": " + message_of(end));
  bool is_damaged = false;
  const Status resolved = resolve(is_damaged);
  if (is_damaged) return fetch_again(resolved);
  if (!resolved.is_success()) return finish(resolved);
  if (is_unpacking_) return unpack();        // its time has not ended
  const OnFetched on_fetched = on_fetched_;  // it may end the pull
  on_fetched();
}

Status ImagePull::resolve(bool& is_damaged) {
  const auto index = StoreFiles::read(plan_.staging + "/layout/index.json", ImageConfig::kMostBytes);
  if (!index) return index.error();
  const Result<BlobDescriptor> top = read_layout_index(*index);
  if (!top) return top.error();
  const auto blob = [&](const std::string& digest) {
    Result<std::string> text = files_.read_blob(digest, ImageConfig::kMostBytes);
    is_damaged = !text;
    if (is_damaged && !files_.discard(files_.blob(digest))) is_damaged = false;
    return text;
  };
  const Result<std::string> manifest_text = blob(top->digest);
  if (!manifest_text) return manifest_text.error();
  const Result<ImageManifest> manifest = read_image_manifest(*manifest_text);
  if (!manifest) return manifest.error();
  const Result<std::string> config_text = blob(manifest->config.digest);
  if (!config_text) return config_text.error();
  const Result<ImageConfig> config = read_image_config(*config_text);
  if (!config) return config.error();
  if (Status status = check_platform(*config, plan_.options.platform); !status.is_success()) return status;
  if (config->diff_ids.size() != manifest->layers.size()) {
    return Status::error("the manifest has " + std::to_string(manifest->layers.size()) + " layers, the config " +
                         std::to_string(config->diff_ids.size()));
  }
  image_ = {.reference = plan_.reference, .manifest = top->digest, .config = manifest->config.digest, .layers = {}};
  image_.size = static_cast<std::int64_t>(manifest_text->size()) + manifest->config.size;
  for (std::size_t i = 0; i < manifest->layers.size(); ++i) {
    image_.layers.push_back({.digest = manifest->layers[i].digest, .diff_id = config->diff_ids[i]});
    image_.size += manifest->layers[i].size;
  }
  return Status::ok();
}

// Once: what a power cut has damaged is whole then, and what is damaged at its source stays so.
void ImagePull::fetch_again(const Status& why) {
  if (std::exchange(is_again_, true)) return finish(why);
  if (const Status status = fetch(); !status.is_success()) finish(status);
}

void ImagePull::unpack() {
  is_unpacking_ = true;
  const std::vector<std::string> chain = image_.chain();
  std::size_t next = 0;
  while (next < chain.size() && files_.has_layers({chain[next]})) ++next;
  if (next == chain.size()) return finish(std::move(image_));
  LayerToUnpack layer{.blob = files_.blob(image_.layers[next].digest),
                      .digest = image_.layers[next].digest,
                      .diff_id = image_.layers[next].diff_id,
                      .directory = files_.layer(chain[next]),
                      .lower = {},
                      .limits = plan_.limits};
  for (std::size_t i = next; i-- > 0;) layer.lower.push_back(files_.layer(chain[i]));
  auto started =
      LayerUnpack::start(context_, std::move(layer), [this, next](const UnpackEnd& end) { on_unpacked(next, end); });
  if (!started) return finish(started.error());
  unpack_ = std::move(*started);
}

void ImagePull::on_unpacked(std::size_t layer, const UnpackEnd& end) {
  unpack_.reset();
  if (end.status.is_success()) return unpack();
  const std::string& digest = image_.layers[layer].digest;
  const Status named = Status::error("layer " + digest + ": " + end.status.message());
  if (end.is_without_space) return end_without_space(named);
  if (!end.is_damaged || !files_.discard(files_.blob(digest))) return finish(named);
  fetch_again(named);
}

void ImagePull::end_without_space(const Status& why) {
  if (plan_.on_no_space) plan_.on_no_space();
  finish(why);
}

void ImagePull::finish(Result<ImageRecord> image) {
  const OnEnd on_end = std::move(on_end_);
  on_end(std::move(image));
}

}  // namespace berth
