package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func TestEnvironmentAndVolumes(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue, data-1: one}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: s3cret}
---
apiVersion: v1
kind: Pod
metadata: {name: env, labels: {app: env}, annotations: {note: hello}}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: first, image: "busybox:1", command: [sh, -c, "echo from-init > /scratch/file"], volumeMounts: [{name: scratch, mountPath: /scratch}]}
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    env:
    - {name: COLOR, valueFrom: {configMapKeyRef: {name: settings, key: color}}}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: keys, key: token}}}
    - {name: MY_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: MY_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
    - {name: COMBINED, value: "$(COLOR)-$(MY_NAME)"}
    envFrom:
    - {configMapRef: {name: settings}, prefix: S_}
    resources: {limits: {memory: 32Mi}}
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: memory, mountPath: /memory}
    - {name: settings, mountPath: /settings}
    - {name: keys, mountPath: /keys, readOnly: true}
    - {name: all, mountPath: /all}
    - {name: settings, mountPath: /one/color, subPath: color}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 4Mi}}
  - {name: settings, configMap: {name: settings}}
  - {name: keys, secret: {secretName: keys, defaultMode: 0400}}
  - name: all
    projected:
      sources:
      - {serviceAccountToken: {path: token, expirationSeconds: 3600}}
      - {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
`)
	pod := s.waitReady("env")
	out, err := s.exec("env", "sh", "-c", "env; cat /scratch/file /settings/color /keys/token /one/color /all/labels; echo; ls -l /keys/..data/token; mount | grep /memory; wc -c < /all/token")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "COLOR=blue", "TOKEN=s3cret", "MY_NAME=env", "MY_IP="+pod.Status.PodIP, "LIMIT=32", "COMBINED=blue-env",
		"S_color=blue", "from-init", "blues3cretblue", `app="env"`, "-r--------", "tmpfs on /memory", "size=4096k")
	if pod.Status.InitContainerStatuses[0].State.Terminated == nil || pod.Status.InitContainerStatuses[0].State.Terminated.Reason != "Completed" {
		t.Errorf("init container: %+v", pod.Status.InitContainerStatuses[0].State)
	}

	// A changed ConfigMap reaches the running pod.
	s.mustKubectl("patch", "configmap", "settings", "-p", `{"data":{"color":"green"}}`)
	s.eventually(90*time.Second, "the new value in the volume", func() error {
		out, err := s.exec("env", "cat", "/settings/color")
		if err == nil && out != "green" {
			err = fmt.Errorf("it is %q", out)
		}
		return err
	})
}

func TestConfigMissingThenCreated(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: later, key: a}}}]
`)
	pod := s.waitPod("late", 30*time.Second, "waits for its ConfigMap", func(p *v1.Pod) bool {
		w := status(p, "c").State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError"
	})
	if m := status(pod, "c").State.Waiting.Message; m != `configmap "later" not found` {
		t.Errorf("message is %q", m)
	}
	s.mustKubectl("create", "configmap", "later", "--from-literal=a=1")
	s.waitReady("late")
}

func TestImageNotFound(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: noimage}
spec:
  containers:
  - {name: c, image: "127.0.0.1:1/nothing:1"}
  - {name: never, image: "absent:1", imagePullPolicy: Never}
`)
	s.waitPod("noimage", 60*time.Second, "in image back-off", func(p *v1.Pod) bool {
		pull, never := status(p, "c").State.Waiting, status(p, "never").State.Waiting
		return pull != nil && pull.Reason == "ImagePullBackOff" && strings.HasPrefix(pull.Message, `Back-off pulling image "127.0.0.1:1/nothing:1"`) &&
			never != nil && never.Reason == "ErrImageNeverPull"
	})
	s.events("noimage", `Pulling image "127.0.0.1:1/nothing:1"`, `Failed to pull image "127.0.0.1:1/nothing:1"`, "connection refused",
		"Error: ErrImagePull", "Error: ImagePullBackOff", `Container image "absent:1" is not present with pull policy of Never`)
}

func TestLogsExecAndDebug(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: talk}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, 'echo run; echo second; if [ -e /keep/again ]; then sleep 1000; fi; touch /keep/again; exit 3']
    volumeMounts: [{name: keep, mountPath: /keep}]
  volumes: [{name: keep, emptyDir: {}}]
`)
	pod := s.waitPod("talk", 30*time.Second, "runs the second time", func(p *v1.Pod) bool {
		c := status(p, "c")
		return c.RestartCount == 1 && c.State.Running != nil
	})
	if last := status(pod, "c").LastTerminationState.Terminated; last == nil || last.ExitCode != 3 || last.Reason != "Error" {
		t.Errorf("last state is %+v", last)
	}
	for _, args := range [][]string{{"logs", "talk"}, {"logs", "talk", "-p"}} {
		if out := s.mustKubectl(args...); out != "run\nsecond\n" {
			t.Errorf("kubectl %v printed %q", args, out)
		}
	}
	if out := s.mustKubectl("logs", "talk", "--tail=1"); out != "second\n" {
		t.Errorf("--tail=1 printed %q", out)
	}
	_, err := s.exec("talk", "sh", "-c", "exit 7")
	if exitCode(err) != 7 {
		t.Errorf("exit code of exec: %v, want 7", err)
	}
	out, err := s.kubectlIn(t.Context(), "typed\n", "exec", "-i", "talk", "--", "cat")
	if err != nil || out != "typed\n" {
		t.Errorf("exec -i: %v %q", err, out)
	}
	s.mustKubectl("debug", "talk", "--image=busybox:1", "--container=dbg", "--target=c", "--", "sleep", "60")
	s.waitPod("talk", 30*time.Second, "has its debug container", func(p *v1.Pod) bool { return status(p, "dbg").State.Running != nil })
	out, err = s.kubectl("exec", "talk", "-c", "dbg", "--", "ps")
	if err != nil || !strings.Contains(out, "sleep 1000") {
		t.Errorf("the debug container does not see its target: %v %q", err, out)
	}
}

func TestDeletionAndGrace(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: polite}
spec:
  terminationGracePeriodSeconds: 20
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 0.1; done']
    lifecycle: {preStop: {exec: {command: [sh, -c, "echo stopping > /proc/1/fd/1"]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: deaf}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - {name: c, image: "busybox:1", command: [sh, -c, 'trap "" TERM; while :; do sleep 0.1; done']}
`)
	s.waitReady("polite")
	s.waitReady("deaf")
	began := time.Now()
	s.mustKubectl("delete", "pod", "polite", "deaf")
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("deletion took %v, although one ends at once and the other has 2 s", took)
	}
	if out := s.mustKubectl("get", "pods"); out != "" {
		t.Errorf("still there:\n%s", out)
	}
}

func TestRestartPolicies(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	for policy, command := range map[string]string{"Never": "exit 2", "OnFailure": "exit 0"} {
		s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: %s
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "%s"]}]
`, strings.ToLower(policy), policy, command))
	}
	s.waitPod("never", 30*time.Second, "Failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	s.waitPod("onfailure", 30*time.Second, "Succeeded", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded })
	s.mustKubectl("create", "job", "once", "--image=busybox:1", "--", "true")
	s.mustKubectl("wait", "job/once", "--for=condition=complete", "--timeout=40s")
}

func TestSidecarAndHooks(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: side}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  initContainers:
  - name: sidecar
    image: busybox:1
    restartPolicy: Always
    command: [sh, -c, 'trap "exit 0" TERM; touch /s/ready; while :; do sleep 0.1; done']
    startupProbe: {exec: {command: [test, -e, /s/ready]}, periodSeconds: 1}
    volumeMounts: [{name: s, mountPath: /s}]
  containers:
  - name: main
    image: busybox:1
    command: [sh, -c, 'test -e /s/ready && test -e /s/hooked || sleep 2; test -e /s/hooked']
    lifecycle: {postStart: {exec: {command: [touch, /s/hooked]}}}
    volumeMounts: [{name: s, mountPath: /s}]
  volumes: [{name: s, emptyDir: {}}]
`)
	pod := s.waitPod("side", 40*time.Second, "Succeeded", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded })
	if c := status(pod, "sidecar"); c.State.Terminated == nil || c.RestartCount != 0 {
		t.Errorf("sidecar: %+v", c)
	}
}

func TestSecurityContext(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: secure}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {}}]
---
apiVersion: v1
kind: Pod
metadata: {name: refused}
spec:
  containers:
  - {name: c, image: "busybox:1", command: [sleep, infinity], securityContext: {runAsNonRoot: true}}
`)
	s.waitReady("secure")
	out, err := s.exec("secure", "sh", "-c", "id; touch /x 2>&1; touch /v/f && ls -ln /v/f; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out, "uid=1000", "gid=2000", "3000", "Read-only file system", "1000     3000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2")
	s.waitPod("refused", 30*time.Second, "refused for running as root", func(p *v1.Pod) bool {
		w := status(p, "c").State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, "container has runAsNonRoot and image will run as root")
	})
}

func TestTopAndNode(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: busy}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "while :; do sleep 0.01; done"], resources: {limits: {cpu: 100m, memory: 32Mi}}}]
`)
	s.waitReady("busy")
	s.eventually(60*time.Second, "kubectl top shows the pod", func() error {
		out, err := s.kubectl("top", "pod", "busy", "--no-headers")
		if err == nil && len(strings.Fields(out)) != 3 {
			err = fmt.Errorf("it prints %q", out)
		}
		return err
	})
	s.eventually(30*time.Second, "kubectl top shows the node", func() error {
		_, err := s.kubectl("top", "node")
		return err
	})
	out := s.mustKubectl("get", "nodes", "-o", "wide", "--no-headers")
	contains(t, out, " Ready ", "containerd://", "v1.37.2")
}
