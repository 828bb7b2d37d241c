package fronts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Postgres is Debian's server with a database of its own, which can be killed.
type Postgres struct {
	// Place is what --archive is told.
	Place string

	bin, dir string
	who      *syscall.Credential
	log      bytes.Buffer
	server   *exec.Cmd
	ended    chan struct{}
}

// NewPostgres starts a server that ends with the test; nil where there is none to start.
func NewPostgres(t testing.TB) *Postgres {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	who, err := user.Lookup("postgres")
	if len(found) == 0 || err != nil || os.Getuid() != 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "archive-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	uid, _ := strconv.ParseUint(who.Uid, 10, 32)
	gid, _ := strconv.ParseUint(who.Gid, 10, 32)
	p := &Postgres{
		Place: "postgres://whylet@/postgres?host=" + dir, bin: filepath.Dir(found[len(found)-1]), dir: dir,
		who: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	if out, err := p.as("initdb", "-D", p.data(), "-A", "trust", "-U", "whylet", "-N").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// as prepares one of its programs, as its own user.
func (p *Postgres) as(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.who}
	return cmd
}

// Start starts it, again with what it has, and waits until it takes connections. After a kill
// it refuses to start as long as the killed one's own processes are there.
func (p *Postgres) Start() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if p.server == nil {
			p.log.Reset()
			p.server, p.ended = p.as("postgres", "-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off"), make(chan struct{})
			p.server.Stdout, p.server.Stderr = &p.log, &p.log
			p.server.WaitDelay = time.Second // its children have its output, too
			if err := p.server.Start(); err != nil {
				return err
			}
			go func(server *exec.Cmd, ended chan struct{}) { _ = server.Wait(); close(ended) }(p.server, p.ended)
		}
		select {
		case <-p.ended:
			p.server = nil
		default:
			if p.as("pg_isready", "-q", "-h", p.dir).Run() == nil {
				return nil
			}
		}
	}
	p.Kill()
	return fmt.Errorf("PostgreSQL does not start: %w", errors.New(p.log.String()))
}

// Kill ends it at once.
func (p *Postgres) Kill() { p.end(syscall.SIGKILL) }

func (p *Postgres) stop() { p.end(syscall.SIGINT) }

func (p *Postgres) end(by syscall.Signal) {
	if p.server != nil {
		_ = p.server.Process.Signal(by)
		<-p.ended
		p.server = nil
	}
}
