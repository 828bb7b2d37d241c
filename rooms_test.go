package whylet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is a package and what it may know. The rooms and their order are the
// architecture; this test is what keeps them so.
type room struct {
	dir string
	// imports are the modules and rooms that it may import beside the standard
	// library. A path stands for itself and for what is below it.
	imports []string
	// outside rooms may import any module of others (docs/dependencies.md has them).
	outside bool
	// pure rooms compute and do nothing else: no clock, no goroutine, no input or
	// output, no logging, no chance.
	pure bool
}

const module = "whylet.dev/whylet/"

// ground is the room that every other may use: none may keep or show a text without it.
const ground = "redact"

var rooms = []room{
	{dir: ground, pure: true},
	{dir: "shell", pure: true},
	{dir: "fact", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers/resource"}},
	{dir: "health", pure: true, imports: []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers", "k8s.io/utils", module + "fact",
	}},
	{dir: "logline", pure: true},
	{dir: "logline/prefilter", pure: true},
	{dir: "mesh", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact"}},
	{dir: "mesh/identity"},
	{dir: "mesh/sidecar", imports: []string{"github.com/google/nftables", "golang.org/x", "k8s.io/api", module + "fact", module + "mesh", module + "probe"}},
	{dir: "mesh/webhook", imports: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", module + "mesh"}},
	{dir: "mesh/command", imports: []string{
		"github.com/spf13/cobra", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/yaml", module + "deploy/oci", module + "mesh",
	}},
	{dir: "demo", imports: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go/kubernetes", "sigs.k8s.io/yaml", module + "paint", module + "why/answer", module + "why/prose"}},
	{dir: "demo/actor"},
	{dir: "why", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers/resource", "k8s.io/utils/ptr", module + "fact", module + "logline", module + "health", module + "knowledge", module + "mesh", module + "shell", module + "why/answer", module + "why/history", module + "why/kubectl", module + "why/mounts", module + "why/prose", module + "why/words"}},
	{dir: "why/graph", pure: true},
	{dir: "why/diagnose", pure: true, imports: []string{module + "why/graph"}},
	{dir: "why/history", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "health"}},
	{dir: "why/cluster", pure: true, imports: []string{"github.com/go-logr/logr", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers/resource", "k8s.io/component-helpers/scheduling/corev1", "k8s.io/utils/ptr", module + "fact", module + "knowledge", module + "logline", module + "health", module + "shell", module + "why/answer", module + "why/kubectl", module + "why/mounts", module + "why/netpol", module + "why/prose", module + "why/words"}},
	{dir: "why/common", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "why/answer", module + "why/cluster", module + "why/prose"}},
	{dir: "why/kubectl", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "shell", module + "why/answer"}},
	{dir: "why/mounts", pure: true, imports: []string{"k8s.io/api"}},
	{dir: "why/netpol", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery"}},
	{dir: "why/answer", pure: true, imports: []string{"k8s.io/api/core/v1", "k8s.io/apimachinery", module + "fact", module + "knowledge", module + "logline", module + "why/prose", module + "why/words"}},
	{dir: "knowledge", imports: []string{"go.yaml.in/yaml/v3", module + "shell"}},
	{dir: "why/words", pure: true, imports: []string{module + "logline", module + "knowledge"}},
	{dir: "why/prose", pure: true},
	{dir: "lint", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/component-helpers", "sigs.k8s.io/yaml", "go.yaml.in/yaml/v3", module + "fact", module + "health"}},
	{dir: "why/serve", imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "health", module + "journal", module + "why"}},
	{dir: "why/suggest", imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "why"}},
	{dir: "why/whatif", imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "health", module + "why"}},
	{dir: "lanes"},
	{dir: "sense", imports: []string{
		"golang.org/x/sys", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", module + "fact", module + "pods", module + "lanes",
		module + "evidence", module + "probe",
	}},
	{dir: "sense/containers", imports: []string{
		"github.com/go-logr/logr", "golang.org/x/sync", "google.golang.org/grpc", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/cri-api", "k8s.io/cri-client",
		"k8s.io/klog/v2", "k8s.io/kubelet/pkg/types", module + "fact", module + "probe", module + "why/words",
	}},
	{dir: "evidence/cgroupfs", imports: []string{"github.com/opencontainers/cgroups", "golang.org/x/sys", module + "fact"}},
	{dir: "web", imports: []string{"k8s.io/apimachinery", module + "fact", module + "journal", module + "why"}},
	{dir: "web/timeline", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "why"}},
	{dir: "web/perfetto", pure: true, imports: []string{"google.golang.org/protobuf/encoding/protowire", module + "fact", module + "web/timeline"}},
	{dir: "web/bundle", imports: []string{"github.com/evanw/esbuild/pkg/api"}},
	{dir: "web/browser"},
	{dir: "why/fromapi", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "knowledge", module + "observe/reported", module + "shadow", module + "why"}},
	{dir: "why/record", imports: []string{"github.com/klauspost/compress", "k8s.io/apimachinery", module + "fact", module + "health", module + "journal", module + "probe", module + "why/serve"}},
	{dir: "why/dump", imports: []string{"github.com/klauspost/compress", "go.yaml.in/yaml/v3", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go/kubernetes/scheme", "sigs.k8s.io/yaml", module + "why/record"}},
	{dir: "why/mcp", imports: []string{"github.com/modelcontextprotocol/go-sdk/mcp", module + "fact", module + "journal", module + "why"}},
	{dir: "why/ask", imports: []string{
		"golang.org/x/sync", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/kubelet/pkg/apis/stats", module + "fact", module + "journal", module + "knowledge", module + "shell", module + "why",
	}},
	// Of the client: nothing that only Linux has, and nothing of a node.
	{dir: "why/command", imports: []string{
		"github.com/modelcontextprotocol/go-sdk/mcp", "github.com/spf13/cobra", "go.yaml.in/yaml/v3", "k8s.io/cli-runtime", "k8s.io/client-go", "sigs.k8s.io/yaml",
		module + "exit", module + "paint", module + "journal", module + "knowledge", module + "shell", module + "web", module + "why",
	}},
	{dir: "exit", imports: []string{module + "paint"}},
	{dir: "paint", imports: []string{"golang.org/x/term"}},
	{dir: "cmd/kubectl-why", imports: []string{"github.com/spf13/cobra", "k8s.io/client-go", "k8s.io/klog/v2", module + "exit", module + "paint", module + "deploy/command", module + "why/command"}},
	{dir: "evidence", imports: []string{"golang.org/x/sys", "k8s.io/apimachinery", module + "fact"}},
	{dir: "pods", imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact"}},
	{dir: "shadow", pure: true, imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact", module + "health"}},
	// Nothing below observe may change a pod: no room with an effect is within reach.
	{dir: "observe", imports: []string{
		"golang.org/x/sys", "google.golang.org/grpc", "k8s.io/api", "k8s.io/apimachinery", module + "evidence", module + "fact", module + "health", module + "journal", module + "pods", module + "probe", module + "sense", module + "shadow",
	}},
	{dir: "observe/tap", imports: []string{"github.com/cilium/ebpf", "golang.org/x/net", "golang.org/x/sys"}},
	{dir: "observe/api", imports: []string{"google.golang.org/grpc", "k8s.io/kubelet/pkg/apis/pods", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", module + "fact", module + "observe/reported", module + "sense"}},
	{dir: "observe/reported", imports: []string{"k8s.io/api", "k8s.io/apimachinery", module + "fact"}},
	{dir: "observe/runtime", imports: []string{
		"github.com/containerd/containerd/api", "golang.org/x/sys", "google.golang.org/grpc", "google.golang.org/protobuf", "k8s.io/apimachinery", "k8s.io/cri-api", module + "evidence", module + "fact",
	}},
	{dir: "observe/kubelet", imports: []string{"golang.org/x/sys/unix", "k8s.io/api", "k8s.io/apimachinery", module + "evidence", module + "fact", module + "observe/journald", module + "observe/reported", module + "probe"}},
	{dir: "observe/journald", imports: []string{"github.com/klauspost/compress"}},
	{dir: "cmd/whylet-observe", imports: []string{"github.com/spf13/cobra", "k8s.io/klog/v2", module + "exit", module + "front/uplink", module + "health", module + "journal", module + "observe", module + "paint", module + "why"}},
	{dir: "front/link", imports: []string{"google.golang.org/grpc", "k8s.io/apimachinery/pkg/types", module + "fact"}},
	// Of the agent: nothing of the front's own.
	{dir: "front/uplink", imports: []string{"google.golang.org/grpc", "k8s.io/apimachinery", module + "fact", module + "front/link", module + "journal", module + "why"}},
	{dir: "front", imports: []string{"google.golang.org/grpc", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", module + "fact", module + "front/link", module + "why"}},
	{dir: "front/door", imports: []string{
		"github.com/modelcontextprotocol/go-sdk/mcp", "github.com/prometheus/client_golang", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", module + "fact", module + "front", module + "shell", module + "web", module + "why",
	}},
	{dir: "front/archive", imports: []string{
		"github.com/jackc/pgx/v5", "github.com/klauspost/compress", "k8s.io/apimachinery/pkg/types", "modernc.org/sqlite", module + "fact", module + "front",
	}},
	{dir: "cmd/whylet-front", imports: []string{"github.com/spf13/cobra", "google.golang.org/grpc", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/klog/v2", module + "front", module + "knowledge", module + "why/ask"}},
	{dir: "why/question", pure: true, imports: []string{"k8s.io/apimachinery"}},
	{dir: "cmd/whylet", outside: true, imports: []string{module + "cluster", module + "exit", module + "paint", module + "demo", module + "deploy/oci", module + "evidence", module + "fact", module + "front/door", module + "front/uplink", module + "journal", module + "lint", module + "mesh/command", module + "node", module + "web", module + "why/answer", module + "why/ask", module + "why/command", module + "why/prose", module + "why/question"}},
	{dir: "cmd/whylet-init", imports: []string{"golang.org/x/sys"}},
	{dir: "cmd/whylet-mesh", imports: []string{"github.com/spf13/cobra", module + "mesh/command"}},
	{dir: "deploy", imports: []string{"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/yaml"}},
	{dir: "deploy/command", imports: []string{"github.com/spf13/cobra", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/cli-runtime", "k8s.io/client-go", "sigs.k8s.io/yaml", module + "exit", module + "deploy"}},
	{dir: "deploy/bundle"},
	{dir: "deploy/dist", imports: []string{"github.com/google/rpmpack", "sigs.k8s.io/yaml"}},
	{dir: "deploy/oci", imports: []string{"github.com/distribution/reference", "github.com/google/go-containerregistry"}},
	{dir: "deploy/image", imports: []string{module + "deploy/oci"}},
	{dir: "journal/otlp", imports: []string{"go.opentelemetry.io/proto", "google.golang.org/grpc", "google.golang.org/protobuf", module + "fact", module + "journal"}},
	{dir: "journal", imports: []string{"github.com/klauspost/compress", "golang.org/x/sys", "k8s.io/apimachinery", module + "fact"}},
	{dir: "journal/fold", imports: []string{"k8s.io/apimachinery", module + "fact", module + "journal"}},
	{dir: "journal/replay", imports: []string{"k8s.io/apimachinery", module + "fact", module + "health"}},
	{dir: "journal/command", imports: []string{"github.com/spf13/cobra", "k8s.io/apimachinery", module + "fact", module + "health", module + "journal", module + "paint"}},
	{dir: "probe", imports: []string{
		"golang.org/x", "google.golang.org/grpc", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", module + "fact",
	}},
	// What wires Kubernetes and the runtime imports of others what it needs; of our own:
	{dir: "node", outside: true, imports: []string{module + "fact", module + "health", module + "journal", module + "pods", module + "probe", module + "sense"}},
	{dir: "node/api", outside: true, imports: []string{
		module + "health", module + "journal", module + "node/cgroup", module + "node/cri", module + "node/server", module + "node/stats", module + "node/volumes",
		module + "pods", module + "why/serve",
	}},
	{dir: "node/nodestatus", outside: true, imports: []string{module + "journal", module + "node/cri", module + "node/images", module + "node/object"}},
	{dir: "node/upkeep", outside: true, imports: []string{
		module + "fact", module + "health", module + "node/cgroup", module + "node/cri", module + "node/images", module + "node/pressure", module + "node/volumes",
		module + "pods", module + "sense/containers",
	}},
	{dir: "node/cgroup", outside: true, imports: []string{module + "evidence/cgroupfs"}},
	{dir: "node/credentials", imports: []string{"github.com/go-logr/logr", "k8s.io/api", "k8s.io/client-go", "k8s.io/klog"}},
	{dir: "node/cri", outside: true, imports: []string{module + "fact", module + "sense/containers"}},
	{dir: "node/cri/critest", outside: true, imports: []string{module + "cluster/runtime", module + "node/cri"}},
	{dir: "node/effect", outside: true, imports: []string{
		module + "fact", module + "lanes", module + "node/cgroup", module + "node/cri", module + "node/images", module + "node/pressure",
		module + "node/report", module + "node/volumes", module + "pods", module + "sense",
	}},
	{dir: "node/images", outside: true, imports: []string{module + "fact", module + "node/cri"}},
	{dir: "node/object", imports: []string{
		"golang.org/x/sys", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go",
		"k8s.io/component-helpers", "k8s.io/kubernetes/pkg/apis", "k8s.io/utils",
	}},
	{dir: "node/pressure", imports: []string{
		"golang.org/x/sys", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils",
		module + "evidence/cgroupfs", module + "fact", module + "health",
	}},
	{dir: "node/report", outside: true, imports: []string{module + "fact", module + "node/cri", module + "pods", module + "probe"}},
	{dir: "node/server", outside: true},
	{dir: "node/shutdown", imports: []string{"github.com/godbus/dbus/v5", "k8s.io/api/core/v1", module + "fact", module + "pods"}},
	{dir: "node/static", outside: true, imports: []string{module + "fact", module + "pods", module + "sense"}},
	{dir: "node/stats", imports: []string{
		"github.com/prometheus/client_golang", "golang.org/x/sys", "k8s.io/api", "k8s.io/apimachinery",
		"k8s.io/kubelet", "k8s.io/utils", module + "evidence/cgroupfs",
	}},
	{dir: "node/volumes", outside: true, imports: []string{module + "fact", module + "sense"}},
	{dir: "cluster", outside: true, imports: []string{module + "fact"}},
	{dir: "cluster/metricsapi", imports: []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiserver", "k8s.io/client-go",
		"k8s.io/klog", "k8s.io/kubelet", "k8s.io/metrics",
	}},
	{dir: "cluster/pki", imports: []string{"k8s.io/client-go"}},
	{dir: "cluster/proxy", imports: []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/kubernetes/pkg/proxy"}},
	{dir: "cluster/runtime", outside: true},
	{dir: "cluster/runtime/bridge", imports: []string{"github.com/vishvananda/netlink", "golang.org/x/sys"}},
	{dir: "cluster/runtime/podnet", outside: true, imports: []string{module + "cluster/runtime/bridge"}},
	{dir: "cluster/runtime/shim", outside: true},
	{dir: "cluster/runtime/shim/group"},
	{dir: "cluster/runtime/shim/join", imports: []string{module + "cluster/runtime/shim/group"}},
	// Tests and what they drive; nobody else may import them.
	{dir: "test", outside: true, imports: []string{"whylet.dev/whylet"}},
}

// impureImports are the parts of the standard library that reach outside.
var impureImports = []string{
	"log", "os", "io", "net", "syscall", "context", "sync", "math/rand", "crypto", "database", "testing", "unsafe", "runtime",
}

// impureCalls are functions of otherwise pure packages that do.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

func TestRooms(t *testing.T) {
	for _, r := range rooms {
		t.Run(r.dir, func(t *testing.T) {
			for _, file := range goFiles(t, r.dir) {
				r.check(t, file)
			}
		})
	}
}

// Every package is a room: one that is not listed could know anything.
func TestEveryPackageIsARoom(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir() || path == ".":
			return err
		case slices.Contains([]string{"bin", "tools", "test", "testdata"}, entry.Name()) || strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		built := slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") })
		if built && !isRoom(path) {
			t.Errorf("%s is not in rooms: say what it may import", filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isRoom(dir string) bool {
	return slices.ContainsFunc(rooms, func(r room) bool { return r.dir == filepath.ToSlash(dir) })
}

// goFiles lists the files of a room that are built, those below it included
// that are no rooms of their own.
func goFiles(t *testing.T, dir string) []string {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != dir && isRoom(path) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	return files
}

func (r room) check(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !r.mayImport(imported) {
			t.Errorf("%s: %s may not import %s", set.Position(spec.Pos()), r.dir, imported)
		}
	}
	if !r.pure {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if what := impure(n); what != "" {
			t.Errorf("%s: %s may not use %s", set.Position(n.Pos()), r.dir, what)
		}
		return true
	})
}

func (r room) mayImport(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return !r.pure || path == "net/netip" || !below(path, impureImports) // addresses are values
	}
	if r.outside && !strings.HasPrefix(path, module) {
		return true
	}
	return below(path, append(slices.Clone(r.imports), module+r.dir, module+ground))
}

func below(path string, roots []string) bool {
	for _, root := range roots {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// impure names what a piece of code does that a pure room must not.
func impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.SelectorExpr:
		pkg, ok := n.X.(*ast.Ident)
		if !ok {
			return ""
		}
		for _, name := range impureCalls[pkg.Name] {
			if n.Sel.Name == name {
				return pkg.Name + "." + name
			}
		}
	}
	return ""
}

// TestSensesChangeNothing keeps the sources fit to run beside somebody else's agent: they
// link no part of Kubernetes itself, and call nothing that changes an object, a container
// or a file, but for the mark of the agent's own beat.
func TestSensesChangeNothing(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./sense/...", "./pods").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		if below(strings.TrimSpace(path), []string{"k8s.io/kubernetes", module + "node", module + "health"}) {
			t.Errorf("sense links %s", path)
		}
	}
	for _, file := range slices.Concat(goFiles(t, "sense"), goFiles(t, "sense/containers"), goFiles(t, "pods")) {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(changing, f.Sel.Name) && filepath.Base(file) != "alive.go" {
					t.Errorf("%s: sense may not call %s", set.Position(n.Pos()), f.Sel.Name)
				}
			}
			return true
		})
	}
}

// changing are calls by which clients, runtimes and the system are told to change
// something.
var changing = []string{
	"Create", "Update", "UpdateStatus", "Patch", "Apply", "ApplyStatus", "Delete", "DeleteCollection", "Evict", "EvictV1", "Bind",
	"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer",
	"UpdateContainerResources", "ReopenContainerLog", "ExecSync", "Exec", "Attach", "PortForward", "PullImage", "RemoveImage",
	"WriteFile", "Mkdir", "MkdirAll", "Remove", "RemoveAll", "Rename", "OpenFile", "Chtimes", "Chmod", "Chown", "Kill", "Mount", "Unmount",
}

// heavy is what only the rooms that wire a control plane or a container runtime
// may import: it takes minutes to build, and nobody else has business with it.
var heavy = []string{
	"k8s.io/kubernetes/cmd", "k8s.io/kubernetes/pkg/controlplane", "k8s.io/kubernetes/pkg/controller", "k8s.io/kubernetes/pkg/scheduler",
	"k8s.io/kubernetes/pkg/proxy", "go.etcd.io/etcd/server", "github.com/coredns", "github.com/containerd/containerd/v2",
}

// mayBeHeavy are those rooms, and what gives tests a real runtime or the real
// stack to compare with.
var mayBeHeavy = []string{"cluster", "cmd/whylet", "node/cri/critest", "test"}

func TestOnlyWiringImportsTheControlPlane(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "bin" || path == ".git" || path == "tools" || below(path, mayBeHeavy)):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); below(imported, heavy) {
				t.Errorf("%s: only %s may import %s", set.Position(spec.Pos()), strings.Join(mayBeHeavy, ", "), imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// beyondObserving is what the program that watches beside somebody else's kubelet must
// not have in it, by whatever way: what acts on pods, and what makes it big.
var beyondObserving = []string{
	"k8s.io/kubernetes", "github.com/containerd/containerd/v2", "github.com/opencontainers/runc",
	module + "node", module + "cluster", module + "mesh/webhook",
}

func TestTheObserverCanOnlyObserve(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/whylet-observe").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		if path = strings.TrimSpace(path); below(path, beyondObserving) {
			t.Errorf("whylet-observe links %s", path)
		}
	}
}

// storeKnows are the kinds of facts of which the journal's store knows anything: what a
// restart needs, and what is lost. All else is an envelope to it.
var storeKnows = []string{"Checkpoint", "Lost"}

func TestStoreKnowsNoPods(t *testing.T) {
	bodies := map[string]bool{}
	for _, file := range goFiles(t, "fact") {
		for _, d := range parse(t, file).Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Kind" && f.Recv != nil {
				if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
					bodies[of.Name] = true
				}
			}
		}
	}
	if len(bodies) < 40 {
		t.Fatalf("found %d kinds of facts", len(bodies))
	}
	for _, file := range goFiles(t, "journal") {
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "fact" && bodies[s.Sel.Name] && !slices.Contains(storeKnows, s.Sel.Name) {
					t.Errorf("%s: the store may know nothing of fact.%s", file, s.Sel.Name)
				}
			}
			return true
		})
	}
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
