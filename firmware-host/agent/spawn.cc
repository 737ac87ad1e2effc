#include "firmware-host/agent/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

extern char** environ;

namespace berth {

namespace {

class Actions {
 public:
  explicit Actions(const SpawnFiles& files) {
    posix_spawn_file_actions_init(&actions_);
    use(files.input, STDIN_FILENO, O_RDONLY);
    use(files.output, STDOUT_FILENO, O_WRONLY);
    use(files.errors, STDERR_FILENO, O_WRONLY);
  }
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void use(int file, int as, int mode) {
    if (file < 0) {
      posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", mode, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, file, as);
    }
  }
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

std::vector<char*> to_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& arguments,
                    const std::vector<std::string>* environment, const SpawnFiles& files) {
  const std::vector<char*> argv = to_pointers(arguments);
  const std::vector<char*> own = environment != nullptr ? to_pointers(*environment) : std::vector<char*>();
  const Actions actions(files);
  const Attributes attributes;
  pid_t process = 0;
  const int error = posix_spawn(&process, program.c_str(), actions.get(), attributes.get(), argv.data(),
                                environment == nullptr ? environ : own.data());
  if (error == 0) return process;
  return Status::error("cannot run " + program + ": " + std::strerror(error));
}

}  // namespace berth
