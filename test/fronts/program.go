package fronts

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"whylet.dev/whylet/test/kube"
)

// Program is a front in a process of its own, which can be killed.
type Program struct {
	// PID is its process, while it runs.
	PID int

	w      *World
	binary string
	log    string
	args   []string
	end    func()
}

// Program makes a front of a binary, at another address and the same port, of which agents
// learn. It is yet to be started.
func (w *World) Program(binary, host string, args ...string) *Program {
	w.t.Helper()
	_, port, err := net.SplitHostPort(w.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	kubeconfig := filepath.Join(w.dir, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":%q}}]}`, w.Kube.Config.Host, w.Kube.Config.BearerToken)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.there(host)
	return &Program{
		w: w, binary: binary, log: filepath.Join(w.dir, strings.ReplaceAll(host, ":", "-")+".log"),
		args: append([]string{
			"--kubeconfig", kubeconfig, "--agents", net.JoinHostPort(host, port), "--listen", "", "--tls-cert", w.CA, "--tls-key", w.key,
		}, args...),
	}
}

// Start starts it, again with what it kept.
func (p *Program) Start() {
	p.w.t.Helper()
	p.PID, p.end = kube.Spawn(p.w.t, p.log, p.binary, p.args...)
}

// Kill ends it at once.
func (p *Program) Kill() { p.end() }
