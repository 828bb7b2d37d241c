package server

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// recorded is a log as containerd writes it: lines in parts, both streams, and
// an empty line.
const recorded = `2026-01-02T03:04:05.000000001Z stdout F one
2026-01-02T03:04:06.000000002Z stderr F two
2026-01-02T03:04:07.000000003Z stdout P thr
2026-01-02T03:04:07.000000004Z stdout F ee
2026-01-02T03:04:08.000000005Z stdout F 
2026-01-02T03:04:09.000000006Z stdout F five
`

// logging is a node with the pod of web(), whose container has a log.
func logging(t *testing.T, content string) (n *node, path string) {
	t.Helper()
	n = startNode(t, nil)
	n.host.pods = []*v1.Pod{web()}
	path = filepath.Join(t.TempDir(), "1.log")
	write(t, path, []byte(content))
	n.runtime.paths["c1"] = path
	previous := filepath.Join(filepath.Dir(path), "0.log")
	write(t, previous, []byte("2026-01-02T03:00:00Z stderr F crashed\n"))
	n.runtime.paths["c0"] = previous
	return n, path
}

func TestLogs(t *testing.T) {
	n, _ := logging(t, recorded)
	for query, want := range map[string]string{
		"":                "one\ntwo\nthree\n\nfive\n",
		"tailLines=2":     "\nfive\n",
		"tail=2":          "\nfive\n",
		"tail=all":        "one\ntwo\nthree\n\nfive\n",
		"tailLines=0":     "",
		"limitBytes=5":    "one\nt",
		"previous=true":   "crashed\n",
		"stream=Stderr":   "two\n",
		"stream=Stdout":   "one\nthree\n\nfive\n",
		"stream=All":      "one\ntwo\nthree\n\nfive\n",
		"sinceSeconds=60": "",
		"sinceTime=" + url.QueryEscape("2026-01-02T03:04:08Z"):         "\nfive\n",
		"timestamps=true&tailLines=1":                                  "2026-01-02T03:04:09.000000006Z five\n",
		"timestamps=true&sinceTime=2026-01-02T03:04:07Z&limitBytes=38": "2026-01-02T03:04:07.000000003Z three\n2",
	} {
		status, body := n.get("/containerLogs/default/web/app?" + query)
		if status != http.StatusOK || body != want {
			t.Errorf("%s: %d %q, want %q", query, status, body, want)
		}
	}
}

func TestLogsThatCannotBeShown(t *testing.T) {
	n, path := logging(t, recorded)
	n.runtime.paths["c2"] = path + ".gone"
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"default/gone/app", 404, `pod "gone" does not exist`},
		{"default/web/nope", 404, `container "nope" not found in pod "web"`},
		{"default/web/new", 400, `container "new" in pod "web" is waiting to start: ContainerCreating`},
		{"default/web/init", 400, `container "init" in pod "web" is not available`},
		{"default/web/debugger", 400, `container "debugger" in pod "web" is not available`},
		{"default/web/new?previous=true", 400, `previous terminated container "new" in pod "web" not found`},
		{"default/web/tty", 400, `the log of container "tty" in pod "web" is gone: stat ` + path + `.gone: no such file or directory`},
		{"default/web/app?tailLines=x", 400, `unable to decode query`},
		{"default/web/app?tailLines=-1", 422, `invalid request: tailLines: Invalid value: -1`},
		{"default/web/app?sinceSeconds=5&sinceTime=2026-01-02T03:04:08Z", 422, "at most one of"},
	} {
		status, body := n.get("/containerLogs/" + c.path)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.path, status, body, c.status, c.want)
		}
	}
	delete(n.runtime.paths, "c1")
	if status, body := n.get("/containerLogs/default/web/app"); status != 400 || !strings.HasPrefix(body, "unable to retrieve container logs for containerd://c1: ") {
		t.Errorf("%d %q", status, body)
	}
}

// followed is a log that is being followed, line by line.
type followed struct {
	t     *testing.T
	lines chan string
}

func follow(n *node, query string) followed {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	n.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/containerLogs/default/web/app?follow=true&"+query, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	response, err := n.as("root").Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		n.t.Fatal(response.Status)
	}
	f := followed{n.t, make(chan string)}
	go func() {
		defer response.Body.Close()
		defer close(f.lines)
		for in := bufio.NewScanner(response.Body); in.Scan(); {
			select {
			case f.lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return f
}

// expect waits for these lines, in this order and with nothing between them.
func (f followed) expect(want ...string) {
	f.t.Helper()
	for _, w := range want {
		select {
		case got, ok := <-f.lines:
			if !ok || got != w {
				f.t.Fatalf("got %q (open: %v), want %q", got, ok, w)
			}
		case <-time.After(deadline):
			f.t.Fatalf("still waiting for %q", w)
		}
	}
}

func (f followed) expectEnd() {
	f.t.Helper()
	select {
	case got, ok := <-f.lines:
		if ok {
			f.t.Fatalf("got %q instead of the end", got)
		}
	case <-time.After(deadline):
		f.t.Fatal("the log does not end")
	}
}

func add(t *testing.T, path string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, line := range lines {
		if _, err := fmt.Fprintf(f, "2026-01-02T03:05:00Z stdout F %s\n", line); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFollowedLogEndsWithItsContainerAndNotBeforeItsLastLine(t *testing.T) {
	n, path := logging(t, recorded)
	f := follow(n, "tailLines=1")
	f.expect("five")
	add(t, path, "six", "seven")
	f.expect("six", "seven")
	// The node learns of the end before the runtime has written everything.
	n.host.update(func(s *v1.PodStatus) {
		s.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "containerd://c1"}}
	})
	add(t, path, "last words")
	f.expect("last words")
	n.runtime.end("c1")
	f.expectEnd()
}

func TestFollowedLogGoesOnThroughRotation(t *testing.T) {
	n, path := logging(t, recorded)
	f := follow(n, "tailLines=1")
	f.expect("five")
	watched(t, filepath.Dir(path)) // kubelet's reader misses a rotation that comes before that
	for i := range 3 {
		add(t, path, fmt.Sprintf("before %d", i))
		f.expect(fmt.Sprintf("before %d", i))
		// As kubelet and the runtime do it: rename, then open a new file.
		if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
		add(t, path, fmt.Sprintf("after %d", i))
		f.expect(fmt.Sprintf("after %d", i))
	}
}

// watched waits until this process watches a folder.
func watched(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf(" ino:%x ", info.Sys().(*syscall.Stat_t).Ino)
	for until := time.Now().Add(deadline); time.Now().Before(until); time.Sleep(time.Millisecond) {
		fds, err := filepath.Glob("/proc/self/fdinfo/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if raw, err := os.ReadFile(fd); err == nil && strings.Contains(string(raw), "inotify ") && strings.Contains(string(raw), mark) {
				return
			}
		}
	}
	t.Fatalf("nobody watches %s", dir)
}

func TestFollowedLogEndsWithTheServer(t *testing.T) {
	n, _ := logging(t, recorded)
	f := follow(n, "tailLines=1")
	f.expect("five")
	n.stop()
	f.expectEnd()
}

func TestFollowedLogOfARestartedContainerEnds(t *testing.T) {
	n, _ := logging(t, recorded)
	f := follow(n, "tailLines=1")
	f.expect("five")
	delete(n.runtime.paths, "c1") // removed from the runtime, too
	n.host.update(func(s *v1.PodStatus) { s.ContainerStatuses[0].ContainerID = "containerd://c9" })
	f.expectEnd()
}

// Cases of kubelet's validateContainerLogStatus that a small pod does not show.
func TestWhichRunIsMeant(t *testing.T) {
	ended := func(id string) v1.ContainerState {
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: id}}
	}
	waiting := func(reason string) v1.ContainerState {
		return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
	}
	for name, c := range map[string]struct {
		state, last v1.ContainerState
		want        string
	}{
		"ended":                         {ended("r://a"), v1.ContainerState{}, "r://a"},
		"ended without id, ran before":  {ended(""), ended("r://b"), "r://b"},
		"ended without id":              {ended(""), v1.ContainerState{}, `container "app" in pod "web" is terminated`},
		"backing off":                   {waiting("CrashLoopBackOff"), ended("r://b"), "r://b"},
		"backing off, no id":            {waiting("CrashLoopBackOff"), ended(""), `container "app" in pod "web" is terminated`},
		"image cannot be pulled":        {waiting("ErrImagePull"), v1.ContainerState{}, `container "app" in pod "web" is waiting to start: image can't be pulled`},
		"image cannot be pulled, again": {waiting("ImagePullBackOff"), v1.ContainerState{}, `container "app" in pod "web" is waiting to start: trying and failing to pull image`},
		"no state":                      {v1.ContainerState{}, v1.ContainerState{}, `container "app" in pod "web" is waiting to start - no logs yet`},
	} {
		pod := web()
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", State: c.state, LastTerminationState: c.last}}
		got, err := logged(pod, "app", false)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLogQueryNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query := url.Values{}
		for _, key := range []string{"tail", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "follow", "stream", "previous"} {
			if rapid.Bool().Draw(t, key+" is set") {
				query.Set(key, rapid.OneOf(rapid.String(), rapid.Map(rapid.Int64(), func(i int64) string { return fmt.Sprint(i) })).Draw(t, key))
			}
		}
		options, status, err := logOptions(query)
		switch {
		case err == nil && options.TailLines != nil && *options.TailLines < 0,
			err == nil && options.LimitBytes != nil && *options.LimitBytes < 1,
			err != nil && status != http.StatusBadRequest && status != http.StatusUnprocessableEntity:
			t.Fatalf("%v: %+v %d %v", query, options, status, err)
		}
	})
}
