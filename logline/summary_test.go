package logline_test

import (
	"testing"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/words"
)

func TestTold(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"failing members": {`{"status":"DOWN","checks":{"disk":{"status":"UP"},"db":{"status":"DOWN","detail":"connection refused"}}}`, "checks.db.detail: connection refused, checks.db.status: DOWN, status: DOWN"},
		"a class":         {`{"database":"OperationalError","status":"DOWN"}`, "database: OperationalError, status: DOWN"},
		"an errno":        {`{"status":"DOWN","database":"getaddrinfo ENOTFOUND db","cache":"ENABLED","breaker":"CLOSED"}`, "database: getaddrinfo ENOTFOUND db, status: DOWN"},
		"lines":           {`{"database":"server closed the connection unexpectedly\n\tThis probably means"}`, "database: server closed the connection unexpectedly This probably means"},
		"its reason":      {`{"error":"EMFILE: too many open files, open '/srv/server.js'","path":"/"}`, "error: EMFILE: too many open files, open '/srv/server.js'"},
		"a page":          {"<!doctype html><html><head><title>502</title><style>b{}</style></head>\n<body><h1>502 Bad Gateway</h1><hr>nginx</body></html>", "502 Bad Gateway nginx"},
		"a title alone":   {"<html><head><title>Not &amp; here</title></head></html>", "Not & here"},
		"a stock page":    {"<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n<h1>Internal Server Error</h1>\n<p>The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application.</p>", "500 Internal Server Error"},
		"its own reason":  {"<!doctype html>\n<html lang=en>\n<title>503 Service Unavailable</title>\n<h1>Service Unavailable</h1>\n<p>the database is locked</p>", "503 Service Unavailable: the database is locked"},
		"psql":            {"psql: error: connection to server on socket \"/tmp/.s.PGSQL.5432\" failed: FATAL:  sorry, too many clients already\n", "psql: error: connection to server on socket \"/tmp/.s.PGSQL.5432\" failed: FATAL:  sorry, too many clients already"},
		"a traceback":     {"Traceback (most recent call last):\n  File \"x\", line 1, in <module>\nValueError: no mode\n", "ValueError: no mode"},
		"how it is used":  {"timeout: invalid option -- 't'\nBusyBox v1.35.0 (Debian 1:1.35.0-4) multi-call binary.\n\nUsage: timeout [-s SIG] SECS PROG ARGS\n", "timeout: invalid option -- 't'"},
		"a bare status":   {`{"status":"DOWN","prices":"40 of 400","uptime":31.5,"queue":"ok"}`, "prices: 40 of 400, status: DOWN"},
		"words beside it": {`{"status":"DOWN","checks":{"bank":{"up":false,"says":"Invalid character in header content"}}}`, "checks.bank.says: Invalid character in header content, checks.bank.up: false, status: DOWN"},
		"an object":       {`{"ok":true}`, `{"ok":true}`},
		"no object":       {`{oops`, `{oops`},
	} {
		if got := words.Told(test.output); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func FuzzTold(f *testing.F) {
	f.Add(`{"a":[{"b":false}]}`)
	f.Add("<p <b>x")
	f.Fuzz(func(_ *testing.T, output string) { words.Told(output) })
}

func TestSignedBy(t *testing.T) {
	for output, want := range map[string]string{
		"<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>": "nginx/1.22.1",
		"<hr><center>openresty</center>": "openresty",
		"<hr>\n<address>Apache/2.4.62 (Debian) Server at 10.42.0.3 Port 8080</address>\n</body></html>": "Apache/2.4.62",
		"<center>Welcome to nginx</center>": "",
		`{"server":"nginx/1.22.1"}`:         "",
	} {
		if got := logline.SignedBy(output); got != want {
			t.Errorf("%q is signed by %q, want %q", output, got, want)
		}
	}
}
