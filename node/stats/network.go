package stats

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// network reads the counters of the network namespace that a process is in; nil
// when there is no such process (any more). pid "self" is the node's own.
func (c *Collector) network(pid string, at metav1.Time) *statsapi.NetworkStats {
	interfaces := parseNetDev(c.file(pid + "/net/dev"))
	if interfaces == nil {
		return nil
	}
	s := &statsapi.NetworkStats{Time: at, Interfaces: interfaces}
	for _, i := range interfaces {
		if i.Name == "eth0" {
			s.InterfaceStats = i
		}
	}
	return s
}

// The columns of /proc/net/dev that are reported (proc_pid_net(5)).
const (
	rxBytes, rxErrors = 0, 2
	txBytes, txErrors = 8, 10
	columns           = 16
)

// parseNetDev reads /proc/net/dev. The loopback interface is left out, as
// cadvisor does.
func parseNetDev(text string) []statsapi.InterfaceStats {
	var all []statsapi.InterfaceStats
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		fields := strings.Fields(rest)
		if !ok || len(fields) < columns || name == "lo" {
			continue
		}
		value := func(i int) *uint64 {
			n, err := strconv.ParseUint(fields[i], 10, 64)
			if err != nil {
				return nil
			}
			return &n
		}
		all = append(all, statsapi.InterfaceStats{
			Name: name, RxBytes: value(rxBytes), RxErrors: value(rxErrors), TxBytes: value(txBytes), TxErrors: value(txErrors),
		})
	}
	return all
}
