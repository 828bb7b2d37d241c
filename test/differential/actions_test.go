package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type action = func(context.Context, side, *v1.Pod) error

// remove deletes the pod with its own grace period.
func remove(ctx context.Context, on side, pod *v1.Pod) error {
	return on.Client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
}

// removeWithin deletes the pod with another grace period, in seconds.
func removeWithin(grace int64) action {
	return func(ctx context.Context, on side, pod *v1.Pod) error {
		return on.Client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	}
}

// pause lets time pass: what is to be shown is that nothing happens meanwhile.
func pause(d time.Duration) action {
	return func(ctx context.Context, _ side, _ *v1.Pod) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// gate sets a readiness gate's condition, as its controller would.
func gate(kind string, status v1.ConditionStatus) action {
	return func(ctx context.Context, on side, pod *v1.Pod) error {
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, kind, status)
		_, err := on.Client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{}, "status")
		return err
	}
}

// configMap makes a ConfigMap with the key "k".
func configMap(name string) action {
	return func(ctx context.Context, on side, _ *v1.Pod) error {
		object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}
		_, err := on.Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	}
}

// kill sends SIGKILL to a container's first process from the machine, behind the
// back of agent and runtime.
func kill(name string) action {
	return func(_ context.Context, _ side, pod *v1.Pod) error {
		_, id, _ := strings.Cut(container(pod, name).ContainerID, "://")
		pid, err := firstProcess(id)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
}

// firstProcess is the host's number of the process that is number 1 inside.
func firstProcess(container string) (int, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil || container == "" {
		return 0, errors.Join(err, errors.New("the container has no ID"))
	}
	for _, file := range groups {
		groups, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(groups, []byte(container)) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if ids, ok := strings.CutPrefix(line, "NSpid:"); ok && strings.HasSuffix(strings.TrimSpace(ids), "\t1") {
				return strconv.Atoi(filepath.Base(filepath.Dir(file)))
			}
		}
	}
	return 0, fmt.Errorf("no process is the first of container %s", container)
}
