package main

import (
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// suite is the module of Kubernetes' end-to-end tests, which has the programs of
// their images too.
const suite = "test/conformance/suite"

const (
	kubernetesImages = "k8s.io/kubernetes/test/images/"
	e2eImages        = "registry.k8s.io/e2e-test-images/"
)

// conformance are the images that Kubernetes' end-to-end tests ask for, by the
// names and versions of k8s.io/kubernetes/test/utils/image/manifest.go. What is
// in them follows k8s.io/kubernetes/test/images: the tests call these programs.
var conformance = []recipe{
	agnhost("agnhost", "2.66.1", nil),
	agnhost("agnhost-prev", "2.55", nil),
	agnhost("nautilus", "1.8", map[string]string{"data.json": "{\n  \"image\": \"nautilus.jpg\"\n}\n", "nautilus.jpg": ""}),
	agnhost("kitten", "1.8", map[string]string{"data.json": "{\n  \"image\": \"kitten.jpg\"\n}\n", "kitten.jpg": ""}),
	{
		// The shell of Debian's busybox drops variables such as data-1; bash keeps them,
		// as the shell of the image does that is meant.
		name: "busybox", tag: e2eImages + "busybox:1.37.0-2",
		packages: []string{"busybox-static", "bash", "libc6", "libtinfo6"},
		links:    map[string]string{"bin/sh": "bash"},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	renamed("nginx", "nginx", e2eImages+"nginx:1.27.0-2"),
	renamed("nginx", "nginx-new", e2eImages+"nginx:1.28.0-2"),
	{
		name: "nonroot", tag: e2eImages + "nonroot:1.5",
		packages: []string{"busybox-static"},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}, User: "1234"},
	},
	{
		name: "nonewprivs", tag: e2eImages + "nonewprivs:1.4",
		packages: []string{"busybox-static"},
		programs: map[string]string{"usr/local/bin/nnp": kubernetesImages + "nonewprivs"}, module: suite,
		setuid: []string{"usr/local/bin/nnp"},
		config: v1.Config{Env: []string{path}, Cmd: []string{"nnp"}},
	},
	pause,
	{
		name: "glibc-dns-testing", tag: e2eImages + "glibc-dns-testing:2.1.1",
		packages: []string{"busybox-static", "bash", "libtinfo6", "bind9-dnsutils", "libc-bin"},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"bash"}},
	},
	{
		name: "regression-issue-74839", tag: e2eImages + "regression-issue-74839:1.5",
		packages: []string{"busybox-static"},
		programs: map[string]string{"regression-issue-74839": kubernetesImages + "regression-issue-74839"}, module: suite,
		config: v1.Config{Env: []string{path}, Entrypoint: []string{"/regression-issue-74839"}},
	},
	{
		name: "resource-consumer", tag: e2eImages + "resource-consumer:1.14",
		packages: []string{"busybox-static", "stress"},
		programs: map[string]string{
			"consumer":    kubernetesImages + "resource-consumer",
			"consume-cpu": kubernetesImages + "resource-consumer/consume-cpu",
		}, module: suite,
		config: v1.Config{Env: []string{path}, Entrypoint: []string{"/consumer"}},
	},
	{
		name: "sample-apiserver", tag: e2eImages + "sample-apiserver:1.29.2",
		packages: []string{"busybox-static"},
		programs: map[string]string{"sample-apiserver": "k8s.io/sample-apiserver"}, module: suite,
		config: v1.Config{Env: []string{path}, Entrypoint: []string{"/sample-apiserver"}},
	},
	{
		name: "etcd", tag: "registry.k8s.io/etcd:3.7.0-0",
		packages: []string{"busybox-static"},
		programs: map[string]string{"usr/local/bin/etcd": "whylet.dev/whylet/test/peer/etcd"},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"/usr/local/bin/etcd"}},
	},
}

// agnhost is the program of most tests, with the tools that they call beside it.
func agnhost(name, version string, files map[string]string) recipe {
	content := map[string]string{
		"etc/passwd": accounts["etc/passwd"] + "user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n",
		"etc/group":  accounts["etc/group"] + "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n",
		"uploads/":   "",
		// A test reads in an image volume what the real images are made from.
		"etc/os-release": "NAME=\"Alpine Linux\"\n",
	}
	maps.Copy(content, files)
	r := recipe{
		name: name, tag: e2eImages + name + ":" + version,
		packages: []string{
			"busybox-static", "bash", "bind9-dnsutils", "curl", "netcat-openbsd", "iproute2", "libc-bin",
			"wget", // busybox's crashes: it is static, and loads the libraries here to look a name up
			// What only pre-depends on its libraries brings none.
			"libc6", "libtinfo6", "util-linux", "libblkid1", "libcap-ng0", "libmount1", "libselinux1", "libsmartcols1", "libuuid1",
		},
		programs: map[string]string{"agnhost": kubernetesImages + "agnhost"}, module: suite,
		// Debian's busybox runs its own programs whatever PATH has, so sh is bash.
		links: map[string]string{"agnhost-2": "agnhost", "bin/nc": "nc.openbsd", "bin/sh": "bash"},
		files: content,
		copies: map[string]string{
			"localhost.crt": kubernetesImages + "agnhost/porter/localhost.crt",
			"localhost.key": kubernetesImages + "agnhost/porter/localhost.key",
		},
		serves: true,
		config: v1.Config{
			Env: []string{path}, Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"},
			ExposedPorts: map[string]struct{}{"80/tcp": {}, "5000/tcp": {}, "8080/tcp": {}, "8081/tcp": {}, "9376/tcp": {}},
		},
	}
	switch name {
	case "agnhost-prev":
		r.tag = e2eImages + "agnhost:" + version
	case "nautilus", "kitten":
		r.config.Cmd = []string{"test-webserver"}
	}
	return r
}

var pause = recipe{
	name: "pause", tag: "registry.k8s.io/pause:3.10.2",
	copies: map[string]string{"pause": "bin/libexec/pause"},
	config: v1.Config{Env: []string{path}, Entrypoint: []string{"/pause"}, User: "65535:65535"},
}

// renamed is one of the project's own images under a name of the tests.
func renamed(own, name, tag string) recipe {
	r, _ := find(recipes, own)
	r.name, r.tag = name, tag
	return r
}
