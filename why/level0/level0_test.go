package level0

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/answer"
)

// now is when everything here is asked.
var now = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

// pod is the pod web as an API server shows it, with a status of the case.
func pod(t *testing.T, spec, status string) *v1.Pod {
	t.Helper()
	var p v1.Pod
	text := `
metadata: {namespace: shop, name: web, uid: u1, creationTimestamp: "2026-11-22T02:00:00Z"}
spec: {nodeName: n1, restartPolicy: Always, terminationGracePeriodSeconds: 30, containers: [{name: app, image: "reg.example/app:1"}]}
`
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	for into, text := range map[any]string{&p.Spec: spec, &p.Status: status} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return &p
}

func events(t *testing.T, text string) (list []v1.Event) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for i := range list {
		if list[i].InvolvedObject.UID == "" {
			list[i].InvolvedObject.UID = "u1"
		}
		if list[i].InvolvedObject.FieldPath == "" {
			list[i].InvolvedObject.FieldPath = "spec.containers{app}"
		}
	}
	return list
}

const (
	liveness  = `{containers: [{name: app, image: "reg.example/app:1", livenessProbe: {periodSeconds: 10, timeoutSeconds: 1, httpGet: {path: /, port: 80}}}]}`
	readiness = `{containers: [{name: app, image: "reg.example/app:1", readinessProbe: {periodSeconds: 10, timeoutSeconds: 1, httpGet: {path: /, port: 80}}}]}`
	limited   = `{containers: [{name: app, image: "reg.example/app:1", resources: {limits: {memory: 64Mi}}}]}`
	shelled   = `{containers: [{name: app, image: "reg.example/app:1", command: [/bin/sh, -c, "work"], resources: {limits: {memory: 64Mi}}}]}`
	restarted = `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, image: "reg.example/app:1", restartCount: 3, ready: true, started: true, state: {running: {startedAt: "2026-11-22T02:50:01Z"}}, lastState: {terminated: `
	again     = `[{reason: Started, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}]`
	ready     = `{phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-22T02:55:00Z"}], containerStatuses: [{name: app, ready: true, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}}]}`
	unready   = `{phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-22T02:55:00Z"}], containerStatuses: [{name: app, ready: false, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}}]}`
)

// ended is a status of a container that runs again after an end.
func ended(how string) string {
	return restarted + `{startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z", ` + how + `}}}]}`
}

func waits(reason, message string) string {
	return `{phase: Pending, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: app, image: "reg.example/app:1", state: {waiting: {reason: ` + reason + `, message: '` + strings.ReplaceAll(message, "'", "''") + `'}}}]}`
}

// What the API shows, and what may be said of it.
func TestExplain(t *testing.T) {
	quiet := map[string][]string{"app": {"started", "bye"}}
	for _, c := range []struct {
		name           string
		spec, status   string
		events         string
		words          map[string][]string
		kind           answer.SymptomKind
		cause          answer.Cause
		text           string
		symptomsBeside int
	}{
		{name: "ready", status: `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`, kind: answer.Healthy, cause: answer.None},

		// 137 is not an OOM kill by itself.
		{name: "137 alone", status: ended(`exitCode: 137, reason: Error`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "The runtime saw no OOM kill"},
		{name: "143 alone", status: ended(`exitCode: 143, reason: Error`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "SIGTERM"},
		{name: "OOM at its limit", spec: limited, status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.MemoryLimit, text: "64Mi"},
		{name: "OOM without a limit", status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "no limit of its own"},
		{name: "OOM, and the shell may have handed it on", spec: shelled, status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "64Mi"},
		{name: "OOM of a child, some time", spec: limited, status: ended(`exitCode: 1, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "some process in it"},
		{
			name: "137 of a liveness kill, with a sticky OOMKilled", spec: liveness, status: ended(`exitCode: 137, reason: OOMKilled`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:30Z"}]`,
			kind:   answer.Restarted, cause: answer.CauseUnknown, text: "came first",
		},

		// An end of its own, where nobody can have ordered it, or the order would be there.
		{name: "exit 1", status: ended(`exitCode: 1, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.AppExitError, text: "after 5m0s"},
		{name: "exit 1, its log could not be read", status: ended(`exitCode: 1, reason: Error`), kind: answer.Restarted, cause: answer.CauseUnknown, text: "could not be read"},
		{name: "exit 1 with a probe, events of then are kept", spec: liveness, status: ended(`exitCode: 1, reason: Error`), events: again, words: quiet, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "exit 1 with a probe, events are gone", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "whether it was told to"},
		{
			name: "exit 1 with a probe, events were dropped", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet,
			events: `[{reason: Started, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}, {reason: Unhealthy, count: 40, message: "Liveness probe failed: x", lastTimestamp: "2026-11-22T02:30:00Z"}]`,
			kind:   answer.Restarted, cause: answer.CauseUnknown,
		},
		{name: "exit 0", status: ended(`exitCode: 0, reason: Completed`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "somebody else asked it to"},
		{
			name: "exit 0 of a liveness kill", spec: liveness, status: ended(`exitCode: 0, reason: Completed`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:55Z"}, {reason: Unhealthy, message: "Liveness probe failed: HTTP probe failed with statuscode: 500", lastTimestamp: "2026-11-22T02:49:55Z"}]`,
			kind:   answer.Restarted, cause: answer.AppUnhealthy, text: "statuscode: 500",
		},
		{name: "SIGSEGV", status: ended(`exitCode: 139, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.AppCrashSignal, text: "SIGSEGV"},
		{name: "127 at once", status: strings.ReplaceAll(ended(`exitCode: 127, reason: Error`), "02:45:00", "02:50:00"), words: quiet, kind: answer.Restarted, cause: answer.AppStartFailed},
		{name: "its last words", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dial tcp: lookup db on 10.0.0.10:53: no such host"}}, kind: answer.Restarted, cause: answer.DependencyDown},
		{name: "words a while before", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dial tcp 10.0.0.1:1: connection refused", "panic: nil map"}}, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "words long before", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dial tcp 10.0.0.1:1: connection refused", "connected", "a", "b", "panic: nil map"}}, kind: answer.Restarted, cause: answer.AppExitError},

		// Stale events never outrank the status.
		{
			name: "a kill of an earlier run", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:20:00Z"}, {reason: Unhealthy, message: "Liveness probe failed: x", lastTimestamp: "2026-11-22T02:20:00Z"}, {reason: Started, lastTimestamp: "2026-11-22T02:50:01Z"}]`,
			kind:   answer.Restarted, cause: answer.AppExitError,
		},
		{
			name: "events of an earlier pod of this name", spec: liveness, status: ended(`exitCode: 137, reason: Error`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:55Z", involvedObject: {uid: u0}}]`,
			kind:   answer.Restarted, cause: answer.CauseUnknown,
		},
		{
			name: "a readiness failure long ago, and ready", spec: readiness, status: `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`,
			events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:59:00Z"}]`, kind: answer.Healthy, cause: answer.None,
		},

		// Running is not ready.
		{name: "not ready, says no", spec: readiness, status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:59:55Z"}]`, kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "not ready, refused", spec: readiness, status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: dial tcp 10.1.1.1:80: connect: connection refused", lastTimestamp: "2026-11-22T02:59:55Z"}]`, kind: answer.NotReady, cause: answer.CauseUnknown, text: "Nothing listened there"},
		{name: "not ready, the event is old", spec: readiness, status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:50:00Z"}]`, kind: answer.NotReady, cause: answer.CauseUnknown, text: "not there any more"},
		{name: "a readiness gate", status: `{phase: Running, conditions: [{type: Ready, status: "False", reason: ReadinessGatesNotReady, message: 'the status of pod readiness gate "example.com/lb" is not "True"'}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`, kind: answer.NotReady, cause: answer.ReadinessGate},

		// CreateContainerConfigError is read by its message.
		{name: "no ConfigMap", status: waits("CreateContainerConfigError", `configmap "web" not found`), kind: answer.NotStarting, cause: answer.ConfigMissing},
		{name: "no key", status: waits("CreateContainerConfigError", "couldn't find key level in ConfigMap shop/web"), kind: answer.NotStarting, cause: answer.ConfigMissing},
		{name: "root", status: waits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), kind: answer.NotStarting, cause: answer.SecurityRefused},
		{name: "something else", status: waits("CreateContainerConfigError", "services have not yet been read at least once, cannot construct envvars"), kind: answer.NotStarting, cause: answer.CauseUnknown},
		{name: "no program", status: waits("RunContainerError", `failed to create containerd task: exec: "serve": executable file not found in $PATH`), kind: answer.NotStarting, cause: answer.AppStartFailed},

		{name: "no such image", status: waits("ErrImagePull", `failed to resolve reference "reg.example/app:1": reg.example/app:1: not found`), kind: answer.NotStarting, cause: answer.ImageNotFound},
		{
			name: "back-off says nothing, the event does", status: waits("ImagePullBackOff", `Back-off pulling image "reg.example/app:1"`),
			events: `[{reason: Failed, message: 'Failed to pull image "reg.example/app:1": dial tcp: lookup reg.example: no such host', lastTimestamp: "2026-11-22T02:58:00Z"}]`, kind: answer.NotStarting, cause: answer.ImageRegistryUnreachable,
		},
		{name: "a pull that nobody explains", status: waits("ImagePullBackOff", `Back-off pulling image "reg.example/app:1"`), kind: answer.NotStarting, cause: answer.CauseUnknown},

		{name: "a mount", status: waits("ContainerCreating", ""), events: `[{reason: FailedMount, message: 'MountVolume.SetUp failed for volume "c" : configmap "web" not found', lastTimestamp: "2026-11-22T02:59:00Z", involvedObject: {fieldPath: none}}]`, kind: answer.NotStarting, cause: answer.ConfigMissing},
		{name: "a mount that failed long ago", status: waits("ContainerCreating", ""), events: `[{reason: FailedMount, message: 'MountVolume.SetUp failed for volume "c" : configmap "web" not found', lastTimestamp: "2026-11-22T02:30:00Z", involvedObject: {fieldPath: none}}]`, kind: answer.NotStarting, cause: answer.CauseUnknown},

		{
			name: "init fails", spec: `{initContainers: [{name: migrate, image: x}]}`, kind: answer.NotStarting, cause: answer.InitFailed, words: map[string][]string{"migrate": {"no such table"}},
			status: `{phase: Pending, initContainerStatuses: [{name: migrate, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`,
		},
		{name: "an OOM kill, or a probe", spec: liveness, status: ended(`exitCode: 137, reason: OOMKilled`), kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "a probe that fails now and then", spec: readiness, status: ready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", count: 3, lastTimestamp: "2026-11-22T02:59:50Z"}]`, kind: answer.Healthy, cause: answer.CauseUnknown},
		{
			name: "its configuration may have changed", kind: answer.NotReady, cause: answer.CauseUnknown, status: unready,
			spec:   `{volumes: [{name: c, configMap: {name: settings}}], containers: [{name: app, image: x, volumeMounts: [{name: c, mountPath: /c}], readinessProbe: {periodSeconds: 10, timeoutSeconds: 1, httpGet: {path: /, port: 80}}}]}`,
			events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 500", count: 3, lastTimestamp: "2026-11-22T02:59:55Z"}]`,
		},
		{
			name: "completed, or ended by its probe", spec: strings.Replace(liveness, "{", "{restartPolicy: OnFailure, ", 1), kind: answer.Completed, cause: answer.CauseUnknown,
			status: `{phase: Succeeded, containerStatuses: [{name: app, state: {terminated: {exitCode: 0, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}]}`,
		},

		// An init container that runs is not failing, and the containers behind it wait.
		{
			name: "init runs", spec: `{initContainers: [{name: migrate, image: x}]}`, kind: answer.NotStarting, cause: answer.InitWaiting,
			status: `{phase: Pending, initContainerStatuses: [{name: migrate, state: {running: {startedAt: "2026-11-22T02:10:00Z"}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`,
		},
		{
			name: "init waits its turn", spec: `{initContainers: [{name: a, image: x}, {name: b, image: x}]}`, kind: answer.NotStarting, cause: answer.InitWaiting, text: "Init container a",
			status: `{phase: Pending, initContainerStatuses: [{name: a, state: {running: {startedAt: "2026-11-22T02:10:00Z"}}}, {name: b, state: {waiting: {reason: PodInitializing}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`,
		},

		{name: "evicted", status: `{phase: Failed, reason: Evicted, message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi."}`, kind: answer.Evicted, cause: answer.EvictedMemory},
		{name: "too long", status: `{phase: Failed, reason: DeadlineExceeded, message: "Pod was active on the node longer than the specified deadline"}`, kind: answer.Failed, cause: answer.ActiveDeadline},
		{name: "done", status: `{phase: Succeeded}`, kind: answer.Completed, cause: answer.RestartPolicy},
		{name: "no status at all", status: `{phase: Pending}`, kind: answer.Pending, cause: answer.CauseUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.spec == "" {
				c.spec = "{}"
			}
			if c.events == "" {
				c.events = "[]"
			}
			a := Explain(Seen{Pod: pod(t, c.spec, c.status), Events: events(t, c.events), Words: c.words, Now: now, Reason: "nobody was there"})
			if len(a.Symptoms) != 1 || len(a.Verdicts) != 1 {
				t.Fatalf("%+v", a)
			}
			s, v := a.Symptoms[0], a.Verdicts[0]
			if s.Kind != c.kind || v.Cause != c.cause || !strings.Contains(v.Text, c.text) {
				t.Errorf("%s, %s: %s", s.Kind, v.Cause, v.Text)
			}
			if v.Certainty == answer.Recorded || (v.Cause == answer.CauseUnknown) != (v.Certainty == answer.Unknown) {
				t.Errorf("it is called %s", v.Certainty)
			}
			if text := a.Text(answer.Style{}); !strings.Contains(text, "level 0") {
				t.Errorf("it does not say how little was seen:\n%s", text)
			}
			if v.Certainty == answer.Unknown && !strings.Contains(v.Text, "An agent on the node would have seen ") {
				t.Errorf("it does not say what would have been seen: %s", v.Text)
			}
		})
	}
}

// Where one container keeps its pod from being ready, the others are not at fault.
func TestHeldBack(t *testing.T) {
	status := `{phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady}], containerStatuses: [
		{name: app, ready: true, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}},
		{name: log, ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, startedAt: "2026-11-22T02:59:00Z", finishedAt: "2026-11-22T02:59:01Z"}}}]}`
	a := Explain(Seen{Pod: pod(t, `{containers: [{name: app, image: x}, {name: log, image: x}]}`, status), Words: map[string][]string{"log": {"no server"}}, Now: now})
	if len(a.Verdicts) != 2 || a.Verdicts[1].Cause != answer.SiblingNotReady || a.Verdicts[1].Container != "log" || a.Verdicts[0].Cause != answer.AppExitError {
		t.Errorf("%s", a.Text(answer.Style{}))
	}
}
