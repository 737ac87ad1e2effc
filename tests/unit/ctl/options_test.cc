// The command line of berthctl: what it accepts, and what it refuses before anything is sent.
#include "firmware-host/ctl/options.h"

#include <gtest/gtest.h>

#include <sstream>

namespace berth {
namespace {

struct Parsed {
  std::optional<int> ended;
  CtlOptions options;
  std::string out, err;
};

Parsed parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "berthctl");
  std::ostringstream out, err;
  Parsed parsed;
  parsed.ended = parse_options(static_cast<int>(arguments.size()), arguments.data(), parsed.options, out, err);
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

TEST(CtlOptions, AcceptsGlobalOptionsBeforeAndAfterTheCommand) {
  for (const std::vector<const char*>& arguments : {std::vector<const char*>{"--broker", "b:1", "get", "pods"},
                                                    std::vector<const char*>{"get", "pods", "--broker", "b:1"}}) {
    const Parsed parsed = parse(arguments);
    ASSERT_FALSE(parsed.ended) << parsed.err;
    EXPECT_EQ(parsed.options.connection.broker, "b:1");
    EXPECT_EQ(parsed.options.command, CtlOptions::Command::get);
  }
}

TEST(CtlOptions, ReadsKindSlashName) {
  const Parsed parsed = parse({"describe", "pod/web", "-n", "shop"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.kind, "pod");
  EXPECT_EQ(parsed.options.name, "web");
  EXPECT_EQ(parsed.options.name_space, "shop");
}

TEST(CtlOptions, AdoptsAPodOrEndsAdoptMode) {
  const Parsed pod = parse({"adopt", "pod", "web", "-n", "shop", "--node", "n1"});
  ASSERT_FALSE(pod.ended) << pod.err;
  EXPECT_EQ(pod.options.name, "web");
  EXPECT_EQ(pod.options.node, "n1");
  EXPECT_TRUE(parse({"adopt", "node", "n1"}).ended);

  const Parsed parsed = parse({"adopt", "done"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.command, CtlOptions::Command::adopt);
  EXPECT_TRUE(parse({"adopt"}).ended);
  EXPECT_NE(parse({"adopt", "now"}).err.find("requires pod NAME or pv NAME, or the word done"), std::string::npos);
}

TEST(CtlOptions, RolloutNeedsAKindAndAName) {
  const Parsed status = parse({"rollout", "status", "deployment/web", "--watch=false", "-n", "shop"});
  ASSERT_FALSE(status.ended) << status.err;
  EXPECT_EQ(status.options.command, CtlOptions::Command::rollout_status);
  EXPECT_EQ(status.options.kind, "deployment");
  EXPECT_EQ(status.options.name, "web");
  EXPECT_FALSE(status.options.rollout_waits);
  EXPECT_TRUE(parse({"rollout", "status", "ds", "web"}).options.rollout_waits);
  EXPECT_EQ(parse({"rollout", "pause", "ds", "web"}).options.command, CtlOptions::Command::rollout_pause);
  EXPECT_EQ(parse({"rollout", "resume", "ds", "web"}).options.command, CtlOptions::Command::rollout_resume);
  EXPECT_NE(parse({"rollout", "pause", "ds"}).err.find("rollout: requires KIND and NAME"), std::string::npos);
}

TEST(CtlOptions, DrainHasATimeoutOfItsOwn) {
  const Parsed drain = parse({"--timeout", "3", "drain", "node/n1", "--force", "--ignore-daemonsets",
                              "--delete-emptydir-data", "--timeout", "1m30s"});
  ASSERT_FALSE(drain.ended) << drain.err;
  EXPECT_EQ(drain.options.command, CtlOptions::Command::drain);
  EXPECT_EQ(drain.options.name, "n1");
  EXPECT_TRUE(drain.options.drain.forces && drain.options.drain.ignores_daemon_sets);
  EXPECT_TRUE(drain.options.drain.deletes_empty_dirs);
  EXPECT_EQ(drain.options.drain.timeout_ms, 90'000);
  EXPECT_EQ(drain.options.connection.timeout_ms, 3'000);
  EXPECT_NE(parse({"drain", "n1", "--timeout", "soon"}).err.find("must be a duration such as"), std::string::npos);
  EXPECT_NE(parse({"cordon", "pod/web"}).err.find("cordon: \"pod/web\" is no name of a node"), std::string::npos);
}

TEST(CtlOptions, BackupAndRestoreNeedAFile) {
  const Parsed backup = parse({"backup", "b.tar", "--list", "--state-dir", "/state"});
  ASSERT_FALSE(backup.ended) << backup.err;
  EXPECT_EQ(backup.options.command, CtlOptions::Command::backup);
  EXPECT_EQ(backup.options.backup.file, "b.tar");
  EXPECT_TRUE(backup.options.backup.lists);
  EXPECT_EQ(backup.options.connection.state_dir, "/state");
  const Parsed restore = parse({"restore", "b.tar", "--force"});
  ASSERT_FALSE(restore.ended) << restore.err;
  EXPECT_EQ(restore.options.command, CtlOptions::Command::restore);
  EXPECT_TRUE(restore.options.backup.forces);
  EXPECT_TRUE(parse({"backup"}).ended);
  EXPECT_TRUE(parse({"restore"}).ended);
}

TEST(CtlOptions, ExplainsPodsOnly) {
  const Parsed parsed = parse({"explain", "po/web", "--all-filters", "--node", "n7", "-o", "json"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.name, "web");
  EXPECT_TRUE(parsed.options.all_filters);
  EXPECT_EQ(parsed.options.node, "n7");
  EXPECT_EQ(parsed.options.form, OutputForm::json);
  EXPECT_EQ(parse({"explain", "node", "n1"}).ended, 2);
  EXPECT_EQ(parse({"explain", "pod"}).ended, 2);
  EXPECT_EQ(parse({"plan"}).ended, 2);
  EXPECT_EQ(parse({"plan", "-f", "a.yaml", "-o", "wide"}).ended, 2);
}

TEST(CtlOptions, NamesAnUnknownCommandAndTheNearestOne) {
  EXPECT_TRUE(parse({"aply", "-f", "a.yaml"}).err.starts_with("unknown command \"aply\"; did you mean apply?"))
      << parse({"aply", "-f", "a.yaml"}).err;
  const std::string far = parse({"frob", "pods", "-n", "x"}).err;
  EXPECT_TRUE(far.starts_with("unknown command \"frob\"; use one of apply, ")) << far;
  EXPECT_TRUE(parse({}).err.starts_with("missing command; use one of apply, ")) << parse({}).err;
  EXPECT_TRUE(parse({"--broker", "b:1"}).err.starts_with("missing command")) << parse({"--broker", "b:1"}).err;
  EXPECT_NE(parse({"get", "pods", "a", "b"}).err.find("not expected: b"), std::string::npos);
}

TEST(CtlOptions, NamesTheWordsThatAnOptionTakes) {
  const Parsed form = parse({"get", "pods", "-o", "yml"});
  EXPECT_EQ(form.ended, 2);
  EXPECT_TRUE(form.err.starts_with("--output: must be table, wide, json or yaml, got \"yml\"; did you mean yaml?"))
      << form.err;
  EXPECT_EQ(parse({"get", "pods", "-o", "2"}).ended, 2);
  EXPECT_NE(parse({"status", "-o", "wide"}).err.find("must be table, json or yaml,"), std::string::npos);
  EXPECT_NE(parse({"enroll", "a", "--role", "king"}).err.find("must be node, operator or gateway"), std::string::npos);
  EXPECT_EQ(parse({"enroll", "a", "--role", "1"}).ended, 2);
  EXPECT_EQ(parse({"enroll", "a", "--role", "gateway"}).options.enroll.role, BrokerIdentity::Role::gateway);
}

TEST(CtlOptions, TakesFilesThatAShellHasExpanded) {
  const Parsed parsed = parse({"apply", "-f", "a.yaml", "b.yaml", "-R"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.files, (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_TRUE(parsed.options.recursive);
}

TEST(CtlOptions, ValidatesAsKubectlDoes) {
  EXPECT_EQ(parse({"apply", "-f", "a"}).options.validation, Validation::strict);
  EXPECT_EQ(parse({"apply", "-f", "a", "--validate=warn"}).options.validation, Validation::warn);
  EXPECT_EQ(parse({"create", "-f", "a", "--validate=ignore"}).options.validation, Validation::ignore);
  EXPECT_EQ(parse({"plan", "-f", "a", "--validate", "false"}).options.validation, Validation::ignore);
  EXPECT_EQ(parse({"apply", "-f", "a", "--validate=maybe"}).ended, 2);
  EXPECT_EQ(parse({"apply", "-f", "a", "--validate=warn", "--validate"}).ended, 2) << "once";
  const Parsed alone = parse({"apply", "--validate", "-f", "a"});
  ASSERT_FALSE(alone.ended) << alone.err;
  EXPECT_EQ(alone.options.validation, Validation::strict);
  EXPECT_EQ(alone.options.files, std::vector<std::string>{"a"});
}

TEST(CtlOptions, TriesAsKubectlDoes) {
  EXPECT_FALSE(parse({"apply", "-f", "a"}).options.dry_run);
  for (const char* dry : {"--dry-run", "--dry-run=server", "--dry-run=client", "--dry-run=true"}) {
    const Parsed parsed = parse({"apply", dry, "-f", "a"});
    ASSERT_FALSE(parsed.ended) << dry << parsed.err;
    EXPECT_TRUE(parsed.options.dry_run) << dry;
    EXPECT_EQ(parsed.options.files, std::vector<std::string>{"a"});
  }
  for (const char* real : {"--dry-run=none", "--dry-run=false"}) {
    const Parsed parsed = parse({"apply", "-f", "a", real});
    ASSERT_FALSE(parsed.ended) << real << parsed.err;
    EXPECT_FALSE(parsed.options.dry_run) << real;
  }
  const Parsed wrong = parse({"apply", "-f", "a", "--dry-run=clint"});
  EXPECT_EQ(wrong.ended, 2);
  EXPECT_NE(wrong.err.find("did you mean client?"), std::string::npos) << wrong.err;
}

TEST(CtlOptions, AcceptsSeveralFiles) {
  const Parsed parsed = parse({"apply", "-f", "a.yaml", "-f", "-", "--recreate"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.files, (std::vector<std::string>{"a.yaml", "-"}));
  EXPECT_TRUE(parsed.options.recreate);
}

TEST(CtlOptions, ReadsTheOutputFormAndTheTimeout) {
  const Parsed parsed = parse({"get", "no", "-o", "wide", "--timeout", "2.5", "-w"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.form, OutputForm::wide);
  EXPECT_EQ(parsed.options.connection.timeout_ms, 2500);
  EXPECT_TRUE(parsed.options.watch);
}

TEST(CtlOptions, ReadsADecisionOnAWaitingPod) {
  const Parsed parsed = parse({"reject", "pod/web", "--plugin", "Approval", "--reason", "not today"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.command, CtlOptions::Command::reject);
  EXPECT_EQ(parsed.options.name, "web");
  EXPECT_EQ(parsed.options.plugin, "Approval");
  EXPECT_EQ(parsed.options.reason, "not today");
}

TEST(CtlOptions, ExitsWithCodeTwoAndAReasonForAnInvalidCommandLine) {
  const std::vector<std::vector<const char*>> invalid = {
      {},
      {"frob"},
      {"get"},
      {"get", "pods", "-o", "xml"},
      {"get", "pods", "--timeout", "0"},
      {"get", "pods", "-A", "-n", "x"},
      {"get", "pod/"},
      {"get", "pod/a", "b"},
      {"describe", "pods"},
      {"apply"},
      {"allow", "pod"},
      {"reject", "node", "a"},
      {"waiting", "-A", "-n", "x"},
      {"delete", "pod"},
      {"forget", "pod", "a"},
      {"forget", "node"},
      {"delete", "pod", "a", "-f", "x.yaml"},
  };
  for (const auto& arguments : invalid) {
    const Parsed parsed = parse(arguments);
    EXPECT_EQ(parsed.ended, 2) << (arguments.empty() ? "" : arguments.front());
    EXPECT_FALSE(parsed.err.empty());
  }
}

TEST(CtlOptions, LogsTakesAPodAndWhatOfItsOutputIsWanted) {
  const Parsed parsed =
      parse({"logs", "pod/web", "-n", "shop", "-c", "main", "-f", "--since", "1h30m", "--tail", "5", "--timestamps"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.command, CtlOptions::Command::logs);
  EXPECT_EQ(parsed.options.name, "web");
  EXPECT_EQ(parsed.options.logs.container, "main");
  EXPECT_TRUE(parsed.options.logs.follow && parsed.options.logs.timestamps && !parsed.options.logs.previous);
  EXPECT_EQ(parsed.options.logs.since_ms, 5'400'000);
  EXPECT_EQ(parsed.options.logs.tail, 5u);
  EXPECT_EQ(parse({"logs", "web", "--tail", "-1"}).options.logs.tail, std::nullopt);
  EXPECT_EQ(parse({"logs", "web", "--since", "1m500ms"}).options.logs.since_ms, 60'500);
  for (const char* wrong : {"", "5", "m", "-5m", "5d", "5m 3s", "999999999999h", "9999h9999h"}) {
    const Parsed bad = parse({"logs", "web", "--since", wrong});
    EXPECT_EQ(bad.ended, 2) << wrong;
  }
  EXPECT_EQ(parse({"logs", "web", "--tail", "-2"}).ended, 2);
  EXPECT_EQ(parse({"logs", "web", "-f", "-p"}).ended, 2) << "a run that is over has nothing to follow";
  for (const char* wrong : {"node/web", "pod/", "a/b/c", "We b", "+"}) {
    const Parsed bad = parse({"logs", wrong});
    EXPECT_EQ(bad.ended, 2) << wrong;
    EXPECT_TRUE(bad.err.starts_with("logs: ")) << bad.err;
  }
}

TEST(CtlOptions, PortForwardReadsPairsOfPorts) {
  const Parsed parsed = parse({"port-forward", "pod/web", "8080:80", ":443", "22", "--address", "0.0.0.0"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.name, "web");
  EXPECT_EQ(parsed.options.forward.address, "0.0.0.0");
  ASSERT_EQ(parsed.options.forward.ports.size(), 3u);
  EXPECT_EQ(parsed.options.forward.ports[0].local, 8080);
  EXPECT_EQ(parsed.options.forward.ports[0].remote, 80);
  EXPECT_EQ(parsed.options.forward.ports[1].local, 0);
  EXPECT_EQ(parsed.options.forward.ports[2].local, 22);
  for (const char* wrong : {"80:", "0", "65536", "a", "80:80:80", "-1"}) {
    EXPECT_EQ(parse({"port-forward", "web", "--", wrong}).ended, 2) << wrong;
  }
}

TEST(CtlOptions, ImagesAreLoadedIntoOneNode) {
  const Parsed parsed = parse({"image", "load", "n1", "app.tar", "--name", "app:1", "--fleet", "f"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.command, CtlOptions::Command::image_load);
  EXPECT_EQ(parsed.options.name, "n1");
  EXPECT_EQ(parsed.options.image.file, "app.tar");
  EXPECT_EQ(parsed.options.image.name, "app:1");
  EXPECT_EQ(parse({"image", "load", "n1", "-"}).options.image.file, "-");
  EXPECT_EQ(parse({"image", "list", "n1"}).options.command, CtlOptions::Command::image_list);
  for (const std::vector<const char*>& wrong :
       {std::vector<const char*>{"image"}, {"image", "load", "n1"}, {"image", "list"}, {"image", "list", "n/1"}}) {
    EXPECT_EQ(parse(wrong).ended, 2) << wrong.back();
  }
}

TEST(CtlOptions, ExecTakesWhatIsBehindTheDashesAsItIs) {
  const Parsed parsed = parse({"exec", "-it", "pod/web", "-c", "main", "--", "sh", "-c", "echo -n $1", "--", "-i"});
  ASSERT_FALSE(parsed.ended) << parsed.err;
  EXPECT_EQ(parsed.options.command, CtlOptions::Command::exec);
  EXPECT_EQ(parsed.options.name, "web");
  EXPECT_EQ(parsed.options.exec.container, "main");
  EXPECT_TRUE(parsed.options.exec.input && parsed.options.exec.terminal);
  EXPECT_EQ(parsed.options.exec.command, (std::vector<std::string>{"sh", "-c", "echo -n $1", "--", "-i"}));
  EXPECT_EQ(parse({"exec", "web"}).ended, 2);
  EXPECT_TRUE(parse({"exec", "-t", "web", "--", "sh"}).err.starts_with("exec: -t requires -i"));
}

TEST(CtlOptions, RevokeTakesTheNameOfAnAccount) {
  const Parsed revoke = parse({"revoke", "edge-a", "--broker-dir", "/b", "--no-reload"});
  EXPECT_FALSE(revoke.ended);
  EXPECT_EQ(revoke.options.command, CtlOptions::Command::revoke);
  EXPECT_EQ(revoke.options.enroll.name, "edge-a");
  EXPECT_EQ(revoke.options.enroll.broker_dir, "/b");
  EXPECT_FALSE(revoke.options.enroll.reload);
  EXPECT_EQ(parse({"revoke"}).ended, 2);
}

TEST(CtlOptions, EnrollTakesOneKindOfCredential) {
  EXPECT_EQ(parse({"enroll", "a"}).options.enroll.credential, Credential::unset);
  EXPECT_EQ(parse({"enroll", "a", "--password"}).options.enroll.credential, Credential::password);
  EXPECT_EQ(parse({"enroll", "a", "--certificate"}).options.enroll.credential, Credential::certificate);
  EXPECT_EQ(parse({"enroll", "a", "--certificate", "--password"}).ended, 2);
  EXPECT_TRUE(parse({"enroll", "a", "--replace", "--password"}).options.enroll.replace);
  EXPECT_EQ(parse({"enroll", "a", "--replace", "--renew"}).ended, 2);
}

TEST(CtlOptions, ShowsItsVersion) {
  const Parsed option = parse({"--version"});
  EXPECT_EQ(option.ended, 0);
  EXPECT_TRUE(option.out.starts_with("berthctl ")) << option.out;
}

TEST(CtlOptions, ShowsEveryOptionAndTheExitCodesInHelp) {
  const Parsed help = parse({"--help"});
  EXPECT_EQ(help.ended, 0);
  for (const char* text : {"--config",    "--state-dir", "--broker", "--username", "--password-file", "--ca-file",
                           "--cert-file", "--key-file",  "--fleet",  "--gateway",  "--identity",      "--timeout",
                           "apply",       "get",         "describe", "delete",     "forget",          "waiting",
                           "allow",       "reject",      "status",   "version",    "Exit codes"}) {
    EXPECT_NE(help.out.find(text), std::string::npos) << text;
  }
  const Parsed get = parse({"get", "--help"});
  EXPECT_EQ(get.ended, 0);
  for (const char* text : {"--output", "--watch", "--all-namespaces", "--namespace"}) {
    EXPECT_NE(get.out.find(text), std::string::npos) << text;
  }
}

TEST(CtlOptions, CascadeSaysWhatBecomesOfWhatAnObjectOwns) {
  EXPECT_EQ(parse({"delete", "deployment", "web"}).options.propagation, "");
  EXPECT_EQ(parse({"delete", "deployment", "web", "--cascade=orphan"}).options.propagation, "Orphan");
  EXPECT_EQ(parse({"delete", "deployment", "web", "--cascade", "foreground"}).options.propagation, "Foreground");
  EXPECT_NE(parse({"delete", "deployment", "web", "--cascade=no"}).err.find("background, foreground or orphan"),
            std::string::npos);
}

}  // namespace
}  // namespace berth
