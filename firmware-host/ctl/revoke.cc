#include "firmware-host/ctl/revoke.h"

#include "core/api/names.h"
#include "firmware-host/ctl/accounts.h"
#include "firmware-host/ctl/certificates.h"
#include "firmware-host/ctl/embedded.h"
#include "firmware-host/ctl/listeners.h"

namespace berth {

namespace {

// True: the file had something of the name.
template <class Without>
Outcome<bool> take_away(const EnrollOptions& options, const std::string& file, Without without) {
  const std::string path = options.broker_dir + "/" + file;
  const std::string before = content_of(path);
  const std::string after = without(before, options.name);
  if (after == before) return false;
  if (Status done = write_for_broker(path, after); !done.is_success()) return fail(Exit::refused, done.message());
  return true;
}

// Versions before the revocation list recorded neither the role in the ACL nor the certificate.
void warn_of_unrecorded_certificate(const EnrollOptions& options, const Withdrawn& withdrawn, const Screen& screen) {
  const std::string tls = options.broker_dir + "/tls";
  const std::string access = content_of(options.broker_dir + "/access");
  const bool has_password = withdrawn.passwords && !role_in(access, options.name).empty();
  if (withdrawn.certificates || has_password || content_of(tls + "/ca.crt").empty()) return;
  if (without_access(access, options.name) == access) return;
  const std::string& name = options.name;
  screen.err << "warning: if an earlier version of berthctl issued a certificate to " << name
             << ", it stays valid, because it was not recorded. To make it invalid:\n  berthctl revoke " << name
             << "\n  install -D " << name << ".crt " << tls << "/ca.issued/" << name
             << ".crt  # the earlier certificate, as the device has it\n  berthctl revoke " << name << "\nand enroll "
             << name << " again if it is still used. Without that file: move " << tls
             << " away, and enroll all that use certificates again with --replace.\n";
}

}  // namespace

Outcome<Withdrawn> withdraw_credentials(const EnrollOptions& options, const Screen& screen) {
  Withdrawn withdrawn;
  for (const char* file : {"passwords", "operators"}) {
    const Outcome<bool> found = take_away(options, file, without_password);
    if (!found) return std::unexpected(found.error());
    withdrawn.passwords = withdrawn.passwords || *found;
  }
  const Outcome<bool> certificates = revoke_certificate(options.broker_dir + "/tls", options.name);
  if (!certificates) return std::unexpected(certificates.error());
  withdrawn.certificates = *certificates;
  warn_of_unrecorded_certificate(options, withdrawn, screen);
  return withdrawn;
}

Outcome<void> run_revoke(const EnrollOptions& options, const Screen& screen) {
  if (!is_valid_name(options.name)) {
    return fail(Exit::usage,
                "NAME: invalid name \"" + options.name + "\": use lower-case letters, digits, '-' and '.'");
  }
  if (is_embedded(options) && role_in(content_of(options.broker_dir + "/access"), options.name) == "gateway") {
    return fail(Exit::refused, options.name + " is the gateway itself, which the embedded broker needs");
  }
  // The access last: while it names the account, revoke can be repeated.
  const Outcome<Withdrawn> withdrawn = withdraw_credentials(options, screen);
  if (!withdrawn) return std::unexpected(withdrawn.error());
  const Outcome<bool> access = take_away(options, "access", without_access);
  if (!access) return std::unexpected(access.error());
  if (!*access && !withdrawn->passwords && !withdrawn->certificates) {
    return fail(Exit::refused, options.name + ": no such account in " + options.broker_dir + "; nothing was changed");
  }
  const Outcome<bool> mended = mend_lists(options.broker_dir + "/tls");
  if (!mended) return std::unexpected(mended.error());
  if (*mended)
    screen.err << "warning: revoked certificates were listed while the clock was ahead; the list is valid now\n";
  if (withdrawn->certificates) {
    if (const Outcome<bool> updated = update_listeners(options, screen); !updated) {
      return std::unexpected(updated.error());
    }
  }
  if (is_configured(options)) {
    screen.err << "warning: " << options.name
               << " is in berthd's configuration and comes back with its next start: remove it from clients\n";
  }
  const bool is_restart = withdrawn->certificates || *mended;
  reload_broker(options, is_restart, screen);
  screen.out << options.name << " revoked\n";
  if (!options.reload) {
    screen.out << "Its session ends when mosquitto is " << (is_restart ? "restarted" : "reloaded") << "\n";
  }
  screen.out << "What a device of this name runs goes on, unseen. To place its pods elsewhere: berthctl forget node "
             << options.name << "\n";
  return {};
}

}  // namespace berth
