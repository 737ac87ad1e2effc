"""A fleet of real programs on this machine: one gateway, any number of agents, the operator's tool.

    fleet = Fleet(tmp_path, broker.port)
    fleet.start_gateway()
    fleet.start_agent("n1", labels={"zone": "a"})
    fleet.apply(pod("web"))
    fleet.wait_running("web", node="n1")

The command line of each program is built in one function: gateway_argv, agent_argv, ctl.
"""

import contextlib
import json
import re
import signal
import socket
import subprocess
import uuid
from pathlib import Path

from broker import Client
from programs import Program, program_path
from said import wrong_messages
from stores import Database
from waiting import patience, wait_until


class Fleet:
    def __init__(self, folder, port, name=None, gateway="gw"):
        """The name is unique by default: on one machine, agents with the same fleet and node stop each other's workloads."""
        self.folder, self.port, self.gateway_name = Path(folder), port, gateway
        self.name = name or "t" + uuid.uuid4().hex[:12]
        self.root = f"berth/v1/{self.name}"
        self.programs = {}  # by name: "berthd" or the node's name
        self.builds = {}  # by name, and "operator": the folder of the build whose program it runs, if not this checkout's
        self.account = lambda identity: []  # flags with a program's broker credentials
        self.observer_options = {}  # credentials of the observer, as arguments of broker.Client
        self.observer_barrier = "barrier"  # a topic that the observer may write and read
        self.observer_ = None
        self.heard_ = []  # of observers that are closed
        self.applied_ = 0

    # Programs --------------------------------------------------------------------------------------------------------

    def state_dir(self, name):
        path = self.folder / "state" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def connection(self, identity, port):
        """The broker flags of a program with this identity ("berthd", a node's name, "operator")."""
        return ["--broker", f"127.0.0.1:{port}", *self.account(identity)]

    def gateway_argv(self, port, extra):
        program = program_path("berthd", self.builds.get("berthd"))
        return [program, "--state-dir", self.state_dir("berthd"), *self.connection("berthd", port),
                "--fleet", self.name, "--gateway", self.gateway_name, *extra]

    def agent_argv(self, node, port, labels, taints, capacity, volumes, extra):
        argv = [program_path("berth-agent", self.builds.get(node)), "--state-dir", self.state_dir(node),
                *self.connection(node, port), "--fleet", self.name, "--gateway", self.gateway_name, "--node", node]
        if node not in self.builds and "--container-runtime" not in extra:
            argv += ["--container-runtime", "none"]  # manifests of tests name images that are nowhere
        if node not in self.builds and "--bwrap" not in extra:
            argv += ["--bwrap", "none"]  # pods of tests share files with them below /tmp
        for key, value in (labels or {}).items():
            argv += ["--label", f"{key}={value}"]
        for taint in taints or ():
            argv += ["--taint", taint]
        for resource, amount in (capacity or {"cpu": "2", "memory": "512Mi", "pods": "20"}).items():
            argv += ["--capacity", f"{resource}={amount}"]
        for volume in volumes or ():
            argv += ["--volume", volume]
        return argv + list(extra)

    def start(self, *nodes, **options):
        """Starts the gateway, and an agent per node name with the same options; waits until every node is ready, and the
        gateway places pods."""
        self.start_gateway(port=options.get("port"))
        for node in nodes:
            self.start_agent(node, **options)
        for node in nodes:
            self.wait_node(node)
        self.wait_gateway_ready()

    def start_gateway(self, port=None, extra=()):
        """port: that of a proxy, instead of the broker's. May be called again after a kill; it keeps its state directory."""
        return self.start_("berthd", self.gateway_argv(port or self.port, extra))

    def start_agent(self, node, labels=None, taints=None, capacity=None, volumes=None, port=None, extra=(),
                    make_volumes=True):
        """taints: "key=value:Effect"; volumes: "name=path:capacity[:class]". make_volumes: makes their directories first,
        as whoever sets up a device does."""
        for volume in volumes if make_volumes and volumes else ():
            Path(volume.partition("=")[2].split(":")[0]).mkdir(parents=True, exist_ok=True)
        return self.start_(node, self.agent_argv(node, port or self.port, labels, taints, capacity, volumes, extra))

    def start_(self, name, argv):
        if self.programs.get(name) and self.programs[name].alive():
            raise AssertionError(f"{name} is already running")
        self.programs[name] = Program(name, argv, self.folder)
        return self.programs[name].start()

    def kill(self, name, number=signal.SIGKILL):
        """name: "berthd" or a node's name. Workloads keep running."""
        self.programs[name].kill(number)

    def restart(self, name):
        """Starts a killed program again with the same command line."""
        return self.programs[name].start()

    def stop(self):
        for program in self.programs.values():
            program.stop()
        self.close_observer()

    # The operator ----------------------------------------------------------------------------------------------------

    def ctl(self, *arguments, check=True, timeout_s=None):
        """Runs berthctl; returns the CompletedProcess, output as text."""
        argv = [program_path("berthctl", self.builds.get("operator")), *self.connection("operator", self.port), "--fleet",
                self.name, "--gateway", self.gateway_name, *arguments]
        done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=patience(timeout_s),
                              check=False)
        if check and done.returncode:
            raise AssertionError(f"berthctl {' '.join(map(str, arguments))} exited with {done.returncode}:\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def apply(self, *manifests, check=True, arguments=()):
        """Applies dictionaries (one document each) or YAML text."""
        self.applied_ += 1
        path = self.folder / f"manifest-{self.applied_}.yaml"
        texts = [m if isinstance(m, str) else json.dumps(m) for m in manifests]
        path.write_text("\n---\n".join(texts) + "\n", encoding="utf-8")
        return self.ctl("apply", "-f", path, *arguments, check=check)

    def get(self, kind, name, namespace="default"):
        """The object as the gateway returns it; None when it does not exist."""
        done = self.ctl("get", kind, name, "-n", namespace, "-o", "json", check=False)
        if done.returncode and "not found" not in done.stderr:
            raise AssertionError(f"get {kind} {name} exited with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def delete(self, kind, name, namespace="default"):
        return self.ctl("delete", kind, name, "-n", namespace)

    # The observer ----------------------------------------------------------------------------------------------------

    @property
    def observer(self):
        """A client subscribed to all topics of the fleet. It connects on first use, and holds everything published since
        and the messages retained before."""
        if self.observer_ is None:
            self.observer_ = Client(self.port, "observer", **self.observer_options)
            self.observer_.subscribe(f"{self.root}/#")
            barrier = self.observer_barrier
            self.observer_.subscribe(barrier)
            self.observer_.publish(barrier, "1")
            # It arrives behind all retained messages. There may be tens of thousands, so this looks it up by topic instead
            # of searching the messages each time.
            self.observer_.wait(lambda: barrier in self.observer_.latest, "the retained messages of the broker", 120)
        return self.observer_

    def close_observer(self):
        if self.observer_:
            self.observer_.close()
            self.heard_ += self.observer_.messages
            self.observer_ = None

    def wrong_messages(self):
        """What the programs of this checkout have said in a form that transports/schema does not have. None of earlier
        programs, whose schemas were others."""
        self.close_observer()
        return [] if self.builds else wrong_messages(self.root, self.heard_)

    def topic(self, below):
        return f"{self.root}/{below}"

    def pod_on(self, name, node, namespace="default"):
        """The status that a node reports for a pod; None if it reports none."""
        return self.observer.value(self.topic(f"nodes/{node}/pods/{namespace}/{name}")) or None

    def nodes_running(self, name, namespace="default"):
        """Names of the nodes that report the pod as running."""
        found = []
        for topic, payload in list(self.observer.latest.items()):
            levels = topic.removeprefix(self.root + "/").split("/")
            if len(levels) == 5 and levels[0] == "nodes" and levels[2:] == ["pods", namespace, name] and payload:
                if json.loads(payload).get("phase") == "Running":
                    found.append(levels[1])
        return sorted(found)

    def wait_running(self, name, node=None, namespace="default", timeout_s=None):
        """Waits until exactly one node (`node`, when given) reports the pod as running; returns its name."""
        self.observer.wait(lambda: len(self.nodes_running(name, namespace)) == 1 and
                           node in (None, self.nodes_running(name, namespace)[0]), f"{name} running on {node or 'a node'}",
                           timeout_s)
        return self.nodes_running(name, namespace)[0]

    def wait_pod(self, name, matches, namespace="default", timeout_s=None):
        """Waits until the pod's status as published by the gateway matches; returns it."""
        return self.observer.wait_latest(self.topic(f"status/pods/{namespace}/{name}"),
                                         lambda s: isinstance(s, dict) and matches(s), timeout_s)

    def wait_pending(self, name, *words, timeout_s=None):
        """Waits until the pod is pending with a message that contains all of `words`; returns its status."""
        return self.wait_pod(name, lambda s: s["phase"] == "Pending" and all(w in s.get("message", "") for w in words),
                             timeout_s=timeout_s)

    def wait_gone(self, name, namespace="default", timeout_s=None):
        """Waits until the gateway no longer has the pod."""
        wait_until(lambda: self.get("pod", name, namespace) is None, f"the removal of pod {name}", timeout_s)

    def wait_node(self, name, ready=True, timeout_s=None):
        """Waits until the gateway reports the node as ready (or not ready); returns its status."""
        def matches(status):
            return isinstance(status, dict) and status["conditions"][0]["status"] == ("True" if ready else "False")
        return self.observer.wait_latest(self.topic(f"status/nodes/{name}"), matches, timeout_s)

    def wait_gateway_ready(self):
        """Waits until the gateway places pods: it is in step with the broker, and adopt mode has ended."""
        wait_until(lambda: re.search("^ready +yes$", self.ctl("status", check=False).stdout, re.M), "the gateway to be ready")

    def wait_phase(self, name, phase, namespace="default", timeout_s=None):
        """Waits until the gateway reports the pod in this phase; returns the status."""
        return self.observer.wait_latest(self.topic(f"status/pods/{namespace}/{name}"),
                                         lambda s: isinstance(s, dict) and find_phase(s) == phase, timeout_s)

    def forget_seen(self):
        """Discards the observer: what it received from a broker that is gone is not valid for the next one."""
        self.close_observer()

    # Stores ----------------------------------------------------------------------------------------------------------

    def nodes(self):
        """Names of the nodes whose agents have been started."""
        return sorted(name for name in self.programs if name not in ("berthd", "second"))  # which are gateways

    def store(self, name):
        """A snapshot of the store of "berthd", or of a node's agent."""
        found = sorted(self.state_dir(name).glob("*.db"))
        assert len(found) == 1, f"{name} has {len(found)} stores in {self.state_dir(name)}"
        return Database(found[0])


class EmbeddedFleet(Fleet):
    """A fleet whose gateway runs the embedded broker, with an account for each of `nodes`."""

    def __init__(self, folder, nodes):
        super().__init__(folder, None)
        self.config = self.folder / "berthd.yaml"
        accounts = [f"  - {{identity: {node}, role: node, password: secret-{node}}}" for node in nodes]
        accounts += [f"  - {{identity: {name}, role: operator, password: secret-{name}}}" for name in ("operator", "observer")]
        self.config.write_text("\n".join(["clients:", *accounts]) + "\n", encoding="utf-8")
        self.account = lambda identity: ["--username", identity, "--password-file", self.password_file(identity)]
        self.nodes_of_broker = set(nodes)
        self.devices_port = None
        self.exiting_broker = None
        self.observer_barrier = self.topic("desired/pods/default/barrier")

    def broker_file(self, name):
        path = self.state_dir("berthd") / "broker" / name
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""

    def password_file(self, identity):
        return self.state_dir("berthd") / "broker" / "password" / identity

    def broker_pid(self):
        """The pid of the embedded broker; None while it does not run."""
        pid = self.broker_file("pid")
        return int(pid) if pid and Path(f"/proc/{pid}").exists() else None

    def restart(self, name):
        if name == "berthd":
            self.exiting_broker = self.broker_pid()
        return super().restart(name)

    def wait_broker(self, after=None):
        """Waits until the broker accepts connections; not its predecessor, which may still be exiting after a restart of
        berthd. `after`: the pid of the predecessor where it is replaced while berthd runs."""
        def accepts():
            if self.broker_pid() in (None, 0, after, self.exiting_broker) or not self.broker_file("port"):
                return False
            with contextlib.suppress(OSError):
                for file in ("port", "local-port"):  # mosquitto opens one after the other
                    socket.create_connection(("127.0.0.1", int(self.broker_file(file)))).close()
                return True
            return False
        wait_until(accepts, "the embedded broker")
        self.port, self.devices_port = int(self.broker_file("local-port")), int(self.broker_file("port"))
        self.observer_options = {"password": self.broker_file("password/observer")}

    def client(self, identity, client_id=None):
        """A client that uses the account of an identity; the caller closes it."""
        port = self.devices_port if identity in self.nodes_of_broker else self.port
        return Client(port, client_id or identity, username=identity, password=self.broker_file(f"password/{identity}"))

    def agent_argv(self, node, port, *more):
        return super().agent_argv(node, self.devices_port if port == self.port else port, *more)

    def gateway_argv(self, port, extra):
        return [program_path("berthd"), "--state-dir", self.state_dir("berthd"), "--config", self.config,
                "--fleet", self.name, "--gateway", self.gateway_name, *extra]

    def init_gateway(self):
        """Marks the gateway's state directory as that of a new installation."""
        subprocess.run([program_path("berthd"), "init", "--state-dir", self.state_dir("berthd")], check=True)

    def start_gateway(self, port=None, extra=()):
        program = super().start_gateway(port, extra)
        self.wait_broker()
        return program


def find_phase(status):
    """The phase, from a status or from an object that contains one."""
    return status.get("phase") or status.get("status", {}).get("phase")
