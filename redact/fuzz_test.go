package redact

import (
	"strings"
	"testing"
	"time"
)

// holders are texts that a secret is put into, in place of "%".
var holders = []string{
	"password=%", "DB_PASS: %", `"password":"%"`, `{"name":"DB_PASSWORD","value":"%"}`, "--password %", "--token=%", "mysql -p%",
	"postgres://app:%@db:5432/shop", "https://%@github.com/a/b", "Authorization: Bearer %", "Cookie: session=%", "<password>%</password>",
	"password => '%'", "password is %", "X-Api-Key: %", "ghp_%", "eyJ%.eyJ%.%", "app:%@tcp(db:3306)/shop", "token % rejected", `\"password\":\"%\"`,
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// secretOf makes a secret of any bytes: 40 letters and digits, a digit, a small and a capital letter among them.
func secretOf(seed string) string {
	b := []byte("aZ7")
	state := uint32(2166136261)
	for i := 0; len(b) < 40; i++ {
		if len(seed) > 0 {
			state = (state ^ uint32(seed[i%len(seed)])) * 16777619
		}
		state = state*1664525 + 1013904223
		b = append(b, letters[(state>>16)%62])
	}
	return string(b)
}

// FuzzText puts a secret into any text: no eight characters in a row are left of it, and
// redacting the result changes nothing.
func FuzzText(f *testing.F) {
	for i := range holders {
		f.Add("it failed: ", " and went on", "x", i)
		f.Add(`{"a":"b", `, `, "c":1}`, "y", i)
		f.Add("don't: ", "'", "z", i)
	}
	f.Fuzz(func(t *testing.T, before, after, seed string, which int) {
		secret := secretOf(seed)
		if left(before+after, "", secret) != "" {
			t.Skip()
		}
		holder := strings.ReplaceAll(holders[uint(which)%uint(len(holders))], "%", secret)
		for _, around := range []string{" ", "\n"} {
			text := before + around + holder + around + after
			got := Text(text)
			if part := left(got, "", secret); part != "" {
				t.Fatalf("%q keeps %q: %q", text, part, got)
			}
			if again := Text(got); left(again, "", secret) != "" {
				t.Fatalf("%q becomes %q, and then %q", text, got, again)
			}
			if !Holds(text) {
				t.Fatalf("%q is said to hold none", text)
			}
		}
	})
}

// FuzzArgs: no argument of a secret's flag is left, and none is lost.
func FuzzArgs(f *testing.F) {
	f.Add("app\x00--verbose", "x", 0)
	f.Fuzz(func(t *testing.T, before, seed string, which int) {
		secret := secretOf(seed)
		args := append(strings.Split(before, "\x00"), [][]string{
			{"--password", secret}, {"--token=" + secret}, {"redis-cli", "-a", secret}, {"mysqladmin", "ping", "-p" + secret}, {"curl", "-u", "a:" + secret},
		}[uint(which)%5]...)
		got := Args(args)
		if len(got) != len(args) {
			t.Fatalf("%q becomes %q", args, got)
		}
		if part := left(strings.Join(got, " "), before, secret); part != "" {
			t.Fatalf("%q keeps %q: %q", args, part, got)
		}
	})
}

// FuzzValue: no value of a secret's name is left.
func FuzzValue(f *testing.F) {
	f.Add("DB", "_x", "seed")
	f.Fuzz(func(t *testing.T, before, after, seed string) {
		Value(before+after, seed)
		if got := Value("DB_PASSWORD", secretOf(seed)); got != Mark {
			t.Fatalf("a password becomes %q", got)
		}
	})
}

// A megabyte of beginnings takes no longer than as much of anything else, by far: each is looked at within bounds.
func TestRepeatsAreNotQuadratic(t *testing.T) {
	for _, part := range []string{"://", "://a@", "://@", "a:b@", "hooks.slack.com/services/", "password ", "token: ", "\"", "--password="} {
		began := time.Now()
		Text(strings.Repeat(part, 1<<16/len(part)))
		if took := time.Since(began); took > time.Minute {
			t.Errorf("a megabyte of %q takes %v", part, took)
		}
	}
}
