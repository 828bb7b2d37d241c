package skew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/test/peer"
	"whylet.dev/whylet/why/answer"
)

// kept are the pods that run on from release to release. The container of crashed ends once, with exit
// code 3, and what its volume has keeps it from ending again.
const kept = `
{apiVersion: v1, kind: Pod, metadata: {name: plain}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "busybox:1", command: [sleep, "100000"]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: probed}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "nginx:1",
  livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}, readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: work}, spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1,
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "until [ -e /tmp/done ]; do sleep 1; done"]}]}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: crashed}, spec: {terminationGracePeriodSeconds: 1, volumes: [{name: disk, persistentVolumeClaim: {claimName: disk}}], containers: [{name: c, image: "busybox:1",
  command: [sh, -c, "[ -e /disk/ran ] && exec sleep 100000; touch /disk/ran; echo 'fatal: cannot read settings' >&2; exit 3"], volumeMounts: [{name: disk, mountPath: /disk}]}]}}
`

// nodeSkew is a node of Whylet's own that changes releases.
type nodeSkew struct {
	*testing.T
	stack   *peer.Stack
	release release
}

// programs are a release's, with the images of this one.
func (n *nodeSkew) programs(r release) peer.Binaries {
	n.Helper()
	images, err := filepath.Abs("../../bin/images")
	if err != nil {
		n.Fatal(err)
	}
	return peer.Binaries{Whylet: r.dir, Images: images}
}

// kubectl runs the release's own, in the pods' namespace.
func (n *nodeSkew) kubectl(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(n.Context(), time.Minute)
	defer cancel()
	cmd := n.stack.Command(ctx, n.release.program("whylet"), append([]string{"kubectl", "-n", "shop"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, log.String())
	}
	return out.String(), nil
}

// eventually waits until what is nil.
func (n *nodeSkew) eventually(name string, what func() error) {
	n.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = what(); err == nil {
			return
		}
	}
	n.Fatalf("with %s never: %s: %v", n.release.name, name, err)
}

// containers returns the container and its restarts by the pod's name. All pods must be Ready.
func (n *nodeSkew) containers() (map[string]string, error) {
	pods, err := n.stack.Client.CoreV1().Pods("shop").List(n.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, p := range pods.Items {
		ready := false
		for _, c := range p.Status.Conditions {
			ready = ready || c.Type == v1.PodReady && c.Status == v1.ConditionTrue
		}
		if !ready || len(p.Status.ContainerStatuses) != 1 {
			return nil, fmt.Errorf("%s is not Ready: %+v", p.Name, p.Status)
		}
		c := p.Status.ContainerStatuses[0]
		all[p.Name] = fmt.Sprintf("%s with %d restarts", c.ContainerID, c.RestartCount)
	}
	return all, nil
}

// works checks that a new pod of this release becomes Ready and goes, that a program can be run in each
// container of before, and that these are still the same, Ready and not restarted.
func (n *nodeSkew) works(before map[string]string) {
	n.Helper()
	name := "new-" + strings.ReplaceAll(n.release.name, " ", "-")
	manifest := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "nginx:1", readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}]}}`, name)
	n.eventually("a new pod is made", func() error {
		_, err := n.kubectl(manifest, "apply", "-f", "-")
		return err
	})
	n.eventually("all pods are Ready, the new one too", func() error {
		all, err := n.containers()
		if err == nil && all[name] == "" {
			err = errors.New("the new one is missing")
		}
		return err
	})
	if _, err := n.kubectl("", "delete", "pod", name, "--timeout=50s"); err != nil {
		n.Error(err)
	}
	for pod := range before {
		if out, err := n.kubectl("", "exec", pod, "--", "sh", "-c", "echo here"); err != nil || out != "here\n" {
			n.Errorf("with %s in a container of before: %q, %v", n.release.name, out, err)
		}
	}
	now, err := n.containers()
	if err != nil || !maps.Equal(before, now) {
		n.Errorf("with %s the containers are %v, and were %v (%v)", n.release.name, now, before, err)
	}
}

// explains checks what a client says of the restart that the first release saw.
func (n *nodeSkew) explains(client release, since time.Time) {
	n.Helper()
	n.eventually("the client of "+client.name+" explains the restart", func() error {
		ctx, cancel := context.WithTimeout(n.Context(), time.Minute)
		defer cancel()
		cmd := n.stack.Command(ctx, client.program("kubectl-why"), "pod/crashed", "-n", "shop", "-o", "json")
		var log bytes.Buffer
		cmd.Stderr = &log
		out, err := cmd.Output()
		var a answer.Answer
		if jsonErr := json.Unmarshal(out, &a); jsonErr != nil {
			return fmt.Errorf("%w: %w: %s%s", err, jsonErr, out, log.String())
		}
		if a.Journal.From.IsZero() || a.Journal.From.After(since) {
			return fmt.Errorf("the journal is not that of the first release, but begins at %s", a.Journal.From)
		}
		if !strings.Contains(string(out), "cannot read settings") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}

// TestNodeUpgradeAndBack upgrades a node of the release before and takes it back, while its pods run.
// Their containers stay, and both releases explain the restart that the first one's journal has. Where the
// release before has an earlier minor version of Kubernetes, it refuses the data, and this release goes on.
func TestNodeUpgradeAndBack(t *testing.T) {
	before, now := releases(t)
	if os.Geteuid() != 0 {
		t.Skip("it runs a whole node: root alone can")
	}
	n := &nodeSkew{T: t, release: before}
	stack, err := peer.StartWhylet(t.Context(), n.programs(before))
	if err != nil {
		t.Fatal(err)
	}
	n.stack = stack
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(stack.Logs())
		}
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := stack.Namespace(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.kubectl(kept, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	var containers map[string]string
	n.eventually("the pods are Ready, and one was restarted", func() error {
		var err error
		containers, err = n.containers()
		if err == nil && (len(containers) != 4 || !strings.HasSuffix(containers["crashed"], " 1 restarts")) {
			err = fmt.Errorf("%v", containers)
		}
		return err
	})
	n.explains(before, time.Now())
	upgraded := time.Now()
	for _, r := range []release{now, before} {
		err := stack.Replace(t.Context(), n.programs(r))
		if err != nil && r == before && strings.Contains(err.Error(), "Kubernetes cannot go back a minor version") {
			t.Log(err)
			r = now
			err = stack.Replace(t.Context(), n.programs(r))
		}
		if err != nil {
			t.Fatalf("to %s: %v", r.name, err)
		}
		n.release = r
		n.works(containers)
		n.explains(before, upgraded)
		n.explains(now, upgraded)
	}
	job := ""
	for pod := range containers {
		if strings.HasPrefix(pod, "work-") {
			job = pod
		}
	}
	if _, err := n.kubectl("", "exec", job, "--", "touch", "/tmp/done"); err != nil {
		t.Error(err)
	}
	if out, err := n.kubectl("", "wait", "--for=condition=complete", "--timeout=50s", "job/work"); err != nil {
		t.Errorf("the Job: %v: %s", err, out)
	}
}
