// Package credentials gets a node that joined a cluster its certificates from
// that cluster, and renews them before they expire.
//
//	credentials.go  Serving and Client: what is asked for, and from which signer
//	store.go        one PEM file a certificate, replaced as a whole
//
// The asking is client-go's certificate manager, as in kubelet: a
// CertificateSigningRequest with a new key at 70 to 90 % of a certificate's life,
// and another one after a quarter of an hour without an answer. Whoever uses a
// certificate reads its file again when that changes; nothing here knows of them.
package credentials
