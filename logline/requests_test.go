package logline

import "testing"

func TestStatus(t *testing.T) {
	for line, want := range map[string]int{
		`10.0.0.9 - - [29/Nov/2026:18:12:36 +0000] "GET /v1/health HTTP/1.1" 502 157 "-" "Python-urllib/3.11"`:                                502,
		`INFO:     10.0.0.9:4711 - "POST /orders HTTP/1.1" 500 Internal Server Error`:                                                         500,
		`127.0.0.1:56020 [29/Nov/2026:21:16:56.470] https connect/connect01 0/0/0/-1/0 502 209 - - PH-- 1/1/0/0/0 0/0 "GET /login HTTP/1.1"`:  502,
		`10.42.3.95:41430 [29/Nov/2026:18:27:54.022] http pricing/<NOSRV> 0/-1/-1/-1/0 503 217 - - SC-- 1/1/0/0/0 0/0 "GET /prices HTTP/1.1"`: 503,
		`{"level":"error","logger":"http.log.access","msg":"handled request","request":{"method":"GET","uri":"/"},"size":18,"status":504}`:    504,
		`10.42.0.1 - - [29/Nov/2026:18:47:34 +0000] "GET / HTTP/1.1" 503 255 "-" "kube-probe/1.37"`:                                           0,
		`ERROR orders: GET http://payments/v1 gave 502`:                                                                                       0,
		`{"level":"error","msg":"cannot reach payments","status":502}`:                                                                        0,
	} {
		if got := Status(line); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}
