package fromapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why"
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
		list[i].Source.Component = "kubelet"
		if list[i].InvolvedObject.FieldPath == "" {
			list[i].InvolvedObject.FieldPath = "spec.containers{app}"
		}
	}
	return list
}

const (
	liveness  = `{containers: [{name: app, image: "reg.example/app:1", livenessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, httpGet: {path: /, port: 80}}}]}`
	readiness = `{containers: [{name: app, image: "reg.example/app:1", readinessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, httpGet: {path: /, port: 80}}}]}`
	limited   = `{containers: [{name: app, image: "reg.example/app:1", resources: {limits: {memory: 64Mi}}}]}`
	shelled   = `{containers: [{name: app, image: "reg.example/app:1", command: [/bin/sh, -c, "work"], resources: {limits: {memory: 64Mi}}}]}`
	restarted = `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, image: "reg.example/app:1", restartCount: 3, ready: true, started: true, state: {running: {startedAt: "2026-11-22T02:50:01Z"}}, lastState: {terminated: `
	again     = `[{reason: Created, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}, {reason: Started, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}]`
	hooked    = `{containers: [{name: app, image: "reg.example/app:1", lifecycle: {postStart: {exec: {command: [warm]}}}}]}`
	// fromMap reads a variable from a ConfigMap.
	fromMap = `{containers: [{name: app, image: "reg.example/app:1", env: [{name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}]}]}`
	// mapped reads a file of it.
	mapped  = `{volumes: [{name: c, configMap: {name: settings}}], containers: [{name: app, image: x, volumeMounts: [{name: c, mountPath: /c}], readinessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, httpGet: {path: /, port: 80}}}]}`
	ready   = `{phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-22T02:55:00Z"}], containerStatuses: [{name: app, ready: true, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}}]}`
	never   = `{phase: Running, conditions: [{type: ContainersReady, status: "False", lastTransitionTime: "2026-11-22T02:29:59Z"}, {type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-22T02:29:59Z"}], containerStatuses: [{name: app, ready: false, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}}]}`
	serving = `{containers: [{name: app, image: "reg.example/app:1", readinessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, grpc: {port: 80, service: webb}}}]}`
	unready = `{phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-22T02:55:00Z"}], containerStatuses: [{name: app, ready: false, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}}]}`
)

// asking is a spec with a probe by command.
func asking(command string) string {
	return `{containers: [{name: app, image: "reg.example/app:1", readinessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, exec: {command: ` + command + `}}}]}`
}

// failed is an event of a probe that failed a moment ago.
func failed(message string) string {
	raw, _ := json.Marshal(message) // a string
	return `[{reason: Unhealthy, count: 3, message: ` + string(raw) + `, firstTimestamp: "2026-11-22T02:59:35Z", lastTimestamp: "2026-11-22T02:59:55Z"}]`
}

// ended is a status of a container that runs again after an end.
func ended(how string) string {
	return restarted + `{startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z", ` + how + `}}}]}`
}

// logs are lines of which nobody knows when they were written.
func logs(lines map[string][]string) map[string]why.Log {
	all := map[string]why.Log{}
	for name, of := range lines {
		for _, line := range of {
			all[name] = why.Log{Lines: append(all[name].Lines, line), At: append(all[name].At, time.Time{})}
		}
	}
	return all
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
		words, saying  map[string][]string
		changed        map[string]time.Time
		kind           answer.SymptomKind
		cause          answer.Cause
		text           string
		symptomsBeside int
	}{
		{name: "ready", status: `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`, kind: answer.Healthy, cause: answer.None},

		// 137 is not an OOM kill by itself.
		{name: "137 alone", status: ended(`exitCode: 137, reason: Error`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "The runtime saw no OOM kill"},
		{name: "143 alone", status: ended(`exitCode: 143, reason: Error`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "OOM at its limit", spec: limited, status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.MemoryLimit, text: "64Mi"},
		{name: "OOM without a limit", status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "no limit of its own"},
		{name: "OOM, and the shell may have handed it on", spec: shelled, status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "64Mi"},
		{name: "OOM, and the shell had put the program in its place", spec: strings.Replace(shelled, `"work"`, `"sleep 1; exec work"`, 1), status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.MemoryLimit, text: "64Mi"},
		{name: "OOM, and the shell left something running beside", spec: strings.Replace(shelled, `"work"`, `"fill & exec work"`, 1), status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "OOM, and only its pod has a limit", spec: `{resources: {limits: {memory: 64Mi}}}`, status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.PodMemoryLimit},
		{name: "OOM, and its pod has a limit, too", spec: strings.Replace(limited, "{", "{resources: {limits: {memory: 128Mi}}, ", 1), status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "OOM of a child that the main process names", spec: limited, status: ended(`exitCode: 1, reason: OOMKilled`), events: again, words: map[string][]string{"app": {"started", "stress: FAIL: [1] (425) <-- worker 6 got signal 9"}}, kind: answer.Restarted, cause: answer.MemoryLimitChild, text: "exit code 1 because of that"},
		{name: "OOM of a child that the main process outlived", spec: limited, status: ended(`exitCode: 1, reason: OOMKilled`), events: again, words: map[string][]string{"app": {"Killed", "FATAL: broken config"}}, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "OOM of a child of a shell", spec: shelled, status: ended(`exitCode: 137, reason: OOMKilled`), events: again, words: map[string][]string{"app": {"Killed"}}, kind: answer.Restarted, cause: answer.MemoryLimitChild, text: "64Mi"},
		{name: "OOM of a child, some time", spec: limited, status: ended(`exitCode: 1, reason: OOMKilled`), events: again, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown, text: "some process in it"},
		{
			name: "137 of a liveness kill, with a sticky OOMKilled", spec: liveness, status: ended(`exitCode: 137, reason: OOMKilled`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:30Z"}]`,
			kind:   answer.Restarted, cause: answer.CauseUnknown,
		},

		// An end of its own, where nobody can have ordered it, or the order would be there.
		{name: "exit 1", status: ended(`exitCode: 1, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "exit 1, its log could not be read", status: ended(`exitCode: 1, reason: Error`), kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "exit 1 with a probe, events of then are kept", spec: liveness, status: ended(`exitCode: 1, reason: Error`), events: again, words: quiet, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "exit 1 before the probe could fail often enough, events are gone", spec: liveness, status: restarted + `{startedAt: "2026-11-22T02:49:59Z", finishedAt: "2026-11-22T02:50:00Z", exitCode: 1, reason: Error}}}]}`, words: quiet, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "exit 1 with a probe, events are gone", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{
			name: "exit 1 with a probe, events were dropped", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet,
			events: `[{reason: Started, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}, {reason: Unhealthy, count: 40, message: "Liveness probe failed: x", lastTimestamp: "2026-11-22T02:30:00Z"}]`,
			kind:   answer.Restarted, cause: answer.CauseUnknown,
		},
		{name: "exit 0", status: ended(`exitCode: 0, reason: Completed`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{
			name: "exit 0 of a liveness kill", spec: liveness, status: ended(`exitCode: 0, reason: Completed`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:55Z"}, {reason: Unhealthy, message: "Liveness probe failed: HTTP probe failed with statuscode: 500", lastTimestamp: "2026-11-22T02:49:55Z"}]`,
			kind:   answer.Restarted, cause: answer.AppUnhealthy,
		},
		{name: "exit 0, again and again", status: strings.Replace(ended(`exitCode: 0, reason: Completed`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:34:40Z"`, 1), words: quiet, kind: answer.Restarted, cause: answer.AppExitSuccess},
		{name: "exit 0, again and again, with a complaint", status: strings.Replace(ended(`exitCode: 0, reason: Completed`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:34:40Z"`, 1), words: map[string][]string{"app": {"FATAL: no database"}}, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "exit 0, again and again, and others may send signals", spec: `{shareProcessNamespace: true}`, status: strings.Replace(ended(`exitCode: 0, reason: Completed`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:34:40Z"`, 1), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "127 after a while", status: ended(`exitCode: 127, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.AppExitError, text: "does not find"},
		{name: "its heap was full", status: ended(`exitCode: 3, reason: Error`), words: map[string][]string{"app": {"java.lang.OutOfMemoryError: Java heap space"}}, kind: answer.Restarted, cause: answer.AppExitError, text: "there was no OOM kill"},
		{
			name: "no program, and a new sandbox since", words: quiet, kind: answer.Healthy, cause: answer.None,
			status: strings.Replace(ended(`exitCode: 128, reason: StartError, message: 'exec: "/nosuch": stat /nosuch: no such file or directory'`), "conditions: [", `conditions: [{type: PodReadyToStartContainers, status: "True", lastTransitionTime: "2026-11-22T02:50:01Z"}, `, 1),
		},
		{name: "a crash loop since its ConfigMap was changed", spec: fromMap, status: strings.ReplaceAll(strings.Replace(ended(`exitCode: 1, reason: Error`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:39:00Z"`, 1), "02:45:00", "02:49:58"), words: quiet, changed: map[string]time.Time{"settings": time.Date(2026, 11, 22, 2, 48, 0, 0, time.UTC)}, kind: answer.Restarted, cause: answer.ConfigChanged, text: "ConfigMap settings was changed"},
		{name: "a crash loop after it had been well, and its ConfigMap is older", spec: fromMap, status: strings.ReplaceAll(strings.Replace(ended(`exitCode: 1, reason: Error`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:39:00Z"`, 1), "02:45:00", "02:49:58"), words: quiet, changed: map[string]time.Time{"settings": time.Date(2026, 11, 21, 2, 48, 0, 0, time.UTC)}, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "SIGSEGV", status: ended(`exitCode: 139, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.AppCrashSignal, text: "SIGSEGV"},
		{name: "127 at once", status: strings.ReplaceAll(ended(`exitCode: 127, reason: Error`), "02:45:00", "02:50:00"), words: quiet, kind: answer.Restarted, cause: answer.AppStartFailed},
		{name: "its last words", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dial tcp: lookup db on 10.0.0.10:53: no such host"}}, kind: answer.Restarted, cause: answer.DependencyDown},
		{name: "words a while before", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dial tcp 10.0.0.1:1: connection refused", "panic: nil map"}}, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "words long before", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dial tcp 10.0.0.1:1: connection refused", "connected", "a", "b", "panic: nil map"}}, kind: answer.Restarted, cause: answer.AppExitError},

		{name: "a dependency that it had been told of before", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {`nginx: [emerg] host not found in upstream "backend" in /tmp/n.conf:2`}}, kind: answer.Restarted, cause: answer.DependencyDown, text: "backend"},
		{name: "no shared memory is no full disk", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"FATAL: could not create shared memory segment: No space left on device"}}, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "a full disk", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"dd: error writing '/v/f': No space left on device", "3+0 records in"}}, kind: answer.Restarted, cause: answer.DiskFull},
		{name: "refused something, as root", status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"open /data/x: permission denied"}}, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "refused something, as somebody else", spec: `{securityContext: {runAsUser: 1000}}`, status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"open /data/x: permission denied"}}, kind: answer.Restarted, cause: answer.SecurityRefused},
		{name: "a database's refusal", spec: `{securityContext: {runAsUser: 1000}}`, status: ended(`exitCode: 1, reason: Error`), words: map[string][]string{"app": {"ERROR: permission denied for table users"}}, kind: answer.Restarted, cause: answer.AppExitError},
		{
			name: "its own image may not be written", spec: `{containers: [{name: app, image: x, securityContext: {readOnlyRootFilesystem: true}}]}`, status: ended(`exitCode: 1, reason: Error`),
			words: map[string][]string{"app": {"sh: can't create /run.pid: Read-only file system"}}, kind: answer.Restarted, cause: answer.SecurityRefused,
		},
		{name: "no interpreter", status: strings.ReplaceAll(ended(`exitCode: 255, reason: Error`), "02:45:00", "02:50:00"), words: map[string][]string{"app": {"exec /scripts/run.sh: no such file or directory"}}, kind: answer.Restarted, cause: answer.AppStartFailed},
		{name: "only its termination message is left", status: ended(`exitCode: 1, reason: Error, message: "listen tcp :80: bind: address already in use"`), kind: answer.Restarted, cause: answer.AppExitError, text: "taken"},
		{name: "an interrupt, or its own code", status: ended(`exitCode: 130, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "a forbidden call, or its own code", status: ended(`exitCode: 159, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.AppCrashSignal},
		{name: "the machine was restarted", status: ended(`exitCode: 255, reason: Unknown`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{
			name: "the sandbox was made anew", words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown,
			status: strings.Replace(ended(`exitCode: 1, reason: Error`), "conditions: [", `conditions: [{type: PodReadyToStartContainers, status: "True", lastTransitionTime: "2026-11-22T02:50:01Z"}, `, 1),
		},
		{name: "a crash loop since it is there, configured from outside", spec: fromMap, status: strings.ReplaceAll(strings.Replace(ended(`exitCode: 1, reason: Error`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:49:35Z"`, 1), "02:45:00", "02:49:58"), words: quiet, kind: answer.Restarted, cause: answer.AppExitError},
		{name: "a crash loop after it had been well, configured from outside", spec: fromMap, status: strings.ReplaceAll(strings.Replace(ended(`exitCode: 1, reason: Error`), "phase: Running", `phase: Running, startTime: "2026-11-22T02:39:00Z"`, 1), "02:45:00", "02:49:58"), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},

		{
			name: "exit 1 with a probe, and all that kubelet said is there", spec: liveness, words: quiet, kind: answer.Restarted, cause: answer.AppExitError,
			status: ended(`exitCode: 1, reason: Error`), events: `[{reason: Scheduled, eventTime: "2026-11-22T02:00:01.000000Z"}, {reason: Started, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}]`,
		},
		{
			name: "exit 1 with a probe, and too much was said", spec: liveness, words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown,
			status: ended(`exitCode: 1, reason: Error`), events: `[{reason: Scheduled, eventTime: "2026-11-22T02:00:01.000000Z"}, {reason: Unhealthy, count: 30, message: "Liveness probe failed: x", lastTimestamp: "2026-11-22T02:30:00Z"}]`,
		},
		{
			name: "a liveness kill by a command, and the runtime saw no OOM kill", words: quiet, kind: answer.Restarted, cause: answer.AppUnhealthy,
			spec:   `{containers: [{name: app, image: x, resources: {limits: {memory: 64Mi}}, livenessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, exec: {command: [alive]}}}]}`,
			status: ended(`exitCode: 137, reason: Error`), events: `[{reason: Unhealthy, count: 3, message: "Liveness probe failed: ", firstTimestamp: "2026-11-22T02:49:10Z", lastTimestamp: "2026-11-22T02:49:30Z"}, {reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:30Z"}]`,
		},

		// Stale events never outrank the status.
		{
			name: "a kill of an earlier run", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:20:00Z"}, {reason: Unhealthy, message: "Liveness probe failed: x", lastTimestamp: "2026-11-22T02:20:00Z"}, {reason: Created, lastTimestamp: "2026-11-22T02:50:01Z"}, {reason: Started, lastTimestamp: "2026-11-22T02:50:01Z"}]`,
			kind:   answer.Restarted, cause: answer.AppExitError,
		},
		{
			name: "the event of a kill stands for a later one, too", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet,
			events: strings.TrimSuffix(again, "]") + `, {reason: Killing, count: 2, message: "Container app failed liveness probe, will be restarted", firstTimestamp: "2026-11-22T02:49:59Z", lastTimestamp: "2026-11-22T02:55:00Z"}]`,
			kind:   answer.Restarted, cause: answer.CauseUnknown,
		},
		{
			name: "as many orders as runs end each of them", spec: liveness, status: ended(`exitCode: 143, reason: Error`), words: quiet,
			events: strings.TrimSuffix(again, "]") + `, {reason: Unhealthy, count: 12, message: "Liveness probe failed: HTTP probe failed with statuscode: 500", firstTimestamp: "2026-11-22T02:30:00Z", lastTimestamp: "2026-11-22T02:55:00Z"}, {reason: Killing, count: 4, message: "Container app failed liveness probe, will be restarted", firstTimestamp: "2026-11-22T02:30:00Z", lastTimestamp: "2026-11-22T02:55:00Z"}]`,
			kind:   answer.Restarted, cause: answer.AppUnhealthy, text: "kubelet ended the container",
		},
		{
			name: "a word of the next run may be one of few that were left to say", spec: liveness, status: ended(`exitCode: 1, reason: Error`), words: quiet,
			events: `[{reason: Started, count: 4, lastTimestamp: "2026-11-22T02:50:01Z"}]`, kind: answer.Restarted, cause: answer.CauseUnknown,
		},
		{name: "exit 1 with a hook, events are gone", spec: hooked, status: ended(`exitCode: 1, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown},
		{
			name: "the node took long for the end that was ordered", spec: liveness, status: ended(`exitCode: 137, reason: OOMKilled`), words: quiet, kind: answer.Restarted, cause: answer.CauseUnknown,
			events: `[{reason: Scheduled, lastTimestamp: "2026-11-22T02:00:00Z"}, {reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:48:50Z"}]`,
		},
		{
			name: "its sandbox was lost", status: ended(`exitCode: 137, reason: Error`), words: quiet, kind: answer.Restarted, cause: answer.SandboxFailed,
			events: `[{reason: Killing, message: "Stopping container app", lastTimestamp: "2026-11-22T02:49:58Z"}, {reason: SandboxChanged, message: "Pod sandbox changed, it will be killed and re-created.", lastTimestamp: "2026-11-22T02:49:58Z", involvedObject: {fieldPath: none}}]`,
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
		{name: "not ready, refused", spec: readiness, status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: dial tcp 10.1.1.1:80: connect: connection refused", lastTimestamp: "2026-11-22T02:59:55Z"}]`, kind: answer.NotReady, cause: answer.CauseUnknown},
		{
			name: "not ready, and kubelet writes few events by now", spec: readiness, status: unready, kind: answer.NotReady, cause: answer.AppUnhealthy,
			events: `[{reason: Unhealthy, count: 25, source: {component: kubelet}, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:56:00Z"}]`,
		},
		{
			name: "not ready, it could have written more", spec: readiness, status: unready, kind: answer.NotReady, cause: answer.CauseUnknown,
			events: `[{reason: Unhealthy, count: 12, source: {component: kubelet}, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:56:00Z"}]`,
		},
		{
			name: "not ready, was ready since the last of many events", spec: readiness, status: unready, kind: answer.NotReady, cause: answer.CauseUnknown,
			events: `[{reason: Unhealthy, count: 25, source: {component: kubelet}, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:54:55Z"}]`,
		},
		{name: "not ready, the event is old", spec: readiness, status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:50:00Z"}]`, kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "a readiness gate", status: `{phase: Running, conditions: [{type: Ready, status: "False", reason: ReadinessGatesNotReady, message: 'the status of pod readiness gate "example.com/lb" is not "True"'}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`, kind: answer.NotReady, cause: answer.ReadinessGate},

		// CreateContainerConfigError is read by its message.
		{name: "no ConfigMap", status: waits("CreateContainerConfigError", `configmap "web" not found`), kind: answer.NotStarting, cause: answer.ConfigMissing},
		{name: "no key", status: waits("CreateContainerConfigError", "couldn't find key level in ConfigMap shop/web"), kind: answer.NotStarting, cause: answer.ConfigMissing},
		{name: "root", status: waits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), kind: answer.NotStarting, cause: answer.SecurityRefused},
		{name: "a subPathExpr", status: waits("CreateContainerConfigError", "failed to expand subPathExpr: missing value for DIR"), kind: answer.NotStarting, cause: answer.VolumeFailed},
		{name: "a seccomp profile, and no program", status: waits("CreateContainerError", "failed to generate security options: cannot load seccomp profile /var/lib/kubelet/seccomp/x.json: open x.json: no such file or directory"), kind: answer.NotStarting, cause: answer.SecurityRefused},
		{
			name: "a mount", spec: `{containers: [{name: app, image: x, volumeMounts: [{name: v, mountPath: /etc/passwd}]}]}`, kind: answer.NotStarting, cause: answer.VolumeFailed,
			status: waits("RunContainerError", `error during container init: error mounting "/var/lib/kubelet/pods/u1/volumes/v" to rootfs at "/etc/passwd": not a directory`),
		},
		{name: "a file of the runtime's", status: waits("RunContainerError", `error during container init: open /proc/self/fd/7: no such file or directory`), kind: answer.NotStarting, cause: answer.CauseUnknown},
		{name: "something else", status: waits("CreateContainerConfigError", "services have not yet been read at least once, cannot construct envvars"), kind: answer.NotStarting, cause: answer.CauseUnknown},
		{name: "no program", status: waits("RunContainerError", `failed to create containerd task: exec: "serve": executable file not found in $PATH`), kind: answer.NotStarting, cause: answer.AppStartFailed},

		{name: "no such image", status: waits("ErrImagePull", `failed to resolve reference "reg.example/app:1": reg.example/app:1: not found`), kind: answer.NotStarting, cause: answer.ImageNotFound},
		{
			name: "back-off says nothing, the event does", status: waits("ImagePullBackOff", `Back-off pulling image "reg.example/app:1"`),
			events: `[{reason: Failed, message: 'Failed to pull image "reg.example/app:1": dial tcp: lookup reg.example: no such host', lastTimestamp: "2026-11-22T02:58:00Z"}]`, kind: answer.NotStarting, cause: answer.ImageRegistryUnreachable,
		},
		{name: "an image whose name sounds like trouble", status: waits("ErrImagePull", `failed to resolve reference "docker.io/library/reg.example/app:1": docker.io/library/reg.example/app:1: not found`), kind: answer.NotStarting, cause: answer.ImageNotFound},
		{name: "a pull that nobody explains", status: waits("ImagePullBackOff", `Back-off pulling image "reg.example/app:1"`), kind: answer.NotStarting, cause: answer.CauseUnknown},

		{name: "a mount", status: waits("ContainerCreating", ""), events: `[{reason: FailedMount, message: 'MountVolume.SetUp failed for volume "c" : configmap "web" not found', lastTimestamp: "2026-11-22T02:59:00Z", involvedObject: {fieldPath: none}}]`, kind: answer.NotStarting, cause: answer.ConfigMissing},
		{
			name: "a mount that came right meanwhile", status: waits("ContainerCreating", ""), kind: answer.NotStarting, cause: answer.CauseUnknown, text: "downloading",
			events: `[{reason: FailedMount, message: 'MountVolume.SetUp failed for volume "c" : configmap "web" not found', lastTimestamp: "2026-11-22T02:59:00Z", involvedObject: {fieldPath: none}}, {reason: Pulling, lastTimestamp: "2026-11-22T02:59:30Z"}]`,
		},
		{name: "an object that kubelet has not heard of", status: waits("ContainerCreating", ""), events: `[{reason: FailedMount, message: 'MountVolume.SetUp failed for volume "c" : object "shop"/"web" not registered', lastTimestamp: "2026-11-22T02:59:00Z", involvedObject: {fieldPath: none}}]`, kind: answer.NotStarting, cause: answer.CauseUnknown},
		{name: "a mount that failed long ago", status: waits("ContainerCreating", ""), events: `[{reason: FailedMount, message: 'MountVolume.SetUp failed for volume "c" : configmap "web" not found', lastTimestamp: "2026-11-22T02:30:00Z", involvedObject: {fieldPath: none}}]`, kind: answer.NotStarting, cause: answer.CauseUnknown},

		{
			name: "init fails", spec: `{initContainers: [{name: migrate, image: x}]}`, kind: answer.NotStarting, cause: answer.InitFailed, words: map[string][]string{"migrate": {"no such table"}},
			status: `{phase: Pending, initContainerStatuses: [{name: migrate, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`,
		},
		{
			name: "init runs out of memory", spec: `{initContainers: [{name: migrate, image: x, resources: {limits: {memory: 24Mi}}}]}`, kind: answer.NotStarting, cause: answer.InitFailed, text: "24Mi",
			status: `{phase: Pending, initContainerStatuses: [{name: migrate, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`,
		},
		{
			name: "a program that never started", kind: answer.NotStarting, cause: answer.AppStartFailed,
			status: `{phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 128, reason: StartError, message: 'runc create failed: unable to start container process: exec: "/nope": stat /nope: no such file or directory', finishedAt: "2026-11-22T02:50:00Z"}}}]}`,
		},
		{name: "ready again", spec: readiness, status: strings.Replace(ready, "02:55:00", "02:58:00", 1), kind: answer.Healthy, cause: answer.None},
		{name: "ready as soon as can be", spec: readiness, status: strings.ReplaceAll(ready, "02:30:00", "02:54:50"), kind: answer.Healthy, cause: answer.None},
		{
			name: "a change of its resources waits", kind: answer.Healthy, cause: answer.RuntimeFailed,
			status: strings.Replace(ready, "conditions: [", `conditions: [{type: PodResizeInProgress, status: "True", reason: Error, message: "attempting to set pod memory limit (20971520) below current usage (31457280)"}, `, 1),
		},
		{name: "several failed probes, and few events are let through", spec: readiness, status: ready, events: `[{reason: Unhealthy, message: "Readiness probe failed: x", count: 20, lastTimestamp: "2026-11-22T02:56:00Z"}]`, kind: answer.Healthy, cause: answer.CauseUnknown},
		{name: "TLS where none is spoken", spec: strings.Replace(readiness, "path: /,", "path: /, scheme: HTTPS,", 1), status: never, events: failed(`Readiness probe failed: Get "https://10.0.0.9:80/": http: server gave HTTP response to HTTPS client`), kind: answer.NotReady, cause: answer.ProbeWrongScheme},
		{name: "no TLS where it is spoken", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x15\x03\x01\x00\x02\x02"`), kind: answer.NotReady, cause: answer.ProbeWrongScheme},
		{name: "the same, told with others like it", spec: readiness, status: never, events: failed(`(combined from similar events): Readiness probe failed: Get "http://10.0.0.9:80/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "+OK ready"`), kind: answer.NotReady, cause: answer.ProbeProtocol},
		{name: "HTTP/2 where HTTP/1 is asked", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": net/http: HTTP/1.x transport connection broken: malformed HTTP status code "\x00\x00\x00\x04\b\x00\x00\x00\x00\x00\x00\x0f\x00\x01\x00\x00+\a\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x01Unexpected"`), kind: answer.NotReady, cause: answer.ProbeProtocol},
		{name: "gRPC where nothing listens, by its log", spec: `{containers: [{name: app, image: "reg.example/app:1", ports: [{containerPort: 9555}], readinessProbe: {periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1, grpc: {port: 9556}}}]}`, status: never, saying: map[string][]string{"app": {"Ad Service started, listening on 9555"}}, events: failed(`Readiness probe failed: timeout: failed to connect service "10.0.0.9:9556" within 1s: context deadline exceeded`), kind: answer.NotReady, cause: answer.ProbeWrongPort},
		{name: "another protocol", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "+OK ready"`), kind: answer.NotReady, cause: answer.ProbeProtocol},
		{name: "a name that the health service does not know", spec: serving, status: never, events: failed("Readiness probe failed: error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"), kind: answer.NotReady, cause: answer.ProbeWrongPath},
		{name: "a command that is not there", spec: asking("[check]"), status: ready, events: failed(`Readiness probe errored and resulted in unknown state: rpc error: code = Unknown desc = failed to exec in container: exec: "check": executable file not found in $PATH`), kind: answer.Healthy, cause: answer.ProbeCommandFailed},
		{name: "a command that its shell does not find", spec: asking("[sh, -c, check]"), status: never, events: failed("Readiness probe failed: sh: check: not found"), kind: answer.NotReady, cause: answer.ProbeCommandFailed},
		{name: "a command that says no", spec: asking("[sh, -c, lag]"), status: unready, events: failed("Readiness probe failed: replication lag 900s"), kind: answer.NotReady, cause: answer.AppUnhealthy, text: "lag 900s"},
		{name: "a command that says nothing", spec: asking(`["false"]`), status: unready, events: failed("Readiness probe failed: "), kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "a command that says nothing, and may have been killed", spec: strings.Replace(asking(`["false"]`), "readinessProbe", "resources: {limits: {memory: 24Mi}}, readinessProbe", 1), status: unready, events: failed("Readiness probe failed: "), kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "a command that asks another", spec: asking(`[curl, -f, "http://db"]`), status: unready, events: failed("Readiness probe failed: curl: (22) The requested URL returned error: 500"), kind: answer.NotReady, cause: answer.DependencyDown},
		{name: "a command that reached nobody", spec: asking("[check]"), status: unready, events: failed("Readiness probe failed: dial tcp 10.0.0.1:5432: connect: connection refused"), kind: answer.NotReady, cause: answer.DependencyDown},
		{name: "a port of no name", spec: strings.Replace(readiness, "port: 80", "port: web", 1), status: unready, kind: answer.NotReady, cause: answer.ProbePortNameUnknown},
		{name: "404 since the beginning", spec: readiness, status: never, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 404"), saying: map[string][]string{"app": {"listening"}}, kind: answer.NotReady, cause: answer.ProbeWrongPath},
		{name: "404, and its log complains", spec: readiness, status: never, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 404"), saying: map[string][]string{"app": {"SEVERE: one or more listeners failed to start"}}, kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "404, and it was ready before", spec: readiness, status: unready, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 404"), saying: map[string][]string{"app": {"listening"}}, kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "404 of a proxy before it, and it was ready before", spec: strings.Replace(readiness, "containers: [", "containers: [{name: proxy, image: x}, ", 1), status: unready, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 404"), kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "too many requests", spec: readiness, status: unready, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 429"), kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "redirects without an end", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "/aaaaaaaaaa": stopped after 10 redirects`), kind: answer.NotReady, cause: answer.AppUnhealthy, text: "never end"},
		{name: "a redirect to HTTPS", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "https://10.0.0.9/": dial tcp 10.0.0.9:443: connect: connection refused`), kind: answer.NotReady, cause: answer.ProbeWrongScheme},
		{name: "a redirect to HTTPS that had worked", spec: readiness, status: unready, events: failed(`Readiness probe failed: Get "https://10.0.0.9/": dial tcp 10.0.0.9:443: connect: connection refused`), kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "an answer cut short", spec: readiness, status: never, events: failed("Readiness probe errored and resulted in failure state: unexpected EOF"), kind: answer.NotReady, cause: answer.AppUnhealthy, text: "in the middle of its answer"},
		{name: "it says that it listens on loopback", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": dial tcp 10.0.0.9:80: connect: connection refused`), saying: map[string][]string{"app": {" * Running on http://127.0.0.1:80", "Press CTRL+C to quit"}}, kind: answer.NotReady, cause: answer.AppListensElse, text: "loopback"},
		{name: "it says that another port is on loopback", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": dial tcp 10.0.0.9:80: connect: connection refused`), saying: map[string][]string{"app": {"admin listening on 127.0.0.1:9901"}}, kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "its command has it listen on loopback", spec: strings.Replace(readiness, "readinessProbe", `command: [httpd, -p, "127.0.0.1:80"], readinessProbe`, 1), status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": dial tcp 10.0.0.9:80: connect: connection refused`), kind: answer.NotReady, cause: answer.AppListensElse, text: "loopback"},
		{name: "it had listened elsewhere, too", spec: readiness, status: unready, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": dial tcp 10.0.0.9:80: connect: connection refused`), saying: map[string][]string{"app": {" * Running on http://127.0.0.1:80"}}, kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "no memory to start in", spec: limited, status: waits("RunContainerError", "runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)"), kind: answer.NotStarting, cause: answer.MemoryLimit},
		{
			name: "no memory to start in, and a volume may hold it", kind: answer.NotStarting, cause: answer.CauseUnknown,
			spec:   `{volumes: [{name: m, emptyDir: {medium: Memory}}], containers: [{name: app, image: x, volumeMounts: [{name: m, mountPath: /m}], resources: {limits: {memory: 64Mi}}}]}`,
			status: waits("RunContainerError", "runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)"),
		},
		{name: "nothing that listens", spec: strings.Replace(readiness, "readinessProbe", "command: [sleep, infinity], readinessProbe", 1), status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": dial tcp 10.0.0.9:80: connect: connection refused`), kind: answer.NotReady, cause: answer.AppNotListening, text: "is sleep by its command"},
		{name: "a probe that sleeps too long", spec: asking(`[sh, -c, "sleep 5; true"]`), status: never, events: failed(`Readiness probe failed: command timed out: "sh -c sleep 5; true" timed out after 1s`), kind: answer.NotReady, cause: answer.ProbeCommandFailed},
		{name: "a probe that is late", spec: asking(`[sh, -c, "check; sleep 5"]`), status: never, events: failed(`Readiness probe failed: command timed out: "sh -c check; sleep 5" timed out after 1s`), kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "no answer, and no more files", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`), saying: map[string][]string{"app": {"accept: Too many open files"}}, kind: answer.NotReady, cause: answer.AppHang, text: "RLIMIT_NOFILE"},
		{name: "no answer, and no more files long ago", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`), saying: map[string][]string{"app": {"accept: Too many open files", "serving again"}}, kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "no answer at all", spec: readiness, status: never, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": EOF`), kind: answer.NotReady, cause: answer.CauseUnknown, text: "another protocol"},
		{name: "no answer any more", spec: readiness, status: unready, events: failed(`Readiness probe failed: Get "http://10.0.0.9:80/": EOF`), kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "500 since its configuration was changed", spec: mapped, status: unready, events: `[{reason: Unhealthy, count: 33, message: "Readiness probe failed: HTTP probe failed with statuscode: 500", firstTimestamp: "2026-11-22T02:54:35Z", lastTimestamp: "2026-11-22T02:59:55Z"}]`, changed: map[string]time.Time{"settings": now.Add(-6 * time.Minute)}, kind: answer.NotReady, cause: answer.ConfigChanged, text: "ConfigMap settings was changed"},
		{name: "500 long after its configuration was changed", spec: mapped, status: unready, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 500"), changed: map[string]time.Time{"settings": now.Add(-12 * time.Minute)}, kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "500, and its configuration is older than it", spec: mapped, status: unready, events: failed("Readiness probe failed: HTTP probe failed with statuscode: 500"), changed: map[string]time.Time{"settings": now.Add(-2 * time.Hour)}, kind: answer.NotReady, cause: answer.AppUnhealthy},
		{name: "502 is a proxy's word", spec: readiness, status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 502", lastTimestamp: "2026-11-22T02:59:55Z"}]`, kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "it asks somebody else", spec: strings.Replace(readiness, "path: /,", "path: /, host: 10.0.0.1,", 1), status: unready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 500", lastTimestamp: "2026-11-22T02:59:55Z"}]`, kind: answer.NotReady, cause: answer.CauseUnknown},
		{name: "an OOM kill, or a probe", spec: liveness, status: ended(`exitCode: 137, reason: OOMKilled`), kind: answer.Restarted, cause: answer.CauseUnknown},
		{name: "a probe that fails now and then", spec: readiness, status: ready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", count: 3, lastTimestamp: "2026-11-22T02:59:50Z"}]`, kind: answer.Healthy, cause: answer.CauseUnknown},
		{name: "failures that never are enough in a row", spec: readiness, status: ready, events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", count: 3, firstTimestamp: "2026-11-22T02:58:00Z", lastTimestamp: "2026-11-22T02:59:50Z"}]`, kind: answer.Healthy, cause: answer.None},
		{name: "a redirect counts as a success", spec: readiness, status: ready, events: `[{reason: ProbeWarning, message: "Readiness probe warning: Probe terminated redirects, Response body: ", count: 9, lastTimestamp: "2026-11-22T02:59:50Z"}]`, kind: answer.Healthy, cause: answer.None},
		{
			name: "its configuration may have changed", kind: answer.NotReady, cause: answer.CauseUnknown, status: unready,
			spec:   mapped,
			events: `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 500", count: 3, lastTimestamp: "2026-11-22T02:59:55Z"}]`,
		},
		{
			name: "completed, or ended by its probe", spec: strings.Replace(liveness, "{", "{restartPolicy: OnFailure, ", 1), kind: answer.Completed, cause: answer.CauseUnknown,
			status: `{phase: Succeeded, containerStatuses: [{name: app, state: {terminated: {exitCode: 0, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}]}`,
		},

		{
			name: "completed, and all that kubelet said is there", spec: strings.Replace(liveness, "{", "{restartPolicy: OnFailure, ", 1), kind: answer.Completed, cause: answer.RestartPolicy,
			events: `[{reason: Scheduled, eventTime: "2026-11-22T02:00:01.000000Z"}]`,
			status: `{phase: Succeeded, containerStatuses: [{name: app, state: {terminated: {exitCode: 0, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}]}`,
		},
		{
			name: "completed, and its probe ended it", spec: strings.Replace(liveness, "{", "{restartPolicy: OnFailure, ", 1), kind: answer.Completed, cause: answer.AppUnhealthy,
			events: `[{reason: Killing, message: "Container app failed liveness probe, will be restarted", lastTimestamp: "2026-11-22T02:49:55Z"}, {reason: Unhealthy, message: "Liveness probe failed: HTTP probe failed with statuscode: 500", lastTimestamp: "2026-11-22T02:49:55Z"}]`,
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
		{
			name: "evicted, and it stopped well", kind: answer.Evicted, cause: answer.EvictedMemory, text: "low on resource: memory",
			status: `{phase: Succeeded, conditions: [{type: DisruptionTarget, status: "True", reason: TerminationByKubelet, message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "}]}`,
		},
		{
			name: "stopped well for one of higher priority", kind: answer.Failed, cause: answer.Preempted,
			status: `{phase: Succeeded, conditions: [{type: DisruptionTarget, status: "True", reason: TerminationByKubelet, message: "Preempted in order to admit critical pod"}]}`,
		},
		{
			name: "stopped well as the node went down", kind: answer.Failed, cause: answer.NodeRestarted,
			status: `{phase: Succeeded, conditions: [{type: DisruptionTarget, status: "True", reason: TerminationByKubelet, message: "Pod was terminated in response to imminent node shutdown."}]}`,
		},
		{
			name: "refused for pressure", spec: `{nodeName: n, containers: [{name: app, image: x}]}`, kind: answer.Failed, cause: answer.EvictedDisk, text: "takes in no new pods",
			status: `{phase: Failed, reason: Evicted, message: "Pod was rejected: The node had condition: [DiskPressure MemoryPressure]. "}`,
		},
		{name: "refused for another condition", status: `{phase: Failed, reason: Evicted, message: "Pod was rejected: The node had condition: [QuuxPressure]. "}`, kind: answer.Failed, cause: answer.CauseUnknown},
		{name: "refused for a port", status: `{phase: Failed, reason: NodePorts, message: "Pod was rejected: Predicate NodePorts failed"}`, kind: answer.Failed, cause: answer.NoMatchingNode},
		{name: "too long", status: `{phase: Failed, reason: DeadlineExceeded, message: "Pod was active on the node longer than the specified deadline"}`, kind: answer.Failed, cause: answer.ActiveDeadline},
		{name: "done", spec: `{restartPolicy: OnFailure}`, status: `{phase: Succeeded, containerStatuses: [{name: app, state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-11-22T02:45:00Z", finishedAt: "2026-11-22T02:50:00Z"}}}]}`, kind: answer.Completed, cause: answer.RestartPolicy},
		{name: "no status at all", status: `{phase: Pending}`, kind: answer.Pending, cause: answer.CauseUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.spec == "" {
				c.spec = "{}"
			}
			if c.events == "" {
				c.events = "[]"
			}
			a := Explain(Seen{Pod: pod(t, c.spec, c.status), Events: events(t, c.events), Ended: logs(c.words), Running: logs(c.saying), Changed: c.changed, Now: now}, Asked{Reason: "nobody was there"})
			if len(a.Symptoms) != 1 || len(a.Verdicts) != 1 {
				t.Fatalf("%+v", a)
			}
			s, v := a.Symptoms[0], a.Verdicts[0]
			if s.Kind != c.kind || v.Cause != c.cause || !strings.Contains(v.Text, c.text) {
				t.Errorf("%s, %s: %s", s.Kind, v.Cause, v.Text)
			}
			if v.Certainty == answer.Recorded || (v.Cause == answer.CauseUnknown || v.Cause == answer.None) != (v.Certainty == answer.Unknown) {
				t.Errorf("it is called %s", v.Certainty)
			}
			if text := a.Text(answer.Style{}); !strings.Contains(text, "level 0") {
				t.Errorf("it does not say how little was seen:\n%s", text)
			}
			if v.Cause == answer.CauseUnknown && !strings.Contains(v.Text, "An agent on the node (kubectl why install) would have seen ") {
				t.Errorf("it does not say what would have been seen: %s", v.Text)
			}
		})
	}
}

// Whoever deletes a pod that a controller has made does not show it, but the scheduler does.
func TestDeleted(t *testing.T) {
	owned := []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", Controller: new(true)}}
	for _, c := range []struct {
		name, status string
		owners       []metav1.OwnerReference
		cause        answer.Cause
	}{
		{name: "nobody's", status: `{phase: Running}`, cause: answer.Deleted},
		{name: "a controller's", status: `{phase: Running}`, owners: owned, cause: answer.CauseUnknown},
		{name: "for one of higher priority", status: `{phase: Running, conditions: [{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler, message: "default-scheduler: preempting to accommodate a higher priority pod"}]}`, cause: answer.Preempted},
		{name: "a controller's, evicted", status: evictedStatus("True", now.Add(-10*time.Second)), owners: owned, cause: answer.Deleted},
		{name: "one that was to be evicted, long before", status: evictedStatus("False", now.Add(-time.Hour)), owners: owned, cause: answer.CauseUnknown},
		{name: "evicted once more when it was going", status: evictedStatus("True", now.Add(-time.Second)), owners: owned, cause: answer.CauseUnknown},
	} {
		p := pod(t, "{}", c.status)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.OwnerReferences = &metav1.Time{Time: now.Add(20 * time.Second)}, new(int64(30)), c.owners
		if a := Explain(Seen{Pod: p, Now: now}, Asked{}); a.Verdicts[0].Cause != c.cause || a.Symptoms[0].Kind != answer.Terminating {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{}))
		}
	}
}

func evictedStatus(is v1.ConditionStatus, at time.Time) string {
	return fmt.Sprintf(`{phase: Running, conditions: [{type: DisruptionTarget, status: %q, reason: EvictionByEvictionAPI, message: "Eviction API: evicting", lastTransitionTime: %q}]}`, is, at.Format(time.RFC3339))
}

// Of a pod that does not exist any more its events are left for an hour, and those of who
// made it.
func TestDeparted(t *testing.T) {
	about := func(kind, name, reason, message string, at int) v1.Event {
		return v1.Event{
			Reason: reason, Message: message, Source: v1.EventSource{Component: "kubelet"}, LastTimestamp: metav1.NewTime(now.Add(time.Duration(at) * time.Second)),
			InvolvedObject: v1.ObjectReference{Kind: kind, Name: name, UID: "u1", FieldPath: "spec.containers{app}"},
		}
	}
	started := about("Pod", "web", "Started", "Started container app", -60)
	stopped := about("Pod", "web", "Killing", "Stopping container app", -20)
	for _, c := range []struct {
		name   string
		events []v1.Event
		want   []answer.Cause
	}{
		{"deleted", []v1.Event{started, stopped, about("Pod", "web-2", "Preempted", "by another", -1)}, []answer.Cause{answer.Deleted}},
		{"by who made it", []v1.Event{started, stopped, about("ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web", -20)}, []answer.Cause{answer.CauseUnknown}},
		{"for one of higher priority", []v1.Event{started, stopped, about("Pod", "web", "Preempted", "Preempted by pod x on node n", -21)}, []answer.Cause{answer.Preempted}},
		{"it had been evicted", []v1.Event{started, about("Pod", "web", "Evicted", "The node was low on resource: memory.", -21), stopped}, []answer.Cause{answer.EvictedMemory, answer.EvictedMemory}},
		{"done, and taken away", []v1.Event{started}, []answer.Cause{answer.CauseUnknown}},
		{"it had no image", []v1.Event{about("Pod", "web", "Failed", `Failed to pull image "reg.example/nope:1": rpc error: code = NotFound desc = failed to pull and unpack image: reg.example/nope:1: not found`, -50), about("Pod", "web", "Failed", "Error: ErrImagePull", -50)}, []answer.Cause{answer.ImageNotFound, answer.CauseUnknown}},
		{"it had no configuration", []v1.Event{about("Pod", "web", "Failed", `Error: configmap "settings" not found`, -50)}, []answer.Cause{answer.ConfigMissing, answer.CauseUnknown}},
		{"it was ill", []v1.Event{started, about("Pod", "web", "BackOff", "Back-off restarting failed container app in pod web_shop(u1)", -30), stopped}, []answer.Cause{answer.CauseUnknown, answer.Deleted}},
		{"it was started twice", []v1.Event{started, about("Pod", "web", "Started", "Started container app", -40), stopped}, []answer.Cause{answer.CauseUnknown, answer.Deleted}},
		{"its probe had failed", []v1.Event{started, about("Pod", "web", "Unhealthy", "Readiness probe failed: x", -30), stopped}, []answer.Cause{answer.CauseUnknown, answer.Deleted}},
		{"it had been started since", []v1.Event{about("Pod", "web", "Failed", `Error: configmap "settings" not found`, -90), started, stopped}, []answer.Cause{answer.Deleted}},
		{"replaced by another revision", []v1.Event{started, stopped, about("ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web", -20), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-1 from 0 to 1", -70), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-2 from 0 to 1", -25), about("Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-1 from 1 to 0", -20)}, []answer.Cause{answer.RolledOut}},
		{"no longer wanted", []v1.Event{started, stopped, about("ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web", -20), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-1 from 0 to 1", -70), about("Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-1 from 1 to 0", -20)}, []answer.Cause{answer.ScaledDown}},
		{"replaced, and its heir was, too", []v1.Event{started, stopped, about("ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web", -20), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-1 from 0 to 1", -70), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-2 from 0 to 1", -25), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-3 from 0 to 1", -5), about("Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-1 from 1 to 0", -20)}, []answer.Cause{answer.RolledOut}},
		{"no longer wanted, after another revision was taken back", []v1.Event{started, stopped, about("ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web", -20), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-2 from 0 to 1", -90), about("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-1 from 0 to 1", -70), about("Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-1 from 1 to 0", -20)}, []answer.Cause{answer.ScaledDown}},
		{"no longer wanted, and what was before is gone", []v1.Event{started, stopped, about("ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web", -20), about("Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-1 from 1 to 0", -20)}, []answer.Cause{answer.CauseUnknown}},
	} {
		a, ok := Departed("shop", "web", c.events, now, Asked{Reason: "nobody was there"})
		var got []answer.Cause
		for _, v := range a.Verdicts {
			got = append(got, v.Cause)
		}
		if !ok || !slices.Equal(got, c.want) || len(a.Symptoms) != len(got) {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{}))
		}
	}
	unnamed := about("Pod", "web", "TaintManagerEviction", "Marking for deletion Pod shop/web", -10)
	unnamed.InvolvedObject.UID = ""
	for _, events := range [][]v1.Event{{unnamed}, {started, unnamed}} {
		if a, ok := Departed("shop", "web", events, now, Asked{}); !ok || len(a.Verdicts) == 0 {
			t.Errorf("an event without a uid: %t, %+v", ok, a)
		}
	}
	if _, ok := Departed("shop", "web", []v1.Event{about("Pod", "db", "Started", "", 0)}, now, Asked{}); ok {
		t.Error("it is known by another's events")
	}
}

// Where one container keeps its pod from being ready, the others are not at fault.
func TestHeldBack(t *testing.T) {
	status := `{phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady}], containerStatuses: [
		{name: app, ready: true, started: true, state: {running: {startedAt: "2026-11-22T02:30:00Z"}}},
		{name: log, ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, startedAt: "2026-11-22T02:59:00Z", finishedAt: "2026-11-22T02:59:01Z"}}}]}`
	a := Explain(Seen{Pod: pod(t, `{containers: [{name: app, image: x}, {name: log, image: x}]}`, status), Ended: logs(map[string][]string{"log": {"no server"}}), Now: now}, Asked{})
	if len(a.Verdicts) != 2 || a.Verdicts[1].Cause != answer.SiblingNotReady || a.Verdicts[1].Container != "log" || a.Verdicts[0].Cause != answer.AppExitError {
		t.Errorf("%s", a.Text(answer.Style{}))
	}
}

// An image that the node has is none for who asks the registry each time.
func TestImageOnNode(t *testing.T) {
	p := pod(t, `{containers: [{name: app, image: "busybox:1", imagePullPolicy: Always}]}`, waits("ErrImagePull", `failed to resolve reference "docker.io/library/busybox:1": dial tcp: lookup registry-1.docker.io on 10.0.0.10:53: no such host`))
	for has, want := range map[string]bool{"docker.io/library/busybox:1": true, "reg.example/busybox:1": false} {
		a := Explain(Seen{Pod: p, Images: []v1.ContainerImage{{Names: []string{has}}}, Now: now}, Asked{})
		if v := a.Verdicts[0]; v.Cause != answer.ImageRegistryUnreachable || strings.Contains(v.Text, "The node has that image") != want {
			t.Errorf("with %s: %s: %s", has, v.Cause, v.Text)
		}
	}
}

// Whatever an API server shows, no answer is called recorded, and what is not known is
// called so.
func FuzzExplain(f *testing.F) {
	f.Add(liveness, ended(`exitCode: 1, reason: Error`), again, "dial tcp 10.0.0.1:1: connection refused")
	f.Add(readiness, unready, `[{reason: Unhealthy, message: "Readiness probe failed: HTTP probe failed with statuscode: 503", lastTimestamp: "2026-11-22T02:59:55Z"}]`, "")
	f.Add(hooked, waits("RunContainerError", `exec: "/x": permission denied`), "[]", "exec /x: exec format error")
	f.Add(limited, `{phase: Failed, reason: Evicted, message: "The node was low on resource: memory."}`, "[]", "")
	f.Fuzz(func(t *testing.T, spec, status, said, line string) {
		p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
		var list []v1.Event
		if yaml.Unmarshal([]byte(spec), &p.Spec) != nil || yaml.Unmarshal([]byte(status), &p.Status) != nil || yaml.Unmarshal([]byte(said), &list) != nil {
			return
		}
		for i := range list {
			list[i].InvolvedObject = v1.ObjectReference{UID: "u1", FieldPath: "spec.containers{app}"}
		}
		a := Explain(Seen{Pod: &p, Events: list, Ended: logs(map[string][]string{"app": strings.Split(line, "\n")}), Now: now}, Asked{})
		if len(a.Symptoms) == 0 || len(a.Symptoms) != len(a.Verdicts) {
			t.Fatalf("%+v", a)
		}
		for _, v := range a.Verdicts {
			if v.Certainty == answer.Recorded || v.Cause == answer.CauseUnknown && v.Certainty != answer.Unknown {
				t.Errorf("%s is called %s: %s", v.Cause, v.Certainty, v.Text)
			}
		}
	})
}
