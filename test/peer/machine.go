package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is a node of a real stack in an emulated machine, where systemd gives kubelet, the
// runtime and pods their cgroups, of version 2 (test/machine/systemd).
type Machine struct {
	Node string

	stack   *Stack
	address string
	cmd     *exec.Cmd
	log     *os.File
}

// emulated is how long a machine may take until its node is Ready: its processors are programs.
const emulated = 20 * time.Minute

// Emulate adds a node of that name in an emulated machine. scripts is the folder test/machine,
// work one for what is fetched and made. It is to be stopped before the stack is.
func (s *Stack) Emulate(ctx context.Context, name, scripts, work string) (*Machine, error) {
	at := s.real.next()
	first, tap := filepath.Base(s.Netns), fmt.Sprintf("wire%d", at.number)
	if err := ip(ctx,
		[]string{"-n", first, "tuntap", "add", tap, "mode", "tap"},
		[]string{"-n", first, "link", "set", tap, "master", "node0", "up"},
		[]string{"-n", first, "route", "add", at.pods, "via", at.address},
	); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(s.Dir, "logs", "machine.log"))
	if err != nil {
		return nil, err
	}
	m := &Machine{Node: name, stack: s, address: at.address, log: log}
	m.cmd = exec.Command(filepath.Join(scripts, "systemd"), work, s.Dir, s.Netns, tap, name, at.address, nodeAddress, at.pods)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the emulator ends with its script
	if err := m.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	err = waitFor(emulated, "the node in the emulated machine", func() error {
		time.Sleep(time.Second)
		return errors.Join(ctx.Err(), m.ready(ctx))
	})
	if err != nil {
		return nil, errors.Join(err, errors.New(s.Logs()), m.Stop())
	}
	return m, nil
}

func (m *Machine) ready(ctx context.Context) error {
	node, err := m.stack.Client.CoreV1().Nodes().Get(ctx, m.Node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady && c.Status == v1.ConditionTrue {
			return nil
		}
	}
	return errors.New("it is not Ready")
}

// Run runs a shell script as root in the machine and gives what it printed.
func (m *Machine) Run(ctx context.Context, script string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.address+":8080/cgi-bin/run", strings.NewReader(script))
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DialContext: m.stack.Config.Dial, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	end := strings.LastIndex(string(said), "exit ")
	if err == nil && end < 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return string(said), err
	}
	if code := strings.TrimSpace(string(said[end:])); code != "exit 0" {
		err = fmt.Errorf("in the emulated machine: %s: %s", script, code)
	}
	return string(said[:end]), err
}

// Stop ends the machine.
func (m *Machine) Stop() error {
	err := syscall.Kill(-m.cmd.Process.Pid, syscall.SIGTERM)
	_ = m.cmd.Wait() // it was killed
	return errors.Join(err, m.log.Close())
}
