package differential

import (
	"fmt"
	"strings"
	"time"
)

// Every kind of probe, succeeding, failing and crossing each threshold.
var probeScenarios = []scenario{
	{name: "probe-ready-exec", spec: pod("Always", idles, `readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}`), until: ready},
	{name: "probe-ready-http", spec: nginx(`readinessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 2, periodSeconds: 1}`), until: ready},
	{name: "probe-ready-http-named-port", spec: nginx(`readinessProbe: {httpGet: {path: /, port: web, httpHeaders: [{name: Host, value: example}]}, initialDelaySeconds: 2, periodSeconds: 1}`), until: ready},
	{name: "probe-ready-tcp", spec: nginx(`readinessProbe: {tcpSocket: {port: web}, initialDelaySeconds: 2, periodSeconds: 1}`), until: ready},
	neverReady("probe-ready-exec-fails", pod("Always", idles, `readinessProbe: {exec: {command: [sh, -c, "echo no; exit 3"]}, periodSeconds: 1}`)),
	neverReady("probe-ready-exec-missing", pod("Always", idles, `readinessProbe: {exec: {command: [/missing]}, periodSeconds: 1}`)),
	neverReady("probe-ready-exec-timeout", pod("Always", idles, `readinessProbe: {exec: {command: [sleep, "9"]}, periodSeconds: 1, timeoutSeconds: 1}`)),
	neverReady("probe-ready-http-404", nginx(`readinessProbe: {httpGet: {path: /missing, port: 80}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-http-refused", nginx(`readinessProbe: {httpGet: {path: /, port: 81}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-http-silent", pod("Always", "nc -ll -p 80 -e sleep 1000 & "+idles, `readinessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 2, periodSeconds: 2}`)),
	neverReady("probe-ready-http-garbage", pod("Always", "nc -ll -p 80 -e echo what & "+idles, `readinessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-https-to-http", nginx(`readinessProbe: {httpGet: {path: /, port: 80, scheme: HTTPS}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-tcp-refused", nginx(`readinessProbe: {tcpSocket: {port: 81}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-grpc-to-http", nginx(`readinessProbe: {grpc: {port: 80}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-grpc-refused", nginx(`readinessProbe: {grpc: {port: 81, service: s}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	{name: "probe-ready-grpc", spec: grpcHealth(nil, `readinessProbe: {grpc: {port: 50051}, initialDelaySeconds: 2, periodSeconds: 1}`), until: ready},
	{name: "probe-ready-grpc-service", spec: grpcHealth([]string{"web=SERVING"}, `readinessProbe: {grpc: {port: 50051, service: web}, initialDelaySeconds: 2, periodSeconds: 1}`), until: ready},
	neverReady("probe-ready-grpc-not-serving", grpcHealth([]string{"web=NOT_SERVING"}, `readinessProbe: {grpc: {port: 50051, service: web}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-grpc-unknown-service", grpcHealth(nil, `readinessProbe: {grpc: {port: 50051, service: nobody}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-grpc-status-unknown", grpcHealth([]string{"web=UNKNOWN"}, `readinessProbe: {grpc: {port: 50051, service: web}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-http-to-grpc", grpcHealth(nil, `readinessProbe: {httpGet: {path: /, port: 50051}, initialDelaySeconds: 2, periodSeconds: 1}`)),
	neverReady("probe-ready-unknown-port", nginx(`readinessProbe: {httpGet: {path: /, port: nobody}, initialDelaySeconds: 2, periodSeconds: 1}`)),

	// Readiness that goes and comes back.
	{name: "probe-ready-flaps-at-1", spec: pod("Always", idles, `readinessProbe: {`+failing("3|4")+`, failureThreshold: 1}`), until: readyAgain},
	{name: "probe-ready-flaps-at-2", spec: pod("Always", idles, `readinessProbe: {`+failing("2|4|5|6")+`, failureThreshold: 2}`), until: readyAgain},
	{
		name: "probe-ready-below-threshold", spec: pod("Always", idles, `readinessProbe: {`+failing("2|4")+`, failureThreshold: 2}`),
		steps: []step{{ready, pause(6 * time.Second)}}, until: ready,
	},
	{name: "probe-ready-success-threshold", spec: pod("Always", idles, `readinessProbe: {`+failing("3")+`, successThreshold: 3, failureThreshold: 1}`), until: ready},
	{name: "probe-ready-both-thresholds", spec: pod("Always", idles, `readinessProbe: {`+failing("3|4|6")+`, successThreshold: 2, failureThreshold: 2}`), until: readyAgain},
	{name: "probe-ready-initial-delay", spec: pod("Always", idles, `readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, initialDelaySeconds: 3}`), until: ready},

	// Liveness.
	{name: "probe-live-ok", spec: nginx(`livenessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 2, periodSeconds: 1}`), steps: []step{{ready, pause(3 * time.Second)}}, until: ready},
	killedOnce("probe-live-exec", "busybox:1", idles, `livenessProbe: {exec: {command: [sh, -c, "test -e /life/2 && exit; echo sick; exit 1"]}, initialDelaySeconds: 3, periodSeconds: 1, failureThreshold: 2}`),
	killedOnce("probe-live-http", "nginx:1", "[ -e /life/2 ] && touch /usr/share/nginx/html/missing; exec nginx", `livenessProbe: {httpGet: {path: /missing, port: 80}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 2}`),
	killedOnce("probe-live-tcp", "busybox:1", "[ -e /life/2 ] && nc -ll -p 81 -e true & "+idles, `livenessProbe: {tcpSocket: {port: 81}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 2}`),
	killedOnce("probe-live-grpc", "grpchealth:1", "[ -e /life/2 ] && exec grpchealth -port 81; exec grpchealth", `livenessProbe: {grpc: {port: 81}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 2}`),
	killedOnce("probe-live-grpc-not-serving", "grpchealth:1", "[ -e /life/2 ] && exec grpchealth; exec grpchealth -service =NOT_SERVING", `livenessProbe: {grpc: {port: 50051}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 2}`),
	killedOnce("probe-live-timeout", "busybox:1", "touch /tmp/index.html; if [ -e /life/2 ]; then httpd -f -p 80 -h /tmp & else nc -ll -p 80 -e sleep 1000 & fi; "+idles, `livenessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 1}`),
	killedOnce("probe-live-at-1", "busybox:1", idles, `livenessProbe: {`+failingInAll("4")+`, failureThreshold: 1}`),
	killedOnce("probe-live-at-3", "busybox:1", idles, `livenessProbe: {`+failingInAll("2|3|5|6|7")+`, failureThreshold: 3}`),
	killedOnce("probe-live-own-grace", "busybox:1", ignores, `livenessProbe: {exec: {command: [test, -e, /life/2]}, initialDelaySeconds: 5, periodSeconds: 1, failureThreshold: 1, terminationGracePeriodSeconds: 2}`, "terminationGracePeriodSeconds: 60\n"),
	{
		name: "probe-live-below-threshold", spec: pod("Always", idles, `livenessProbe: {`+failing("2|4")+`, failureThreshold: 2}`),
		steps: []step{{ready, pause(6 * time.Second)}}, until: ready,
	},

	// Slow starts.
	{name: "probe-startup", spec: pod("Always", idles, `startupProbe: {exec: {command: ["true"]}, periodSeconds: 1}`), until: ready},
	{name: "probe-startup-slow", spec: pod("Always", "sleep 6; touch /up; "+idles, startupAnd("startupProbe", 20)), until: ready},
	{
		name: "probe-startup-gates-liveness", spec: pod("Always", "sleep 6; touch /up; "+idles, startupAnd("startupProbe", 20)+"\n"+startupAnd("livenessProbe", 1)),
		steps: []step{{ready, pause(3 * time.Second)}}, until: ready,
	},
	{name: "probe-startup-gates-readiness", spec: pod("Always", "sleep 6; touch /up; "+idles, startupAnd("startupProbe", 20)+"\n"+`readinessProbe: {`+failing("1")+`}`), until: ready},
	killedOnce("probe-startup-too-slow", "busybox:1", "[ -e /life/2 ] && touch /up; "+idles, startupAnd("startupProbe", 4)),
	killedOnce("probe-startup-missing-slow", "busybox:1", "[ -e /life/2 ] && touch /up; "+idles, startupAnd("livenessProbe", 4)),
	{name: "probe-all-three", spec: nginx("startupProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 2, periodSeconds: 1}\nlivenessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 2, periodSeconds: 1}\nreadinessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 2, periodSeconds: 1}"), until: ready},

	// Two containers in one pod.
	{
		name: "probe-sibling-not-ready", until: of(bothRun),
		spec: pod("Always", idles, "") + shell("d", idles, `readinessProbe: {exec: {command: ["false"]}, periodSeconds: 1}`),
	},
	{
		name: "probe-sibling-killed", until: wellAgain("d", 1),
		spec: pod("Always", idles, "", lives) + shell("d", countsRuns+idles, life+"livenessProbe: "+failsOnce),
	},
}

// neverReady is over when the probe had time to fail three times.
func neverReady(name, spec string) scenario {
	return scenario{name: name, spec: spec, steps: []step{{running("c"), pause(5 * time.Second)}}, until: notReady}
}

// killedOnce makes a scenario of a container whose probe fails in its first run only, and which
// is over when the second run is well. A container that its probe kills again and again is another
// a moment later, and what kubelet publishes of each run depends on when it looks. Where a server
// has to start, the probe waits for longer than that takes on a slow machine.
func killedOnce(name, image, script, lines string, podLines ...string) scenario {
	spec := pod("Always", countsRuns+script, life+lines, append(podLines, lives)...)
	return scenario{name: name, spec: strings.Replace(spec, "busybox:1", image, 1), until: wellAgain("c", 1)}
}

// startupAnd is a probe for the file that a slow start makes in the end.
func startupAnd(kind string, threshold int) string {
	return fmt.Sprintf("%s: {exec: {command: [test, -e, /up]}, periodSeconds: 1, timeoutSeconds: 3, failureThreshold: %d}", kind, threshold)
}
