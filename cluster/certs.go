package cluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"whylet.dev/whylet/cluster/pki"
)

// renewCheck is how often a running control plane looks at its certificates.
const renewCheck = 12 * time.Hour

// issue makes certificates and kubeconfigs complete and current.
func (c *Cluster) issue(now time.Time) error {
	certs, err := pki.Ensure(c.paths.pki, certHosts(c.config), now)
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	c.certs = certs
	for component, pair := range map[string]pki.Pair{
		"controller-manager": certs.Controllers, "scheduler": certs.Scheduler, "coredns": certs.DNS,
	} {
		if err := pki.WriteKubeconfig(c.paths.kubeconfig(component), c.config.server(), certs.CA, component, pair); err != nil {
			return err
		}
	}
	return c.writeAdmin(certs)
}

// writeAdmin writes the administrator's kubeconfig, and the same entry into the
// file that the caller named.
func (c *Cluster) writeAdmin(certs *pki.Set) error {
	for _, file := range []string{c.paths.kubeconfig("admin"), c.config.Kubeconfig} {
		if file == "" {
			continue
		}
		if err := pki.MergeKubeconfig(file, c.config.ContextName, c.config.server(), certs.CA, certs.Admin); err != nil {
			return err
		}
	}
	return nil
}

// renew keeps certificates current while the control plane runs. Servers and
// clients notice new files by themselves.
func (c *Cluster) renew(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, renewCheck, false, func(context.Context) (bool, error) {
		certs, err := pki.Ensure(c.paths.pki, certHosts(c.config), time.Now())
		if err == nil && slices.Contains(certs.Renewed, "admin") {
			err = c.writeAdmin(certs)
		}
		if err != nil {
			// There are months left to mend it in.
			c.log.Error("certificates could not be renewed", "error", err)
			return false, nil
		}
		if len(certs.Renewed) > 0 {
			c.log.Info("renewed certificates", "certificates", certs.Renewed)
		}
		return false, nil
	})
}

// certHosts are the names and addresses under which the servers are reached.
func certHosts(c Config) pki.Hosts {
	domain := "kubernetes.default.svc." + c.ClusterDomain
	hosts := pki.Hosts{
		NodeName: c.NodeName,
		NodeIPs:  []net.IP{net.ParseIP(c.NodeIP), net.IPv4(127, 0, 0, 1)},
		APINames: []string{"localhost", c.NodeName, "kubernetes", "kubernetes.default", "kubernetes.default.svc", domain},
		APIIPs: []net.IP{
			net.IPv4(127, 0, 0, 1), net.IPv6loopback, c.serviceIP(1).AsSlice(),
			net.ParseIP(c.HostAddress), net.ParseIP(c.NodeIP),
		},
	}
	if ip := net.ParseIP(c.APIAddress); !ip.IsUnspecified() && !ip.IsLoopback() {
		hosts.APIIPs = append(hosts.APIIPs, ip)
	}
	return hosts
}
