// The commands of berthctl that talk to the gateway. Each returns how the program ends; the caller prints the text of a
// failure.
#pragma once

#include <ostream>

#include "core/streams/stream_query.h"
#include "firmware-host/ctl/api_client.h"
#include "firmware-host/ctl/manifest.h"
#include "firmware-host/ctl/options.h"
#include "firmware-host/ctl/outcome.h"

namespace asio {
class io_context;
}

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
// Prints the log of a container, read from its device without the gateway. Exit::no_answer: the device did not answer.
Outcome<void> run_logs(ApiClient::Engine engine, ApiClient::Address address, const CtlOptions& options,
                       const Screen& screen);
// Runs a command in a container: its exit code; Exit::unreachable, Exit::no_answer: whether it has ended is not known.
// `input`: the descriptor that it reads, if the query says that it has an input.
Outcome<int> exec_in_pod(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                         ExecQuery query, const Screen& screen, int input);
// The same for the command line; a failure has the command's exit code.
Outcome<void> run_exec(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                       const CtlOptions& options, const Screen& screen);
// Copies between this machine and a container. Prints warnings.
Outcome<void> run_cp(const ApiClient::Engine& engine, const ApiClient::Address& address, asio::io_context& context,
                     const CtlOptions& options, const Screen& screen);
// Goes on until it is interrupted; a failure: it could not begin.
Outcome<void> run_port_forward(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                               const CtlOptions& options, const Screen& screen);
// Shows what nodes or pods use; Exit::no_answer if a device did not say.
Outcome<void> run_top(const ApiClient::Engine& engine, const ApiClient::Address& address, const CtlOptions& options,
                      const Screen& screen);
// Sends an archive of images to a device, and waits until it has loaded them; shows their names.
Outcome<void> run_image_load(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                             const CtlOptions& options, const Screen& screen);
// Shows the images that a device reports.
Outcome<void> run_image_list(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Shows how far a rollout is until it is done; Exit::refused if it has failed.
Outcome<void> run_rollout_status(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Pauses or resumes the waves of a rollout plan.
Outcome<void> run_rollout_pause(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Marks a node as unschedulable, or no longer.
Outcome<void> run_cordon(ApiClient& client, const CtlOptions& options, const Screen& screen);
// Cordons a node and evicts its pods as their budgets allow; Exit::refused: some may not be evicted, or not in time.
Outcome<void> run_drain(ApiClient& client, const CtlOptions& options, const Screen& screen);
Outcome<void> run_status(ApiClient& client, const CtlOptions& options, const Screen& screen);

// The kind named on the command line; Exit::usage with a list of the kinds if unknown.
Outcome<const KindName*> kind_named(const std::string& text);

}  // namespace berth
