package faults

import (
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"whylet.dev/whylet/front/archive"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/test/kube"
)

func TestMain(m *testing.M) {
	if told := os.Getenv(agentTold); told != "" {
		os.Exit(agentMain(told))
	}
	os.Exit(kube.Main(m))
}

const (
	nodes, askers = 4, 2
	// settle is how long the fronts are left alone before their memory is looked at: it is
	// read over as long.
	settle = 20 * time.Second
	// catchUp is how long it may take until all is archived once nothing is killed any more.
	catchUp = 3 * time.Minute
)

// replica is a front with its archive: a file of its own, or a database that others have, too.
// The last one is never killed.
type replica struct {
	*fronts.Program
	archive string
	shared  bool
}

// TestFaults is told in WHYLET_FAULTS for how long, in WHYLET_FRONT which program.
func TestFaults(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("WHYLET_FAULTS"))
	program := os.Getenv("WHYLET_FRONT")
	if err != nil || program == "" {
		t.Skip("run 'make test-faults'")
	}
	w := world(t)
	replicas, database := startFronts(t, w, program)
	p := newPlay(t, w)
	people, stop := p.perform()
	people()
	lasting := replicas[len(replicas)-1]
	time.Sleep(2 * settle) // what a front needs for this load
	before := memory(t, lasting.PID)
	f := &faults{play: p, replicas: replicas, database: database}
	f.kill(long)
	after := memory(t, lasting.PID)
	stop()
	began := time.Now()
	lost := p.archived(t, replicas)
	fmt.Printf("%v: %d fronts, %d times the API server, %d agents and %d times the database were killed, %d archives locked\n",
		long, f.fronts, f.servers, f.agents, f.databases, f.archives)
	fmt.Println(p.tally.String())
	fmt.Printf("every closing answer in every archive %v after the last fault; %d missing\n", time.Since(began).Round(time.Second), lost)
	fmt.Printf("memory of the front that was not killed: %d MiB before, %d MiB after\n", before>>20, after>>20)
	if after > before*5/4+16<<20 {
		t.Errorf("its memory does not return: %d MiB, then %d", before>>20, after>>20)
	}
}

// world is an API server that knows questions, whose fronts are programs.
func world(t *testing.T) *fronts.World {
	t.Helper()
	w := fronts.New(t, nil)
	w.Stop() // its place is the first program's
	objects, err := dynamic.NewForConfig(w.Kube.Config)
	if err == nil {
		err = door.Apply(t.Context(), objects, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// startFronts starts replicas, two of which share Debian's PostgreSQL where it is installed.
func startFronts(t *testing.T, w *fronts.World, program string) (replicas []*replica, database *fronts.Postgres) {
	t.Helper()
	database = fronts.NewPostgres(t)
	file := func() *replica { return &replica{archive: filepath.Join(t.TempDir(), "archive.db")} }
	replicas = append(replicas, file())
	if database == nil {
		replicas = append(replicas, file())
	} else {
		for range 2 {
			replicas = append(replicas, &replica{archive: database.Place, shared: true})
		}
	}
	replicas = append(replicas, file())
	for i, r := range replicas {
		r.Program = w.Program(program, fmt.Sprintf("127.0.0.%d", i+1), "--archive", r.archive)
		r.Start()
	}
	return replicas, database
}

// memory is how much a process has, as the least of a while: what is garbage comes and goes.
func memory(t *testing.T, pid int) int64 {
	t.Helper()
	least := int64(0)
	for end := time.Now().Add(settle); time.Now().Before(end); time.Sleep(time.Second) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		var size, pages int64
		if err == nil {
			_, err = fmt.Sscan(string(raw), &size, &pages)
		}
		if err != nil {
			t.Fatalf("the front that nobody killed: %v", err)
		}
		if least == 0 || pages < least {
			least = pages
		}
	}
	return least * int64(os.Getpagesize())
}

// faults is what is killed, and how often.
type faults struct {
	*play
	replicas                                     []*replica
	database                                     *fronts.Postgres // nil: there is none
	fronts, servers, agents, archives, databases int
}

// kill kills at random, one thing after the other and some at the same time, and starts all of
// it again.
func (f *faults) kill(long time.Duration) {
	var back sync.WaitGroup
	var serving sync.RWMutex
	busy := map[any]chan struct{}{} // what is being killed
	later := func(what any, again func()) {
		done := make(chan struct{})
		busy[what] = done
		back.Go(func() {
			defer close(done)
			time.Sleep(rand.N(6 * time.Second)) // how long it is away
			again()
		})
	}
	free := func(what any) bool {
		select {
		case <-busy[what]:
			return true
		default:
			return busy[what] == nil
		}
	}
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Second + rand.N(3*time.Second)) {
		r, n := f.replicas[rand.N(len(f.replicas)-1)], f.play.nodes[rand.N(len(f.play.nodes))]
		locked := f.replicas[rand.N(len(f.replicas))]
		switch pick := rand.N(10); {
		case pick < 4 && free(r):
			f.fronts++
			r.Kill()
			later(r, r.Start)
		case pick < 5:
			f.servers++
			serving.Lock()
			f.w.Kube.Kill()
			time.Sleep(rand.N(4 * time.Second))
			f.w.Kube.Run(f.T)
			serving.Unlock()
		case pick < 8 && free(n):
			f.agents++
			n.kill()
			later(n, func() {
				serving.RLock() // an agent gets its token of the API server
				defer serving.RUnlock()
				f.start(n)
			})
		case pick == 8 && f.database != nil && free(f.database):
			f.databases++
			f.database.Kill()
			later(f.database, func() {
				if err := f.database.Start(); err != nil {
					f.Error(err)
				}
			})
		case pick == 9 && !locked.shared && free(locked.archive):
			f.archives++
			f.lock(locked.archive, later)
		}
	}
	back.Wait()
}

// lock keeps an archive from being written, as a disk that hangs does.
func (f *faults) lock(path string, later func(any, func())) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(2000)&_txlock=immediate")
	if err != nil {
		f.Error(err)
		return
	}
	tx, err := db.Begin()
	later(path, func() {
		if err == nil {
			time.Sleep(6 * time.Second) // longer than a front waits for it
			_ = tx.Rollback()
		}
		_ = db.Close()
	})
}

// archived waits until each replica has each closing answer under the pod's own name, and
// says how many are missing.
func (p *play) archived(t *testing.T, replicas []*replica) (lost int) {
	t.Helper()
	end := time.Now().Add(catchUp)
	for i, r := range replicas {
		a := archive.New(archive.Options{Place: r.archive, Log: slog.New(slog.DiscardHandler)})
		if err := a.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for _, l := range p.lives {
			var problem string
			for {
				c, ok, err := a.Newest(t.Context(), l.pod.Namespace, l.pod.Name, l.pod.UID)
				switch {
				case err != nil || !ok:
					problem = fmt.Sprintf("it is not there (%v)", err)
				case c.Pod != l.pod || c.Node != l.node:
					problem = fmt.Sprintf("it is of %s on %s", c.Pod, c.Node)
				default:
					problem = l.of.problem(c.Answer)
				}
				if problem == "" || time.Now().After(end) {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if problem != "" {
				lost++
				t.Errorf("replica %d, the closing answer of %s on %s: %s", i, l.pod, l.node, problem)
			}
		}
	}
	return lost
}
