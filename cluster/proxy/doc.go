// Package proxy is kube-proxy's nftables backend, wired without kube-proxy's command: it
// is what makes Services work on a node.
//
//	proxy.go  all of it
package proxy
