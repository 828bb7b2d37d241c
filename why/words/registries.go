package words

// The words of registries (OCI distribution spec 1.1, error codes) as containerd 2.3
// hands them on (core/remotes/docker).
var (
	NoSuchImage = says("containerd 2.3, remotes/docker/resolver.go; distribution spec, MANIFEST_UNKNOWN and NAME_UNKNOWN",
		[]string{"not found", "manifest unknown", "name unknown", "does not exist"},
		"registry.example.com/app:none: not found",
		"manifest unknown: manifest unknown",
		"name unknown: repository name not known to registry",
		"pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed")
	// NotThatImage is said beside "not found" where something else was not found, or
	// where a registry hides what it has.
	NotThatImage = says("Go's resolver; containerd 2.3, remotes/docker/auth",
		[]string{"no such host", "lookup", "authorization", "access denied", "unauthorized"},
		"dial tcp: lookup registry.example.com on 10.0.0.2:53: no such host",
		"pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
		"failed to authorize: 401 Unauthorized")
	NotAuthorized = says("containerd 2.3, remotes/docker/auth; distribution spec, UNAUTHORIZED and DENIED",
		[]string{"unauthorized", "authorization failed", "access denied", "403 forbidden", "401", "insufficient_scope", "authentication required"},
		"unexpected status from HEAD request to https://registry.example.com/v2/app/manifests/1: 401 Unauthorized",
		"pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
		"failed to fetch anonymous token: unexpected status: 403 Forbidden",
		"unauthorized: authentication required")
	RegistryAway = says("net and net/http of Go 1.26; containerd 2.3, remotes/docker, unexpected status",
		[]string{
			"no such host", "connection refused", "i/o timeout", "network is unreachable", "no route to host", "tls handshake", "server misbehaving", "connection reset",
			"x509", "503 service", "502 bad", "500 internal", "context deadline exceeded",
		},
		"dial tcp: lookup registry.example.com on 10.0.0.2:53: no such host", "dial tcp 192.0.2.1:443: connect: connection refused", "dial tcp 192.0.2.1:443: i/o timeout",
		"dial tcp 192.0.2.1:443: connect: network is unreachable", "dial tcp 192.0.2.1:443: connect: no route to host", "net/http: TLS handshake timeout",
		"dial tcp: lookup registry.example.com on 10.0.0.2:53: server misbehaving", "read tcp 10.0.0.3:4711->192.0.2.1:443: read: connection reset by peer",
		"tls: failed to verify certificate: x509: certificate signed by unknown authority", "unexpected status code https://registry.example.com/v2/: 503 Service Unavailable",
		"unexpected status from GET request to https://registry.example.com/v2/: 502 Bad Gateway", "unexpected status from GET request to https://registry.example.com/v2/: 500 Internal Server Error",
		`Head "https://registry.example.com/v2/app/manifests/1": context deadline exceeded`)
)
