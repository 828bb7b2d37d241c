package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
)

func TestParse(t *testing.T) {
	with := func(more string) string {
		return fmt.Sprintf(`{"name": "n", "runtimeConfig": {"portMappings": [%s]}, %s`, more, config("/x", "10.0.0.0/24")[1:])
	}
	n, err := parse(&skel.CmdArgs{StdinData: []byte(with(`{"hostPort": 80, "containerPort": 8080, "protocol": "tcp", "hostIP": "::ffff:192.0.2.1"}`))})
	if err != nil {
		t.Fatal(err)
	}
	if address, ok := n.RuntimeConfig.PortMappings[0].hostAddress(); !ok || address.String() != "192.0.2.1" {
		t.Errorf("the host's address is %s, %v", address, ok)
	}
	for text, want := range map[string]string{
		`{`:                            "reading the network configuration",
		`{"name": "n"}`:                "names no bridge",
		`{"name": "n", "bridge": "b"}`: "where addresses come from",
		`{"name": "n", ` + config("/x", "fd00::/64")[1:]:                                                   "one range of IPv4",
		with(`{"hostPort": 0, "containerPort": 1}`):                                                        "ports are from 1",
		with(`{"hostPort": 1, "containerPort": 70000}`):                                                    "ports are from 1",
		with(`{"hostPort": 1, "containerPort": 1}`):                                                        "none of tcp",
		with(`{"hostPort": 1, "containerPort": 1, "protocol": "tcp", "hostIP": "1.2.3.4; flush ruleset"}`): "ParseAddr",
		with(`{"hostPort": 1, "containerPort": 1, "protocol": "tcp", "hostIP": "fe80::1%a b"}`):            "zone",
	} {
		if _, err := parse(&skel.CmdArgs{StdinData: []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Whatever the runtime hands over: it is refused, or safe to put into rules.
func FuzzParse(f *testing.F) {
	f.Add(`{"name": "n", "bridge": "b", "ipam": {"ranges": [[{"subnet": "10.0.0.0/24"}]]}, "runtimeConfig": {"portMappings": [{"hostPort": 1, "containerPort": 2, "protocol": "udp", "hostIP": "::"}]}}`, "IP=10.0.0.3")
	f.Add(`{"cniVersion": "1.0.0", "name": "n", "bridge": "b", "ipam": {"subnet": "10.0.0.0/24"}, "prevResult": {"cniVersion": "1.0.0", "ips": []}}`, "")
	f.Fuzz(func(t *testing.T, text, args string) {
		n, err := parse(&skel.CmdArgs{StdinData: []byte(text), Args: args})
		if err != nil {
			return
		}
		for _, m := range n.RuntimeConfig.PortMappings {
			address, ok := m.hostAddress()
			if rule := m.Protocol + address.String(); ok && strings.ContainsAny(rule, "; \n{}\"") && address.IsValid() {
				t.Errorf("%q goes into a rule", rule)
			}
		}
	})
}
