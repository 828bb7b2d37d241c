package pki

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"k8s.io/client-go/util/cert"
)

// Hosts are the names and addresses that go into the serving certificates.
type Hosts struct {
	// NodeName and NodeIPs are where the node's own HTTPS API is reached.
	NodeName string
	NodeIPs  []net.IP
	// APINames and APIIPs are where the API server is reached: loopback, the
	// address it listens on, its Service's names and cluster IP.
	APINames []string
	APIIPs   []net.IP
}

// Set is every certificate and key that one control plane needs.
type Set struct {
	// CA vouches for all servers and clients, FrontProxyCA only for the
	// aggregation layer's front proxy.
	CA, FrontProxyCA *Authority
	// APIServer is the API server's serving certificate, KubeletClient its client
	// certificate towards nodes, FrontProxy towards aggregated API servers.
	APIServer, KubeletClient, FrontProxy Pair
	// Client certificates, one for each user of the API.
	Admin, Controllers, Scheduler, Proxy, DNS, Node Pair
	// NodeServing is the serving certificate of the node's HTTPS API.
	NodeServing Pair
	// SigningKey signs service-account tokens, SigningPub verifies them.
	SigningKey, SigningPub string
	// Renewed names the certificates that this call made or renewed.
	Renewed []string
}

// Ensure makes the set in dir complete and current at time now. Calling it again
// changes nothing until something comes near its end or hosts change.
func Ensure(dir string, hosts Hosts, now time.Time) (*Set, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make certificate directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("protect certificate directory: %w", err)
	}
	s := &Set{}
	var err error
	if s.CA, err = EnsureAuthority(dir, "ca", "whylet-ca"); err != nil {
		return nil, err
	}
	if s.FrontProxyCA, err = EnsureAuthority(dir, "front-proxy-ca", "whylet-front-proxy-ca"); err != nil {
		return nil, err
	}
	if s.SigningKey, s.SigningPub, err = ensureSigningKey(dir); err != nil {
		return nil, err
	}
	for _, want := range s.wanted(hosts) {
		pair, made, err := ensure(dir, want.spec, now)
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", want.name, err)
		}
		*want.into = pair
		if made {
			s.Renewed = append(s.Renewed, want.name)
		}
	}
	return s, nil
}

type wanted struct {
	spec
	into *Pair
}

// wanted lists the certificates. Names and groups are those that Kubernetes'
// bootstrap RBAC policy binds (plugin/pkg/auth/authorizer/rbac/bootstrappolicy);
// system:masters passes every check, and only the admin has it, and the
// controllers: they run as thirty service accounts elsewhere, which in a process
// that holds all of their keys anyway buys nothing but thirty token renewals.
func (s *Set) wanted(hosts Hosts) []wanted {
	client := func(name, user string, into *Pair, groups ...string) wanted {
		return wanted{spec{name, s.CA, cert.Config{
			CommonName: user, Organization: groups,
			Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}}, into}
	}
	server := func(name, user string, into *Pair, names []string, ips []net.IP, groups ...string) wanted {
		return wanted{spec{name, s.CA, cert.Config{
			CommonName: user, Organization: groups,
			AltNames: cert.AltNames{DNSNames: names, IPs: ips},
			Usages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}}, into}
	}
	frontProxy := client("front-proxy-client", FrontProxyUser, &s.FrontProxy)
	frontProxy.authority = s.FrontProxyCA
	node := "system:node:" + hosts.NodeName
	return []wanted{
		server("apiserver", "kube-apiserver", &s.APIServer, hosts.APINames, hosts.APIIPs),
		client("apiserver-kubelet-client", KubeletClientUser, &s.KubeletClient),
		frontProxy,
		client("admin", "whylet-admin", &s.Admin, "system:masters"),
		client("controller-manager", "system:kube-controller-manager", &s.Controllers, "system:masters"),
		client("scheduler", SchedulerUser, &s.Scheduler),
		client("kube-proxy", ProxyUser, &s.Proxy),
		client("coredns", DNSUser, &s.DNS),
		client("node", node, &s.Node, "system:nodes"),
		server("node-serving", node, &s.NodeServing, []string{hosts.NodeName}, hosts.NodeIPs, "system:nodes"),
	}
}

// Users that the caller has to bind to roles, to trust by name, or to wait for.
const (
	// SchedulerUser and ProxyUser are bound by Kubernetes' bootstrap policy.
	SchedulerUser = "system:kube-scheduler"
	ProxyUser     = "system:kube-proxy"
	// KubeletClientUser is who the API server is towards nodes.
	KubeletClientUser = "kube-apiserver-kubelet-client"
	// FrontProxyUser is who the aggregation layer is towards API servers.
	FrontProxyUser = "front-proxy-client"
	// DNSUser is who CoreDNS is towards the API server.
	DNSUser = "system:coredns"
)
