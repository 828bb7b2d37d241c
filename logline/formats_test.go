package logline_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/logline"
)

var rewrite = flag.Bool("rewrite", false, "write how the logs in testdata/formats are read now; look at the difference")

// severities are the names of severities in testdata/formats.
var severities = map[logline.Severity]string{
	logline.Empty: "empty", logline.Parting: "parting", logline.Detail: "detail", logline.Plain: "plain", logline.Warning: "warning",
	logline.Error: "error", logline.System: "system", logline.Fatal: "fatal", logline.Raised: "raised",
}

// TestFormats reads the logs in testdata/formats, one file a format. Below each log, which ends with a line of
// dashes, stands how severe each of its lines is and what that says, with > before the one that tells most, and
// what is quoted as the reason.
func TestFormats(t *testing.T) {
	files, err := filepath.Glob("testdata/formats/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d formats: %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, block := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n\n") {
			log, _, ok := strings.Cut(block, "\n----")
			if !ok {
				t.Fatalf("%s: no line of dashes below %q", file, block)
			}
			fmt.Fprintf(&got, "%s\n----\n%s\n", log, asRead(strings.Split(log, "\n")))
		}
		want := strings.TrimRight(string(raw), "\n") + "\n"
		switch now := strings.TrimRight(got.String(), "\n") + "\n"; {
		case now == want:
		case *rewrite:
			if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is read in another way; see the diff after go test ./logline -run TestFormats -rewrite", file)
		}
	}
}

// asRead words how a log is read.
func asRead(lines []string) string {
	s := logline.Parse(lines, nil)
	var b strings.Builder
	for i := range lines {
		mark := " "
		if i == s.Primary() {
			mark = ">"
		}
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%s %-7s %s", mark, severities[s.Severity(i)], s.Message(i)), " "))
	}
	fmt.Fprintf(&b, "reason: %s\n", s.Reason())
	return b.String()
}
