#include "firmware-host/ctl/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "core/api/kind.h"
#include "core/api/names.h"
#include "core/json/did_you_mean.h"
#include "firmware-host/ctl/duration.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

namespace {

using Command = CtlOptions::Command;

constexpr const char* kFooter =
    "KIND is a kind by any of its names: pod, pods, po, node, no, persistentvolume, pv, persistentvolumeclaim, pvc,\n"
    "storageclass, sc, priorityclass, pc, namespace, ns, service, svc, poddisruptionbudget, pdb, csinode, csidriver,\n"
    "csistoragecapacity, configmap, cm, secret. KIND NAME may be written KIND/NAME.\n"
    "\n"
    "The gateway's address is taken from the command line, then --config, then --state-dir, then\n"
    "/etc/berth/operator/berthctl.yaml if it exists, then 127.0.0.1:1883 without a password.\n"
    "\n"
    "Exit codes: 0 success, plan: every pod fits; 1 the gateway refused, a manifest of several is invalid, no such\n"
    "object, plan: a pod fits nowhere; 2 invalid command line or configuration, or no valid manifest, nothing was "
    "sent;\n"
    "3 no connection to the broker; 4 no answer from the gateway; 71 system error, such as output that cannot be\n"
    "written; 130 interrupted; exec: those of the command.\n";

// The words that an option takes, and what each means. The option library's own check would accept the numbers behind
// them too, and show them.
template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

template <class T>
CLI::Option* add_word(CLI::App& app, const std::string& flag, T& to, const Words<T>& words, const std::string& text,
                      std::optional<T> without_word = {}) {
  const auto read = [&to, words, flag, without_word](const std::string& given) {
    if (given.empty() && without_word) {
      to = *without_word;
      return;
    }
    std::vector<std::string_view> names;
    std::string known;
    for (const auto& [name, meaning] : words) {
      if (name == given) {
        to = meaning;
        return;
      }
      names.push_back(name);
      const bool is_last = names.size() == words.size();
      known += (known.empty() ? "" : is_last ? " or " : ", ") + std::string(name);
    }
    throw CLI::ValidationError(flag.substr(flag.find("--")),
                               "must be " + known + ", got \"" + given + "\"" + did_you_mean(given, names));
  };
  CLI::Option* option = app.add_option_function<std::string>(flag, read, text)->type_name("");
  return without_word ? option->expected(0, 1) : option;
}

void add_form(CLI::App& app, OutputForm& to, bool has_wide) {
  Words<OutputForm> forms = {{"table", OutputForm::table}, {"json", OutputForm::json}, {"yaml", OutputForm::yaml}};
  if (has_wide) forms.insert(forms.begin() + 1, {"wide", OutputForm::wide});
  add_word(app, "-o,--output", to, forms, has_wide ? "table, wide, json or yaml" : "table, json or yaml");
}

void add_connection(CLI::App& app, ConnectionOptions& to) {
  const std::string group = "Connection";
  app.add_option("--config", to.config_file,
                 "YAML file: broker {host, port, username, password_file, tls {ca_file, cert_file, key_file}}, fleet, "
                 "gateway, identity, namespace")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--state-dir", to.state_dir,
                 "State directory of a berthd on this machine, to use its embedded broker and password")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--broker", to.broker, "MQTT broker, default 127.0.0.1:1883")->type_name("HOST:PORT")->group(group);
  app.add_option("--username", to.username, "User name at the broker")->type_name("NAME")->group(group);
  app.add_option("--password-file", to.password_file, "File whose first line is the password")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--ca-file", to.ca_file, "Certificate authority of the broker, PEM; enables TLS")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--cert-file", to.cert_file, "Certificate of this client, PEM")->type_name("FILE")->group(group);
  app.add_option("--key-file", to.key_file, "Private key of this client, PEM")->type_name("FILE")->group(group);
  app.add_option("--fleet", to.fleet, "Fleet, default \"default\"; enroll: that of /etc/berth/berthd.yaml")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--gateway", to.gateway, "Gateway, default \"gateway\"; enroll: that of /etc/berth/berthd.yaml")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--identity", to.identity,
                 "Client identity; answers are sent to clients/<identity>; default the user name, else \"operator\"")
      ->type_name("NAME")
      ->group(group);
}

void add_namespace(CLI::App& app, CtlOptions& to) {
  app.add_option("-n,--namespace", to.name_space, "Namespace for objects without one, default \"default\"")
      ->type_name("NS");
}

void add_files(CLI::App& app, CtlOptions& to) {
  app.add_option(
         "-f,--filename", to.files,
         "Manifests in YAML or JSON, with one or more documents; - is standard input. Of a directory the files\n"
         "*.yaml, *.yml and *.json")
      ->type_name("FILE ...");
  app.add_flag("-R,--recursive", to.recursive, "Directories of -f with all that are below them");
}

// As kubectl's, of which true and false are earlier names, and where none means strict (NoOptDefVal). Of what is
// deleted only the names count.
void add_validation(CLI::App& app, CtlOptions& to) {
  add_word<Validation>(app, "--validate", to.validation,
                       {{"strict", Validation::strict},
                        {"warn", Validation::warn},
                        {"ignore", Validation::ignore},
                        {"true", Validation::strict},
                        {"false", Validation::ignore}},
                       "strict, warn or ignore: what to do about unknown fields; default strict", Validation::strict);
}

// Options of enroll and revoke.
void add_broker_files(CLI::App& app, EnrollOptions& to) {
  app.add_option("--broker-dir", to.broker_dir,
                 "Directory of the broker's passwords and ACL, default /etc/berth/broker")
      ->type_name("DIR");
  app.add_option(
         "--mosquitto-dir", to.mosquitto_dir,
         "Directory for the TLS listeners' configuration; default: of the package's own broker,\n"
         "/etc/berth/mosquitto/conf.d, or /etc/mosquitto/conf.d if the machine's was joined or there is no own one")
      ->type_name("DIR");
  app.add_flag("!--no-reload", to.reload, "Do not reload the running broker");
}

void add_enroll(CLI::App& app, EnrollOptions& to) {
  app.add_option("NAME", to.name, "Name of the device and its node")->required();
  using BrokerRole = BrokerIdentity::Role;
  add_word<BrokerRole>(
      app, "--role", to.role,
      {{"node", BrokerRole::node}, {"operator", BrokerRole::operator_}, {"gateway", BrokerRole::gateway}},
      "node, operator or gateway; default node");
  app.add_option("--address", to.host,
                 "Address at which the device reaches the broker, HOST[:PORT]; default this machine's name")
      ->type_name("HOST");
  const auto use = [&to](Credential credential) {
    return [&to, credential](std::int64_t) { to.credential = credential; };
  };
  CLI::Option* certificate =
      app.add_flag_function("--certificate", use(Credential::certificate),
                            "Use a certificate, the default of devices; port 8893, operators 8894");
  CLI::Option* password =
      app.add_flag_function("--password", use(Credential::password),
                            "Use a password, the default of operators and gateways; port 8895, operators 8896;\n"
                            "at a loopback address 1893 and 1894, without TLS.\n"
                            "With the machine's mosquitto 1883 to 1884 and 8883 to 8886")
          ->excludes(certificate);
  app.add_flag("--renew", to.renew, "Another certificate for the account; the earlier one stays valid until it expires")
      ->excludes(certificate)
      ->excludes(password);
  app.add_flag(
         "--replace", to.replace,
         "The name is enrolled already: its earlier certificate or password becomes invalid, and its session ends")
      ->excludes("--renew");
  app.add_option("--output", to.output, "Directory for the device's files, default ./NAME")->type_name("DIR");
  app.add_option("--installed-dir", to.installed_dir, "Directory of these files on the device, default /etc/berth")
      ->type_name("DIR");
  add_broker_files(app, to);
}

// Options of explain and plan.
void add_trial_options(CLI::App& app, CtlOptions& to) {
  app.add_flag("--all-filters", to.all_filters, "Run all filters for every node, not only up to the first rejection");
  app.add_option("--node", to.node, "Name this node first among those of its reason")->type_name("NODE");
  add_form(app, to.form, false);
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

// Commands for pods that wait on Permit.
void add_permit_commands(CLI::App& app, CtlOptions& to) {
  CLI::App* waiting = add_command(app, to, "waiting", "Show the pods that a plugin holds back", Command::waiting);
  add_namespace(*waiting, to);
  waiting->add_flag("-A,--all-namespaces", to.all_namespaces, "All namespaces");
  add_form(*waiting, to.form, false);
  CLI::App* allow = add_command(app, to, "allow", "Allow a pod that a plugin holds back", Command::allow);
  CLI::App* reject =
      add_command(app, to, "reject", "Reject a pod that a plugin holds back; it returns to the queue", Command::reject);
  for (CLI::App* verdict : {allow, reject}) {
    add_pod(*verdict, to);
    verdict->add_option("--plugin", to.plugin, "For this plugin only")->type_name("PLUGIN");
  }
  reject->add_option("--reason", to.reason, "Reason to show for the pod")->type_name("TEXT");
}

// They work on the state directory of --state-dir and talk to nobody.
void add_backup_commands(CLI::App& app, CtlOptions& to) {
  CLI::App* backup = add_command(app, to, "backup",
                                 "Copy the state directory of a gateway on this machine into a file; it may be running",
                                 Command::backup);
  backup->add_option("FILE", to.backup.file, "The backup, a tar archive; it contains passwords and keys")->required();
  backup->add_flag("--list", to.backup.lists, "Only show what FILE holds");
  CLI::App* restore =
      add_command(app, to, "restore", "Make the state directory of a gateway from a backup; berthd must not be running",
                  Command::restore);
  restore->add_option("FILE", to.backup.file, "The backup")->required();
  restore->add_flag("--force", to.backup.forces, "Set aside the store that is in the directory");
}

void add_logs(CLI::App& app, CtlOptions& to) {
  CLI::App* logs = add_command(app, to, "logs", "Show the output of a container of a pod", Command::logs);
  logs->add_option("POD", to.name, "Name of the pod, or pod/NAME")->required();
  add_namespace(*logs, to);
  logs->add_option("-c,--container", to.logs.container, "Container, default the first one")->type_name("NAME");
  logs->add_flag("-f,--follow", to.logs.follow, "Go on until the container ends, over lost connections too");
  logs->add_flag("-p,--previous", to.logs.previous, "Of the run before")->excludes("--follow");
  logs->add_flag("--timestamps", to.logs.timestamps, "The time before each line, on the device's clock");
  const auto read_age = [&to](const std::string& text) {
    to.logs.since_ms = parse_duration(text);
    if (!to.logs.since_ms)
      throw CLI::ValidationError("--since", "must be a duration such as 90s, 5m or 1h30m, got \"" + text + "\"");
  };
  logs->add_option_function<std::string>("--since", read_age, "Lines that are not older, such as 90s, 5m or 1h30m")
      ->type_name("DURATION");
  const auto read_tail = [&to](const std::int64_t& lines) {
    if (lines < -1) throw CLI::ValidationError("--tail", "must be a number of lines, or -1 for all");
    if (lines >= 0) to.logs.tail = static_cast<std::uint64_t>(lines);
  };
  logs->add_option_function<std::int64_t>("--tail", read_tail, "The last lines only; -1: all")->type_name("LINES");
}

void add_exec(CLI::App& app, CtlOptions& to) {
  CLI::App* exec =
      add_command(app, to, "exec", "Run a command in a container of a pod; exits with its exit code", Command::exec);
  exec->add_option("POD", to.name, "Name of the pod, or pod/NAME")->required();
  exec->add_option("COMMAND", to.exec.command, "The command and its arguments, behind --")->required();
  add_namespace(*exec, to);
  exec->add_option("-c,--container", to.exec.container, "Container, default the first one")->type_name("NAME");
  exec->add_flag("-i,--stdin", to.exec.input, "The command reads the standard input");
  exec->add_flag("-t,--tty", to.exec.terminal, "The command has a terminal");
}

void add_cp(CLI::App& app, CtlOptions& to) {
  CLI::App* cp =
      add_command(app, to, "cp", "Copy files and directories to or from a container; it needs tar there", Command::cp);
  cp->add_option("FROM", to.copy.from, "A path, or [NAMESPACE/]POD:PATH")->required();
  cp->add_option("TO", to.copy.to, "Likewise; exactly one of the two is of a pod")->required();
  add_namespace(*cp, to);
  cp->add_option("-c,--container", to.copy.container, "Container, default the first one")->type_name("NAME");
}

// "8080:80", ":80" (a free one) or "80" (the same).
std::optional<PortPair> parse_ports(const std::string& text) {
  const auto read = [](const std::string& digits) {
    int port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool is_port = error == std::errc() && end == digits.data() + digits.size() && port > 0 && port < 65536;
    return is_port ? std::optional(port) : std::nullopt;
  };
  const std::size_t colon = text.find(':');
  const std::optional<int> remote = read(colon == std::string::npos ? text : text.substr(colon + 1));
  const std::optional<int> local = colon == std::string::npos ? remote : colon == 0 ? 0 : read(text.substr(0, colon));
  if (!remote || !local) return std::nullopt;
  return PortPair{*local, *remote};
}

void add_port_forward(CLI::App& app, CtlOptions& to) {
  CLI::App* forward =
      add_command(app, to, "port-forward", "Lead local TCP ports to ports of a pod", Command::port_forward);
  forward->add_option("POD", to.name, "Name of the pod, or pod/NAME")->required();
  const auto read = [&to](const std::vector<std::string>& all) {
    for (const std::string& text : all) {
      const std::optional<PortPair> ports = parse_ports(text);
      if (!ports) throw CLI::ValidationError("PORTS", "must be LOCAL:REMOTE, :REMOTE or PORT, got \"" + text + "\"");
      to.forward.ports.push_back(*ports);
    }
  };
  forward->add_option_function<std::vector<std::string>>("PORTS", read, "LOCAL:REMOTE, :REMOTE (a free one) or PORT")
      ->required();
  add_namespace(*forward, to);
  forward->add_option("--address", to.forward.address, "IPv4 address to listen on, default 127.0.0.1")
      ->type_name("ADDRESS");
}

void add_top(CLI::App& app, CtlOptions& to) {
  CLI::App* top = add_command(app, to, "top", "Show what nodes or pods use now, asked of their devices", Command::top);
  top->add_option("KIND", to.kind, "node or pod")->required();
  top->add_option("NAME", to.name, "Name of one of them; default all");
  add_namespace(*top, to);
  top->add_flag("-A,--all-namespaces", to.all_namespaces, "Pods of all namespaces");
  top->add_flag("--containers", to.top.containers, "Each container of the pods");
}

void add_image(CLI::App& app, CtlOptions& to) {
  CLI::App* image = app.add_subcommand("image", "Load images into a device, or list those that it has")->fallthrough();
  image->require_subcommand(1);
  CLI::App* load = add_command(*image, to, "load", "Send an archive of images to a device", Command::image_load);
  load->add_option("NODE", to.name, "Name of the device's node")->required();
  load->add_option("FILE", to.image.file, "What docker save writes, or an OCI layout as a tar; -: standard input")
      ->required();
  load->add_option("--name", to.image.name, "Name of the only image in it; default what FILE says")->type_name("IMAGE");
  CLI::App* list =
      add_command(*image, to, "list", "Show the images of a device, as it reports them", Command::image_list);
  list->add_option("NODE", to.name, "Name of the device's node")->required();
}

void add_rollout(CLI::App& app, CtlOptions& to) {
  CLI::App* rollout =
      app.add_subcommand("rollout", "Follow, pause or resume the rollout of a Deployment or DaemonSet")->fallthrough();
  rollout->require_subcommand(1);
  const auto add = [&](const std::string& name, const std::string& text, Command which) {
    CLI::App* each = add_command(*rollout, to, name, text, which);
    each->add_option("KIND", to.kind, "deployment or daemonset")->required();
    each->add_option("NAME", to.name, "Its name");
    add_namespace(*each, to);
    return each;
  };
  add("status", "Show how far it is, until it is done or has failed", Command::rollout_status)
      ->add_flag("-w,--watch", to.rollout_waits, "Wait for its end, the default; --watch=false: show it once");
  add("pause", "Let no wave of its plan go on", Command::rollout_pause);
  add("resume", "Let the waves of its plan go on", Command::rollout_resume);
}

void add_drain(CLI::App& app, CtlOptions& to) {
  const auto add = [&](const std::string& name, const std::string& text, Command which) {
    CLI::App* each = add_command(app, to, name, text, which);
    each->add_option("NODE", to.name, "Name of the node, or node/NAME")->required();
    return each;
  };
  add("cordon", "Place nothing more on a node", Command::cordon);
  add("uncordon", "Place pods on a node again", Command::uncordon);
  CLI::App* drain = add("drain", "Cordon a node, and evict its pods as their budgets allow", Command::drain);
  drain->add_flag("--ignore-daemonsets", to.drain.ignores_daemon_sets, "Leave the pods of DaemonSets where they are");
  drain->add_flag("--force", to.drain.forces, "Pods without a controller too, which nobody makes again");
  drain->add_flag("--delete-emptydir-data", to.drain.deletes_empty_dirs,
                  "Pods with emptyDir volumes too, whose data is lost");
  const auto read = [&to](const std::string& text) {
    const std::optional<Millis> timeout = parse_duration(text);
    if (!timeout) throw CLI::ValidationError("--timeout", "must be a duration such as 90s or 5m, got \"" + text + "\"");
    to.drain.timeout_ms = *timeout;
  };
  drain->add_option_function<std::string>("--timeout", read, "Give up after so long, such as 90s or 5m; default never")
      ->type_name("DURATION");
}

void add_delete(CLI::App& app, CtlOptions& to) {
  CLI::App* remove = add_command(app, to, "delete", "Delete an object, or the objects of manifests", Command::remove);
  remove->add_option("KIND", to.kind, "Kind of object");
  remove->add_option("NAME", to.name, "Its name");
  add_namespace(*remove, to);
  add_files(*remove, to);
  add_word<std::string>(*remove, "--cascade", to.propagation,
                        {{"background", "Background"}, {"foreground", "Foreground"}, {"orphan", "Orphan"}},
                        "background (the default), foreground or orphan: what the object owns is deleted after it, "
                        "before it, or stays");
}

// Those that talk to devices, past the gateway.
void add_device_commands(CLI::App& app, CtlOptions& to) {
  add_logs(app, to);
  add_exec(app, to);
  add_cp(app, to);
  add_port_forward(app, to);
  add_top(app, to);
  add_image(app, to);
}

void add_account_commands(CLI::App& app, CtlOptions& to) {
  CLI::App* enroll = add_command(app, to, "enroll",
                                 "Create a device's account at this machine's mosquitto, or berthd's own (--state-dir)",
                                 Command::enroll);
  add_enroll(*enroll, to.enroll);
  CLI::App* revoke = add_command(app, to, "revoke", "Take an account away from that broker, at once", Command::revoke);
  revoke->add_option("NAME", to.enroll.name, "Name of the account")->required();
  add_broker_files(*revoke, to.enroll);
}

void add_apply(CLI::App& app, CtlOptions& to) {
  CLI::App* apply = add_command(app, to, "apply", "Create or update the objects of manifests", Command::apply);
  add_files(*apply, to);
  add_namespace(*apply, to);
  apply->get_option("--filename")->required();
  // As kubectl's: what its client would check, the gateway checks too.
  add_word<bool>(*apply, "--dry-run", to.dry_run,
                 {{"server", true}, {"client", true}, {"none", false}, {"true", true}, {"false", false}},
                 "server, client (the same) or none: have the gateway check the objects, and store nothing", true);
  apply->add_flag("--recreate", to.recreate, "Delete and re-create existing pods; does not wait");
  add_validation(*apply, to);
}

void add_commands(CLI::App& app, CtlOptions& to) {
  const auto command = [&](const std::string& name, const std::string& text, Command which) {
    return add_command(app, to, name, text, which);
  };
  add_apply(app, to);

  CLI::App* create =
      command("create", "Create the objects of manifests, none of which exists; makes names from generateName",
              Command::create);
  add_files(*create, to);
  add_namespace(*create, to);
  create->get_option("--filename")->required();
  add_validation(*create, to);

  CLI::App* get = command("get", "Show objects", Command::get);
  get->add_option("KIND", to.kind, "Kind of object")->required();
  get->add_option("NAME", to.name, "Name of the object; default all objects of the namespace");
  add_namespace(*get, to);
  get->add_flag("-A,--all-namespaces", to.all_namespaces, "All namespaces");
  add_form(*get, to.form, true);
  get->add_flag("-w,--watch", to.watch, "Keep showing changes until interrupted");

  CLI::App* describe = command("describe", "Show one object in detail, with its events", Command::describe);
  describe->add_option("KIND", to.kind, "Kind of object")->required();
  describe->add_option("NAME", to.name, "Its name");
  add_namespace(*describe, to);

  CLI::App* explain =
      command("explain", "Show why a pod is or is not on a node: nodes, scores, queue", Command::explain);
  add_pod(*explain, to);
  add_trial_options(*explain, to);

  CLI::App* plan =
      command("plan", "Show where the pods of manifests would run, each on its own; applies nothing", Command::plan);
  add_files(*plan, to);
  plan->get_option("--filename")->required();
  add_namespace(*plan, to);
  add_validation(*plan, to);
  add_trial_options(*plan, to);

  add_permit_commands(app, to);
  add_rollout(app, to);
  add_drain(app, to);
  add_device_commands(app, to);
  add_delete(app, to);

  CLI::App* forget = command("forget", "Give up a lost device for good; its pods are rescheduled", Command::forget);
  forget->add_option("KIND", to.kind, "node, or node/NAME")->required();
  forget->add_option("NAME", to.name, "Its name");

  CLI::App* adopt = command("adopt", "After a lost store: keep an orphan, or wait for nodes no longer", Command::adopt);
  adopt
      ->add_option("KIND", to.kind,
                   "pod or pv, or pod/NAME; or the word done: place pods although nodes have not answered")
      ->required();
  adopt->add_option("NAME", to.name, "Its name");
  adopt->add_option("--node", to.node, "The node that has it, if several do")->type_name("NODE");
  add_namespace(*adopt, to);

  CLI::App* status = command("status", "Show the state of the gateway", Command::status);
  add_form(*status, to.form, false);
  add_account_commands(app, to);
  add_backup_commands(app, to);
  command("version", "Show the version of berthctl", Command::version);
}

// Of the commands that look into one pod.
std::string check_pod(CtlOptions& options) {
  static const std::map<Command, std::string> kInPod = {
      {Command::logs, "logs"}, {Command::exec, "exec"}, {Command::port_forward, "port-forward"}};
  const auto command = kInPod.find(options.command);
  if (command == kInPod.end()) return {};
  const std::size_t slash = options.name.find('/');
  const KindName* kind = slash == std::string::npos ? nullptr : find_kind(options.name.substr(0, slash));
  if (slash != std::string::npos && (kind == nullptr || kind->kind != Kind::pod)) {
    return command->second + ": requires POD";
  }
  if (slash != std::string::npos) options.name.erase(0, slash + 1);
  if (!is_valid_name(options.name)) return command->second + ": \"" + options.name + "\" is no name of a pod";
  if (!is_valid_name(namespace_of(options))) {
    return command->second + ": \"" + namespace_of(options) + "\" is no namespace";
  }
  if (options.exec.terminal && !options.exec.input) return "exec: -t requires -i";
  return {};
}

// Checks that CLI11 cannot express; empty: no error.
std::string check(CtlOptions& options) {
  if (const std::size_t slash = options.kind.find('/'); slash != std::string::npos) {
    if (!options.name.empty()) return "use either KIND/NAME or KIND NAME";
    options.name = options.kind.substr(slash + 1);
    options.kind.erase(slash);
    if (options.name.empty()) return "missing name after \"" + options.kind + "/\"";
  }
  const bool named = !options.kind.empty() && !options.name.empty();
  if (options.command == Command::describe && !named) return "describe: requires KIND and NAME";
  const bool is_rollout = options.command == Command::rollout_status || options.command == Command::rollout_pause ||
                          options.command == Command::rollout_resume;
  if (is_rollout && !named) return "rollout: requires KIND and NAME, deployment/web say";
  if (const std::string wrong = check_pod(options); !wrong.empty()) return wrong;
  static const std::map<Command, std::string> kOfNode = {{Command::image_load, "image"},
                                                         {Command::image_list, "image"},
                                                         {Command::cordon, "cordon"},
                                                         {Command::uncordon, "uncordon"},
                                                         {Command::drain, "drain"}};
  if (const auto of_node = kOfNode.find(options.command); of_node != kOfNode.end()) {
    if (options.name.starts_with("node/")) options.name.erase(0, 5);
    if (!is_valid_name(options.name)) return of_node->second + ": \"" + options.name + "\" is no name of a node";
  }
  if (options.command == Command::top) {
    const KindName* kind = find_kind(options.kind);
    if (kind == nullptr || (kind->kind != Kind::pod && kind->kind != Kind::node)) return "top: requires node or pod";
    options.top.of_nodes = kind->kind == Kind::node;
  }
  static const std::map<Command, std::string> kOfPods = {
      {Command::explain, "explain"}, {Command::allow, "allow"}, {Command::reject, "reject"}};
  if (const auto of_pods = kOfPods.find(options.command); of_pods != kOfPods.end()) {
    const KindName* kind = find_kind(options.kind);
    if (!named || kind == nullptr || kind->kind != Kind::pod) return of_pods->second + ": requires pod NAME";
  }
  if (options.command == Command::forget) {
    const KindName* kind = find_kind(options.kind);
    if (!named || kind == nullptr || kind->kind != Kind::node) return "forget: requires node NAME";
  }
  if (options.command == Command::adopt && (options.kind != "done" || !options.name.empty())) {
    const KindName* kind = find_kind(options.kind);
    const bool is_orphan = kind != nullptr && (kind->kind == Kind::pod || kind->kind == Kind::persistent_volume);
    if (!named || !is_orphan) return "adopt: requires pod NAME or pv NAME, or the word done";
  }
  if (options.command == Command::remove) {
    if (!options.files.empty() && !options.kind.empty()) return "delete: use either KIND NAME or -f FILE";
    if (options.files.empty() && !named) return "delete: requires KIND and NAME, or -f FILE";
  }
  if (options.all_namespaces && !options.name_space.empty()) return "use either -A or -n";
  if (options.all_namespaces && !options.name.empty()) return "use either NAME or -A";
  return {};
}

// What is wrong with the command line, when the option library cannot say it well; empty: let it speak.
std::string wrong_command(const CLI::App& app) {
  if (!app.get_subcommands().empty()) return {};
  std::string known;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  for (const std::string& word : app.remaining()) {
    if (word.starts_with('-')) continue;
    const std::string hint = did_you_mean(word, {names.begin(), names.end()});
    return "unknown command \"" + word + "\"" + (hint.empty() ? "; use one of " + known : hint);
  }
  return app.remaining().empty() ? "missing command; use one of " + known : "";
}

int refuse(const std::string& wrong, std::ostream& err) {
  err << wrong << "\nRun with --help for more information.\n";
  return static_cast<int>(Exit::usage);
}

}  // namespace

std::optional<int> parse_options(int argc, const char* const* argv, CtlOptions& options, std::ostream& out,
                                 std::ostream& err) {
  CLI::App app{"berthctl: the command line tool of Berth. It talks to the gateway over MQTT.", "berthctl"};
  app.require_subcommand(0, 1);  // a missing one is told below, with the names
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
  } catch (const CLI::ExtrasError& error) {
    const std::string wrong = wrong_command(app);
    return refuse(wrong.empty() ? error.what() : wrong, err);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : static_cast<int>(Exit::usage);
  }
  if (app.get_subcommands().empty()) return refuse(wrong_command(app), err);
  options.connection.timeout_ms = static_cast<Millis>(timeout_s * 1000);
  if (const std::string wrong = check(options); !wrong.empty()) return refuse(wrong, err);
  return std::nullopt;
}

}  // namespace berth
