// Accounts at the embedded broker of a berthd on this machine, for enroll and revoke with --state-dir.
#pragma once

#include "firmware-host/config.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

// Whether the options name the state directory of a berthd, and so its embedded broker.
inline bool is_embedded(const EnrollOptions& options) { return !options.state_dir.empty(); }

// Completes the options by what that broker's files tell: directories, the kind of credential, fleet and gateway unless
// given. Fails if there is no such broker.
Outcome<void> settle_embedded(EnrollOptions& options);
// Port of the listener for this account, and the authority's certificate in `output` if that listener has TLS.
Outcome<BrokerSettings> embedded_listener(const EnrollOptions& options, const std::string& output);
// Whether berthd's configuration names the account: then it has a password from there.
bool is_configured(const EnrollOptions& options);
// The broker reads its files again; with `restart` every session ends, and clients connect again.
void reload_embedded(const EnrollOptions& options, bool restart, const Screen& screen);

}  // namespace berth
