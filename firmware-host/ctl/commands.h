// The commands of berthctl that ask the gateway. Each returns how the program ends; a failure's text is still to be
// told.
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

// Reads and checks the manifests of -f; options.name_space is given to what names none. Warnings go to the screen.
Outcome<std::vector<ManifestDocument>> load_manifests(const CtlOptions& options, const Screen& screen);

// Applies all, also after one was refused; then Exit::refused.
Outcome<void> run_apply(ApiClient& client, const CtlOptions& options, const std::vector<ManifestDocument>& manifests,
                        const Screen& screen);
// Deletes KIND NAME, or the manifests, last first.
Outcome<void> run_delete(ApiClient& client, const CtlOptions& options, const std::vector<ManifestDocument>& manifests,
                         const Screen& screen);
// Forgets a node: the operator's word that it is gone for good.
Outcome<void> run_forget(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_get(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_describe(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_explain(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Where each pod of the manifests would go if it were applied alone; Exit::refused when one fits nowhere.
Outcome<void> run_plan(ApiClient& client, const CtlOptions& options, const std::vector<ManifestDocument>& manifests,
                       const Screen& screen);
// The pods that wait on Permit, with who holds them back and how long they still wait.
Outcome<void> run_waiting(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Decides for one of them.
Outcome<void> run_allow(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_reject(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_status(ApiClient& client, const CtlOptions& options, const Screen& screen);

// The kind named on the command line; Exit::usage with the kinds there are.
Outcome<const KindName*> kind_named(const std::string& text);

}  // namespace berth
