package logline_test

import (
	"strings"
	"testing"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/words"
)

// traces are logs of ends, each with where in the application's own code that was.
var traces = []struct{ name, want, log string }{
	{"python", "/app/settings.py:12, in load", `Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    settings.load()
  File "/app/settings.py", line 12, in load
    return os.environ["DB"]
  File "/usr/lib/python3.11/os.py", line 679, in __getitem__
    raise KeyError(key) from None
KeyError: 'DB'`},
	{"python, a chain", "/app/db.py:9, in connect", `Traceback (most recent call last):
  File "/app/socket.py", line 3, in ask
    raise OSError
OSError: no

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/db.py", line 9, in connect
    raise Broken("no database")
  File "/venv/lib/python3.11/site-packages/psycopg/__init__.py", line 122, in connect
    conn = _connect(dsn)
    ^^^^^^^^^^^^^^^^^^^^
psycopg.OperationalError: connection failed: no such host`},
	{"python, syntax", "/srv/app.py:3", "  File \"/srv/app.py\", line 3\n    print(\n         ^\nSyntaxError: '(' was never closed"},
	{"python, a library's alone", "", `Traceback (most recent call last):
  File "/usr/local/bin/gunicorn", line 8, in <module>
    sys.exit(run())
  File "/usr/local/lib/python3.12/site-packages/gunicorn/app/wsgiapp.py", line 67, in run
    WSGIApplication().run()
  File "<frozen importlib._bootstrap>", line 1387, in _gcd_import
ModuleNotFoundError: No module named 'shop'`},
	{"java", "Orders.java:42, in com.shop.Orders.load", `Exception in thread "main" java.lang.IllegalStateException: no orders
	at java.base/java.util.Objects.requireNonNull(Objects.java:235)
	at com.shop.Orders.load(Orders.java:42)
	at com.shop.Main.main(Main.java:8)`},
	{"java, a cause", "Orders.java:42, in com.shop.Orders.load", `Exception in thread "main" org.springframework.beans.factory.BeanCreationException: Error creating bean
	at org.springframework.boot.SpringApplication.run(SpringApplication.java:1303)
	at com.shop.Main.main(Main.java:8)
Caused by: java.io.FileNotFoundException: /data/orders.csv (No such file or directory)
	at java.base/java.io.FileInputStream.open0(Native Method)
	at com.shop.Orders.load(Orders.java:42) ~[app.jar!/:1.0]
	... 22 common frames omitted`},
	{"java, a cause of libraries alone", "Main.java:8, in com.shop.Main.main", `Exception in thread "main" org.springframework.beans.factory.BeanCreationException: Error creating bean
	at org.springframework.boot.SpringApplication.run(SpringApplication.java:1303)
	at com.shop.Main.main(Main.java:8)
Caused by: java.net.BindException: Address already in use
	at java.base/sun.nio.ch.Net.bind0(Native Method)
	... 9 more`},
	{"java, a constructor", "Orders.java:7, in com.shop.Orders", "Exception in thread \"main\" java.lang.Error: no\n\tat com.shop.Orders.<init>(Orders.java:7)"},
	{"java, a server", "", "ERROR fatal\njava.lang.IllegalStateException: no\n\tat org.apache.kafka.server.Server.start(Server.java:7)\n\tat kotlinx.x.Y.z(Y.kt:8)"},
	{"node", "/srv/config.js:7, in load", `/srv/node_modules/dotenv/lib/main.js:3
    throw new Error("no")
    ^

Error: no such variable: DB
    at parse (/srv/node_modules/dotenv/lib/main.js:3:9)
    at load (/srv/config.js:7:9)
    at Object.<anonymous> (/srv/index.js:1:1)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)

Node.js v22.1.0`},
	{"node, with members", "/srv/index.mjs:4", `Error: listen EADDRINUSE: address already in use 0.0.0.0:80
    at Server.setupListenHandle [as _listen2] (node:net:1898:16)
    at file:///srv/index.mjs:4:8 {
  code: 'EADDRINUSE'
}`},
	{"ruby", "/srv/config.rb:3, in load", "/srv/config.rb:3:in `load': key not found: \"DB\" (KeyError)\n\tfrom /srv/app.rb:7:in `<main>'"},
	{"ruby, a gem's", "/srv/app.rb:7, in block in start", "/usr/local/bundle/gems/pg-1.5/lib/pg.rb:63:in 'initialize': connection refused (PG::ConnectionBad)\n\tfrom /usr/lib/ruby/3.1.0/x.rb:3:in 'new'\n\tfrom /srv/app.rb:7:in 'block in start'"},
	{"php", "", "PHP Fatal error:  Uncaught RuntimeException: no in /app/src/Orders.php:12\nStack trace:\n#0 /app/index.php(3): Orders->load()\n#1 {main}\n  thrown in /app/src/Orders.php on line 12"},
	{"php, a package's", "/app/index.php:3", "PHP Fatal error:  Uncaught RuntimeException: no in /app/vendor/acme/Orders.php:12\nStack trace:\n#0 /app/vendor/acme/Base.php(9): Orders->load()\n#1 /app/index.php(3): Base->load()\n#2 {main}\n  thrown in /app/vendor/acme/Orders.php on line 12"},
	{"go", "/src/orders.go:42, in load", "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.(*Orders).load(...)\n\t/src/orders.go:42\nmain.main()\n\t/src/main.go:8 +0x1d\n\ngoroutine 7 [chan receive]:\nmain.wait()\n\t/src/wait.go:3 +0x5"},
	{"go, a module's", "/src/main.go:8", "panic: no\n\ngoroutine 1 [running]:\ngithub.com/x/y.Z(0x1)\n\t/go/pkg/mod/github.com/x/y@v1.2.3/z.go:3 +0x1d\nmain.main()\n\t/src/main.go:8 +0x1d"},
	{"dotnet", "/src/Orders.cs:42, in Shop.Orders.Load", "Unhandled exception. System.IO.FileNotFoundException: Could not find file '/data/x'.\n   at System.IO.File.Open(String path) in /_/src/File.cs:line 3\n   at Shop.Orders.Load(String path) in /src/Orders.cs:line 42"},
	// What has no stack.
	{"postgres", "", "2026-11-24 02:35:33.900 UTC [13] FATAL:  recovery ended before configured recovery target was reached"},
	{"nginx", "", "2026/11/24 02:35:11 [emerg] 1#1: unexpected \"}\" in /etc/nginx/nginx.conf:9"},
	{"haproxy", "", "[ALERT]    (1) : config : parsing [/srv/haproxy.cfg:11]: Missing LF on last line"},
	{"mariadb", "", "2026-11-24 2:34:14 0 [ERROR] mariadbd: Got error\n2026-11-24 2:34:14 0 [ERROR] Aborting"},
	{"rabbitmq", "", "BOOT FAILED\n===========\nException during startup:\n\nexit:{error, x}\n\n    rabbit:start_it/1, line 416\n"},
	{"nothing", "", ""},
}

// The innermost frame of the application's own code is found, in a log as it stands and in what is
// kept of one.
func TestRaisedAt(t *testing.T) {
	for _, c := range traces {
		lines := strings.Split(c.log, "\n")
		kept, _ := words.Keep(lines, 10, 1<<10)
		if got := words.Read(lines).RaisedAt().String(); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := words.Read(kept).RaisedAt().String(); got != c.want {
			t.Errorf("%s, kept: %q of %q", c.name, got, kept)
		}
	}
}

// What is kept of a long log has the application's frame, whatever stands around it.
func TestKeptFrame(t *testing.T) {
	log := "ready\nTraceback (most recent call last):\n"
	for range 30 {
		log += "  File \"/app/deep.py\", line 3, in again\n    again()\n"
	}
	log += "  File \"/app/last.py\", line 4, in end\n    raise KeyError\n" + strings.Repeat("  File \"/usr/lib/python3/x.py\", line 4, in y\n    y()\n", 5) + "KeyError: 'DB'\n" + strings.Repeat("goodbye, said after that\n", 3)
	kept, _ := words.Keep(strings.Split(log, "\n"), 10, 1<<10)
	if got := words.Read(kept).RaisedAt().String(); got != "/app/last.py:4, in end" {
		t.Errorf("%s of %q", got, kept)
	}
}

// Whatever a log has in it, a place is one of a line of it.
func FuzzRaisedAt(f *testing.F) {
	for _, c := range traces {
		f.Add(c.log)
	}
	f.Fuzz(func(t *testing.T, log string) {
		lines := strings.Split(log, "\n")
		if at := words.Read(lines).RaisedAt(); !strings.Contains(log, at.File) || !strings.Contains(log, at.In) || (at.File == "") != (at == logline.Spot{}) {
			t.Errorf("%q: %+v", log, at)
		}
	})
}
