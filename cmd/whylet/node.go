package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/node"
	"whylet.dev/whylet/node/credentials"
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

The node asks the cluster for the certificate of its HTTPS API, and serves one of
its own until somebody approves the request: kubectl get csr, then kubectl
certificate approve NAME. Its client certificate is renewed before it expires.`,
		Example: `  whylet node --kubeconfig /etc/kubernetes/kubelet.conf --detach
  whylet node --kubeconfig node.conf --node-name edge-1 --runtime-endpoint unix:///run/containerd/containerd.sock`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd, s)
		},
	}
	o.addFlags(cmd)
	return cmd
}

// joinExisting fills in how the node reaches the API server of a kubeconfig, and
// what its own HTTPS API serves with. Both certificates come from the cluster and
// are renewed while the node runs, unless the user brought others.
func (s *stack) joinExisting(c *node.Config) error {
	pki := pkiDir(s.dataDir)
	if err := os.MkdirAll(pki, 0o700); err != nil {
		return fmt.Errorf("making %s: %w", pki, err)
	}
	own := credentials.Config{NodeName: c.Name, Dir: pki, Log: s.log}
	config, err := s.joinConfig(own)
	if err != nil {
		return err
	}
	c.API = rest.AddUserAgent(config, "whylet/"+version)
	c.API.QPS = -1
	if c.ClientCA, err = s.clientCAFile(config, pki); err != nil {
		return err
	}
	if err := s.servingCert(c, own); err != nil {
		return err
	}
	return s.instance.write(s.dataDir)
}

// pkiDir is where a node that joined a cluster keeps its certificates.
func pkiDir(dataDir string) string { return filepath.Join(dataDir, "node", "pki") }

// joinConfig is how the node reaches the API server: by the user's kubeconfig, or
// by a copy of it that names the file of the certificate which is renewed.
func (s *stack) joinConfig(own credentials.Config) (*rest.Config, error) {
	file := s.instance.Settings.Kubeconfig
	s.instance.Kubeconfig = file
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %s: %w", file, err)
	}
	client, err := credentials.Client(own, config)
	if err != nil {
		return nil, err
	}
	if client == nil {
		s.log.Warn("the kubeconfig has no client certificate of this node, so none is renewed", "kubeconfig", file, "user", "system:node:"+own.NodeName)
		return config, nil
	}
	renewed := filepath.Join(own.Dir, "node.conf")
	if err := copyKubeconfig(file, renewed, client.File); err != nil {
		return nil, err
	}
	if config, err = clientcmd.BuildConfigFromFlags("", renewed); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %s: %w", renewed, err)
	}
	s.credentials = append(s.credentials, client)
	s.instance.Kubeconfig = renewed
	return config, nil
}

// copyKubeconfig copies what is in use of a kubeconfig, with a file that holds the
// client's certificate and key in place of its own.
func copyKubeconfig(from, to, client string) error {
	config, err := clientcmd.LoadFromFile(from)
	if err == nil {
		err = clientcmdapi.MinifyConfig(config)
	}
	if err == nil {
		err = clientcmdapi.FlattenConfig(config)
	}
	if err != nil {
		return fmt.Errorf("reading the kubeconfig %s: %w", from, err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificate, user.ClientKey = client, client
		user.ClientCertificateData, user.ClientKeyData = nil, nil
	}
	if err := clientcmd.WriteToFile(*config, to); err != nil {
		return fmt.Errorf("writing the kubeconfig %s: %w", to, err)
	}
	return nil
}

// servingCert gives the node's HTTPS API its certificate: the user's, or one that
// the cluster signs.
func (s *stack) servingCert(c *node.Config, own credentials.Config) error {
	set := s.instance.Settings
	if set.ServingCert != "" {
		c.ServingCert, c.ServingKey = set.ServingCert, set.ServingKey
		return nil
	}
	serving, err := credentials.Serving(own, c.IP)
	if err != nil {
		return err
	}
	s.credentials = append(s.credentials, serving)
	c.ServingCert, c.ServingKey = serving.File, serving.File
	return nil
}

// servingNote says that the node serves its own certificate; empty when it does not.
func (i instance) servingNote(dataDir string) string {
	if i.Command != "node" || i.Settings.ServingCert != "" {
		return ""
	}
	own, err := credentials.SelfSigned(filepath.Join(pkiDir(dataDir), credentials.ServingFile), i.Settings.NodeName)
	if err != nil || !own {
		return ""
	}
	return "the node's HTTPS API serves a certificate that it signed itself until the cluster's is approved, " +
		"so kubectl logs and exec may be refused: kubectl get csr, then kubectl certificate approve NAME"
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
	return "", exit.With(exit.Usage, errors.New("the kubeconfig names no certificate authority; say with --client-ca who may talk to the node's HTTPS API"))
}
