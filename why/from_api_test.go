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
