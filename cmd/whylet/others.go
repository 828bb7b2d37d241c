package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"

	"whylet.dev/whylet/cluster"
)

// checkPorts tries every port that the node listens on.
func checkPorts(listen []port) []finding {
	var list []finding
	for _, p := range listen {
		f := finding{Name: "port " + p.address, Verdict: found, Detail: "free"}
		l, err := net.Listen("tcp", p.address)
		switch {
		case err == nil:
			l.Close()
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			f.Detail = "its address comes with whylet up"
		case errors.Is(err, syscall.EADDRINUSE):
			_, number, _ := net.SplitHostPort(p.address)
			n, _ := strconv.Atoi(number)
			pid, command := cluster.PortOwner(n)
			f = judgePort(p, number, pid, command)
		default:
			f.Verdict, f.Detail = missing, err.Error()
		}
		list = append(list, f)
	}
	return list
}

// judgePort says of a port that is taken who has it, and what to do about that one.
func judgePort(p port, number string, pid int, command string) finding {
	f := finding{Name: "port " + p.address, Verdict: missing, Detail: "address already in use"}
	if pid == 0 {
		f.Fix = "ss -ltnp 'sport = :" + number + "' shows who has it; " + p.move
		return f
	}
	f.Detail += fmt.Sprintf(" by process %d (%s)", pid, command)
	f.Fix = "stop that process; " + p.move
	switch {
	case command == "whylet":
		f.Fix = "whylet down --data-dir DIR stops that node; a second one needs a network namespace of its own: " + ownNamespace
	case isKubernetes(command):
		f.Fix = "stop that Kubernetes; or start beside it in a network namespace of its own: " + ownNamespace
	}
	return f
}

// ownNamespace is how a node gets a network to itself.
const ownNamespace = "ip netns add w; ip -n w link set lo up; nsenter --net=/run/netns/w whylet up"

// otherNodes are the programs of other nodes, as the kernel names them (15 bytes of the
// name at most): kubeadm's, kind's and minikube's; k3s and rke2; k0s; microk8s.
var otherNodes = []string{"kubelet", "kube-proxy", "kube-apiserver", "k3s", "k3s-server", "k3s-agent", "rke2", "k0s", "kubelite"}

func isKubernetes(command string) bool { return slices.Contains(otherNodes, command) }

// checkOthers looks for the programs of another node in this network namespace. Where
// their ports differ both run, but not side by side for long: both write Services' rules.
func checkOthers() []finding {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil
	}
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	var seen []string
	for _, p := range processes {
		command, err := p.Comm()
		if err != nil || !isKubernetes(command) {
			continue
		}
		if theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.PID)); err == nil && theirs == own {
			seen = append(seen, fmt.Sprintf("%s (process %d)", command, p.PID))
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return []finding{{
		"another Kubernetes", degraded, strings.Join(seen, ", ") + " on the same network: both write rules for Services, and may want the same ports",
		"stop it; or start Whylet in a network namespace of its own: " + ownNamespace,
	}}
}
