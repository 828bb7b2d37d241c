package differential

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// What keeps a pod from starting, and what ends it from outside of its containers.
var setupScenarios = []scenario{
	{name: "setup-image-never", spec: "containers:\n- {name: c, image: 'missing:1', imagePullPolicy: Never}\n", until: waiting("c", "ErrImageNeverPull")},
	{name: "setup-image-name", spec: "containers:\n- {name: c, image: 'UPPER:1'}\n", until: waiting("c", "InvalidImageName")},
	{name: "setup-command-missing", differs: sinceEpoch, spec: "containers:\n- {name: c, image: 'busybox:1', command: [/missing]}\n", until: backsOff("c"), exact: true},
	{name: "setup-command-missing-never", differs: sinceEpoch, spec: "restartPolicy: Never\ncontainers:\n- {name: c, image: 'busybox:1', command: [/missing]}\n", until: ended},
	{name: "setup-env-config-missing", spec: pod("Always", idles, `env: [{name: A, valueFrom: {configMapKeyRef: {name: nobody, key: k}}}]`), until: waiting("c", "CreateContainerConfigError")},
	{
		name: "setup-env-config-key-missing", spec: pod("Always", idles, `env: [{name: A, valueFrom: {configMapKeyRef: {name: without-key, key: other}}}]`),
		steps: []step{{of(anyPod), configMap("without-key")}}, until: waiting("c", "CreateContainerConfigError"),
	},
	{
		name: "setup-env-config-comes", spec: pod("Always", idles, `env: [{name: A, valueFrom: {configMapKeyRef: {name: comes-late, key: k}}}]`),
		steps: []step{{waiting("c", "CreateContainerConfigError"), configMap("comes-late")}}, until: ready,
	},
	{
		name: "setup-volume-comes", spec: pod("Always", idles, "volumeMounts: [{name: v, mountPath: /v}]\n", "volumes: [{name: v, configMap: {name: volume-late}}]\n"),
		steps: []step{{of(scheduled), pause(2 * time.Second)}, {of(scheduled), configMap("volume-late")}}, until: ready,
	},
	{name: "setup-runs-as-root", spec: pod("Always", idles, "securityContext: {runAsNonRoot: true}\n"), until: waiting("c", "CreateContainerConfigError")},
	{name: "setup-message", spec: pod("Never", "echo told >/dev/termination-log; exit 3", ""), until: ended},
	{name: "setup-message-from-log", spec: pod("Never", "echo logged; exit 3", "terminationMessagePolicy: FallbackToLogsOnError\n"), until: ended},
	{name: "setup-deadline", spec: pod("Always", idles, "", "activeDeadlineSeconds: 15\n"), until: ended},
	{name: "setup-deadline-in-init", spec: withInit("Always", idles, shell("i", idles, "")) + "activeDeadlineSeconds: 15\n", until: ended},
	{name: "setup-two-one-fails", spec: pod("Never", "sleep 10; exit 0", "") + shell("d", "sleep 12; exit 6", ""), until: ended},
	{name: "setup-two-one-done", spec: pod("OnFailure", "sleep 10; exit 0", "") + shell("d", idles, ""), steps: []step{{terminated("c"), pause(time.Second)}}, until: notReady},
	{name: "setup-guaranteed", spec: pod("Always", idles, "resources: {limits: {memory: 32Mi, cpu: 100m}}\n"), until: ready},
	{name: "setup-container-policy", spec: pod("Never", "sleep 1; exit 42", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]\n"), until: backsOff("c"), exact: true},
	{name: "setup-host-network", spec: pod("Always", idles, "", "hostNetwork: true\n"), until: ready},
	{name: "setup-emptydir-limit", spec: pod("Never", "dd if=/dev/zero of=/v/big bs=1M count=4; "+idles, "volumeMounts: [{name: v, mountPath: /v}]\n", "volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}]\n"), until: ended, within: 2 * time.Minute, differs: lostAtEviction},
}

func anyPod(*v1.Pod) bool { return true }

func scheduled(p *v1.Pod) bool { return p.Spec.NodeName != "" }

// sinceEpoch is how kubelet dates what never began.
var sinceEpoch = []expected{
	{key: `container c #\d`, real: `never ran, ended StartError\(128\) since 1970`, ours: `never ran, ended StartError\(128\)`, why: notObserved},
	{key: "container c at last", real: `terminated StartError\(128\) since 1970, (.*)`, ours: `terminated StartError\(128\), .*`, why: notObserved, sometimes: true},
}

// lostAtEviction is what kubelet makes up for a container that it removed before
// it read how the container ended.
var lostAtEviction = []expected{
	{key: "container c #[01]", real: `.*ContainerStatusUnknown\(137\)`, ours: `(ran, ended Error\(143\))?`, why: notObserved, sometimes: true},
	{key: "container c #[01] message", real: "The container could not be located when the pod was .*", ours: "(Ended by the node: the pod was evicted .*)?", why: notObserved, sometimes: true},
	{key: "container c at last", real: `terminated ContainerStatusUnknown\(137\), .*`, ours: `terminated Error\(143\), .*`, why: notObserved, sometimes: true},
}
