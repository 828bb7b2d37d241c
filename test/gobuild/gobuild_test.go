// Package gobuild_test holds the first build to what it says: that Ctrl-C leaves nothing
// behind, and what helps where disk, memory or network fail.
package gobuild_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whylet.dev/whylet/test/pty"
)

// tool is what go build runs in place of the compiler, but for asking its version.
func tool(t *testing.T, does string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tool")
	script := "#!/bin/sh\ncase \"$*\" in *-V=full*) exec \"$@\" ;; esac\n" + does + "\n"
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "-toolexec=" + file
}

// build is a build of a module of one program, with a folder for temporary files. What is
// said for the module is that it requires another.
func build(t *testing.T, module string, arguments ...string) (command *exec.Cmd, temporary string) {
	t.Helper()
	gobuild, err := filepath.Abs("../../tools/gobuild")
	if err != nil {
		t.Fatal(err)
	}
	folder, temporary := t.TempDir(), t.TempDir()
	program := "package main\n\nfunc main() {}\n"
	if module != "" {
		program = "package main\n\nimport _ \"example.com/y\"\n\nfunc main() {}\n"
	}
	for file, content := range map[string]string{
		"go.mod":  "module example.com/x\n\ngo 1.26\n" + module,
		"main.go": program,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command = exec.Command(gobuild, append(arguments, "bin/x=example.com/x")...)
	command.Dir = folder
	command.Env = append(os.Environ(), "TMPDIR="+temporary, "GOTMPDIR=")
	return command, temporary
}

func TestInterrupted(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	command, temporary := build(t, "", tool(t, "touch "+begun+"; exec sleep 600"))
	terminal := pty.Open(t, 80)
	command.Stdin, command.Stdout, command.Stderr = terminal.Program, terminal.Program, terminal.Program
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, err := os.Stat(begun); return err == nil })
	if err := terminal.Type("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); command.ProcessState.ExitCode() != 130 {
		t.Error("ended with", err)
	}
	eventually(t, func() bool { return strings.Contains(terminal.Shown(), "goes on from there") })
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Error("left over:", left, err)
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("not within a minute")
		}
	}
}

func TestMends(t *testing.T) {
	proxy := httptest.NewUnstartedServer(http.NotFoundHandler())
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // that nobody trusts it
	proxy.StartTLS()
	defer proxy.Close()
	const needs = "\nrequire example.com/y v1.0.0\n"
	for name, c := range map[string]struct {
		module, does string
		environment  []string
		wrap         []string
		root         bool
		fix          string
	}{
		"killed for its memory": {does: "kill -9 $$", fix: "add swap"},
		"refused memory":        {does: `ulimit -v 100000; exec "$@"`, fix: "add swap"},
		"a full disk": {
			wrap: []string{"unshare", "--mount", "sh", "-c", `mount -t tmpfs -o size=64k small "$TMPDIR" && exec "$0" "$@"`},
			does: `exec "$@"`, root: true, fix: "make room in ",
		},
		"nobody at the address": {
			module: needs, environment: []string{"GOPROXY=http://127.0.0.1:1"}, fix: "export HTTPS_PROXY=",
		},
		"a proxy that is not there": {
			module: needs, environment: []string{"GOPROXY=https://example.com", "HTTPS_PROXY=http://127.0.0.1:1"}, fix: "export HTTPS_PROXY=",
		},
		"a proxy that opens TLS": {
			module: needs, environment: []string{"GOPROXY=" + proxy.URL, "SSL_CERT_DIR=/nowhere", "SSL_CERT_FILE=/dev/null"}, fix: "update-ca-certificates",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Getuid() != 0 {
				t.Skip("mounts a small disk, which needs root")
			}
			arguments := []string{"-mod=mod"}
			if c.does != "" {
				arguments = append(arguments, tool(t, c.does))
			}
			command, temporary := build(t, c.module, arguments...)
			if c.wrap != nil {
				command.Args = append(append(c.wrap, command.Path), command.Args[1:]...)
				path, err := exec.LookPath(c.wrap[0])
				if err != nil {
					t.Fatal(err)
				}
				command.Path = path
			}
			command.Env = append(append(command.Env, "GONOSUMDB=*", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir()), c.environment...)
			said, err := command.CombinedOutput()
			if err == nil {
				t.Error("it was built")
			}
			if lines := strings.Split(strings.TrimSpace(string(said)), "\n"); !strings.HasPrefix(lines[len(lines)-1], "fix: ") || !strings.Contains(lines[len(lines)-1], c.fix) {
				t.Errorf("no %q at the end of:\n%s", c.fix, said)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Error("left over:", left, err)
			}
		})
	}
}
