// The commands of berthctl that talk to the gateway. Each returns how the program ends; the caller prints the text of a
// failure.
#pragma once

#include <ostream>

#include "firmware-host/ctl/api_client.h"
#include "firmware-host/ctl/manifest.h"
#include "firmware-host/ctl/options.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

struct Screen {
  std::ostream& out;
  std::ostream& err;
};

// Reads and checks the manifests of -f; options.name_space applies to objects without a namespace. Prints warnings.
// Exit::usage if a file cannot be read or no manifest is valid.
Outcome<Manifests> load_manifests(const CtlOptions& options, const Screen& screen);

// Prints the warnings of an answer; `title`: of the object that they are about, empty: none.
void print_warnings(const Json& answer, const Screen& screen, const std::string& title = {});

// Success if nothing is wrong, otherwise a failure with these lines.
Outcome<void> refused(const std::vector<std::string>& wrong, Exit exit = Exit::refused);

// Applies all valid manifests, even after one was refused; then returns Exit::refused if one was, or was not valid.
Outcome<void> run_apply(ApiClient& client, const CtlOptions& options, const Manifests& manifests, const Screen& screen);
// Deletes KIND NAME, or the objects of the valid manifests in reverse order.
Outcome<void> run_delete(ApiClient& client, const CtlOptions& options, const Manifests& manifests,
                         const Screen& screen);
// Forgets a node that is lost for good.
Outcome<void> run_forget(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Ends the waiting for nodes after a lost store.
Outcome<void> run_adopt(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_get(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_describe(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_explain(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Shows where each pod of the manifests would run if it were applied alone; Exit::refused if one fits nowhere.
Outcome<void> run_plan(ApiClient& client, const CtlOptions& options, const Manifests& manifests, const Screen& screen);
// Shows the pods that wait on Permit, with the plugins that hold them back and the remaining time.
Outcome<void> run_waiting(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Allow or reject one of them.
Outcome<void> run_allow(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_reject(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_status(ApiClient& client, const CtlOptions& options, const Screen& screen);

// The kind named on the command line; Exit::usage with a list of the kinds if unknown.
Outcome<const KindName*> kind_named(const std::string& text);

}  // namespace berth
