"""Pods of public projects: what their manifests say, field for field, and what the images they name execute. A stand-in for
each image prints its command line and the files that it names, answers HTTP on the image's port, and then waits."""

from dataclasses import dataclass, field

WEBSITE = "kubernetes/website content/en/examples/pods/"


@dataclass
class Image:
    """The part of an image's configuration that a pod relies on. programs: further paths that the pod executes."""
    config: dict
    port: int = 0
    programs: tuple = ()


@dataclass
class Foreign:
    source: str  # repository and path; of a workload's manifest the template of its pods
    metadata: dict
    spec: dict
    images: dict  # by the name in the spec
    needs: tuple = ()  # objects that the project's other manifests make
    shows: dict = field(default_factory=dict)  # by container: what its log begins with, or a line of it
    phase: str = "Running"

    def manifest(self):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": self.metadata, "spec": self.spec}


def config_map(name, namespace="default", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
            "data": {key.replace("__", "."): value for key, value in data.items()}}


def secret(name, **data):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def claim(name, namespace="default", size="1Gi"):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}}


def host_paths(**paths):
    return [{"name": name.replace("_", "-"), "hostPath": {"path": path}} for name, path in paths.items()]


def mount(name, path, **more):
    return {"name": name, "mountPath": path, **more}


def resources(requests=None, limits=None):
    """Each "cpu memory"."""
    return {kind: dict(zip(("cpu", "memory"), amounts.split())) for kind, amounts in
            (("requests", requests), ("limits", limits)) if amounts}


def from_field(name, path):
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


BUSYBOX = Image({"Cmd": ["sh"]}, programs=("/usr/bin/printenv",))  # which Debian's busybox lacks
NGINX = Image({"Entrypoint": ["/docker-entrypoint.sh"], "Cmd": ["nginx", "-g", "daemon off;"], "StopSignal": "SIGQUIT"}, 80,
              ("/usr/sbin/nginx", "/usr/bin/killall"))
NO_PRIVILEGE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

NODE_EXPORTER = Foreign(
    "prometheus-operator/kube-prometheus manifests/nodeExporter-daemonset.yaml",
    {"name": "node-exporter", "namespace": "monitoring", "labels": {"app.kubernetes.io/name": "node-exporter"},
     "annotations": {"kubectl.kubernetes.io/default-container": "node-exporter"}},
    {"automountServiceAccountToken": True, "hostNetwork": True, "hostPID": True, "nodeSelector": {"kubernetes.io/os": "linux"},
     "priorityClassName": "system-cluster-critical", "securityContext": {"runAsNonRoot": True, "runAsUser": 65534},
     "serviceAccountName": "node-exporter", "tolerations": [{"operator": "Exists"}],
     "volumes": host_paths(sys="/sys", root="/"),
     "containers": [
         {"name": "node-exporter", "image": "quay.io/prometheus/node-exporter:v1.6.1",
          "args": ["--web.listen-address=127.0.0.1:9100", "--path.sysfs=/host/sys", "--path.rootfs=/host/root",
                   "--path.udev.data=/host/root/run/udev/data", "--no-collector.wifi", "--no-collector.hwmon", "--no-collector.btrfs",
                   "--collector.netclass.ignored-devices=^(veth.*|[a-f0-9]{15})$",
                   "--collector.netdev.device-exclude=^(veth.*|[a-f0-9]{15})$"],
          "resources": resources("102m 180Mi", "250m 180Mi"),
          "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                              "capabilities": {"add": ["SYS_TIME"], "drop": ["ALL"]}},
          "volumeMounts": [mount("sys", "/host/sys", mountPropagation="HostToContainer", readOnly=True),
                           mount("root", "/host/root", mountPropagation="HostToContainer", readOnly=True)]},
         {"name": "kube-rbac-proxy", "image": "quay.io/brancz/kube-rbac-proxy:v0.14.2",
          "args": ["--secure-listen-address=[$(IP)]:9100", "--upstream=http://127.0.0.1:9100/"],
          "env": [from_field("IP", "status.podIP")],
          "ports": [{"containerPort": 9100, "hostPort": 9100, "name": "https"}],
          "resources": resources("10m 20Mi", "20m 40Mi"),
          "securityContext": {**NO_PRIVILEGE, "readOnlyRootFilesystem": True, "runAsGroup": 65532, "runAsNonRoot": True,
                              "runAsUser": 65532}}]},
    {"quay.io/prometheus/node-exporter:v1.6.1": Image({"Entrypoint": ["/bin/node_exporter"], "User": "nobody"}),
     "quay.io/brancz/kube-rbac-proxy:v0.14.2": Image({"Entrypoint": ["/usr/local/bin/kube-rbac-proxy"], "User": "65532:65532"})},
    shows={"node-exporter": "/bin/node_exporter --web.listen-address=127.0.0.1:9100 --path.sysfs=/host/sys",
           "kube-rbac-proxy": "/usr/local/bin/kube-rbac-proxy --secure-listen-address=["})

FLUENT_BIT = Foreign(
    "fluent/fluent-bit-kubernetes-logging output/elasticsearch/fluent-bit-ds.yaml",
    {"name": "fluent-bit", "namespace": "logging", "labels": {"k8s-app": "fluent-bit-logging", "version": "v1"},
     "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "2020"}},
    {"containers": [{
        "name": "fluent-bit", "image": "fluent/fluent-bit:0.14.3", "imagePullPolicy": "Always",
        "ports": [{"containerPort": 2020}],
        "env": [{"name": "FLUENT_ELASTICSEARCH_HOST", "value": "elasticsearch"}, {"name": "FLUENT_ELASTICSEARCH_PORT", "value": "9200"}],
        "volumeMounts": [mount("varlog", "/var/log"), mount("varlibdockercontainers", "/var/lib/docker/containers", readOnly=True),
                         mount("fluent-bit-config", "/fluent-bit/etc/")]}],
     "terminationGracePeriodSeconds": 10,
     "volumes": [*host_paths(varlog="/var/log", varlibdockercontainers="/var/lib/docker/containers"),
                 {"name": "fluent-bit-config", "configMap": {"name": "fluent-bit-config"}}],
     "serviceAccountName": "fluent-bit",
     "tolerations": [{"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"}]},
    {"fluent/fluent-bit:0.14.3": Image({"Cmd": ["/fluent-bit/bin/fluent-bit", "-c", "/fluent-bit/etc/fluent-bit.conf"]}, 2020)},
    (config_map("fluent-bit-config", "logging", **{"fluent-bit__conf": "[SERVICE]\n    Flush 1\n"}),),
    {"fluent-bit": "/fluent-bit/bin/fluent-bit -c /fluent-bit/etc/fluent-bit.conf\n[SERVICE]\n    Flush 1\n"})

NODE_PROBLEM_DETECTOR = Foreign(
    "kubernetes/node-problem-detector deployment/node-problem-detector.yaml",
    {"name": "node-problem-detector", "namespace": "kube-system", "labels": {"app": "node-problem-detector"}},
    {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}]}}},
     "containers": [{
         "name": "node-problem-detector",
         "image": "registry.k8s.io/node-problem-detector/node-problem-detector:v0.8.18", "imagePullPolicy": "Always",
         "command": ["/node-problem-detector", "--logtostderr",
                     "--config.system-log-monitor=/config/kernel-monitor.json,/config/docker-monitor.json"],
         "resources": resources("10m 80Mi", "10m 80Mi"), "securityContext": {"privileged": True},
         "env": [from_field("NODE_NAME", "spec.nodeName")],
         "volumeMounts": [mount("log", "/var/log", readOnly=True), mount("kmsg", "/dev/kmsg", readOnly=True),
                          mount("localtime", "/etc/localtime", readOnly=True), mount("config", "/config", readOnly=True)]}],
     "serviceAccountName": "node-problem-detector",
     "volumes": [*host_paths(log="/var/log/", kmsg="/dev/kmsg", localtime="/etc/localtime"),
                 {"name": "config", "configMap": {"name": "node-problem-detector-config", "items": [
                     {"key": name, "path": name} for name in ("kernel-monitor.json", "docker-monitor.json")]}}],
     "tolerations": [{"effect": "NoSchedule", "operator": "Exists"}, {"effect": "NoExecute", "operator": "Exists"}]},
    {"registry.k8s.io/node-problem-detector/node-problem-detector:v0.8.18": Image({}, programs=("/node-problem-detector",))},
    (config_map("node-problem-detector-config", "kube-system", **{"kernel-monitor__json": "{}", "docker-monitor__json": "{}"}),),
    {"node-problem-detector": "/node-problem-detector --logtostderr"})

CADVISOR = Foreign(
    "google/cadvisor deploy/kubernetes/base/daemonset.yaml",
    {"name": "cadvisor", "namespace": "cadvisor", "annotations": {"seccomp.security.alpha.kubernetes.io/pod": "docker/default"}},
    {"containers": [{
        "name": "cadvisor", "image": "k8s.gcr.io/cadvisor:v0.30.2",
        "resources": {"requests": {"memory": "200Mi", "cpu": "150m"}, "limits": {"cpu": "300m"}},
        "volumeMounts": [mount("rootfs", "/rootfs", readOnly=True), mount("var-run", "/var/run", readOnly=True),
                         mount("sys", "/sys", readOnly=True), mount("docker", "/var/lib/docker", readOnly=True)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}],
     "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 30,
     "volumes": host_paths(rootfs="/", var_run="/var/run", sys="/sys", docker="/var/lib/docker")},
    {"k8s.gcr.io/cadvisor:v0.30.2": Image({"Entrypoint": ["/usr/bin/cadvisor", "-logtostderr"]}, 8080)},
    shows={"cadvisor": "/usr/bin/cadvisor -logtostderr\n"})

SMARTER_DEVICE_MANAGER = Foreign(
    "smarter-project/smarter-device-manager smarter-device-manager-ds.yaml",
    {"name": "smarter-device-manager", "labels": {"name": "smarter-device-manager"},
     "annotations": {"node.kubernetes.io/bootstrap-checkpoint": "true"}},
    {"nodeSelector": {"smarter-device-manager": "enabled"}, "priorityClassName": "system-node-critical",
     "hostname": "smarter-device-management", "hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet",
     "containers": [{
         "name": "smarter-device-manager", "imagePullPolicy": "IfNotPresent",
         "image": "registry.gitlab.com/arm-research/smarter/smarter-device-manager:v1.20.5",
         "securityContext": NO_PRIVILEGE, "resources": resources("10m 15Mi", "100m 15Mi"),
         "volumeMounts": [mount("device-plugin", "/var/lib/kubelet/device-plugins"), mount("dev-dir", "/dev"),
                          mount("sys-dir", "/sys")]}],
     "volumes": host_paths(device_plugin="/var/lib/kubelet/device-plugins", dev_dir="/dev", sys_dir="/sys"),
     "terminationGracePeriodSeconds": 30},
    {"registry.gitlab.com/arm-research/smarter/smarter-device-manager:v1.20.5": Image({"Cmd": ["smarter-device-management"]})},
    shows={"smarter-device-manager": "/usr/bin/smarter-device-management\n"})

TELEGRAF = Foreign(
    "metricfire/telegraf-daemonset telegraf/daemonset.yaml",
    {"name": "telegraf", "namespace": "monitoring", "labels": {"name": "telegraf"}},
    {"serviceAccountName": "telegraf-sa",
     "containers": [{
         "name": "telegraf", "image": "telegraf:latest", "resources": resources("100m 100Mi", "200m 200Mi"),
         "volumeMounts": [mount("config", "/etc/telegraf/telegraf.conf", subPath="telegraf.conf"),
                          mount("docker-socket", "/var/run/docker.sock"),
                          mount("varlibdockercontainers", "/var/lib/docker/containers", readOnly=True),
                          mount("hostfsro", "/hostfs", readOnly=True)],
         "env": [from_field("HOSTNAME", "spec.nodeName"), from_field("HOSTIP", "status.hostIP"),
                 {"name": "HOST_PROC", "value": "/hostfs/proc"}, {"name": "HOST_SYS", "value": "/hostfs/sys"},
                 {"name": "HOST_MOUNT_PREFIX", "value": "/hostfs"}]}],
     "volumes": [*host_paths(hostfsro="/"), {"name": "config", "configMap": {"name": "telegraf-config"}},
                 *host_paths(docker_socket="/var/run/docker.sock", varlibdockercontainers="/var/lib/docker/containers")]},
    {"telegraf:latest": Image({"Entrypoint": ["/entrypoint.sh"], "Cmd": ["telegraf"]})},
    (config_map("telegraf-config", "monitoring", telegraf__conf="[agent]\n"),),
    {"telegraf": "/entrypoint.sh telegraf\n"})

MOSQUITTO = Foreign(
    "anurag-rajawat/mqtt-on-microshift manifests/mosquitto.yaml",
    {"name": "mosquitto", "namespace": "mosquitto", "labels": {"app": "mosquitto"}},
    {"containers": [{
        "name": "mosquitto", "image": "eclipse-mosquitto:2.0.18", "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": 1883}, {"containerPort": 8883}],
        "resources": {"limits": {"memory": "128Mi", "cpu": "500m"}},
        "securityContext": {"privileged": False, "allowPrivilegeEscalation": False},
        "volumeMounts": [mount(f"mosquitto-{name}", f"/mosquitto/config/mosquitto.{file}", subPath=f"mosquitto.{file}")
                         for name, file in (("password", "password"), ("config", "conf"))] +
                        [mount("mosquitto-persistent-storage", "/mosquitto/data")]}],
     "volumes": [{"name": "mosquitto-password", "configMap": {"name": "mosquitto-password"}},
                 {"name": "mosquitto-config", "configMap": {"name": "mosquitto-config"}},
                 {"name": "mosquitto-persistent-storage", "persistentVolumeClaim": {"claimName": "mosquitto-pvc"}}]},
    {"eclipse-mosquitto:2.0.18": Image({"Entrypoint": ["/docker-entrypoint.sh"],
                                        "Cmd": ["/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"]})},
    (claim("mosquitto-pvc", "mosquitto", "2Gi"), config_map("mosquitto-config", "mosquitto", mosquitto__conf="listener 1883\n"),
     config_map("mosquitto-password", "mosquitto", mosquitto__password="admin:x\n")),
    {"mosquitto": "/docker-entrypoint.sh /usr/sbin/mosquitto -c /mosquitto/config/mosquitto.conf\nlistener 1883\n"})

PROBE_OF_HOME_ASSISTANT = {"tcpSocket": {"port": 8123}, "initialDelaySeconds": 0, "failureThreshold": 3, "timeoutSeconds": 1,
                           "periodSeconds": 10}
HOME_ASSISTANT = Foreign(
    "abalage/home-assistant-k8s base/deployment.yml",
    {"name": "home-assistant", "labels": {"app": "home-assistant"}},
    {"containers": [{
        "name": "home-assistant-app", "image": "ghcr.io/home-assistant/home-assistant:2022.12.1", "imagePullPolicy": "IfNotPresent",
        "securityContext": {"privileged": None}, "envFrom": [{"configMapRef": {"name": "home-assistant-config"}}],
        "ports": [{"name": "http", "containerPort": 8123, "protocol": "TCP"}], "resources": {},
        "livenessProbe": PROBE_OF_HOME_ASSISTANT, "readinessProbe": PROBE_OF_HOME_ASSISTANT,
        "startupProbe": {**PROBE_OF_HOME_ASSISTANT, "failureThreshold": 30, "periodSeconds": 5},
        "volumeMounts": [mount("ha-config-root", "/config")]}],
     "restartPolicy": "Always",
     "volumes": [{"name": "ha-config-root", "persistentVolumeClaim": {"claimName": "home-assistant-config-root"}}]},
    {"ghcr.io/home-assistant/home-assistant:2022.12.1": Image({"Entrypoint": ["/init"], "WorkingDir": "/config"}, 8123)},
    (claim("home-assistant-config-root"), config_map("home-assistant-config", TZ="Europe/Budapest")),
    {"home-assistant-app": "/init\n"})

AKRI_VIDEO = Foreign(
    "project-akri/akri deployment/samples/akri-video-streaming-app.yaml",
    {"name": "akri-video-streaming-app", "labels": {"app": "akri-video-streaming-app"}},
    {"containers": [{"name": "akri-video-streaming-app", "image": "ghcr.io/deislabs/akri/video-streaming-app:latest-dev",
                     "imagePullPolicy": "Always", "env": [{"name": "CONFIGURATION_NAME", "value": "akri-udev-video"}]}]},
    {"ghcr.io/deislabs/akri/video-streaming-app:latest-dev": Image({"Entrypoint": ["python", "./streaming.py"], "WorkingDir": "/app"})},
    shows={"akri-video-streaming-app": "/usr/bin/python ./streaming.py\n"})

EXEC_LIVENESS = Foreign(
    WEBSITE + "probe/exec-liveness.yaml", {"name": "liveness-exec", "labels": {"test": "liveness"}},
    {"containers": [{
        "name": "liveness", "image": "registry.k8s.io/busybox:1.27.2",
        "args": ["/bin/sh", "-c", "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"],
        "livenessProbe": {"exec": {"command": ["cat", "/tmp/healthy"]}, "initialDelaySeconds": 5, "periodSeconds": 5}}]},
    {"registry.k8s.io/busybox:1.27.2": BUSYBOX})

HTTP_LIVENESS = Foreign(
    WEBSITE + "probe/http-liveness.yaml", {"name": "liveness-http", "labels": {"test": "liveness"}},
    {"containers": [{
        "name": "liveness", "image": "registry.k8s.io/e2e-test-images/agnhost:2.40", "args": ["liveness"],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "httpHeaders": [{"name": "Custom-Header", "value": "Awesome"}]},
                          "initialDelaySeconds": 3, "periodSeconds": 3}}]},
    {"registry.k8s.io/e2e-test-images/agnhost:2.40": Image({"Entrypoint": ["/agnhost"], "Cmd": ["pause"]}, 8080)},
    shows={"liveness": "/agnhost liveness\n"})

TCP_PROBE = {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 15, "periodSeconds": 10}
TCP_PROBES = Foreign(
    WEBSITE + "probe/tcp-liveness-readiness.yaml", {"name": "goproxy", "labels": {"app.kubernetes.io/name": "goproxy"}},
    {"containers": [{"name": "goproxy", "image": "registry.k8s.io/goproxy:0.1", "ports": [{"containerPort": 8080}],
                     "readinessProbe": TCP_PROBE, "livenessProbe": TCP_PROBE}]},
    {"registry.k8s.io/goproxy:0.1": Image({"Entrypoint": ["/goproxy"]}, 8080)}, shows={"goproxy": "/goproxy\n"})

LIFECYCLE = Foreign(
    WEBSITE + "lifecycle-events.yaml", {"name": "lifecycle-demo"},
    {"containers": [{
        "name": "lifecycle-demo-container", "image": "nginx",
        "lifecycle": {
            "postStart": {"exec": {"command": ["/bin/sh", "-c", "echo Hello from the postStart handler > /usr/share/message"]}},
            "preStop": {"exec": {"command": ["/bin/sh", "-c", "nginx -s quit; while killall -0 nginx; do sleep 1; done"]}}}}]},
    {"nginx": NGINX}, shows={"lifecycle-demo-container": "/docker-entrypoint.sh nginx -g daemon off;\n"})

REDIS = Foreign(
    WEBSITE + "config/redis-pod.yaml", {"name": "redis"},
    {"containers": [{
        "name": "redis", "image": "redis:5", "env": [{"name": "MASTER", "value": "true"}], "ports": [{"containerPort": 6379}],
        "resources": {"limits": {"cpu": "0.1"}}, "args": ["/usr/local/etc/redis/redis.conf"],
        "volumeMounts": [mount("data", "/data"), mount("config", "/usr/local/etc/redis")]}],
     "volumes": [{"name": "data", "emptyDir": {}},
                 {"name": "config", "configMap": {"name": "example-redis-config",
                                                  "items": [{"key": "redis-config", "path": "redis.conf"}]}}]},
    {"redis:5": Image({"Entrypoint": ["docker-entrypoint.sh"], "Cmd": ["redis-server"], "WorkingDir": "/data"})},
    (config_map("example-redis-config", **{"redis-config": "maxmemory 2mb\n"}),),
    {"redis": "/usr/bin/docker-entrypoint.sh /usr/local/etc/redis/redis.conf\nmaxmemory 2mb\n"})

PROJECTED = Foreign(
    WEBSITE + "storage/projected.yaml", {"name": "test-projected-volume"},
    {"containers": [{"name": "test-projected-volume", "image": "busybox:1.28", "args": ["sleep", "86400"],
                     "volumeMounts": [mount("all-in-one", "/projected-volume", readOnly=True)]}],
     "volumes": [{"name": "all-in-one", "projected": {"sources": [{"secret": {"name": name}} for name in ("user", "pass")]}}]},
    {"busybox:1.28": BUSYBOX}, (secret("user", username="admin"), secret("pass", password="x")))

DOWNWARD = Foreign(
    WEBSITE + "inject/dapi-volume-resources.yaml", {"name": "kubernetes-downwardapi-volume-example-2"},
    {"containers": [{
        "name": "client-container", "image": "registry.k8s.io/busybox:1.27.2", "command": ["sh", "-c"],
        "args": ["while true; do " + " ".join(f"if [[ -e /etc/podinfo/{name} ]]; then echo -en '\\n'; cat /etc/podinfo/{name}; fi;"
                                              for name in ("cpu_limit", "cpu_request", "mem_limit", "mem_request")) + " sleep 5; done;"],
        "resources": resources("125m 32Mi", "250m 64Mi"), "volumeMounts": [mount("podinfo", "/etc/podinfo")]}],
     "volumes": [{"name": "podinfo", "downwardAPI": {"items": [
         {"path": path, "resourceFieldRef": {"containerName": "client-container", "resource": resource, "divisor": divisor}}
         for path, resource, divisor in (("cpu_limit", "limits.cpu", "1m"), ("cpu_request", "requests.cpu", "1m"),
                                         ("mem_limit", "limits.memory", "1Mi"), ("mem_request", "requests.memory", "1Mi"))]}}]},
    {"registry.k8s.io/busybox:1.27.2": BUSYBOX}, shows={"client-container": "\n250\n125\n64\n32"})

TWO_USERS = Foreign(
    WEBSITE + "security/security-context-2.yaml", {"name": "security-context-demo-2"},
    {"securityContext": {"runAsUser": 1000},
     "containers": [{"name": "sec-ctx-demo-2", "image": "gcr.io/google-samples/hello-app:2.0",
                     "securityContext": {"runAsUser": 2000, "allowPrivilegeEscalation": False}}]},
    {"gcr.io/google-samples/hello-app:2.0": Image({"Cmd": ["./hello-app"]}, 8080)}, shows={"sec-ctx-demo-2": "./hello-app\n"})

DEPENDENT_VARIABLES = Foreign(
    WEBSITE + "inject/dependent-envars.yaml", {"name": "dependent-envars-demo"},
    {"containers": [{
        "name": "dependent-envars-demo", "image": "busybox", "command": ["sh", "-c"],
        "args": ["while true; do echo -en '\\n'; " + "".join(f"echo {name};printenv {name};" for name in (
            "SERVICE_ADDRESS", "UNCHANGE_REFERENCE", "ESCAPED_REFERENCE")) + " sleep 30; done;"],
        "env": [{"name": name, "value": value} for name, value in (
            ("SERVICE_PORT", "80"), ("SERVICE_IP", "172.17.0.1"), ("UNCHANGED_REFERENCE", "$(PROTOCOL)://$(SERVICE_IP):$(SERVICE_PORT)"),
            ("PROTOCOL", "https"), ("SERVICE_ADDRESS", "$(PROTOCOL)://$(SERVICE_IP):$(SERVICE_PORT)"),
            ("ESCAPED_REFERENCE", "$$(PROTOCOL)://$(SERVICE_IP):$(SERVICE_PORT)"))]}]},
    {"busybox": BUSYBOX},
    shows={"dependent-envars-demo": "\nSERVICE_ADDRESS\nhttps://172.17.0.1:80\nUNCHANGE_REFERENCE\nESCAPED_REFERENCE\n"
                                    "$(PROTOCOL)://172.17.0.1:80\n"})

SHARED_VOLUME = Foreign(
    WEBSITE + "multi-container/shared-volume.yaml", {"name": "shared-volume-example"},
    {"initContainers": [{"name": "content-writer", "image": "registry.k8s.io/busybox:1.27.2",
                         "command": ["sh", "-c", "echo \"Hello from the init container\" > /content/index.html"],
                         "volumeMounts": [mount("content", "/content")]}],
     "containers": [{"name": "web", "image": "nginx:1.29", "volumeMounts": [mount("content", "/usr/share/nginx/html", readOnly=True)]}],
     "volumes": [{"name": "content", "emptyDir": {"sizeLimit": "10Mi"}}]},
    {"registry.k8s.io/busybox:1.27.2": BUSYBOX, "nginx:1.29": NGINX},
    shows={"web": "/docker-entrypoint.sh nginx -g daemon off;\n"})

CONFIG_VOLUME = Foreign(
    WEBSITE + "pod-configmap-volume.yaml", {"name": "dapi-test-pod"},
    {"containers": [{"name": "test-container", "image": "registry.k8s.io/busybox:1.27.2",
                     "command": ["/bin/sh", "-c", "ls /etc/config/"], "volumeMounts": [mount("config-volume", "/etc/config")]}],
     "volumes": [{"name": "config-volume", "configMap": {"name": "special-config"}}], "restartPolicy": "Never"},
    {"registry.k8s.io/busybox:1.27.2": BUSYBOX},
    (config_map("special-config", SPECIAL_LEVEL="very", SPECIAL_TYPE="charm"),),
    {"test-container": "SPECIAL_LEVEL\nSPECIAL_TYPE\n"}, "Succeeded")

ALL = (NODE_EXPORTER, FLUENT_BIT, NODE_PROBLEM_DETECTOR, CADVISOR, SMARTER_DEVICE_MANAGER, TELEGRAF, MOSQUITTO, HOME_ASSISTANT,
       AKRI_VIDEO, EXEC_LIVENESS, HTTP_LIVENESS, TCP_PROBES, LIFECYCLE, REDIS, PROJECTED, DOWNWARD, TWO_USERS, DEPENDENT_VARIABLES,
       SHARED_VOLUME, CONFIG_VOLUME)
