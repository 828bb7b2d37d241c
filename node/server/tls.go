package server

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// certificates are the TLS side of the server, kept up to date by reloaders.
type certificates struct {
	config    *tls.Config
	clientCA  *dynamiccertificates.DynamicFileCAContent
	reloaders []func(context.Context)
}

// newCertificates reads the files named in the configuration. Client
// certificates are asked for but not demanded: a client may come with a bearer
// token instead, so it is for the guard to verify them.
func newCertificates(c Config) (*certificates, error) {
	serving, err := dynamiccertificates.NewDynamicServingContentFromFiles("node-serving", c.ServingCert, c.ServingKey)
	if err != nil {
		return nil, fmt.Errorf("serving certificate of the node's API: %w", err)
	}
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("node-client-ca", c.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client CA of the node's API: %w", err)
	}
	base := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		ClientAuth: tls.RequestClientCert,
	}
	current := dynamiccertificates.NewDynamicServingCertificateController(base, clientCA, serving, nil, nil)
	clientCA.AddListener(current)
	serving.AddListener(current)
	if err := current.RunOnce(); err != nil {
		return nil, fmt.Errorf("certificates of the node's API: %w", err)
	}
	config := base.Clone()
	config.GetConfigForClient = current.GetConfigForClient
	return &certificates{
		config:   config,
		clientCA: clientCA,
		reloaders: []func(context.Context){
			func(ctx context.Context) { serving.Run(ctx, 1) },
			func(ctx context.Context) { clientCA.Run(ctx, 1) },
			func(ctx context.Context) { current.Run(1, ctx.Done()) },
		},
	}, nil
}
