package command

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"whylet.dev/whylet/exit"
)

// An assistant starts the command, and speaks with it by its standard input and output.
func TestMCP(t *testing.T) {
	in, say := io.Pipe()
	hear, out := io.Pipe()
	ended := make(chan exit.Code, 1)
	go func() {
		cmd := New(Env{In: in, Out: out, Err: io.Discard, DataDir: t.TempDir(), Agent: "test"})
		cmd.SetArgs([]string{"mcp", "--file", "../serve/testdata/wrong-port.facts"})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		ended <- exit.Of(cmd.ExecuteContext(t.Context()))
	}()
	lines := bufio.NewScanner(hear)
	lines.Buffer(nil, 1<<20)
	for _, turn := range []struct{ say, hear string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"whylet"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"why","arguments":{"name":"p10a"}}}`, "probe-wrong-port"},
	} {
		if _, err := io.WriteString(say, turn.say+"\n"); err != nil {
			t.Fatal(err)
		}
		if turn.hear != "" && (!lines.Scan() || !strings.Contains(lines.Text(), turn.hear)) {
			t.Errorf("%s is not in %s, %v", turn.hear, lines.Text(), lines.Err())
		}
	}
	_ = say.Close()
	if code := <-ended; code != exit.OK {
		t.Errorf("exit code %d", code)
	}
}
