package main

import (
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// recipe says what an image is made of.
type recipe struct {
	name, tag string
	// packages are Debian packages, taken with the libraries they depend on.
	packages []string
	// programs are main packages, built without cgo: path in the image → package.
	programs map[string]string
	// module is the folder of the module that names the programs' versions; "" is this one.
	module string
	// copies are of files: path in the image → a file's path, or PACKAGE/FILE of module.
	copies map[string]string
	// files are written on top: path → content. A path that ends in "/" is a folder.
	files map[string]string
	// links are symbolic: path → target.
	links map[string]string
	// setuid are programs that run as their owner, root.
	setuid []string
	// serves says that agnhost's registry has an image pause:testing to serve.
	serves bool
	config v1.Config
}

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// accounts are what programs look up when they drop privileges.
var accounts = map[string]string{
	"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
	"etc/group":  "root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n",
	"root/":      "",
	"tmp/":       "",
	"var/tmp/":   "",
}

var recipes = []recipe{
	{
		// A shell with the usual small tools, and an httpd.
		name: "busybox", tag: "busybox:1",
		packages: []string{"busybox-static"},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		// A shell that speaks HTTP, HTTPS and DNS.
		name: "shell", tag: "shell:1",
		packages: []string{"busybox-static", "curl", "bind9-dnsutils", "ca-certificates"},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sleep", "infinity"}},
	},
	{
		name: "stress", tag: "stress:1",
		packages: []string{"busybox-static", "stress"},
		config:   v1.Config{Env: []string{path}, Entrypoint: []string{"/usr/bin/stress"}},
	},
	{
		// Perl, for applications that misbehave in ways of their own: see serve.
		name: "perl", tag: "perl:1",
		// perl-base only pre-depends on its libraries.
		packages: []string{"busybox-static", "perl-base", "libc6", "libcrypt1"},
		files:    map[string]string{"usr/lib/serve": serve},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		name: "nginx", tag: "nginx:1",
		packages: []string{"busybox-static", "nginx", "nginx-common"},
		files: map[string]string{
			"etc/nginx/nginx.conf": "daemon off;\nuser www-data;\nworker_processes 1;\nerror_log /dev/stderr notice;\npid /run/nginx.pid;\n" +
				"events { worker_connections 256; }\n" +
				"http {\n  include /etc/nginx/mime.types;\n  access_log /dev/stdout;\n" +
				"  server {\n    listen 80;\n    root /usr/share/nginx/html;\n    index index.html;\n  }\n}\n",
			"usr/share/nginx/html/index.html": "Welcome to nginx\n",
			"run/":                            "",
			"var/log/nginx/":                  "",
			"var/lib/nginx/":                  "",
		},
		config: v1.Config{
			Env: []string{path}, Entrypoint: []string{"/usr/sbin/nginx"}, StopSignal: "SIGQUIT",
			ExposedPorts: map[string]struct{}{"80/tcp": {}},
		},
	},
	{
		// A server of grpc.health.v1.
		name: "grpchealth", tag: "grpchealth:1",
		packages: []string{"busybox-static"}, programs: map[string]string{"usr/bin/grpchealth": "whylet.dev/whylet/test/images/grpchealth"},
		config: v1.Config{Env: []string{path}, Entrypoint: []string{"/usr/bin/grpchealth"}},
	},
	{
		// A program that eats memory at a steady rate.
		name: "eater", tag: "eater:1",
		packages: []string{"busybox-static"}, programs: map[string]string{"usr/bin/eater": "whylet.dev/whylet/test/images/eater"},
		config: v1.Config{Env: []string{path}, Entrypoint: []string{"/usr/bin/eater"}},
	},
	{
		// The proxies of other meshes, as far as probes meet them.
		name: "sidecar", tag: "sidecar:1",
		packages: []string{"busybox-static"},
		programs: map[string]string{"usr/bin/sidecar": "whylet.dev/whylet/test/images/sidecar"},
		config:   v1.Config{Env: []string{path}, Entrypoint: []string{"/usr/bin/sidecar"}},
	},
	{
		// Apache with HTTP/2 in plain text on 8082, stopped by SIGWINCH as its official
		// image is. A request for /eat takes 64 MB in the worker that serves it.
		name: "httpd", tag: "httpd:1",
		packages: []string{"busybox-static", "apache2-bin", "apache2"},
		files: map[string]string{
			"etc/apache2/httpd.conf": "ServerRoot /etc/apache2\nListen 8082\nServerName localhost\nPidFile /run/httpd.pid\n" +
				"LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n" +
				"LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so\n" +
				"LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n" +
				"LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so\n" +
				"LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so\n" +
				"LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so\n" +
				"LoadModule cgid_module /usr/lib/apache2/modules/mod_cgid.so\n" +
				"LoadModule lua_module /usr/lib/apache2/modules/mod_lua.so\nLuaMapHandler /eat /usr/lib/eat.lua\n" +
				"User www-data\nGroup www-data\nProtocols h2c http/1.1\nErrorLog /dev/stderr\n" +
				"LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b\" common\nCustomLog /dev/stdout common\n" +
				"TypesConfig /etc/mime.types\nDocumentRoot /var/www/html\nDirectoryIndex index.html\n" +
				"ScriptSock /run/cgisock\nScriptAlias /cgi-bin/ /usr/lib/cgi-bin/\n" +
				"<Directory /var/www/html>\n  Require all granted\n</Directory>\n" +
				"<Directory /usr/lib/cgi-bin>\n  Require all granted\n</Directory>\n",
			"etc/mime.types":          "text/html html\n",
			"var/www/html/index.html": "It works\n",
			"usr/lib/cgi-bin/":        "",
			"usr/lib/eat.lua":         eat,
			"run/":                    "",
			"var/log/apache2/":        "",
		},
		config: v1.Config{
			Env: []string{path}, Entrypoint: []string{"/usr/sbin/apache2", "-f", "/etc/apache2/httpd.conf", "-DFOREGROUND"},
			StopSignal: "SIGWINCH", ExposedPorts: map[string]struct{}{"8082/tcp": {}},
		},
	},
}

// serve is an HTTP server with a mind of its own: perl /usr/lib/serve PORT CODE.
// The code answers request $n for $path with a status and a body; it has the
// connection ($c) and the listening socket ($s) at hand.
const serve = `use strict; use warnings; use IO::Socket::INET;
my ($port, $code) = @ARGV;
our ($s, $c, $n, $path) = (undef, undef, 0, "");
$SIG{PIPE} = "IGNORE"; $SIG{TERM} = sub { exit 0 };
sub wait_for { select(undef, undef, undef, $_[0]) }
sub spin_for { my $end = time + $_[0]; 1 while time < $end }
$s = IO::Socket::INET->new(LocalPort => $port, Listen => 64, ReuseAddr => 1) or die "listen: $!\n";
my $answer = eval "no strict; sub { $code }" or die $@;
for (;;) {
	if (!$s || !defined fileno($s)) { sleep 1; next }
	$c = $s->accept or next;
	$c->setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack("l!l!", 1, 0));
	my $line = <$c>;
	$path = defined $line && $line =~ m{^\S+ (\S+)} ? $1 : "";
	while (defined(my $header = <$c>)) { last if $header =~ /^\r?$/ }
	$n++;
	my ($status, $body) = $answer->();
	$body //= "";
	if ($status) { print $c "HTTP/1.1 $status X\r\nContent-Length: " . length($body) . "\r\nConnection: close\r\n\r\n$body" }
	close $c;
}
`

const eat = `function handle(r)
  local held = {}
  for i = 1, 64 do held[i] = string.rep("x", 1048576 - 32) .. i end
  r:puts(#held .. "\n")
  return apache2.OK
end
`

// write puts the recipe's own files on top of the packages'.
func (r recipe) write(root string) error {
	for _, set := range []map[string]string{accounts, r.files} {
		for name, content := range set {
			if err := writeFile(root, name, content); err != nil {
				return err
			}
		}
	}
	for name, target := range r.links {
		link := filepath.Join(root, name)
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	for _, name := range r.setuid {
		if err := os.Chmod(filepath.Join(root, name), 0o755|os.ModeSetuid); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(root, "tmp"), 0o1777|os.ModeSticky)
}

func writeFile(root, name, content string) error {
	target := filepath.Join(root, name)
	if name[len(name)-1] == '/' {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.Remove(target); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(target, []byte(content), 0o644)
}
