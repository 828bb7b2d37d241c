package why

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A command names the port that its server listens on, unless the probed port stands elsewhere in it.
func TestPortsOfCommands(t *testing.T) {
	for command, want := range map[string][]string{
		"httpd -f -p 8080":                {"8080"},
		"java -Dserver.port=8080 -jar x":  {"8080"},
		"app --port=0.0.0.0:8080":         {"8080"},
		"flask run --port 8080":           {"8080"},
		"kafka-topics -p 8080":            nil,
		"app --port=http --http-port 99k": nil,
	} {
		if got := portsIn(strings.Fields(command)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
	c := &v1.Container{Args: []string{"--port=8080", "--health=:8081"}, Env: []v1.EnvVar{{Name: "ADMIN", Value: "http://:9000/"}}}
	for port, want := range map[int]bool{8081: true, 9000: true, 808: false, 8082: false} {
		if namesPort(c, port) != want {
			t.Errorf("port %d: %v, want %v", port, !want, want)
		}
	}
}

// Clients ask their own machine by default, or by its name, or else another one.
func TestAsksServer(t *testing.T) {
	for command, want := range map[string][2]bool{
		"cat /tmp/healthy":                             {false, false},
		"redis-cli ping":                               {true, false},
		"sh -c 'redis-cli -h redis ping'":              {true, true},
		"pg_isready -U app -h 127.0.0.1 -p 5432":       {true, false},
		"sh -c 'pg_isready -h $POD_IP'":                {true, true},
		"mysqladmin --host=db ping":                    {true, true},
		"wget -q -O /dev/null http://127.0.0.1/":       {true, false},
		"curl -H 'Host: a' http://localhost:8080/":     {true, false},
		"curl -sf http://backend:8080/healthz":         {true, true},
		"curl http://localhost/ && curl http://db:80/": {true, true},
		"nc -z db 5432":                                {true, true},
		"nc -z localhost 5432":                         {true, false},
		"ping -c 1 db":                                 {true, true},
		"mysqladmin ping":                              {true, false},
		"nslookup api.shop 127.0.0.1":                  {true, false},
		"grpc_health_probe -addr=:8080":                {true, true},
		"grpc_health_probe -addr=localhost:8080":       {true, false},
	} {
		if asks, elsewhere := asksServer(command); [2]bool{asks, elsewhere} != want {
			t.Errorf("%s: asks %t, elsewhere %t", command, asks, elsewhere)
		}
	}
}
