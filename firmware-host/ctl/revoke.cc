#include "firmware-host/ctl/revoke.h"

#include "core/api/names.h"
#include "firmware-host/ctl/accounts.h"
#include "firmware-host/ctl/certificates.h"

namespace berth {

Outcome<void> run_revoke(const EnrollOptions& options, const Screen& screen) {
  if (!is_valid_name(options.name)) {
    return fail(Exit::usage,
                "NAME: invalid name \"" + options.name + "\": use lower-case letters, digits, '-' and '.'");
  }
  bool found = false;
  const auto take_away = [&](const std::string& file, auto without) {
    const std::string path = options.broker_dir + "/" + file;
    const std::string before = content_of(path);
    const std::string after = without(before, options.name);
    if (after == before) return Status::ok();
    found = true;
    return write_for_broker(path, after);
  };
  // The access last: while it names the account, revoke can be repeated.
  for (const char* file : {"passwords", "operators"}) {
    if (Status done = take_away(file, without_password); !done.is_success()) return fail(Exit::refused, done.message());
  }
  const Outcome<bool> certificate = revoke_certificate(options.broker_dir + "/tls", options.name);
  if (!certificate) return std::unexpected(certificate.error());
  if (Status done = take_away("access", without_access); !done.is_success()) return fail(Exit::refused, done.message());
  if (!found && !*certificate) {
    return fail(Exit::refused, options.name + ": no such account in " + options.broker_dir + "; nothing was changed");
  }
  if (options.reload) reload_broker(*certificate, screen);
  screen.out << options.name << " revoked\n";
  if (!options.reload) {
    screen.out << "Its session ends when mosquitto is " << (*certificate ? "restarted" : "reloaded") << "\n";
  }
  screen.out << "What a device of this name runs goes on, unseen. To place its pods elsewhere: berthctl forget node "
             << options.name << "\n";
  return {};
}

}  // namespace berth
