package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// seen is what was measured in all calm parts, or in all those under pressure.
type seen struct {
	// list and kubectl are how long answers took, failed how many were none.
	list, kubectl []time.Duration
	failed        int
	// late is how much later than its period a probe came; one that came early, to
	// catch up, was not late.
	late []time.Duration
}

const (
	listEvery    = 50 * time.Millisecond
	kubectlEvery = 500 * time.Millisecond
	probeEvery   = time.Second
)

// watch measures for the window, which begins with what happens then. look is shown
// every list of pods.
func (b *bench) watch(ctx context.Context, s *seen, folder string, happens func() error, look func([]v1.Pod)) error {
	from := time.Now()
	window, cancel := context.WithTimeout(ctx, b.window)
	defer cancel()
	var list, kubectl []time.Duration
	var listFailed, kubectlFailed int
	var both sync.WaitGroup
	both.Go(func() {
		list, listFailed = times(window, listEvery, func() error {
			// Not the window's context: what is begun is measured to its end.
			pods, err := b.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			if err == nil {
				look(pods.Items)
			}
			return err
		})
	})
	both.Go(func() {
		kubectl, kubectlFailed = times(window, kubectlEvery, func() error {
			return b.Command(ctx, filepath.Join(b.bin.Whylet, "kubectl"), "get", "pods", "-n", namespace).Run()
		})
	})
	err := happens()
	both.Wait()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	s.list, s.kubectl = append(s.list, list...), append(s.kubectl, kubectl...)
	s.failed += listFailed + kubectlFailed
	for i := range neighbours {
		late, err := lateness(filepath.Join(folder, fmt.Sprint(neighbourPrefix, i), "asked"), from, time.Now())
		if err != nil {
			return err
		}
		s.late = append(s.late, late...)
	}
	return nil
}

// times does something again and again, with a pause in between, until ctx ends.
func times(ctx context.Context, pause time.Duration, do func() error) (took []time.Duration, failed int) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := do(); err != nil {
			failed++
		} else {
			took = append(took, time.Since(began))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return took, failed
}

// lateness reads when a neighbour was asked, and how late each time was after the
// one before. The time in which the neighbour did not run is nobody's delay.
func lateness(file string, from, until time.Time) ([]time.Duration, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var late []time.Duration
	var last time.Time
	add := func(at time.Time) {
		if !last.IsZero() && at.After(from) && last.Before(until) {
			late = append(late, max(0, at.Sub(last)-probeEvery))
		}
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		nanos, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil { // start
			last = time.Time{}
			continue
		}
		at := time.Unix(0, nanos)
		add(at)
		last = at
	}
	return late, lines.Err()
}
