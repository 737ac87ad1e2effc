#include "firmware-host/agent/images/image_store.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "core/json/json.h"
#include "firmware-host/agent/images/image_fields.h"
#include "firmware-host/agent/pod_state.h"

namespace berth {

namespace {

constexpr std::string_view kRecordEnd = ".json";

struct PinRecord {
  std::string owner;
  ImageRecord image;
};

std::string text_of_pin(const std::string& owner, const ImageRecord& image) {
  return Json::object().set("owner", Json(owner)).set("image", Json(image.text())).dump();
}

Result<PinRecord> read_pin(const std::string& text) {
  const Result<Json> parsed = Json::parse(text, {.bytes = ImageConfig::kMostBytes, .depth = 8});
  if (!parsed) return parsed.error();
  Findings findings(Findings::Bounds{.bytes = ImageConfig::kMostBytes});
  FieldReader root(*parsed, "", findings);
  std::string owner, image_text;
  require_text(root, "owner", owner);
  require_text(root, "image", image_text);
  if (findings.has_errors()) return findings.status();
  Result<ImageRecord> image = read_image_record(image_text);
  if (!image) return image.error();
  return PinRecord{owner, std::move(*image)};
}

Status delete_record(const std::string& directory, const std::string& key) {
  const std::string path = directory + "/" + StoreFiles::record_name(key);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return Status::ok();
  return Status::error("cannot delete " + path + ": " + std::strerror(errno));
}

Status write_record(const std::string& directory, const std::string& key, const std::string& text, bool durable) {
  const std::string name = StoreFiles::record_name(key);
  const std::error_code error = replace_file(directory, name, text, durable);
  return error ? Status::error("cannot write " + directory + "/" + name + ": " + error.message()) : Status::ok();
}

}  // namespace

ImageStore::ImageStore(asio::io_context& context, const Clock& clock, Options options)
    : context_(context),
      clock_(clock),
      options_(std::move(options)),
      files_(options_.root),
      budget_(options_.root, options_.bytes_per_day, clock) {}

Result<std::unique_ptr<ImageStore>> ImageStore::open(asio::io_context& context, const Clock& clock, Options options) {
  std::unique_ptr<ImageStore> store(new ImageStore(context, clock, std::move(options)));
  if (Status status = store->files_.make(); !status.is_success()) return status;
  store->files_.discard_leftovers();
  store->load();
  store->empty_trash();
  return store;
}

void ImageStore::load() {
  const auto each_record = [&](const std::string& directory, const std::function<bool(const std::string&)>& take) {
    for (const std::string& name : StoreFiles::entries(directory)) {
      const std::string path = directory + "/" + name;
      const Result<std::string> text = StoreFiles::read(path, ImageConfig::kMostBytes);
      if (name.ends_with(kRecordEnd) && text && take(*text)) continue;
      // Half of a new one, or damaged. What cannot be moved now is met at the next start again.
      if (!files_.discard(path)) continue;
    }
  };
  each_record(files_.images(), [&](const std::string& text) {
    Result<ImageRecord> image = read_image_record(text);
    if (!image || !files_.has_layers(image->chain()) || !config(*image)) return false;
    images_[image->reference] = std::move(*image);
    return true;
  });
  each_record(files_.pins(), [&](const std::string& text) {
    Result<PinRecord> pin = read_pin(text);
    if (pin) pins_[pin->owner] = std::move(pin->image);
    return pin.has_value();
  });
}

Status ImageStore::pull(const ImageReference& reference, OnImage on_image, std::vector<Credential> credentials) {
  if (budget_.allowed() == 0 && find(reference) == nullptr) {
    return Status::error(
        "today's bytes of images are used up (containers.image_bytes_per_day); it is fetched tomorrow");
  }
  std::vector<PullAttempt> attempts = registry_attempts(options_.source, reference, credentials);
  return fetch(std::move(attempts), reference, std::move(on_image), std::move(credentials));
}

Status ImageStore::import(const std::string& source, const ImageReference& reference, OnImage on_image) {
  if (const auto found = pulls_.find(reference.text()); found != pulls_.end()) {
    found->second.later.push_back({source, {}, std::move(on_image)});
    return Status::ok();
  }
  return fetch({{source, std::nullopt}}, reference, std::move(on_image), {});
}

Status ImageStore::fetch(std::vector<PullAttempt> attempts, const ImageReference& reference, OnImage on_image,
                         std::vector<Credential> credentials) {
  if (!held_.empty()) return Status::error(held_);
  const std::string name = reference.text();
  if (const auto found = pulls_.find(name); found != pulls_.end()) {
    if (found->second.credentials == credentials) {
      found->second.waiting.push_back(std::move(on_image));
    } else {
      found->second.later.push_back({{}, std::move(credentials), std::move(on_image)});
    }
    return Status::ok();
  }
  const std::string staging = files_.staging() + "/" + std::to_string(fetches_++);
  auto pull = std::make_unique<ImagePull>(
      context_, files_,
      ImagePull::Plan{.reference = name,
                      .attempts = std::move(attempts),
                      .staging = staging,
                      .options = options_.source,
                      .limits = options_.limits,
                      .budget = &budget_,
                      .on_no_space = on_no_space_},
      [this, name] { on_fetched(name); },
      [this, name](Result<ImageRecord> image) { on_pulled(name, std::move(image)); });
  if (Status status = pull->start(); !status.is_success()) {
    if (!files_.discard(staging)) status.add_reason("cannot move " + staging + " to the trash");
    return status;
  }
  Pulling& pulling = pulls_[name];
  pulling.pull = std::move(pull);
  pulling.staging = staging;
  pulling.credentials = std::move(credentials);
  pulling.waiting.push_back(std::move(on_image));
  return Status::ok();
}

void ImageStore::on_fetched(const std::string& reference) {
  fetched_.push_back(reference);
  unpack_next();
}

void ImageStore::unpack_next() {
  if (!unpacking_.empty() || fetched_.empty()) return;
  unpacking_ = fetched_.front();
  fetched_.pop_front();
  pulls_.at(unpacking_).pull->unpack();
}

void ImageStore::on_pulled(const std::string& reference, Result<ImageRecord> image) {
  const auto found = pulls_.find(reference);
  Pulling ended = std::move(found->second);
  pulls_.erase(found);
  if (unpacking_ == reference) unpacking_.clear();
  if (image) {
    image->used = clock_.wall();
    if (Status status = keep(*image, true); !status.is_success()) image = status;
  }
  if (image && on_change_) on_change_();
  if (files_.discard(ended.staging)) empty_trash();
  unpack_next();
  for (const OnImage& on_image : ended.waiting) {
    on_image(image ? image : Result<ImageRecord>(Status::error("image " + reference + ": " + image.error().message())));
  }
  pull_later(reference, std::move(ended.later));
  collect_if_idle();
}

void ImageStore::hold(const std::string& why) {
  held_ = why;
  if (held_.empty()) return;
  std::map<std::string, Pulling> ended = std::exchange(pulls_, {});
  fetched_.clear();
  unpacking_.clear();
  bool is_discarded = true;
  for (auto& [reference, pulling] : ended) {
    pulling.pull.reset();  // and its children
    is_discarded = files_.discard(pulling.staging) && is_discarded;
  }
  for (const std::string& name : StoreFiles::entries(files_.layers())) {
    if (name.ends_with(LayerUnpack::kPartial)) {
      is_discarded = files_.discard(files_.layers() + "/" + name) && is_discarded;
    }
  }
  if (is_discarded) empty_trash();  // else with the next thing that is discarded
  for (const auto& [reference, pulling] : ended) {
    const Status status = Status::error("image " + reference + ": " + held_);
    for (const OnImage& on_image : pulling.waiting) on_image(status);
    for (const Later& later : pulling.later) later.on_image(status);
  }
  collect_if_idle();
}

void ImageStore::pull_later(const std::string& reference, std::vector<Later> later) {
  const Result<ImageReference> parsed = parse_image_reference(reference);
  for (Later& each : later) {
    const Status begun = each.source.empty() ? pull(*parsed, each.on_image, std::move(each.credentials))
                                             : import(each.source, *parsed, each.on_image);
    if (!begun.is_success()) each.on_image(Status::error("image " + reference + ": " + begun.message()));
  }
}

Status ImageStore::keep(ImageRecord image, bool durable) {
  Status status = write_record(files_.images(), image.reference, image.text(), durable);
  if (status.is_success()) images_[image.reference] = std::move(image);
  return status;
}

PullProgress ImageStore::progress(const ImageReference& reference) {
  const auto found = pulls_.find(reference.text());
  return found == pulls_.end() ? PullProgress{} : found->second.pull->progress();
}

std::vector<ImageRecord> ImageStore::list() const {
  std::vector<ImageRecord> all;
  for (const auto& [reference, image] : images_) all.push_back(image);
  return all;
}

const ImageRecord* ImageStore::find(const ImageReference& reference) const {
  const auto found = images_.find(reference.text());
  return found == images_.end() ? nullptr : &found->second;
}

Result<ImageConfig> ImageStore::config(const ImageRecord& image) const {
  const Result<std::string> text = files_.read_blob(image.config, ImageConfig::kMostBytes);
  if (!text) return text.error();
  return read_image_config(*text);
}

std::vector<std::string> ImageStore::directories(const ImageRecord& image) const {
  const std::vector<std::string> chain = image.chain();
  std::vector<std::string> topmost_first;
  for (auto id = chain.rbegin(); id != chain.rend(); ++id) topmost_first.push_back(files_.layer(*id));
  return topmost_first;
}

Status ImageStore::remove(const ImageReference& reference) {
  const std::string name = reference.text();
  if (!images_.contains(name)) return Status::error("there is no image " + name);
  Status status = delete_record(files_.images(), name);
  if (!status.is_success()) return status;
  images_.erase(name);
  if (on_change_) on_change_();
  return status;
}

Status ImageStore::pin(const std::string& owner, const ImageReference& reference) {
  const ImageRecord* found = find(reference);
  if (!found) return Status::error("there is no image " + reference.text() + "; pull it first");
  ImageRecord image = *found;
  image.used = clock_.wall();
  if (Status status = write_record(files_.pins(), owner, text_of_pin(owner, image), true); !status.is_success()) {
    return status;
  }
  pins_[owner] = image;
  return keep(std::move(image), false);
}

Status ImageStore::unpin(const std::string& owner) {
  if (!pins_.contains(owner)) return Status::ok();
  Status status = delete_record(files_.pins(), owner);
  if (status.is_success()) pins_.erase(owner);
  return status;
}

void ImageStore::collect_garbage(OnCollected on_collected, bool partial) {
  collects_partial_ = collects_partial_ || partial;
  to_collect_.push_back(std::move(on_collected));
  collect_if_idle();
}

// skopeo takes blobs for present that it has seen: none may go while it runs.
void ImageStore::collect_if_idle() {
  if (!pulls_.empty() || to_collect_.empty()) return;
  const Result<Collected> collected = discard_unused(std::exchange(collects_partial_, false));
  when_emptied_.push_back([collected, waiting = std::exchange(to_collect_, {})] {
    for (const OnCollected& on_collected : waiting) on_collected(collected);
  });
  empty_trash();
}

Result<ImageStore::Collected> ImageStore::discard_unused(bool partial) {
  std::set<std::string> used;  // hexadecimal names: a blob and a layer with the same name do not harm each other
  const auto use = [&](const ImageRecord& image) {
    for (const std::string& digest : {image.manifest, image.config}) used.insert(StoreFiles::hex(digest));
    for (const ImageLayer& layer : image.layers) used.insert(StoreFiles::hex(layer.digest));
    for (const std::string& id : image.chain()) used.insert("layer " + StoreFiles::hex(id));
  };
  for (const auto& [reference, image] : images_) use(image);
  for (const auto& [owner, image] : pins_) use(image);
  Collected collected;
  const auto discard = [&](const std::string& directory, const std::string& prefix, std::int64_t& count) {
    for (const std::string& name : StoreFiles::entries(directory)) {
      if (used.contains(prefix + name)) continue;
      if (!files_.discard(directory + "/" + name)) return false;
      ++count;
    }
    return true;
  };
  // Layers first: a blob without its layer is only unpacked again.
  if (!discard(files_.layers(), "layer ", collected.layers) ||
      !discard(files_.blobs() + "/sha256", "", collected.blobs) ||
      (partial && !discard(files_.partial(), "", collected.blobs))) {
    return Status::error("cannot move what is not used to " + files_.trash() + ": " + std::strerror(errno));
  }
  return collected;
}

void ImageStore::empty_trash() {
  is_more_trash_ = true;
  if (emptying_) return;
  on_trash_emptied();
}

// Also called when none was there to be emptied.
void ImageStore::on_trash_emptied() {
  emptying_.reset();
  std::vector<std::string> trash = files_.discarded();
  if (std::exchange(is_more_trash_, false) && !trash.empty()) {
    auto task = ChildTask::start(context_, deleting(std::move(trash)), [this](const ChildEnd&) { on_trash_emptied(); });
    if (task) {
      emptying_ = std::move(*task);
      return;
    }
    // No process now: the next thing that is discarded brings it back to mind.
  }
  for (const auto& when_emptied : std::exchange(when_emptied_, {})) when_emptied();
}

}  // namespace berth
