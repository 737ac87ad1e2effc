// LayerFetch: the layers of an image that are not here, fetched from its registry by curl(1) before skopeo copies the
// rest: skopeo begins a blob from nothing when its connection breaks, curl goes on where it broke, in this attempt or
// in one after a reboot. What has come of a blob is in the store's directory `partial`; whether it is the right one is
// checked when it is unpacked, as of every blob.
//
// What skopeo finds in its own configuration is followed by skopeo alone, and such images are left to it: registries
// that are redirected (containers-registries.conf(5)) or have certificates of their own (containers-certs.d(5)).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/images/layer_unpacker.h"
#include "firmware-host/agent/images/registry_keyring.h"

namespace berth {

// Shared with the child that fetches.
struct FetchCounters {
  std::atomic<std::int64_t> present;  // bytes of layers that are here, of those that were missing at first
  std::atomic<std::int64_t> total;    // bytes of these layers, as far as the registry says; 0: not known yet
  std::atomic<std::int64_t> fetched;  // bytes that have come over the network
  std::atomic<std::int64_t> held;     // bytes that were taken off LayerFetch::left, and have not come
};

struct LayerFetch {
  static constexpr int kAllHere = 0;
  static constexpr int kFailed = 1;        // the text says why
  static constexpr int kUsedUp = 2;        // no more bytes may be fetched now
  static constexpr int kLeftToSkopeo = 3;  // skopeo fetches what is not here
  static constexpr int kNoSpace = 4;       // the disk is too small for what is missing; the text says how much that is
  std::string curl;                        // path
  std::vector<std::string> inspect;        // the command that tells what the image is made of
  std::string inspect_secret;              // its kSecretFile
  ImageReference image;                    // at the registry that is asked
  bool is_insecure = false;
  std::optional<Credential> credential;
  std::string blobs;                          // <blobs>/sha256/HEX
  std::string partial;                        // directory
  std::atomic<std::int64_t>* left = nullptr;  // DayBudget::left()
  UnpackLimits limits;
};

// `counters` must outlive the task, in memory that is shared with children.
ChildTask::Work fetching(LayerFetch fetch, FetchCounters* counters);

// Whether skopeo's configuration, below /etc, has something to say about this registry.
bool is_configured_for_skopeo(const std::string& registry, const std::string& etc = "/etc");

// Counters in memory of their own, at zero.
std::shared_ptr<FetchCounters> shared_counters();

}  // namespace berth
