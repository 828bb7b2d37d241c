package differential

import (
	"fmt"
	"strings"
)

// pod writes a spec of one container "c" that runs a shell script, with more
// lines of the container and of the pod.
func pod(policy, script, containerLines string, podLines ...string) string {
	return fmt.Sprintf("restartPolicy: %s\n%scontainers:\n%s", policy, strings.Join(podLines, ""), shell("c", script, containerLines))
}

// shell writes one entry of a list of containers.
func shell(name, script, lines string) string {
	return fmt.Sprintf("- name: %s\n  image: busybox:1\n  command: [sh, -c, %q]\n%s", name, script, indent(lines))
}

// nginx is a web server that answers at / and says 404 elsewhere.
func nginx(lines string) string {
	return "containers:\n- name: c\n  image: nginx:1\n  ports: [{name: web, containerPort: 80}]\n" + indent(lines)
}

// grpcHealth is a server of grpc.health.v1 with these services (NAME=STATUS).
func grpcHealth(services []string, lines string) string {
	args := ""
	for _, service := range services {
		args += fmt.Sprintf("%q, %q, ", "-service", service)
	}
	return "containers:\n- name: c\n  image: grpchealth:1\n  args: [" + args + "]\n" + indent(lines)
}

func indent(lines string) string {
	var text strings.Builder
	for line := range strings.Lines(lines) {
		text.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return text.String()
}

const (
	// idles ends at once when it is asked to, with code 143.
	idles = "trap 'exit 143' TERM; sleep 1000 & wait"
	// obeys ends with code 0.
	obeys = "trap 'exit 0' TERM; sleep 1000 & wait"
	// ignores must be killed: the kernel keeps unhandled signals from a first process.
	ignores = "sleep 1000; true"
)

// A container that begins with countsRuns finds the file /life/2 from its second run on. It
// takes the pod line lives and the container line life, for a container's own files go with it.
const (
	countsRuns = "[ -e /life/1 ] && touch /life/2; touch /life/1; "
	lives      = "volumes: [{name: life, emptyDir: {}}]\n"
	life       = "volumeMounts: [{name: life, mountPath: /life}]\n"
	// failsOnce is a probe that fails in the first run.
	failsOnce = `{exec: {command: [test, -e, /life/2]}, initialDelaySeconds: 3, periodSeconds: 1, failureThreshold: 2}`
)

// failingInAll is failing for a container with life, whose attempts are counted through all runs.
func failingInAll(attempts string) string {
	return strings.ReplaceAll(failing(attempts), "/n", "/life/n")
}

// failing is an exec probe that fails in the attempts, counted from 1 and
// separated by bars, that a pattern of sh names.
func failing(attempts string) string {
	return fmt.Sprintf(`exec: {command: [sh, -c, "echo >>/n; case $(wc -l </n) in %s) exit 1;; esac"]}, periodSeconds: 1, timeoutSeconds: 3`, attempts)
}
