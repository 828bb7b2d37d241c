package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig of one component, mode 0600. It refers to
// the certificate files by path, so that a renewed certificate is picked up by
// the client without a restart (client-go reloads certificate files).
func WriteKubeconfig(file, server string, ca *Authority, user string, pair Pair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["whylet"] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: ca.CertFile}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificate: pair.CertFile, ClientKey: pair.KeyFile}
	config.Contexts["whylet"] = &clientcmdapi.Context{Cluster: "whylet", AuthInfo: user}
	config.CurrentContext = "whylet"
	return save(file, config)
}

// MergeKubeconfig puts a self-contained entry named name into the kubeconfig of
// a person, which may hold entries of other clusters: they stay, and so does
// their current context if there is one. The file is made with mode 0600.
func MergeKubeconfig(file, name, server string, ca *Authority, pair Pair) error {
	config, err := loadOrNew(file)
	if err != nil {
		return err
	}
	cluster, user, err := embedded(server, ca, pair)
	if err != nil {
		return err
	}
	config.Clusters[name] = cluster
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	if config.CurrentContext == "" {
		config.CurrentContext = name
	}
	return save(file, config)
}

// UnmergeKubeconfig takes the entry named name out of the kubeconfig again, and
// removes the file when nothing else is in it. An absent file is no error.
func UnmergeKubeconfig(file, name string) error {
	have, err := exists(file)
	if err != nil || !have {
		return err
	}
	config, err := loadOrNew(file)
	if err != nil {
		return err
	}
	delete(config.Clusters, name)
	delete(config.AuthInfos, name)
	delete(config.Contexts, name)
	if config.CurrentContext == name {
		config.CurrentContext = ""
	}
	if len(config.Clusters)+len(config.AuthInfos)+len(config.Contexts) == 0 {
		return os.Remove(file)
	}
	return save(file, config)
}

func embedded(server string, ca *Authority, pair Pair) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	caPEM, err := os.ReadFile(ca.CertFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read authority certificate: %w", err)
	}
	certPEM, err := os.ReadFile(pair.CertFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read client certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(pair.KeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read client key: %w", err)
	}
	return &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: caPEM},
		&clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}, nil
}

func loadOrNew(file string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.LoadFromFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s cannot be read; mend it or name another file: %w", file, err)
	}
	return config, nil
}

func save(file string, config *clientcmdapi.Config) error {
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make directory for kubeconfig: %w", err)
	}
	return writeFile(file, data, 0o600)
}
