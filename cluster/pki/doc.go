// Package pki makes and keeps the certificates, keys and kubeconfigs of the
// embedded control plane.
//
// There are two authorities: one for all servers and clients, and one for the
// front proxy, which Kubernetes wants apart (a client certificate signed by the
// front-proxy authority may speak in anybody's name). Both live ten years, the
// certificates they sign one year; Ensure renews what has less than a quarter of
// its life left, what names other hosts than it should, and what its authority
// no longer vouches for. Keys are ECDSA P-256: they take microseconds to make,
// where RSA keys would take a large part of a two-second start.
//
// Everything lies in one directory of mode 0700, keys with mode 0600. Files are
// replaced by rename, so that a start that is killed leaves either the old pair
// or none, never half of one.
//
//	pki.go         Ensure: all that a cluster needs
//	authority.go   who signs, and for how long
//	pair.go        a certificate with its key; files.go, how it is written
//	kubeconfig.go  how a component finds the API server
package pki
