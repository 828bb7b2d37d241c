package cluster

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/netpol"
)

// What clients log of a connection that nobody answered, and of others.
func TestMayBeDropped(t *testing.T) {
	for said, want := range map[string]bool{
		`dial tcp 10.43.0.9:80: i/o timeout`:                                                                      true,
		`Failed to reach backend-service: timed out`:                                                              true,
		`Error calling backend-service: request timed out`:                                                        true,
		`<urlopen error timed out>`:                                                                               true,
		`curl: (28) Connection timeout after 5000 ms`:                                                             true,
		`canceling statement due to lock timeout`:                                                                 false,
		`could not obtain a connection from the pool: timed out`:                                                  false,
		`dial tcp 10.43.0.9:80: connect: operation not permitted`:                                                 true,
		`dial tcp 10.43.0.9:80: connect: no route to host`:                                                        true,
		`dial tcp 10.43.0.9:80: connect: connection timed out`:                                                    true,
		`connection error: desc = "transport: Error while dialing: dial tcp 10.43.0.9:50051: i/o timeout"`:        true,
		"failed to connect to `host=db user=shop database=shop`: dial error (timeout: context deadline exceeded)": true,
		`failed to connect to db:5432: context deadline exceeded`:                                                 true,
		`pymysql.err.OperationalError: (2003, "Can't connect to MySQL server on 'db' (timed out)")`:               true,
		`ERROR 2002 (HY000): Can't connect to MySQL server on 'db' (110)`:                                         true,
		`SQLSTATE[HY000] [2002] Connection timed out`:                                                             true,
		`Net::OpenTimeout: execution expired`:                                                                     true,
		`Faraday::ConnectionFailed: execution expired`:                                                            true,
		`Failed to open TCP connection to backend:80 (Connection timed out - connect(2) for "backend" port 80)`:   true,
		`httpx.ConnectTimeout: timed out`:                                                                         true,
		`requests.exceptions.ConnectTimeout: HTTPConnectionPool(host='backend', port=80): Max retries exceeded with url: / (Caused by ConnectTimeoutError(<urllib3.connection.HTTPConnection object at 0x7f>, 'Connection to backend timed out. (connect timeout=2)'))`: true,
		`asyncio.exceptions.TimeoutError`:                                                                                                                     false,
		`java.net.http.HttpConnectTimeoutException: HTTP connect timed out`:                                                                                   true,
		`io.netty.channel.ConnectTimeoutException: connection timed out after 5000 ms: backend/10.43.0.9:80`:                                                  true,
		`java.net.SocketTimeoutException: failed to connect to backend/10.43.0.9 (port 80) after 10000ms`:                                                     true,
		`java.net.NoRouteToHostException: No route to host`:                                                                                                   true,
		`AxiosError: connect ETIMEDOUT 10.43.0.9:80`:                                                                                                          true,
		`[cause]: ConnectTimeoutError: Connect Timeout Error (attempted address: backend:80, timeout: 10000ms)`:                                               true,
		`System.Net.Sockets.SocketException (110): Connection timed out`:                                                                                      true,
		`System.Net.Sockets.SocketException (10060): A connection attempt failed because the connected party did not properly respond after a period of time`: true,
		`curl: (28) Failed to connect to backend port 80 after 130000 ms: Couldn't connect to server`:                                                         true,
		`curl: (28) Connection timed out after 2001 milliseconds`:                                                                                             true,
		`curl: (28) Failed to connect to backend port 80 after 2001 ms: Timeout was reached`:                                                                  true,
		`wget: download timed out`:                                                                                       true,
		`nc: backend (10.43.0.9:80): Connection timed out`:                                                               true,
		`upstream timed out (110: Connection timed out) while connecting to upstream`:                                    true,
		`MongoServerSelectionError: connection timed out`:                                                                true,
		`redis.exceptions.TimeoutError: Timeout connecting to server`:                                                    true,
		`Could not connect to Redis at db:6379: Connection timed out`:                                                    true,
		`upstream connect error or disconnect/reset before headers. reset reason: connection timeout`:                    true,
		`upstream timed out (110: Connection timed out) while reading response header from upstream`:                     false,
		`requests.exceptions.ReadTimeout: HTTPConnectionPool(host='stock', port=8000): Read timed out. (read timeout=2)`: false,
		`curl: (28) Operation timed out after 2001 milliseconds with 0 bytes received`:                                   false,
		`dial tcp 10.43.0.9:80: connect: connection refused`:                                                             false,
		`dial tcp: lookup db on 10.43.0.10:53: read udp 10.42.0.7:4711->10.43.0.10:53: i/o timeout`:                      false,
		`chown: /data: Operation not permitted`:                                                                          false,
	} {
		if got := MayBeDropped(said); got != want {
			t.Errorf("%s: %v, want %v", said, got, want)
		}
	}
}

// What clients log where no DNS server answered them.
func TestMayLackDNS(t *testing.T) {
	for said, want := range map[string][2]bool{
		`socket.gaierror: [Errno -3] Temporary failure in name resolution`: {true, true},
		`Error: getaddrinfo EAI_AGAIN backend`:                             {true, true},
		`wget: bad address 'backend'`:                                      {false, true},
		`curl: (6) Could not resolve host: backend`:                        {false, true},
		`curl: (28) Resolving timed out after 5000 milliseconds`:           {true, true},
		`;; communications error to 10.43.0.10#53: timed out`:              {true, true},
		`;; connection timed out; no servers could be reached`:             {true, true},
		`dial tcp: lookup db on 10.96.0.10:53: no such host`:               {false, false},
		`Error: getaddrinfo ENOTFOUND db`:                                  {false, false},
	} {
		for i, exists := range []bool{false, true} {
			if got := MayLackDNS(said, exists); got != want[i] {
				t.Errorf("%s: %v, want %v", said, got, want[i])
			}
		}
	}
}

// The patch that a step proposes makes the policy admit the connection.
func TestAdmittingAdmits(t *testing.T) {
	pod := func(namespace, name, address string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name, "pod-template-hash": "x"}}}
		p.Status.PodIP = address
		return p
	}
	of := func(namespace string) map[string]string { return map[string]string{v1.LabelMetadataName: namespace} }
	web := netpol.End{Pod: pod("shop", "web", "10.42.0.7"), NamespaceLabels: of("shop")}
	api := netpol.End{Pod: pod("shop", "api", "10.42.0.9"), NamespaceLabels: of("shop")}
	job := netpol.End{Pod: pod("batch", "job", "10.42.0.8"), NamespaceLabels: of("batch")}
	host := netpol.End{Addresses: []string{"203.0.113.9"}}
	for _, spec := range []string{
		`{"podSelector":{},"policyTypes":["Ingress","Egress"]}`,
		`{"podSelector":{},"policyTypes":["Ingress","Egress"],"ingress":[{"from":[{"podSelector":{"matchLabels":{"app":"x"}}}]}],"egress":[{"to":[{"podSelector":{"matchLabels":{"app":"x"}}}]}]}`,
		`{"podSelector":{},"policyTypes":["Ingress","Egress"],"ingress":[{"ports":[{"port":9}]}],"egress":[{"ports":[{"port":9,"endPort":11}]}]}`,
		`{"podSelector":{},"policyTypes":["Ingress","Egress"],"ingress":[{"from":[{"podSelector":{"matchLabels":{"app":"x"}}}],"ports":[{"port":9}]}],"egress":[{"to":[{"ipBlock":{"cidr":"1.0.0.0/8"}}],"ports":[{"port":9}]}]}`,
		`{"podSelector":{},"policyTypes":["Ingress","Egress"],"ingress":[{"from":[{"podSelector":{}}],"ports":[{"port":9}]},{"from":[{"ipBlock":{"cidr":"1.0.0.0/8"}}]}],"egress":[{"to":[{"namespaceSelector":{"matchLabels":{"team":"x"}}}]}]}`,
	} {
		for _, c := range []netpol.Connection{
			{Client: web, Server: api, Port: 8080}, {Client: job, Server: api, Port: 8080}, {Client: web, Server: job, Port: 53, Protocol: v1.ProtocolUDP}, {Client: web, Server: host, Port: 443},
		} {
			for _, evaluate := range []func([]networkingv1.NetworkPolicy, netpol.Connection) netpol.Result{netpol.Egress, netpol.Ingress} {
				p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
				if err := json.Unmarshal([]byte(spec), &p.Spec); err != nil {
					t.Fatal(err)
				}
				r := evaluate([]networkingv1.NetworkPolicy{p}, c)
				if r.Outcome != netpol.Denied {
					continue
				}
				peer := c.Client
				if r.Direction == networkingv1.PolicyTypeEgress {
					peer = c.Server
				}
				text := admitting(c, r, peer)
				patch, err := jsonpatch.DecodePatch([]byte(text))
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				raw, err := patch.Apply([]byte(`{"spec":` + spec + `}`))
				if err != nil {
					t.Errorf("%s to %s: %v", text, spec, err)
					continue
				}
				if err := json.Unmarshal(raw, &p); err != nil {
					t.Fatal(err)
				}
				if got := evaluate([]networkingv1.NetworkPolicy{p}, c); got.Outcome != netpol.Allowed {
					t.Errorf("%s to %s: %d", text, spec, got.Outcome)
				}
			}
		}
	}
}
