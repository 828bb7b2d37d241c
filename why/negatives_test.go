package why

import (
	"testing"
)

func TestRunsProgram(t *testing.T) {
	for _, c := range []struct {
		command []string
		name    string
		want    bool
	}{
		{[]string{"/usr/bin/worker-check", "-q"}, "worker-check", true},
		{[]string{"sh", "-c", "timeout -s KILL 3 python3 /app/check.py"}, "python3", true},
		{[]string{"bash", "-ec", "cd /app && exec ./check"}, "check", true},
		{[]string{"sh", "-c", "sleep 60 & echo"}, "sleep", true},
		{[]string{"pg_isready", "-U", "postgres"}, "postgres", false},
		{[]string{"sh", "-c", "curl -sf http://php/ping"}, "php", false},
		{[]string{"php", "artisan", "queue:check"}, "artisan", false},
	} {
		if got := runsProgram(c.command, c.name); got != c.want {
			t.Errorf("%q runs %s: %v", c.command, c.name, got)
		}
	}
}

func TestOwnRequest(t *testing.T) {
	for line, own := range map[string]bool{
		"operation error S3: PutObject, https response error StatusCode: 403":   true,
		"AxiosError: Request failed with status code 401":                       true,
		"requests.exceptions.HTTPError: 404 Client Error: Not Found":            true,
		"tornado.web.HTTPError: HTTP 404: Not Found (/favicon.ico)":             false,
		"cherrypy._cperror.HTTPError: (403, 'You are not allowed')":             false,
		`"GET /admin HTTP/1.1" 403 153 "-" "curl/8.5"`:                          false,
		"urllib.error.HTTPError: HTTP Error 403: Forbidden":                     true,
		"An error occurred (AccessDenied) when calling the PutObject operation": true,
	} {
		if got := ownRequest.MatchString(line); got != own {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestMemoryQuantity(t *testing.T) {
	for bytes, want := range map[int64]string{0: "", 30 << 20: "30Mi", 1 << 30: "1Gi", 1_000_000_000: "954Mi", 3 << 29: "1536Mi"} {
		if got := memoryQuantity(bytes); got != want {
			t.Errorf("%d is %q, not %q", bytes, got, want)
		}
	}
}
