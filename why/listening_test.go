package why

import (
	"slices"
	"testing"

	"whylet.dev/whylet/fact"
)

// Only what can be reached from outside of the pod counts as listening.
func TestListeningIn(t *testing.T) {
	for name, c := range map[string]struct {
		listeners []string
		want      []int32
	}{
		"all addresses":  {[]string{"[::]:9090", "0.0.0.0:8080"}, []int32{8080, 9090}},
		"loopback":       {[]string{"127.0.0.1:9090", "[::1]:9091"}, []int32{}},
		"nobody listens": {nil, []int32{}},
	} {
		var look fact.Looked
		for _, address := range c.listeners {
			look.Listeners = append(look.Listeners, fact.Listener{Address: address, PID: 100})
		}
		if room := listeningIn(dawn, look).Room; len(room) != len(c.want) {
			t.Errorf("%s: room on %v", name, room)
		}
		got := listeningIn(dawn, look).Ports
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A port on which connections wait to be accepted has no room that anybody knows of.
func TestListeningRoom(t *testing.T) {
	look := fact.Looked{Listeners: []fact.Listener{{Address: "0.0.0.0:8080", Backlog: 3}, {Address: "0.0.0.0:9090"}}}
	if l := listeningIn(dawn, look); !slices.Equal(l.Room, []int32{9090}) || len(l.Ports) != 2 {
		t.Errorf("%+v", l)
	}
}
