package main

import (
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"whylet.dev/whylet/cluster"
)

// proxyVariables are those by which Go's programs, and so all of the node's, find a proxy.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}

// proxyOf is the proxy that this process was given and its variable; empty: none.
func proxyOf(env func(string) string) (variable, address string) {
	for _, v := range proxyVariables {
		if a := env(v); a != "" {
			return v, a
		}
	}
	return "", ""
}

// exemptFromProxy keeps a proxy out of what the node's parts say to each other: it is for
// images. Otherwise the API server would ask the proxy for the logs of this node's pods, for
// webhooks and for the metrics. It has to come before the first request of the process,
// for Go reads the variables once.
func exemptFromProxy(command string, s settings) {
	if variable, _ := proxyOf(os.Getenv); variable == "" {
		return
	}
	ip, _, _ := defaultRouteAddress() // one that there is not needs no exemption
	os.Setenv("NO_PROXY", exempt(noProxy(os.Getenv), ownAddresses(command, s, ip)))
}

// noProxy is the list as Go's programs read it.
func noProxy(env func(string) string) string {
	if list := env("NO_PROXY"); list != "" {
		return list
	}
	return env("no_proxy")
}

// ownAddresses are those that only this node and its pods have.
func ownAddresses(command string, s settings, ip netip.Addr) []string {
	own := []string{"localhost", "127.0.0.0/8"}
	if ip.IsValid() {
		own = append(own, ip.String())
	}
	own = append(own, s.PodCIDR)
	if command == "up" {
		services := s.ServiceCIDR
		if services == "" {
			services = cluster.DefaultServiceCIDR
		}
		own = append(own, services, cluster.DefaultHostAddress, ".svc", ".cluster.local")
		if s.APIAddress != "" {
			own = append(own, s.APIAddress)
		}
	}
	return own
}

// exempt adds to a list of exemptions what it lacks.
func exempt(list string, own []string) string {
	var all []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			all = append(all, entry)
		}
	}
	for _, o := range own {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return strings.Join(all, ",")
}

// checkProxy says what a proxy is used for, where there is one.
func checkProxy() []finding {
	variable, address := proxyOf(os.Getenv)
	if variable == "" {
		return nil
	}
	f := finding{Name: "proxy", Verdict: found, Detail: variable + " is used for images; what the node's parts say to each other goes past it"}
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		f.Verdict, f.Detail = degraded, variable+" is no address of a proxy, so no image can be pulled"
		f.Fix = "export " + variable + "=http://HOST:PORT"
	}
	return []finding{f}
}
