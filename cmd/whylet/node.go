package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"whylet.dev/whylet/node"
)

func newNodeCommand(s streams) *cobra.Command {
	o := nodeOptions{command: "node"}
	cmd := &cobra.Command{
		Use:   "node --kubeconfig FILE",
		Short: "Start a node that joins an existing API server",
		Long: `Start only the node, and register it with the API server that the kubeconfig
names. Its user should be system:node:NAME in the group system:nodes, where NAME is
the node's name: that is what NodeRestriction and the Node authorizer expect.

Nothing of a control plane starts: Services and DNS are the cluster's own affair.
An API server that checks its kubelets' certificates (kubectl logs says "unknown
authority" then) wants --serving-cert and --serving-key from its own authority.`,
		Example: `  whylet node --kubeconfig /etc/kubernetes/kubelet.conf --detach
  whylet node --kubeconfig node.conf --node-name edge-1 --runtime-endpoint unix:///run/containerd/containerd.sock`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd, s)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.given.Kubeconfig, "kubeconfig", "", "kubeconfig of the API server, with the node's own credentials; needed for the first start")
	f := cmd.Flags()
	f.StringVar(&o.given.ClientCA, "client-ca", "", "authority of those who may talk to the node's HTTPS API (default: the one in the kubeconfig)")
	f.StringVar(&o.given.ServingCert, "serving-cert", "", "certificate of the node's HTTPS API, for an API server that checks it (default: self-signed)")
	f.StringVar(&o.given.ServingKey, "serving-key", "", "key of --serving-cert")
	return cmd
}

// joinExisting fills in how the node reaches the API server of a kubeconfig, and
// what its own HTTPS API serves with: a certificate that it signs itself, as a
// kubelet does that was given none.
func (s *stack) joinExisting(c *node.Config) error {
	file := s.instance.Settings.Kubeconfig
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig %s: %w", file, err)
	}
	c.API = rest.AddUserAgent(config, "whylet/"+version)
	c.API.QPS = -1
	s.instance.Kubeconfig = file
	pki := filepath.Join(c.DataDir, "pki")
	if err := os.MkdirAll(pki, 0o700); err != nil {
		return fmt.Errorf("making %s: %w", pki, err)
	}
	if c.ClientCA, err = s.clientCAFile(config, pki); err != nil {
		return err
	}
	if err := s.servingCert(c, pki); err != nil {
		return err
	}
	return s.instance.write(s.dataDir)
}

// servingCert gives the node's HTTPS API its certificate: the user's, or one made
// anew at each start.
func (s *stack) servingCert(c *node.Config, pki string) error {
	set := s.instance.Settings
	if set.ServingCert != "" || set.ServingKey != "" {
		c.ServingCert, c.ServingKey = set.ServingCert, set.ServingKey
		return nil
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(c.Name, []net.IP{net.ParseIP(c.IP)}, nil)
	if err != nil {
		return fmt.Errorf("making the node's serving certificate: %w", err)
	}
	c.ServingCert, c.ServingKey = filepath.Join(pki, "serving.crt"), filepath.Join(pki, "serving.key")
	if err := os.WriteFile(c.ServingCert, certificate, 0o600); err != nil {
		return fmt.Errorf("writing the node's serving certificate: %w", err)
	}
	if err := os.WriteFile(c.ServingKey, key, 0o600); err != nil {
		return fmt.Errorf("writing the node's serving key: %w", err)
	}
	return nil
}

// clientCAFile is the file with the authority for clients of the node's HTTPS
// API: the user's, or the API server's from the kubeconfig.
func (s *stack) clientCAFile(config *rest.Config, dir string) (string, error) {
	switch {
	case s.instance.Settings.ClientCA != "":
		return s.instance.Settings.ClientCA, nil
	case config.CAFile != "":
		return config.CAFile, nil
	case len(config.CAData) > 0:
		file := filepath.Join(dir, "client-ca.crt")
		if err := os.WriteFile(file, config.CAData, 0o600); err != nil {
			return "", fmt.Errorf("writing the client authority: %w", err)
		}
		return file, nil
	}
	return "", &exitError{exitUsage, errors.New("the kubeconfig names no certificate authority; say with --client-ca who may talk to the node's HTTPS API")}
}
