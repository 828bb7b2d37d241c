package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// dnsPort is where CoreDNS listens on HostAddress. The Service maps port 53 to
	// it; 53 itself would collide with resolvers that listen on every address.
	dnsPort = 9053
	// resolvConf is where the machine says which resolvers it uses.
	resolvConf = "/etc/resolv.conf"
	// resolvPoll is how often resolvConf is looked at for a change of network.
	resolvPoll = 30 * time.Second
)

// corefile is what CoreDNS's own Kubernetes deployment uses, without what serves
// several replicas or a metrics scraper. Errors, such as an upstream that does not
// answer, are logged once in five minutes. Without an upstream, names outside the
// cluster are refused at once instead of timing out.
var corefile = template.Must(template.New("Corefile").Parse(`.:{{.Port}} {
	bind {{.Address}}
	errors {
		consolidate 5m ".*" error show_first
	}
	kubernetes {{.Domain}} in-addr.arpa ip6.arpa {
		kubeconfig "{{.Kubeconfig}}"
		pods insecure
		fallthrough in-addr.arpa ip6.arpa
		ttl 30
	}
{{- if .Upstream}}
	forward . {{.Upstream}} {
		max_concurrent 1000
	}
{{- end}}
	cache 30
	loadbalance
}
`))

// runDNS runs CoreDNS until ctx ends, and tells listening when it answers.
func runDNS(ctx context.Context, c Config, p paths, listening func()) error {
	upstream := upstreams(c, resolvConf)
	instance, err := caddy.Start(dnsInput(c, p, upstream))
	if err != nil {
		return fmt.Errorf("start CoreDNS: %w", err)
	}
	listening()
	wait.UntilWithContext(ctx, func(context.Context) {
		now := upstreams(c, resolvConf)
		if slices.Equal(now, upstream) {
			return
		}
		next, err := instance.Restart(dnsInput(c, p, now))
		if err != nil {
			// The old instance goes on; the next look tries again.
			c.Log.Error("CoreDNS could not take over the machine's new resolvers", "resolvers", now, "error", err)
			return
		}
		instance, upstream = next, now
	}, resolvPoll)
	return errors.Join(append(instance.ShutdownCallbacks(), instance.Stop())...)
}

func dnsInput(c Config, p paths, upstream []string) caddy.Input {
	var text strings.Builder
	// Writing to memory cannot fail, and the fields are all there.
	_ = corefile.Execute(&text, map[string]any{
		"Port": dnsPort, "Address": c.HostAddress, "Domain": c.ClusterDomain,
		"Kubeconfig": p.kubeconfig("coredns"), "Upstream": strings.Join(upstream, " "),
	})
	return caddy.CaddyfileInput{Filepath: "Corefile", Contents: []byte(text.String()), ServerTypeName: "dns"}
}

// upstreams returns the machine's resolvers that CoreDNS can ask: none when the
// file is missing or names none, and never ourselves, which would be a loop.
func upstreams(c Config, file string) []string {
	conf, err := dns.ClientConfigFromFile(file)
	if err != nil {
		return nil
	}
	var out []string
	for _, server := range conf.Servers {
		ip, err := netip.ParseAddr(server)
		if err != nil || ip.Zone() != "" || server == c.HostAddress || ip == c.serviceIP(dnsIndex) {
			continue
		}
		out = append(out, ip.String())
	}
	return out
}
