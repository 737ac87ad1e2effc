#include "firmware-host/agent/sealed_secrets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "firmware-host/agent/images/child_program.h"
#include "firmware-host/agent/images/sha256.h"
#include "storage/paths.h"

namespace berth {

namespace {

namespace sealed_fs = std::filesystem;

constexpr std::size_t kDigits = 32;     // of each half of a name
constexpr int kCannotBeExecuted = 127;  // become() of child_program.cc
constexpr int kNotTried = 1;

std::string digits_of(std::string_view text) {
  return sha256_digest(text).substr(std::string_view("sha256:").size(), kDigits);
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// What is sealed is the key, a line of its own, and the value. The name of the file is bound to it by systemd-creds.
int seal_to(const std::string& program, const std::string& path, const std::string& name, std::string text, int fd) {
  ProgramRun run;
  run.arguments = {program, "encrypt", "--with-key=auto", "--name=" + name, "-", "-"};
  run.input = std::move(text);
  const ProgramEnd end = run_program(run);
  if (end.code != 0) {
    write_text(fd, last_line(end.error));
    return end.code == kCannotBeExecuted ? kCannotBeExecuted : 1;
  }
  const Status written = replace_private_file(path, end.output);
  if (!written.is_success()) write_text(fd, written.message());
  return written.is_success() ? 0 : 1;
}

}  // namespace

SealedSecrets::SealedSecrets(SecretFiles& files, std::string directory, asio::io_context& context, Log& log,
                             std::string program)
    : files_(files), directory_(std::move(directory)), context_(context), log_(log), program_(std::move(program)) {}

std::string SealedSecrets::file_name(const std::string& key, std::string_view value) {
  return digits_of(key) + "-" + digits_of(value.substr(0, value.find(' ')));
}

bool SealedSecrets::can_seal() {
  if (has_given_up_) return false;
  if (::geteuid() != 0) {
    give_up("only root can");
  } else if (!files_.is_usable()) {
    give_up("they are unsealed to a tmpfs, see secret_dir");
  } else if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    give_up("cannot make " + directory_ + ": " + std::strerror(errno));
  }
  return !has_given_up_;
}

void SealedSecrets::give_up(const std::string& reason) {
  has_given_up_ = true;
  waiting_.clear();
  log_.write(Level::info, "Secrets are not sealed: after a reboot their pods wait for the gateway",
             {{"reason", reason}});
}

std::vector<std::string> SealedSecrets::names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (sealed_fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

// What a crash left behind is removed on the way.
std::vector<std::string> SealedSecrets::only_sealed(const std::map<std::string, std::string>& found) const {
  std::set<std::string> known;
  for (const auto& [key, value] : found) known.insert(digits_of(key));
  std::vector<std::string> sealed;
  for (const std::string& name : names()) {
    if (name.size() != 2 * kDigits + 1) {
      remove_file(path_of(name));
    } else if (!known.contains(name.substr(0, kDigits))) {
      sealed.push_back(name);
    }
  }
  return sealed;
}

std::map<std::string, std::string> SealedSecrets::load() {
  std::map<std::string, std::string> found = files_.load();
  const std::vector<std::string> sealed = only_sealed(found);
  if (!sealed.empty() && can_seal()) {
    unseal(sealed);
    found = files_.load();
    const std::vector<std::string> left = only_sealed(found);
    unreadable_.insert(left.begin(), left.end());
  }
  for (const auto& [key, value] : found) seal(key, value);
  return found;
}

void SealedSecrets::unseal(const std::vector<std::string>& names) {
  const auto work = [this, &names](int text_fd) {
    for (const std::string& name : names) {
      ProgramRun run;
      run.arguments = {program_, "decrypt", "--name=" + name, path_of(name), "-"};
      const ProgramEnd end = run_program(run);
      if (end.code < 0 || end.code == kCannotBeExecuted) {
        write_text(text_fd, last_line(end.error));
        return kNotTried;
      }
      const std::size_t line = end.output.find('\n');
      const std::string key = end.output.substr(0, line);
      const std::string value = line == std::string::npos ? std::string() : end.output.substr(line + 1);
      if (end.code == 0 && file_name(key, value) == name) {
        files_.put(key, value);
        continue;
      }
      // A TPM may be late or busy at a start: what cannot be unsealed now stays.
      write_text(text_fd, (end.code != 0 ? last_line(end.error) : name + ": has another Secret") + "\n");
      if (end.code == 0) remove_file(path_of(name));
    }
    return 0;
  };
  asio::io_context context;
  ChildEnd ended{-1, "it takes too long"};
  auto task = ChildTask::start(context, work, [&ended](ChildEnd end) { ended = std::move(end); });
  if (!task) {
    ended.text = task.error().message();
  } else {
    context.run_for(std::chrono::milliseconds(kUnsealMs));
  }
  if (ended.code == 0 && ended.text.empty()) return;
  log_.write(Level::warn, "sealed Secrets cannot be unsealed; their pods wait for the gateway",
             {{"reason", last_line(ended.text)}});
}

void SealedSecrets::put(const std::string& key, const std::string& value) {
  files_.put(key, value);
  seal(key, value);
}

// An earlier state goes at once: a pod had better wait than start with it after a power cut.
void SealedSecrets::seal(const std::string& key, const std::string& value) {
  if (!can_seal()) return;
  const std::string name = file_name(key, value);
  remove_of(key, name);
  std::error_code error;
  if (sealed_fs::exists(path_of(name), error) && unreadable_.erase(name) == 0) return;
  waiting_.insert_or_assign(key, value);
  start_next();
}

void SealedSecrets::remove_of(const std::string& key, const std::string& kept) {
  waiting_.erase(key);
  if (sealing_ == key) task_.reset();
  if (sealing_ == key) sealing_.clear();
  const std::string begin = digits_of(key);
  for (const std::string& name : names()) {
    if (name != kept && name.starts_with(begin)) remove_file(path_of(name));
  }
}

void SealedSecrets::start_next() {
  if (task_ || waiting_.empty()) return;
  const auto [key, value] = *waiting_.begin();
  waiting_.erase(waiting_.begin());
  const std::string name = file_name(key, value);
  const auto work = [this, &name, text = key + "\n" + value](int text_fd) {
    ::alarm(kSealSeconds);
    return seal_to(program_, path_of(name), name, text, text_fd);
  };
  auto task = ChildTask::start(context_, work, [this](const ChildEnd& end) { on_sealed(end); });
  if (!task) return give_up(task.error().message());
  task_ = std::move(*task);
  sealing_ = key;
}

void SealedSecrets::on_sealed(const ChildEnd& end) {
  const std::string key = std::exchange(sealing_, {});
  task_.reset();
  if (end.code == kCannotBeExecuted) return give_up(end.text);
  if (end.code != 0) {
    log_.write(Level::warn, "a Secret is not sealed: after a reboot its pods wait for the gateway",
               {{"object", key}, {"reason", end.code < 0 ? "it takes too long" : end.text}});
  }
  start_next();
}

void SealedSecrets::erase(const std::string& key) {
  files_.erase(key);
  remove_of(key);
  start_next();
}

void SealedSecrets::clear() {
  waiting_.clear();
  task_.reset();
  sealing_.clear();
  files_.clear();
  for (const std::string& name : names()) remove_file(path_of(name));
}

}  // namespace berth
