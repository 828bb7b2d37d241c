package lanes_test

import (
	"context"
	"testing"

	"whylet.dev/whylet/lanes"
)

// Jobs of one key keep their order, and those of another do not wait for them.
func TestLanes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := lanes.New[string](ctx)
	done, gate := make(chan string, 3), make(chan bool)
	l.Do("slow", func(context.Context) { <-gate; done <- "first" })
	l.Do("slow", func(context.Context) { done <- "second" })
	l.Do("quick", func(context.Context) { done <- "other" })
	if got := <-done; got != "other" {
		t.Fatalf("%s was done first", got)
	}
	close(gate)
	if first, second := <-done, <-done; first != "first" || second != "second" {
		t.Errorf("%s before %s", first, second)
	}
	cancel()
	l.Wait()
	l.Do("late", func(context.Context) { t.Error("a job began after the end") })
	l.Wait()
}
