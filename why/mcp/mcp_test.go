package mcp

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/ask"
)

// client is a client of the SDK, whose server answers from an exported history.
func client(t *testing.T, file string) *mcp.ClientSession {
	t.Helper()
	source, err := journal.OpenFile("../serve/testdata/" + file + ".facts")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer("test", func(o ask.Options, _ bool) (ask.Asker, error) {
		return &ask.Journal{Source: source, AsOf: source.Stats().Last, Options: o}, nil
	})
	here, there := mcp.NewInMemoryTransports()
	served, err := s.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = served.Wait()
	})
	return c
}

// Every tool only reads, and says so.
func TestToolsOnlyRead(t *testing.T) {
	list, err := client(t, "slow-handler").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
	if got := strings.Join(names, " "); got != "facts suggest timeline unhealthy what_if why" {
		t.Errorf("the tools are %s", got)
	}
}

func TestTools(t *testing.T) {
	c := client(t, "slow-handler")
	for _, test := range []struct {
		tool string
		args map[string]any
		says string
		bad  bool
	}{
		{"why", map[string]any{"name": "p8b"}, "app-overloaded", false},
		{"why", map[string]any{"kind": "po", "name": "p8b", "since": "240h"}, "pod default/p8b", false},
		{"why", map[string]any{"name": "p8c"}, "there is default/p8b", true},
		{"why", map[string]any{"kind": "dragon", "name": "x"}, "not a kind", true},
		{"why", map[string]any{"name": "p8b", "since": "yesterday"}, "not a duration", true},
		{"unhealthy", map[string]any{}, "app-overloaded", false},
		{"what_if", map[string]any{"name": "p8b", "changes": []string{"livenessProbe.timeoutSeconds=5"}}, "timeoutSeconds", false},
		{"what_if", map[string]any{"name": "p8b", "changes": []string{}}, "changes are missing", true},
		{"suggest", map[string]any{"name": "p8b"}, "good answers", false},
		{"timeline", map[string]any{"name": "p8b"}, " Exited ", false},
		{"timeline", map[string]any{"name": "p8b", "from": "noon"}, "not a time", true},
		{"timeline", map[string]any{"kind": "job", "name": "p8b"}, "of a pod or of a node", true},
		{"facts", map[string]any{"name": "p8b", "kinds": []string{"Exited"}}, `"exitCode"`, false},
	} {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: test.tool, Arguments: test.args})
		if err != nil {
			t.Errorf("%s %v: %v", test.tool, test.args, err)
			continue
		}
		text := ""
		for _, content := range r.Content {
			if said, ok := content.(*mcp.TextContent); ok {
				text += said.Text
			}
		}
		if r.IsError != test.bad || !strings.Contains(text, test.says) {
			t.Errorf("%s %v: error %v\n%s", test.tool, test.args, r.IsError, text)
		}
	}
}
