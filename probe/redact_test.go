package probe

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	jwt = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49\n" +
		"AwEHoUQDQgAEPR3tU2Fta9ktY+6P9G0cWO+0kETA6SFs38GecTyudlHz6xvCdz8q\n-----END EC PRIVATE KEY-----\n"
)

func TestRedact(t *testing.T) {
	for _, c := range [][2]string{
		{"ok", "ok"},
		{`{"status":"UP"}`, `{"status":"UP"}`},
		{`{"db_password":"hunter2","up":true}`, `{"db_password":"[redacted]","up":true}`},
		{"Authorization: Bearer abc.def\nnext: 1", "Authorization: [redacted]\nnext: 1"},
		{"a=1&access_token=xyz&b=2", "a=1&access_token=[redacted]&b=2"},
		{"X-API-Key = k; path=/", "X-API-Key = [redacted]; path=/"},
		{"token:", "token:[redacted]"},
		{"Access denied for user 'root'@'localhost' (using password: NO)", "Access denied for user 'root'@'localhost' (using password: NO)"},
		{"password='it''s'", "password='[redacted]''s'"},
		{"open /etc/passwd: too many open files", "open /etc/passwd: too many open files"},
		{"tokens: 5", "tokens: 5"},
		{"dial postgres://app:hunter2@db:5432/shop: timeout", "dial postgres://app:[redacted]@db:5432/shop: timeout"},
		{"GET http://10.0.0.1:8080/a@b", "GET http://10.0.0.1:8080/a@b"},
		{"Set-Cookie: id=5, Cookie: a=b; secret=c", "Set-Cookie: [redacted], Cookie: [redacted]; secret=[redacted]"},
		{"dial postgres://app:p@ss@db/shop", "dial postgres://app:[redacted]@db/shop"},
		{"jwt=" + jwt, "jwt=eyJ[redacted]"},
		{"got " + jwt[:60] + ".", "got eyJ[redacted]."},
		{"curl -H 'X: Bearer 0123456789abcdef0123'", "curl -H 'X: Bearer [redacted]'"},
		{"sent Basic YWRtaW46aHVudGVyMg==", "sent Basic [redacted]"},
		{"key AKIAIOSFODNN7EXAMPLE of", "key AKIA[redacted] of"},
		{`{"SecretAccessKey":"wJalrXUtnFEMI/K7MDENG"}`, `{"SecretAccessKey":"[redacted]"}`},
		{"push with ghp_0123456789abcdefghijABCDEFGHIJ012345 failed", "push with ghp_[redacted] failed"},
		{"loaded " + pem + "and went on", "loaded [redacted]\nand went on"},
		{"loaded " + strings.ReplaceAll(pem, "\n", `\n`) + "!", `loaded [redacted]\n!`},
		{"loaded " + pem[:90], "loaded [redacted]"},
		{"error\n" + pem[50:] + "and went on", "error\n[redacted]\nand went on"},
	} {
		text, want := c[0], c[1]
		if got := string(Redact([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// What explains things is no secret.
func TestRedactKeeps(t *testing.T) {
	for _, text := range []string{
		"pulled app@sha256:9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0",
		"panic: failed to open htpasswd path open /etc/registry/.htpasswd: read-only file system",
		`{"Failed to create cookie file '/data/.erlang.cookie': eacces",[{auth,init`,
		"open /var/run/secrets/token: no such file or directory",
		"pod 3f1c7d8e-52b4-4c37-9a08-1be0f6a4d2c9, container 5e0b1c6f7a8d92e3f4051627384950a1b2c3d4e5f60718293a4b5c6d7e8f9012",
		"built from d176b70c0b3a4a2e9d1f8b7c6a5e4d3c2b1a0f9e",
		"GET http://[::1]:8080/healthz: 401, WWW-Authenticate: Bearer authentication-required",
		"Basic authentication failed for user app@example.org at 10.0.0.1:5432",
		"the bearer of this message, basic configuration-of-the-service",
		"mail to ops@example.org: https://example.org:8443/runbook/17",
		"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----",
		"eyJ is how base64 of JSON begins, and xoxb- a token of Slack",
		"region ASIAPACIFICHEADQUARTERS1, class com.example.ghp_client",
		"java.net.SocketException: Too many open files at sun.nio.ch.Net.accept0(Native Method)",
	} {
		if got := string(Redact([]byte(text))); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// FuzzRedactShapes puts secrets into any text: none is left of them, and doing it
// again changes nothing.
func FuzzRedactShapes(f *testing.F) {
	f.Add("token ", "\n", 0)
	f.Add("://a:", "@", 3)
	f.Fuzz(func(t *testing.T, before, after string, which int) {
		secrets := []string{jwt, "Bearer 0123456789abcdef0123", "AKIAIOSFODNN7EXAMPLE", pem, "ghp_0123456789abcdefghijABCDEFGHIJ012345"}
		secret := secrets[uint(which)%uint(len(secrets))]
		once := Redact([]byte(before + " " + secret + " " + after))
		if bytes.Contains(once, []byte(secret)) {
			t.Errorf("still has the secret: %q", once)
		}
		if again := Redact(bytes.Clone(once)); !bytes.Equal(again, once) {
			t.Errorf("%q becomes %q", once, again)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte("password=abc"), "abc")
	f.Fuzz(func(t *testing.T, before []byte, secret string) {
		if secret == "" || !utf8.ValidString(secret) || strings.ContainsAny(secret, "\r\n\"',&;} ") || bytes.Contains(before, []byte(secret)) || strings.Contains("[redacted]\ntoken=", secret) {
			return
		}
		text := string(before) + "\ntoken=" + secret
		if got := excerpt([]byte(text)); strings.Contains(got, secret) && len(text) < maxOutput {
			t.Errorf("%q still has the secret: %q", text, got)
		}
	})
}
