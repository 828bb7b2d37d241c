package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A log is rotated when it has grown, and who follows it does not miss a line.
func TestLogRotation(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	// 120 lines of 100 kB are more than a file may have (10 MiB). They come when the log is
	// followed: of one that was rotated before, the new file alone is shown. The rest comes
	// when the rotation is over.
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: talk}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: go, emptyDir: {}}]
  containers:
  - name: c
    image: busybox:1
    volumeMounts: [{name: go, mountPath: /go}]
    command:
    - sh
    - -c
    - |
      line=$(head -c 100000 /dev/zero | tr '\0' x)
      i=0
      echo 0
      until [ -e /go/on ]; do sleep 0.1; done
      while [ $i -lt 120 ]; do i=$((i+1)); echo "$i $line"; done
      until [ -e /go/further ]; do sleep 0.1; done
      while [ $i -lt 140 ]; do i=$((i+1)); echo "$i $line"; done
      echo the end
      sleep infinity
`)
	pod := s.waitReady("talk")
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := s.node.command(ctx, bin("kubectl"), "-n", s.name, "logs", "-f", "talk")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	lines := make(chan string, 200)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			first, _, _ := strings.Cut(scanner.Text(), " ")
			lines <- first
		}
	}()
	next := 0
	follow := func(last int) {
		for ; next <= last; next++ {
			select {
			case line := <-lines:
				if line != fmt.Sprint(next) {
					t.Fatalf("line %d begins with %q", next, line)
				}
			case <-ctx.Done():
				t.Fatalf("line %d does not come", next)
			}
		}
	}
	tell := func(file string) {
		if _, err := s.exec("talk", "touch", file); err != nil {
			t.Fatal(err)
		}
	}
	follow(0)
	tell("/go/on")
	follow(120)
	folder := filepath.Join(shared.data(), "pod-logs", fmt.Sprintf("%s_talk_%s", s.name, pod.UID), "c")
	s.eventually(60*time.Second, "the log is rotated", func() error {
		files, err := os.ReadDir(folder)
		if err == nil && len(files) < 2 {
			err = fmt.Errorf("there is %v", files)
		}
		return err
	})
	tell("/go/further")
	follow(140)
	select {
	case line := <-lines:
		if line != "the" {
			t.Errorf("at the end comes %q", line)
		}
	case <-ctx.Done():
		t.Error("the end does not come")
	}
}
