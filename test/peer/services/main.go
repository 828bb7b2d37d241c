// Command services makes Services and their names work on the real stack's first node: by
// kube-proxy's nftables backend, and CoreDNS with its plugin for Kubernetes.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/cluster/proxy"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: services KUBECONFIG NODE ADDRESS POD-RANGE")
		os.Exit(2)
	}
	if err := serve(os.Args[1], proxy.Node{Name: os.Args[2], IP: os.Args[3], PodCIDR: os.Args[4]}); err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		os.Exit(1)
	}
}

func serve(kubeconfig string, node proxy.Node) error {
	names := fmt.Sprintf(".:53 {\n bind %s\n errors\n kubernetes cluster.local {\n  kubeconfig %q\n }\n}\n", node.IP, kubeconfig)
	if _, err := caddy.Start(caddy.CaddyfileInput{Filepath: "Corefile", Contents: []byte(names), ServerTypeName: "dns"}); err != nil {
		return err
	}
	api, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	return proxy.Run(context.Background(), node, api)
}
