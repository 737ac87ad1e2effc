#include "firmware-host/ctl/options.h"

#include <CLI/CLI.hpp>

#include <map>

#include "core/api/objects.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

namespace {

using Command = CtlOptions::Command;

constexpr const char* kFooter =
    "KIND is a kind by any of its names: pod, pods, po, node, no, persistentvolume, pv, persistentvolumeclaim, pvc,\n"
    "storageclass, sc, priorityclass, pc, namespace, ns, service, svc, poddisruptionbudget, pdb, csinode, csidriver,\n"
    "csistoragecapacity. KIND NAME may be written KIND/NAME.\n"
    "\n"
    "Where the gateway is: command line, then --config, then --state-dir, then /etc/berth/operator/berthctl.yaml if "
    "there\n"
    "is one, then 127.0.0.1:1883 without a password.\n"
    "\n"
    "Exit codes: 0 done, plan: every pod fits; 1 the gateway refused, no such object, plan: a pod fits nowhere; 2 "
    "wrong\n"
    "command line, configuration or manifest, nothing was sent; 3 no connection to the broker; 4 no answer from the "
    "gateway; 130 interrupted.\n";

void add_connection(CLI::App& app, ConnectionOptions& to) {
  const std::string group = "Connection";
  app.add_option("--config", to.config_file,
                 "YAML file: broker {host, port, username, password_file, tls {ca_file, cert_file, key_file}}, fleet, "
                 "gateway, identity, namespace")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--state-dir", to.state_dir, "State directory of a berthd on this machine: its broker and password")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--broker", to.broker, "MQTT broker, default 127.0.0.1:1883")->type_name("HOST:PORT")->group(group);
  app.add_option("--username", to.username, "User name at the broker")->type_name("NAME")->group(group);
  app.add_option("--password-file", to.password_file, "File whose first line is the password")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--ca-file", to.ca_file, "Certificate authority of the broker, PEM; turns TLS on")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--cert-file", to.cert_file, "Certificate of this client, PEM")->type_name("FILE")->group(group);
  app.add_option("--key-file", to.key_file, "Private key of this client, PEM")->type_name("FILE")->group(group);
  app.add_option("--fleet", to.fleet, "Fleet, default \"default\"")->type_name("NAME")->group(group);
  app.add_option("--gateway", to.gateway, "Gateway, default \"gateway\"")->type_name("NAME")->group(group);
  app.add_option("--identity", to.identity,
                 "Who asks: answers come to clients/<identity>; default the user name, else \"operator\"")
      ->type_name("NAME")
      ->group(group);
}

void add_namespace(CLI::App& app, CtlOptions& to) {
  app.add_option("-n,--namespace", to.name_space, "Namespace of what names none, default \"default\"")->type_name("NS");
}

void add_files(CLI::App& app, CtlOptions& to) {
  app.add_option("-f,--filename", to.files, "Manifests in YAML or JSON, several documents a file; - is standard input")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_enroll(CLI::App& app, EnrollOptions& to) {
  static const std::map<std::string, BrokerIdentity::Role> kRoles = {{"node", BrokerIdentity::Role::node},
                                                                     {"operator", BrokerIdentity::Role::operator_},
                                                                     {"gateway", BrokerIdentity::Role::gateway}};
  app.add_option("NAME", to.name, "Name of the device, as its node is called")->required();
  app.add_option("--role", to.role, "node, operator or gateway; default node")
      ->transform(CLI::CheckedTransformer(kRoles).description("ROLE"))
      ->type_name("");
  app.add_option("--address", to.host, "How the device reaches the broker, HOST[:PORT]; default this machine's name")
      ->type_name("HOST");
  app.add_flag("--certificate", to.certificate, "A certificate instead of a password; port 8883");
  app.add_option("--output", to.output, "Directory for the device's files, default ./NAME")->type_name("DIR");
  app.add_option("--installed-dir", to.installed_dir, "Where they will lie on the device, default /etc/berth")
      ->type_name("DIR");
  app.add_option("--broker-dir", to.broker_dir,
                 "Where the broker's passwords and access are, default /etc/berth/broker")
      ->type_name("DIR");
  app.add_option("--mosquitto-dir", to.mosquitto_dir, "For the listener of certificates, default /etc/mosquitto/conf.d")
      ->type_name("DIR");
  app.add_flag("!--no-reload", to.reload, "Leave the running mosquitto alone");
}

// Of explain and plan.
void add_question(CLI::App& app, CtlOptions& to) {
  static const std::map<std::string, OutputForm> kForms = {
      {"table", OutputForm::table}, {"json", OutputForm::json}, {"yaml", OutputForm::yaml}};
  app.add_flag("--all-filters", to.all_filters,
               "Ask every filter about every node, not only up to the first rejection");
  app.add_option("--node", to.node, "Name this node first among those of its reason")->type_name("NODE");
  app.add_option("-o,--output", to.form, "table, json or yaml")
      ->transform(CLI::CheckedTransformer(kForms).description("FORM"))
      ->type_name("");
}

CLI::App* add_command(CLI::App& app, CtlOptions& to, const std::string& name, const std::string& text, Command which) {
  CLI::App* sub = app.add_subcommand(name, text)->fallthrough();
  sub->callback([&to, which] { to.command = which; });
  return sub;
}

void add_pod(CLI::App& app, CtlOptions& to) {
  app.add_option("KIND", to.kind, "pod, or pod/NAME")->required();
  app.add_option("NAME", to.name, "Its name");
  add_namespace(app, to);
}

// Of pods that wait on Permit.
void add_permit_commands(CLI::App& app, CtlOptions& to) {
  static const std::map<std::string, OutputForm> kForms = {
      {"table", OutputForm::table}, {"json", OutputForm::json}, {"yaml", OutputForm::yaml}};
  CLI::App* waiting = add_command(app, to, "waiting", "Show the pods that a plugin holds back", Command::waiting);
  add_namespace(*waiting, to);
  waiting->add_flag("-A,--all-namespaces", to.all_namespaces, "Of every namespace");
  waiting->add_option("-o,--output", to.form, "table, json or yaml")
      ->transform(CLI::CheckedTransformer(kForms).description("FORM"))
      ->type_name("");
  CLI::App* allow = add_command(app, to, "allow", "Let a pod go on that a plugin holds back", Command::allow);
  CLI::App* reject =
      add_command(app, to, "reject", "Send a pod that a plugin holds back to the queue", Command::reject);
  for (CLI::App* verdict : {allow, reject}) {
    add_pod(*verdict, to);
    verdict->add_option("--plugin", to.plugin, "Speak for this plugin only")->type_name("PLUGIN");
  }
  reject->add_option("--reason", to.reason, "Why, shown as the pod's reason")->type_name("TEXT");
}

void add_commands(CLI::App& app, CtlOptions& to) {
  static const std::map<std::string, OutputForm> kForms = {
      {"table", OutputForm::table}, {"wide", OutputForm::wide}, {"json", OutputForm::json}, {"yaml", OutputForm::yaml}};
  const auto command = [&](const std::string& name, const std::string& text, Command which) {
    return add_command(app, to, name, text, which);
  };
  CLI::App* apply = command("apply", "Create or update the objects of manifests", Command::apply);
  add_files(*apply, to);
  add_namespace(*apply, to);
  apply->get_option("--filename")->required();
  apply->add_flag("--recreate", to.recreate, "Delete and create pods again that exist; waits for nothing");

  CLI::App* get = command("get", "Show objects", Command::get);
  get->add_option("KIND", to.kind, "Kind of object")->required();
  get->add_option("NAME", to.name, "One object; without it, all of the namespace");
  add_namespace(*get, to);
  get->add_flag("-A,--all-namespaces", to.all_namespaces, "Of every namespace");
  get->add_option("-o,--output", to.form, "table, wide, json or yaml")
      ->transform(CLI::CheckedTransformer(kForms).description("FORM"))
      ->type_name("");
  get->add_flag("-w,--watch", to.watch, "Go on showing what changes, until interrupted");

  CLI::App* describe = command("describe", "Tell all about one object, with its events", Command::describe);
  describe->add_option("KIND", to.kind, "Kind of object")->required();
  describe->add_option("NAME", to.name, "Its name");
  add_namespace(*describe, to);

  CLI::App* explain =
      command("explain", "Tell why a pod is where it is, or nowhere: nodes, scores, queue", Command::explain);
  add_pod(*explain, to);
  add_question(*explain, to);

  CLI::App* plan =
      command("plan", "Tell where the pods of manifests would go, each alone; nothing is applied", Command::plan);
  add_files(*plan, to);
  plan->get_option("--filename")->required();
  add_namespace(*plan, to);
  add_question(*plan, to);

  add_permit_commands(app, to);

  CLI::App* remove = command("delete", "Delete an object, or those of manifests", Command::remove);
  remove->add_option("KIND", to.kind, "Kind of object");
  remove->add_option("NAME", to.name, "Its name");
  add_namespace(*remove, to);
  add_files(*remove, to);

  CLI::App* forget = command("forget", "Give a device up for good: its pods are placed anew", Command::forget);
  forget->add_option("KIND", to.kind, "node, or node/NAME")->required();
  forget->add_option("NAME", to.name, "Its name");

  CLI::App* status = command("status", "Show the state of the gateway", Command::status);
  status->add_option("-o,--output", to.form, "table, json or yaml")
      ->transform(CLI::CheckedTransformer(kForms).description("FORM"))
      ->type_name("");
  CLI::App* enroll = command("enroll", "Give a device its account at this machine's mosquitto", Command::enroll);
  add_enroll(*enroll, to.enroll);
  command("version", "Show the version of berthctl", Command::version);
}

// What CLI11 cannot say by itself; empty: nothing is wrong.
std::string check(CtlOptions& options) {
  if (const std::size_t slash = options.kind.find('/'); slash != std::string::npos) {
    if (!options.name.empty()) return "say either KIND/NAME or KIND NAME";
    options.name = options.kind.substr(slash + 1);
    options.kind.erase(slash);
    if (options.name.empty()) return "a name is missing behind \"" + options.kind + "/\"";
  }
  const bool named = !options.kind.empty() && !options.name.empty();
  if (options.command == Command::describe && !named) return "describe: say KIND and NAME";
  static const std::map<Command, std::string> kOfPods = {
      {Command::explain, "explain"}, {Command::allow, "allow"}, {Command::reject, "reject"}};
  if (const auto of_pods = kOfPods.find(options.command); of_pods != kOfPods.end()) {
    const KindName* kind = find_kind(options.kind);
    if (!named || kind == nullptr || kind->kind != Kind::pod) return of_pods->second + ": say pod NAME";
  }
  if (options.command == Command::forget) {
    const KindName* kind = find_kind(options.kind);
    if (!named || kind == nullptr || kind->kind != Kind::node) return "forget: say node NAME";
  }
  if (options.command == Command::remove) {
    if (!options.files.empty() && !options.kind.empty()) return "delete: say either KIND NAME or -f FILE";
    if (options.files.empty() && !named) return "delete: say KIND and NAME, or -f FILE";
  }
  if (options.all_namespaces && !options.name_space.empty()) return "say either -A or -n";
  if (options.all_namespaces && !options.name.empty()) return "say either NAME or -A";
  return {};
}

}  // namespace

std::optional<int> parse_options(int argc, const char* const* argv, CtlOptions& options, std::ostream& out,
                                 std::ostream& err) {
  CLI::App app{"berthctl: the operator's tool of Berth. It asks the gateway over MQTT.", "berthctl"};
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("berthctl ") + BERTH_VERSION);
  add_connection(app, options.connection);
  double timeout_s = 10;
  app.add_option("--timeout", timeout_s, "How long to wait for the broker and for each answer, default 10")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0).description(""))
      ->group("Connection");
  add_commands(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : static_cast<int>(Exit::usage);
  }
  options.connection.timeout_ms = static_cast<Millis>(timeout_s * 1000);
  if (const std::string wrong = check(options); !wrong.empty()) {
    err << wrong << "\nRun with --help for more information.\n";
    return static_cast<int>(Exit::usage);
  }
  return std::nullopt;
}

}  // namespace berth
