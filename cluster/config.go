package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"whylet.dev/whylet/fact"
)

// Config says where and how a control plane runs. The zero value of a field with
// a default means the default.
type Config struct {
	// DataDir is the directory that holds the state; required. Other parts of
	// Whylet may keep theirs in it too.
	DataDir string
	// NodeName and NodeIP are the node that runs on this machine; both required.
	// NodeIP is an IPv4 address, the one that NodePort Services answer on.
	NodeName, NodeIP string
	// APIAddress and APIPort are where the API server listens for people; default
	// 127.0.0.1 and 6443. Any other address opens the API to a network.
	APIAddress string
	APIPort    int
	// HostAddress is where pods reach the API server and DNS: an address on an
	// interface of ours. The default comes from the range that RFC 2544 sets
	// apart from the internet, and needs to change only where that is in use.
	HostAddress string
	// PodCIDR and ServiceCIDR are IPv4 ranges that do not overlap; default
	// 10.42.0.0/16 and 10.43.0.0/16. The service range cannot change later.
	PodCIDR, ServiceCIDR string
	// ClusterDomain is the DNS domain of Services; default cluster.local.
	ClusterDomain string
	// Kubeconfig, if not empty, is a file to which an admin entry named
	// ContextName (default whylet) is added.
	Kubeconfig, ContextName string
	// Tell is told who has pods deleted or evicted ([fact.Requested]), about pods by
	// name, without a UID. It is called within requests and must not block. May be nil.
	Tell func(fact.Fact)
	// Progress is told in a few words what the start is at. May be nil.
	Progress func(string)
	// Log is told what an operator should know; the components' own logs go to
	// DataDir/logs/control-plane.log. Nil means slog.Default().
	Log *slog.Logger
}

// Defaults of Config.
const (
	DefaultAPIAddress    = "127.0.0.1"
	DefaultAPIPort       = 6443
	DefaultHostAddress   = "198.19.254.53"
	DefaultPodCIDR       = "10.42.0.0/16"
	DefaultServiceCIDR   = "10.43.0.0/16"
	DefaultClusterDomain = "cluster.local"
	DefaultContextName   = "whylet"
)

// dnsIndex is which address of the service range is DNS: the tenth, as kubeadm
// and most distributions choose (kubeadm constants.GetDNSIP).
const dnsIndex = 10

// maxDataDir bounds the data directory's path: a unix socket's path must fit into
// 108 bytes (sockaddr_un), and etcd's lies below it.
const maxDataDir = 80

func (c Config) withDefaults() Config {
	def := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	def(&c.APIAddress, DefaultAPIAddress)
	def(&c.HostAddress, DefaultHostAddress)
	def(&c.PodCIDR, DefaultPodCIDR)
	def(&c.ServiceCIDR, DefaultServiceCIDR)
	def(&c.ClusterDomain, DefaultClusterDomain)
	def(&c.ContextName, DefaultContextName)
	if c.APIPort == 0 {
		c.APIPort = DefaultAPIPort
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Validate checks c with its defaults filled in, and returns everything that is
// wrong with it.
func (c Config) Validate() error {
	c = c.withDefaults()
	return errors.Join(
		c.validateDataDir(),
		c.validateNames(),
		c.validateAddresses(),
		c.validateRanges(),
	)
}

func (c Config) validateDataDir() error {
	switch {
	case !filepath.IsAbs(c.DataDir):
		return fmt.Errorf("data directory %q: an absolute path is needed", c.DataDir)
	case len(c.DataDir) > maxDataDir:
		return fmt.Errorf("data directory %q: the path is longer than %d bytes, too long for the sockets below it; choose a shorter one", c.DataDir, maxDataDir)
	}
	return nil
}

func (c Config) validateNames() error {
	var errs []error
	if why := utilvalidation.IsDNS1123Subdomain(c.NodeName); len(why) > 0 {
		errs = append(errs, fmt.Errorf("node name %q: %s", c.NodeName, strings.Join(why, "; ")))
	}
	if why := utilvalidation.IsDNS1123Subdomain(c.ClusterDomain); len(why) > 0 {
		errs = append(errs, fmt.Errorf("cluster domain %q: %s", c.ClusterDomain, strings.Join(why, "; ")))
	}
	return errors.Join(errs...)
}

func (c Config) validateAddresses() error {
	var errs []error
	if ip, err := netip.ParseAddr(c.NodeIP); err != nil || !ip.Is4() || ip.IsUnspecified() {
		errs = append(errs, fmt.Errorf("node IP %q: an IPv4 address of this machine is needed", c.NodeIP))
	}
	if _, err := netip.ParseAddr(c.APIAddress); err != nil {
		errs = append(errs, fmt.Errorf("API address %q: an IP address is needed", c.APIAddress))
	}
	if c.APIPort < 1 || c.APIPort > 65535 {
		errs = append(errs, fmt.Errorf("API port %d: must be between 1 and 65535", c.APIPort))
	}
	// The same addresses that Kubernetes refuses as endpoints (pkg/apis/core/validation,
	// ValidateNonSpecialIP), or the Services would stay without any.
	host, err := netip.ParseAddr(c.HostAddress)
	if err != nil || !host.Is4() || host.IsUnspecified() || host.IsLoopback() || host.IsLinkLocalUnicast() || host.IsMulticast() {
		errs = append(errs, fmt.Errorf("host address %q: an IPv4 address that is neither loopback, link-local nor multicast is needed", c.HostAddress))
	}
	return errors.Join(errs...)
}

func (c Config) validateRanges() error {
	pods, podErr := parseRange("pod range", c.PodCIDR)
	services, serviceErr := parseRange("service range", c.ServiceCIDR)
	if podErr != nil || serviceErr != nil {
		return errors.Join(podErr, serviceErr)
	}
	var errs []error
	if services.Bits() > 28 {
		errs = append(errs, fmt.Errorf("service range %s: too small, /28 is the least", services))
	}
	if pods.Overlaps(services) {
		errs = append(errs, fmt.Errorf("pod range %s and service range %s overlap; choose two that do not", pods, services))
	}
	for _, at := range []struct{ what, address string }{{"host address", c.HostAddress}, {"node IP", c.NodeIP}} {
		ip, err := netip.ParseAddr(at.address)
		if err != nil {
			continue // validateAddresses says so
		}
		// An endpoint inside the service range would be dropped by kube-proxy's
		// rule against unallocated cluster IPs.
		if services.Contains(ip) || pods.Contains(ip) {
			errs = append(errs, fmt.Errorf("%s %s lies in the pod range %s or the service range %s; choose other ranges", at.what, ip, pods, services))
		}
	}
	return errors.Join(errs...)
}

func parseRange(what, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4() || prefix != prefix.Masked() {
		return prefix, fmt.Errorf("%s %q: an IPv4 network such as 10.42.0.0/16 is needed", what, text)
	}
	return prefix, nil
}

// serviceIP returns the nth address of the service range.
func (c Config) serviceIP(n int) netip.Addr {
	prefix := netip.MustParsePrefix(c.ServiceCIDR)
	ip := prefix.Addr()
	for range n {
		ip = ip.Next()
	}
	return ip
}

// server is the URL under which this machine reaches the API.
func (c Config) server() string {
	host := c.APIAddress
	if ip := netip.MustParseAddr(host); ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(c.APIPort))
}

// issuer is who service-account tokens say they come from.
func (c Config) issuer() string { return "https://kubernetes.default.svc." + c.ClusterDomain }

// paths are the files below DataDir that belong to this package.
type paths struct {
	marker, lock, etcd, pki, kubeconfigs, logs, storage string
}

func (c Config) paths() paths {
	at := func(name string) string { return filepath.Join(c.DataDir, name) }
	return paths{
		marker: at("cluster.json"), lock: at("cluster.lock"),
		etcd: at("etcd"), pki: at("pki"), kubeconfigs: at("kubeconfig"), logs: at("logs"),
		storage: at("storage"),
	}
}

func (p paths) kubeconfig(component string) string {
	return filepath.Join(p.kubeconfigs, component+".conf")
}

func (p paths) log() string { return filepath.Join(p.logs, "control-plane.log") }

func (p paths) etcdSocket() string { return filepath.Join(p.etcd, "client.sock") }
