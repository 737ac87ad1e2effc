#include "core/objects/configs.h"

#include "core/api/decode.h"

namespace berth {

namespace {

// Who it is, and that it is there.
Secret locked_secret(std::string_view key, const std::string& why) {
  const std::size_t slash = key.find('/');
  Secret secret;
  secret.metadata.namespace_ = std::string(key.substr(0, slash));
  secret.metadata.name = std::string(key.substr(slash + 1));
  secret.locked = why;
  Json metadata = Json::object();
  metadata.set("name", key.substr(slash + 1)).set("namespace", key.substr(0, slash));
  secret.manifest = Json::object();
  secret.manifest.set("apiVersion", "v1").set("kind", "Secret").set("metadata", std::move(metadata));
  return secret;
}

}  // namespace

Result<std::string> Configs::seal(const std::string& record_key, const Secret& secret) {
  if (sealer_ == nullptr) return Status::error("this gateway cannot keep Secrets: it has no key to seal them with");
  return sealer_->seal(record_key, secret.manifest.dump());
}

Secret Configs::open(std::string_view record_key, std::string_view record) {
  const auto opened = sealer_ == nullptr ? Result<std::string>(Status::error("this program cannot open Secrets"))
                                         : sealer_->open(record_key, record);
  const Result<Json> json = opened ? Json::parse(*opened, kConfigLimits) : Result<Json>(opened.error());
  Result<Secret> secret = json ? decode_secret(*json, nullptr, Rules::off) : Result<Secret>(json.error());
  if (secret) return std::move(*secret);
  return locked_secret(record_key.substr(record_key.find('/') + 1), secret.error().message());
}

void Configs::note_changed(Kind kind, const std::string& key, std::size_t bytes) {
  changed_.emplace_back(kind, key);
  std::size_t& known = sizes_[{kind, key}];
  bytes_ += bytes - known;
  known = bytes;
  if (bytes == 0) sizes_.erase({kind, key});
}

}  // namespace berth
