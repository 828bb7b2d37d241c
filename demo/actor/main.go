// Command actor is the program in the containers of whylet demo. It plays one part, its
// first argument:
//
//	serve -port N [-worker MIB] [-gone-after D]   a server that logs what it answers
//	proxy -port N -to M                           hands requests on, 503 where nobody takes them
//	eat -memory MIB -after D                      takes memory, and keeps it
//	idle                                          lives, and listens nowhere
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// part is what the flags of all parts say.
type part struct {
	port, to, worker, memory int
	after, goneAfter         time.Duration
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "actor: say which part: serve, proxy, eat or idle")
		os.Exit(2)
	}
	var p part
	f := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	f.IntVar(&p.port, "port", 8080, "where to listen")
	f.IntVar(&p.to, "to", 0, "the port behind the proxy")
	f.IntVar(&p.worker, "worker", 0, "MiB that a child process takes, without which nothing is served")
	f.IntVar(&p.memory, "memory", 0, "MiB to take")
	f.DurationVar(&p.after, "after", 0, "when to begin taking memory")
	f.DurationVar(&p.goneAfter, "gone-after", 0, "when the page is gone, 0: never")
	_ = f.Parse(os.Args[2:])
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		fmt.Println("caught SIGTERM, shutting down gracefully")
		os.Exit(0)
	}()
	if err := p.play(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
		os.Exit(1)
	}
}

// play returns when the part ends by itself.
func (p part) play(name string) error {
	switch name {
	case "serve":
		return p.serve()
	case "proxy":
		return p.proxy()
	case "eat":
		p.eat()
		select {}
	case "idle":
		fmt.Println("ready, but for opening a port")
		select {}
	}
	return fmt.Errorf("there is no part %s", name)
}

// serve answers as long as the page is there and the worker lives. It logs what it
// answers with 200, as servers do whose workers write the log.
func (p part) serve() error {
	var dead atomic.Bool
	if p.worker > 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		worker := exec.Command(self, "eat", "-memory", strconv.Itoa(p.worker), "-after", "4s")
		worker.Stdout, worker.Stderr = os.Stdout, os.Stderr
		if err := worker.Start(); err != nil {
			return err
		}
		go func() {
			_ = worker.Wait()
			dead.Store(true)
		}()
	}
	began := time.Now()
	return http.ListenAndServe(fmt.Sprintf(":%d", p.port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case dead.Load():
			http.Error(w, "no worker", http.StatusServiceUnavailable)
		case p.goneAfter > 0 && time.Since(began) > p.goneAfter:
			http.NotFound(w, r)
		default:
			fmt.Printf("%q 200\n", r.Method+" "+r.URL.Path)
			fmt.Fprintln(w, "fine")
		}
	}))
}

// proxy asks the application behind it.
func (p part) proxy() error {
	behind := http.Client{Timeout: time.Second}
	return http.ListenAndServe(fmt.Sprintf(":%d", p.port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := behind.Get(fmt.Sprintf("http://127.0.0.1:%d%s", p.to, r.URL.Path))
		if err != nil {
			http.Error(w, "upstream connect error or disconnect/reset before headers", http.StatusServiceUnavailable)
			return
		}
		_ = answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
	}))
}

// eat takes a MiB every 20 ms, and uses all of it, so that it is held in memory.
func (p part) eat() {
	time.Sleep(p.after)
	held := make([][]byte, 0, p.memory)
	for range p.memory {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Printf("holding %d MiB\n", len(held))
}
