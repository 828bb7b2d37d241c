package words

import (
	"fmt"
	"testing"
)

// Lines that have a port and do not say that the program listens there.
func TestListensAt(t *testing.T) {
	for line, port := range map[string]string{
		`{"level":"INFO","msg":"http server listening","addr":"[::]:9090"}`:             "9090",
		"INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)":       "8000",
		`{"level":"INFO","message":"Ad Service started, listening on 9555"}`:            "9555",
		"Startup completed in 30ms. Server Running: http://subject:8080":                "8080",
		`LOG:  listening on IPv4 address "0.0.0.0", port 5432`:                          "5432",
		"[Note] Server socket created on IP: '0.0.0.0', port: '3306'.":                  "3306",
		"1:M 29 Nov 2026 18:47:36.188 * Running mode=standalone, port=6379.":            "6379",
		`Starting ProtocolHandler ["http-nio-8080"]`:                                    "8080",
		"Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...":                  "8000",
		"INFO 1 --- [main] Tomcat started on port(s): 8080 (http) with context path ''": "8080",
		"INFO 1 --- [main] Application : Server started on port(s): 8081 (http)":        "8081",
		"Listening on port 3000":                                    "3000",
		"serving at http://0.0.0.0:8000":                            "8000",
		"listening on :8081":                                        "8081",
		"Application started at 2026-11-28 09:18:01":                "",
		"Started connection pool for postgres://db:5432/app":        "",
		"INFO ready, using redis at cache:6379":                     "",
		"listening since 09:18:01":                                  "",
		"serving requests, upstream is http://api.shop:8080/v1":     "",
		"bound to the queue of amqp://user@rabbitmq:5672, prefetch": "",
	} {
		got := ""
		if n, _ := ListensOn(line); n != 0 {
			got = fmt.Sprint(n)
		}
		if got != port {
			t.Errorf("%s: port %q, not %q", line, got, port)
		}
	}
	if _, beside := ListensOn("RMI registry listening on port 1099"); !beside {
		t.Error("the port of RMI is taken for that of the application")
	}
}

// TestBindsToLoopback has lines of configurations as servers read them, and those of clients.
func TestBindsToLoopback(t *testing.T) {
	for _, c := range []struct {
		text string
		port int
		want bool
	}{
		{"bind 127.0.0.1 -::1", 6379, true},
		{"  bind-address = 127.0.0.1", 3306, true},
		{"listen = 127.0.0.1:9000", 9000, true},
		{"listen = 127.0.0.1:9000", 4243, false},
		{"listener 1883 127.0.0.1", 1883, true},
		{"listener 1884 127.0.0.1", 1883, false},
		{"listen_addresses = 'localhost'", 5432, true},
		{"server.address=127.0.0.1", 8080, true},
		{"--listen-metrics-urls=http://127.0.0.1:2381", 2381, true},
		{"--listen-peer-urls=http://127.0.0.1:2380", 2379, false},
		{"inet_interfaces = loopback-only", 25, true},
		{"HOST=127.0.0.1", 3000, true},
		{"--bind 127.0.0.1", 6379, true},
		{"# bind 127.0.0.1", 6379, false},
		{"bind 0.0.0.0 127.0.0.1", 6379, false},
		{"listen 127.0.0.1:8404;", 80, false},
		{"db_host = localhost", 8080, false},
		{"REDIS_HOST=localhost", 8080, false},
		{"proxy_pass http://127.0.0.1:8080;", 8080, false},
	} {
		if got := BindsToLoopback(c.text, c.port) != ""; got != c.want {
			t.Errorf("%s at port %d: %t", c.text, c.port, got)
		}
	}
}
