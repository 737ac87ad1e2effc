#include "firmware-host/agent/containers/pulling_runtime.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/json/json.h"
#include "firmware-host/agent/containers/pull_secrets.h"
#include "firmware-host/agent/pod_conditions.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/pod_planner.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

constexpr Millis kErrorShownMs = 1000;  // before the status says that it is waited with the next attempt

// A name of an image has no blanks.
std::string pin_of(const Tag& tag, const std::string& image) { return directory_name(tag) + " " + image; }

// As Go prints durations of a second and above, to the millisecond.
std::string seconds_text(Millis duration) {
  std::string fraction = std::to_string(duration % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return std::to_string(duration / 1000) + "." + fraction + "s";
}

std::string mebibytes_text(std::int64_t bytes) {
  const std::int64_t tenths = bytes * 10 / (1 << 20);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string progress_text(const PullProgress& progress) {
  if (progress.total == 0) return {};
  return ": " + mebibytes_text(progress.present) + " of " + mebibytes_text(progress.total) + " MiB";
}

std::string owner_in(const std::string& pin) { return pin.substr(0, pin.find(' ')); }

}  // namespace

PullingRuntime::PullingRuntime(Runtime& behind, const PodPlanner& planner, std::unique_ptr<ImageStore> store,
                               const Clock& clock, Timers& timers, Log& log, CrashBackoff backoff, Millis progress_ms)
    : behind_(behind),
      planner_(planner),
      store_(std::move(store)),
      clock_(clock),
      timers_(timers),
      log_(log),
      backoff_(backoff),
      progress_ms_(progress_ms) {
  behind_.set_handler(this);
}

PullingRuntime::~PullingRuntime() {
  while (!waiting_.empty()) forget(Tag(waiting_.begin()->first));
  behind_.set_handler(nullptr);
}

Result<std::vector<Tag>> PullingRuntime::list() {
  Result<std::vector<Tag>> tags = behind_.list();
  if (!tags) return tags;
  std::set<std::string> owners;
  for (const Tag& tag : *tags) owners.insert(directory_name(tag));
  std::vector<std::string> orphans;
  for (const auto& [pin, image] : store_->pins()) {
    if (!owners.contains(owner_in(pin))) orphans.push_back(pin);
  }
  for (const std::string& pin : orphans) {
    if (!store_->unpin(pin).is_success()) break;  // at the next start again
  }
  return tags;
}

Result<std::string> PullingRuntime::start(const Tag& tag, const std::string& pod,
                                          const std::vector<BoundVolume>& volumes) {
  if (waiting_.contains(tag)) return std::string();
  const Result<Json> manifest = Json::parse(pod);
  const Result<PodRuntime> runtime = manifest ? planner_.runtime_of(tag, *manifest) : manifest.error();
  if (!runtime || *runtime != PodRuntime::containers) return behind_.start(tag, pod, volumes);
  Result<std::vector<ImageNeed>> needs = image_needs_of(*manifest);
  if (!needs) return needs.error();
  Waiting waiting{pod, volumes, {}, false, 0, 0};
  for (ImageNeed& need : *needs) {
    if (store_->pins().contains(pin_of(tag, need.name))) continue;
    Missing missing;
    missing.need = std::move(need);
    waiting.images.emplace(missing.need.name, std::move(missing));
  }
  if (waiting.images.empty()) return behind_.start(tag, pod, volumes);
  Waiting& kept = waiting_.emplace(tag, std::move(waiting)).first->second;
  for (auto at = kept.images.begin(); at != kept.images.end();) {
    const ImageNeed& need = at->second.need;
    const bool is_there = need.policy != PullPolicy::always && store_->find(need.reference) != nullptr;
    if (is_there && keep(tag, need).is_success()) {
      tell_event(tag, false, "Pulled", "Container image \"" + need.name + "\" already present on machine");
      at = kept.images.erase(at);
    } else {
      obtain(tag, (at++)->second);
    }
  }
  if (!kept.images.empty()) {
    report_later(tag);
    return std::string();
  }
  return start_behind(tag, waiting_.extract(tag).mapped());
}

void PullingRuntime::obtain(const Tag& tag, Missing& image) {
  image.retry = 0;
  image.since = clock_.now();
  image.is_backing_off = false;
  const std::string name = image.need.name;
  image.never = image.need.policy == PullPolicy::never;
  if (image.never) {
    const std::string why = "Container image \"" + name + "\" is not present with pull policy of Never";
    tell_event(tag, true, "ErrImageNeverPull", why);
    return fail(tag, image, why);
  }
  const Result<PullSecrets> secrets = pull_secrets_of(Json::parse(waiting_.at(tag).manifest).value(), objects_, tag);
  if (!secrets) return fail(tag, image, secrets.error().message());
  if (!secrets->missing.empty()) warn_of_missing(tag, secrets->missing);
  log_.write(Level::info, "pulling an image", {{"image", name}, {"uid", tag.uid}});
  tell_event(tag, false, "Pulling", "Pulling image \"" + name + "\"");
  const Status begun = store_->pull(
      image.need.reference, [this, tag, name](const Result<ImageRecord>& pulled) { on_pulled(tag, name, pulled); },
      secrets->keyring.find(image.need.reference));
  if (begun.is_success()) {
    image.why.clear();
    image.progress = {};
    look_later(tag);
  } else {
    fail(tag, image, begun.message());
  }
}

// pkg/kubelet/kubelet_pods.go, getPullSecretsForPod().
void PullingRuntime::warn_of_missing(const Tag& tag, const std::vector<std::string>& secrets) {
  std::string names;
  for (const std::string& name : secrets) names += (names.empty() ? "" : ", ") + name;
  log_.write(Level::warn, "some image pull secrets do not exist, the image may not come without them",
             {{"secrets", names}, {"uid", tag.uid}});
  tell_event(
      tag, true, "FailedToRetrieveImagePullSecret",
      "Unable to retrieve some image pull secrets (" + names + "); attempting to pull the image may not succeed.");
}

// Told with the next status, by report() or on_status().
void PullingRuntime::tell_event(const Tag& tag, bool is_warning, const char* reason, const std::string& message) {
  events_.try_emplace(tag, "p").first->second.add(clock_.now(), is_warning, reason, message);
}

// What it waits for may have come: without waiting for the end of the back-off.
void PullingRuntime::retry_now(const Tag& tag) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end()) return;
  for (auto& [name, image] : found->second.images) {
    if (image.retry == 0 || image.never) continue;
    timers_.cancel(image.retry);
    wait_to_retry(tag, image, 0);
  }
}

void PullingRuntime::set_disk_pressure(bool is_short) {
  if (std::exchange(disk_is_short_, is_short) == is_short) return;
  store_->hold(is_short ? "the node has DiskPressure, images are pulled again when that is over" : "");
  if (is_short) return;
  for (const auto& [tag, waiting] : waiting_) retry_now(tag);
}

Status PullingRuntime::keep(const Tag& tag, const ImageNeed& need) {
  return store_->pin(pin_of(tag, need.name), need.reference);
}

void PullingRuntime::on_pulled(const Tag& tag, const std::string& name, const Result<ImageRecord>& pulled) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end()) return;
  const auto at = found->second.images.find(name);
  if (at == found->second.images.end()) return;
  const Status kept = pulled ? keep(tag, at->second.need) : Status::error(pulled.error().message());
  if (!kept.is_success()) return fail(tag, at->second, kept.message());
  log_.write(Level::info, "pulled an image",
             {{"image", name}, {"uid", tag.uid}, {"ms", std::to_string(clock_.now() - at->second.since)}});
  tell_event(tag, false, "Pulled",
             "Successfully pulled image \"" + name + "\" in " + seconds_text(clock_.now() - at->second.since) +
                 ". Image size: " + std::to_string(pulled->size) + " bytes.");
  found->second.images.erase(at);
  if (!found->second.images.empty()) return report_later(tag);
  Waiting ready = std::move(waiting_.extract(found).mapped());
  const bool may_go = ready.may_go;
  timers_.cancel(ready.report);
  timers_.cancel(ready.look);
  const Result<std::string> started = start_behind(tag, ready);
  if (started) {
    if (may_go) behind_.go(tag);
  } else if (handler_ != nullptr) {
    on_status(tag, not_started_text(planner_.directory_of(tag), started.error().message(), true), true);
  }
}

Result<std::string> PullingRuntime::start_behind(const Tag& tag, const Waiting& waiting) {
  return behind_.start(tag, waiting.manifest, waiting.volumes);
}

// The first words are told as an error, what follows as waiting (pkg/kubelet/images/image_manager.go).
void PullingRuntime::fail(const Tag& tag, Missing& image, std::string why) {
  log_.write(Level::warn, "cannot pull an image, trying again later",
             {{"image", image.need.name}, {"uid", tag.uid}, {"error", why}});
  if (!image.never) {
    tell_event(tag, true, "Failed", "Failed to pull image \"" + image.need.name + "\": " + why);
  }
  image.why = std::move(why);
  const Millis delay = image.delay.next(backoff_, image.since, clock_.now());
  const Millis error_shown = std::min(delay, kErrorShownMs);
  image.retry = timers_.at(clock_.now() + error_shown, [this, tag, name = image.need.name, delay, error_shown] {
    wait_to_retry(tag, waiting_.at(tag).images.at(name), delay - error_shown);
  });
  report_later(tag);
}

void PullingRuntime::wait_to_retry(const Tag& tag, Missing& image, Millis delay) {
  image.is_backing_off = true;
  if (!image.never) tell_event(tag, false, "BackOff", "Back-off pulling image \"" + image.need.name + "\"");
  image.retry = timers_.at(clock_.now() + delay, [this, tag, name = image.need.name] {
    obtain(tag, waiting_.at(tag).images.at(name));
    report_later(tag);
  });
  report_later(tag);
}

// While one of its images is being pulled.
void PullingRuntime::look_later(const Tag& tag) {
  Waiting& waiting = waiting_.at(tag);
  if (waiting.look != 0) return;
  waiting.look = timers_.at(clock_.now() + progress_ms_, [this, tag] {
    Waiting& looked_at = waiting_.at(tag);
    looked_at.look = 0;
    bool is_pulling = false;
    for (auto& [name, image] : looked_at.images) {
      if (!image.why.empty()) continue;
      is_pulling = true;
      const PullProgress now = store_->progress(image.need.reference);
      if (std::exchange(image.progress, now) != now) report_later(tag);
    }
    if (is_pulling) look_later(tag);
  });
}

// Behind start(), and once for all that happens in one turn.
void PullingRuntime::report_later(const Tag& tag) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end() || found->second.report != 0) return;
  found->second.report = timers_.at(clock_.now(), [this, tag] {
    waiting_.at(tag).report = 0;
    report(tag);
  });
}

void PullingRuntime::report(const Tag& tag) {
  const Waiting& waiting = waiting_.at(tag);
  const Result<Workload> workload = planner_.plan(tag, waiting.manifest, waiting.volumes);
  if (!workload || handler_ == nullptr) return;
  const Result<std::optional<PodState>> known = read_pod_state(planner_.directory_of(tag));
  PodState state = known ? known->value_or(PodState{}) : PodState{};
  note_lost_runs(state);
  state.phase = "Pending";
  for (const auto& [plans, reports] :
       {std::pair{&workload->init_containers, &state.init_containers}, {&workload->containers, &state.containers}}) {
    reports->resize(plans->size());
    for (std::size_t i = 0; i < plans->size(); ++i) {
      ContainerReport& report = (*reports)[i];
      report.name = (*plans)[i].name;
      report.image = (*plans)[i].image;
      if (report.state.kind == ContainerState::Kind::terminated) report.last = report.state;
      report.state = {};
      report.state.reason = workload->init_containers.empty() ? "ContainerCreating" : "PodInitializing";
      const auto missing = waiting.images.find(report.image);
      if (missing == waiting.images.end()) continue;
      const Missing& image = missing->second;
      if (image.why.empty()) {
        report.state.message = "Pulling image \"" + report.image + "\"" + progress_text(image.progress);
      } else if (image.never) {
        report.state.reason = "ErrImageNeverPull";
        report.state.message = image.why;
      } else {
        report.state.reason = image.is_backing_off ? "ImagePullBackOff" : "ErrImagePull";
        report.state.message = image.is_backing_off
                                   ? "Back-off pulling image \"" + report.image + "\": ErrImagePull: " + image.why
                                   : image.why;
      }
    }
  }
  update_conditions(state, workload->readiness_gates, to_rfc3339(clock_.wall()));
  on_status(tag, status_text(std::move(state)), false);
}

void PullingRuntime::go(const Tag& tag) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end()) return behind_.go(tag);
  found->second.may_go = true;
}

void PullingRuntime::forget(const Tag& tag) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end()) return;
  timers_.cancel(found->second.report);
  timers_.cancel(found->second.look);
  for (auto& [name, image] : found->second.images) timers_.cancel(image.retry);
  waiting_.erase(found);
}

void PullingRuntime::unpin(const Tag& tag) {
  const std::string owner = directory_name(tag);
  events_.erase(tag);
  std::vector<std::string> pins;
  for (auto at = store_->pins().lower_bound(owner + " "); at != store_->pins().end() && owner_in(at->first) == owner;
       ++at) {
    pins.push_back(at->first);
  }
  for (const std::string& pin : pins) {
    if (const Status removed = store_->unpin(pin); !removed.is_success()) {
      log_.write(Level::warn, "an image stays pinned until the next start",
                 {{"pin", pin}, {"error", removed.message()}});
    }
  }
}

void PullingRuntime::undo(const Tag& tag) {
  forget(tag);
  behind_.undo(tag);
  unpin(tag);
}

void PullingRuntime::stop(const Tag& tag, Millis grace) {
  forget(tag);
  behind_.stop(tag, grace);
}

Result<PlannedImage> PullingRuntime::image_of(const Tag& pod, const std::string& name) const {
  const auto pin = store_->pins().find(pin_of(pod, name));
  if (pin == store_->pins().end()) return Status::pending("image " + name + " is not here");
  Result<ImageConfig> config = store_->config(pin->second);
  if (!config) return Status::pending("image " + name + ": " + config.error().message());
  PlannedImage image;
  image.id = pin->second.config;
  image.layers = store_->directories(pin->second);
  std::reverse(image.layers.begin(), image.layers.end());
  image.config = std::move(*config);
  return image;
}

void PullingRuntime::objects_changed(const Tag& tag) {
  retry_now(tag);
  behind_.objects_changed(tag);
}

void PullingRuntime::on_prepared(const Tag& tag, Status status) {
  if (handler_ != nullptr) handler_->on_prepared(tag, std::move(status));
}

void PullingRuntime::on_status(const Tag& tag, const std::string& status, bool finished) {
  if (handler_ == nullptr) return;
  const auto events = events_.find(tag);
  handler_->on_status(tag, events == events_.end() ? status : with_events(status, events->second.list()), finished);
}

void PullingRuntime::on_stopped(const Tag& tag) {
  unpin(tag);
  if (handler_ != nullptr) handler_->on_stopped(tag);
}

}  // namespace berth
