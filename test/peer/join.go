package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// place is where a node is among those of one cluster.
type place struct {
	number int
	// address is the node's own, pods the range of its pods'.
	address, pods string
}

// placeOf is that of the nth node.
func placeOf(n int) place {
	return place{n, fmt.Sprintf("198.18.7.%d", n+1), fmt.Sprintf("10.86.%d.0/20", 16*n)}
}

// wire gives the node its address: the first on a bridge, to which the others are wired.
func (r *real) wire(ctx context.Context) error {
	if r.joined != nil {
		return r.joined.wired(ctx, r.Stack, r.place)
	}
	name := filepath.Base(r.Netns)
	return ip(ctx,
		[]string{"-n", name, "link", "add", "node0", "type", "bridge"},
		[]string{"-n", name, "addr", "add", nodeAddress + "/24", "dev", "node0"},
		[]string{"-n", name, "link", "set", "node0", "up"},
	)
}

// wired wires a node to the first one's bridge, by which it reaches the others and their pods.
func (r *real) wired(ctx context.Context, s *Stack, at place) error {
	own, first, wire := filepath.Base(s.Netns), filepath.Base(r.Netns), fmt.Sprintf("wire%d", at.number)
	if err := ip(ctx,
		[]string{"-n", first, "link", "add", wire, "type", "veth", "peer", "name", "node0", "netns", own},
		[]string{"-n", first, "link", "set", wire, "master", "node0", "up"},
		[]string{"-n", own, "addr", "add", at.address + "/24", "dev", "node0"},
		[]string{"-n", own, "link", "set", "node0", "up"},
		[]string{"-n", own, "route", "add", "default", "via", nodeAddress},
		[]string{"-n", first, "route", "add", at.pods, "via", at.address},
	); err != nil {
		return err
	}
	return errors.Join(r.forward(ctx), s.forward(ctx))
}

// forward has a node forward between its pods and the wire.
func (s *Stack) forward(ctx context.Context) error {
	out, err := s.Command(ctx, "sysctl", "-qw", "net.ipv4.ip_forward=1").CombinedOutput()
	if err != nil {
		return fmt.Errorf("sysctl: %w: %s", err, out)
	}
	return nil
}

func ip(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		if err := run(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

// next is the place of the next node that joins.
func (r *real) next() place {
	r.joins++
	return placeOf(r.joins)
}

// Join adds a node of that name to a real stack: a kubelet and a containerd in namespaces of
// their own, wired to the first. settings are those of [StartKubelet]. It is to be stopped
// before the stack is.
func (s *Stack) Join(ctx context.Context, name string, settings ...string) (*Stack, error) {
	own, err := newStack(ctx, "kubelet")
	if err != nil {
		return nil, err
	}
	r := &real{Stack: own, bin: s.real.bin, root: filepath.Base(own.Dir), place: s.real.next(), joined: s.real, settings: settings}
	own.Node, own.real = name, r
	for _, step := range []func(context.Context) error{r.makeRoom, r.writeFiles, r.startJoined, r.loadImages} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, errors.New(own.Logs()), own.Stop())
		}
	}
	return own, nil
}

// startJoined starts what a node runs, beside a control plane that is elsewhere.
func (r *real) startJoined(ctx context.Context) error {
	began := time.Now()
	kubeconfig, err := os.ReadFile(r.joined.Kubeconfig)
	if err == nil {
		err = os.WriteFile(r.Kubeconfig, kubeconfig, 0o600)
	}
	if err := errors.Join(err, r.startRuntime(), r.connect(), r.startKubelet()); err != nil {
		return err
	}
	if err := r.waitReady(ctx); err != nil {
		return err
	}
	r.ToReady = time.Since(began)
	return nil
}

// JoinWhylet adds a node of Whylet's to a real stack, and loads the test images into it. flags
// go to whylet node.
func (s *Stack) JoinWhylet(ctx context.Context, name string, flags ...string) (*Stack, error) {
	own, err := newStack(ctx, "whylet")
	if err != nil {
		return nil, err
	}
	own.Node = name
	at := s.real.next()
	err = s.real.wired(ctx, own, at)
	if err == nil {
		err = s.real.credentials(own.Kubeconfig, name)
	}
	if err == nil {
		flags = append([]string{"--node-name", name, "--pod-cidr", at.pods, "--client-ca", s.real.file("ca.crt")}, flags...)
		err = own.whylet(ctx, s.real.bin, "node", flags...)
	}
	if err != nil {
		return nil, errors.Join(err, errors.New(own.Logs()), own.Stop())
	}
	return own, nil
}

// Kubeconfig writes one for a real stack, for who has a token; it works on all its nodes.
func Kubeconfig(path, token string) error {
	return os.WriteFile(path, fmt.Appendf(nil, kubeconfig, nodeAddress, "token: "+token), 0o600)
}
