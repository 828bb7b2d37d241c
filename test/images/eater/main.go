// Command eater is the program of the image eater. It eats memory at a steady
// rate, makes processes that end at once, or is the neighbour who writes down when it was asked how it is:
//
//	eater -mib 4096 -rate 400
//	eater -forks 5000
//	eater -serve :8080 -log /v/asked
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	mib := flag.Int("mib", 1024, "how many MiB to eat, and then to keep")
	rate := flag.Int("rate", 400, "how many MiB a second")
	address := flag.String("serve", "", "eat nothing, and answer every request at this address")
	forks := flag.Int("forks", 0, "eat nothing, and make so many processes a second")
	log := flag.String("log", "", "file to add a line to at the start (start) and for each request (nanoseconds since 1970)")
	flag.Parse()
	// The first process of a container gets no signal that it does not ask for.
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-ends
		os.Exit(0)
	}()
	err := errors.New("-rate and -mib must be more than 0")
	switch {
	case *address != "":
		err = serve(*address, *log)
	case *forks > 0:
		err = fork(*forks)
	case *mib > 0 && *rate > 0:
		err = eat(*mib, *rate)
	}
	fmt.Fprintln(os.Stderr, "eater:", err)
	os.Exit(1)
}

// eat takes a MiB at a time, as late as the rate says or as early as it can after
// that, and keeps them all.
func eat(mib, rate int) error {
	began := time.Now()
	for i := range mib {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		piece, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return fmt.Errorf("after %d MiB: %w", i, err)
		}
		for at := 0; at < len(piece); at += os.Getpagesize() {
			piece[at] = 1
		}
	}
	select {}
}

// fork makes processes that end as they find no program to become, some at a time, as late as the
// rate says or as early as it can after that.
func fork(rate int) error {
	const some = 50
	for began, n := time.Now(), 0; ; n++ {
		if n%some == 0 {
			time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		}
		if _, err := syscall.ForkExec("/none", nil, &syscall.ProcAttr{}); !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("after %d processes: %w", n, err)
		}
	}
}

// serve answers every request, after it was written down.
func serve(address, log string) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, "start"); err != nil {
		return err
	}
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// One write is one line, also where two requests come at once.
		if _, err := fmt.Fprintln(file, time.Now().UnixNano()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
}
