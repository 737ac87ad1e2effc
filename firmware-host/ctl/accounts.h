// The files of a mosquitto's accounts (`passwords`, `operators`, `access`), as enroll and revoke change them.
#pragma once

#include <string>

#include "core/status.h"
#include "firmware-host/ctl/commands.h"

namespace berth {

// Empty if there is no such file.
std::string content_of(const std::string& path);
Status write_for_broker(const std::string& path, const std::string& text);
// Of an access file: the role of the name.
std::string role_in(const std::string& access, const std::string& name);
std::string without_password(const std::string& text, const std::string& name);
std::string without_access(const std::string& text, const std::string& name);
// Does nothing if options.reload is false. If mosquitto is not running, it reads the files when it starts. New
// listeners and certificates that were revoked need a restart: a reload ends only sessions whose password is gone.
void reload_broker(const EnrollOptions& options, bool restart, const Screen& screen);

}  // namespace berth
