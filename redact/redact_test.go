package redact

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// lines reads a file of testdata: a line each, without comments.
func lines(t testing.TB, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && !strings.HasPrefix(line, "# ") {
			all = append(all, strings.NewReplacer("⏎", "\n", "⇥", "\t").Replace(line))
		}
	}
	return all
}

var marked = regexp.MustCompile(`(?s)«(.*?)»`)

// plain is a line of secrets.txt as a program prints it, and its secrets.
func plain(line string) (text string, secrets []string) {
	for _, m := range marked.FindAllStringSubmatch(line, -1) {
		secrets = append(secrets, m[1])
	}
	return strings.NewReplacer("«", "", "»", "").Replace(line), secrets
}

// left is a part of a secret that a redacted text still has: eight characters in a row, or
// all of a shorter one.
func left(redacted, around, secret string) string {
	n := min(8, len(secret))
	for i := 0; i+n <= len(secret); i++ {
		if part := secret[i : i+n]; strings.Contains(redacted, part) && !strings.Contains(around, part) {
			return part
		}
	}
	return ""
}

// leastShare is the share of lines that must pass, in percent.
const leastShare = 97

func TestSecretsGo(t *testing.T) {
	all := lines(t, "secrets.txt")
	whole := 0
	for _, line := range all {
		text, secrets := plain(line)
		got, around, ok := Text(text), marked.ReplaceAllString(line, " "+Mark+" "), true
		for _, secret := range secrets {
			if part := left(got, around, secret); part != "" {
				t.Logf("%q keeps %q: %q", text, part, got)
				ok = false
			}
		}
		if ok {
			whole++
		}
		if again := Text(got); again != got {
			t.Errorf("%q becomes %q, and then %q", text, got, again)
		}
		if want := marked.ReplaceAllString(line, Mark); ok && got != want {
			t.Logf("%q becomes %q, want %q", text, got, want)
		}
	}
	t.Logf("%d of %d go whole", whole, len(all))
	if len(all) < 150 || whole*100 < len(all)*leastShare {
		t.Errorf("%d of %d lines lose their secrets", whole, len(all))
	}
}

func TestHarmlessStays(t *testing.T) {
	all := lines(t, "harmless.txt")
	whole := 0
	for _, line := range all {
		if got := Text(line); got != line {
			t.Logf("%q becomes %q", line, got)
			continue
		}
		whole++
	}
	t.Logf("%d of %d stay whole", whole, len(all))
	if len(all) < 60 || whole*100 < len(all)*leastShare {
		t.Errorf("%d of %d lines stay whole", whole, len(all))
	}
}

func TestIsSetting(t *testing.T) {
	for setting, secret := range map[[2]string]bool{
		{"variable DB_PASSWORD", "x"}: true, {"STRIPE_KEY", "x"}: true, {"--auth", "aB3dE6gh"}: true, {"ACCESSKEY", "x"}: true, {"MY_KEY", "abc123"}: true,
		{"DATABASE_URL", "postgres://shop:geheim@db/shop"}: true, {"DATABASE_URL", "postgres://db/shop"}: false,
		{"JAVA_TOOL_OPTIONS", "-Dcom.sun.management.jmxremote.authenticate=false"}: false, {"KEYSTONE_HOST", "a"}: false,
		{"AUTHOR", "me"}: false, {"--data-dir", "/data"}: false, {"TOKEN_FILE", "/run/token"}: false, {"PARTITION_KEY", "customer"}: false,
	} {
		if IsSetting(setting[0], setting[1]) != secret {
			t.Errorf("%q", setting)
		}
	}
}

// TestArgs: a password is an argument of its own, or a part of one.
func TestArgs(t *testing.T) {
	for _, c := range [][2]string{
		{"app --password X1 --verbose", "app --password [redacted] --verbose"},
		{"app --password=X1 --user a", "app --password=[redacted] --user a"},
		{"redis-cli -a X1 ping", "redis-cli -a [redacted] ping"},
		{"/usr/bin/mysqladmin ping -pX1", "/usr/bin/mysqladmin ping -p[redacted]"},
		{"curl -u a:X1 http://x", "curl -u a:[redacted] http://x"},
		{"pg_isready -d postgres://a:X1@db/shop", "pg_isready -d postgres://a:[redacted]@db/shop"},
		{"app --token-file /run/token --port 80", "app --token-file /run/token --port 80"},
	} {
		if got := strings.Join(Args(strings.Fields(c[0])), " "); got != c[1] {
			t.Errorf("%s becomes %s, want %s", c[0], got, c[1])
		}
	}
}
