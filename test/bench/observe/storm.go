package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// quickRestarts has kubelet start what ended again after a second at most.
const quickRestarts = `crashLoopBackOff: {maxContainerRestartPeriod: "1s"}`

// crashing is how many pods end again and again, forks how many processes another one makes
// and ends in a second, at most.
const (
	crashing = 12
	forks    = 5000
)

// mostMemory is what the agent may have: its limit as a DaemonSet has it (deploy/chart).
const mostMemory = 96 << 20

// storm has pods end and processes come and go as fast as this machine lets them, and shows
// what the agent needs meanwhile and what it still answers.
func storm(ctx context.Context, o options) (err error) {
	b, err := open(ctx, o, quickRestarts)
	if err != nil {
		return err
	}
	program, window := o.programs()[0], o.storm
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.begin(program); err != nil {
		return err
	}
	free, err := limit(b.agent.Process.Pid, filepath.Base(b.Dir)+"-agent")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end(), free()) }()
	if err := b.stormPods(ctx); err != nil {
		return err
	}
	before, began, most := processes(), time.Now(), int64(0)
	var cpu time.Duration
	for time.Since(began) < window {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		all, err := b.uses()
		if err != nil {
			return err
		}
		use, lives := all[filepath.Base(program)]
		if !lives {
			return fmt.Errorf("the agent ended after %v", time.Since(began).Round(time.Second))
		}
		most, cpu = max(most, use.RSS), use.CPU
	}
	restarts, err := b.restarts(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("%v: %d restarts, %.0f forks a second on the machine; the agent: at most %d MiB resident, %.1f millicores; load %s\n",
		took.Round(time.Second), restarts, float64(processes()-before)/took.Seconds(), most>>20, 1000*cpu.Seconds()/took.Seconds(), load())
	if most > mostMemory {
		err = fmt.Errorf("the agent needed %d MiB", most>>20)
	}
	return errors.Join(err, b.asked(ctx, program))
}

// limit puts a process into a memory cgroup of its own, in which the kernel kills it beyond
// mostMemory. free removes that once the process has ended.
func limit(pid int, name string) (free func() error, err error) {
	dir, file := filepath.Join("/sys/fs/cgroup/memory", name), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		dir, file = filepath.Join("/sys/fs/cgroup", name), "memory.max"
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	free = func() error { return os.Remove(dir) }
	for name, value := range map[string]int{file: mostMemory, "cgroup.procs": pid} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(value)), 0o644); err != nil {
			return nil, errors.Join(err, free())
		}
	}
	return free, nil
}

// stormPods makes those that end, and the one that forks.
func (b *bench) stormPods(ctx context.Context) error {
	second, no := int64(1), false
	create := func(name, image string, command ...string) error {
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       v1.PodSpec{TerminationGracePeriodSeconds: &second, AutomountServiceAccountToken: &no, Containers: []v1.Container{{Name: "c", Image: image, Command: command}}},
		}
		_, err := b.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	}
	err := create("forks", "eater:1", "/usr/bin/eater", "-forks", strconv.Itoa(forks))
	for i := range crashing {
		err = errors.Join(err, create(fmt.Sprintf("crash-%d", i), "busybox:1", "sh", "-c", "echo no more; exit 1"))
	}
	return err
}

// restarts counts them by what the API says.
func (b *bench) restarts(ctx context.Context) (n int, err error) {
	list, err := b.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range list.Items {
		for _, c := range list.Items[i].Status.ContainerStatuses {
			n += int(c.RestartCount)
		}
	}
	return n, nil
}

// asked shows what is answered of one of those that end, and what was not seen.
func (b *bench) asked(ctx context.Context, program string) error {
	out, err := b.Command(ctx, program, "why", "pod/crash-0", "-n", namespace, "--data-dir", filepath.Join(b.Dir, "observe"), "-o", "json").Output()
	var a answer.Answer
	if len(out) == 0 || json.Unmarshal(out, &a) != nil {
		return fmt.Errorf("no answer: %w: %s", err, out)
	}
	for i, v := range a.Verdicts {
		fmt.Printf("%s: %s (%s): %s\n", a.Symptoms[i].Kind, v.Cause, v.Certainty, v.Text)
		if v.Cause != answer.AppExitError && v.Cause != answer.CauseUnknown {
			err = errors.Join(err, fmt.Errorf("it ends of itself with 1, and not for %s", v.Cause))
		}
	}
	for _, g := range a.Journal.Gaps {
		fmt.Printf("not seen: %s to %s: %s\n", g.From.Format(time.TimeOnly), g.To.Format(time.TimeOnly), g.Reason)
	}
	var asked interface{ ExitCode() int }
	if errors.As(err, &asked) && asked.ExitCode() > 1 {
		return nil // it says that something is not well
	}
	return err
}

// processes is how many processes this machine has made so far.
func processes() (n int) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "\nprocesses ")
	_, _ = fmt.Sscan(rest, &n)
	return n
}
