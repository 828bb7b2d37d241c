package observe

import (
	"context"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/pods"
)

// words follows the kubelet of the node: which it is, and what its log says.
type words struct {
	agent *Agent

	mu sync.Mutex
	// heard is the verbosity of a log that is followed; -1: none is.
	heard int
	// until is the newest record that was taken: a log that is opened again is read from
	// there on.
	until time.Time
	odd   int64
	// short is what the node had run short of when kubelet last said that pods have to go.
	short string
}

const (
	// lookForKubelet is how often it is looked for a kubelet, where there was none.
	lookForKubelet = 2 * time.Second
	// clocksApart is how far the log's time may be behind what was taken before.
	clocksApart = 50 * time.Millisecond
)

func newWords(a *Agent) *words { return &words{agent: a, heard: -1, until: a.before} }

// run follows one kubelet after the other until ctx ends. What it says is of use only
// where its pods are known.
func (w *words) run(ctx context.Context) {
	select {
	case <-w.agent.synced:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if p, ok := kubelet.Find(); ok {
			w.with(ctx, p)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookForKubelet):
		}
	}
}

// with follows one kubelet until it ends.
func (w *words) with(ctx context.Context, p kubelet.Process) {
	seen := fact.KubeletSeen{PID: p.PID, Started: p.Started, Verbosity: p.Verbosity, Log: p.Log}
	w.agent.loop.submit(fact.Fact{At: p.Started, Body: seen})
	w.agent.o.Log.Info("kubelet found", "kubelet", p.String())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var log sync.WaitGroup
	if !w.agent.o.NoTap {
		log.Go(func() { w.agent.attempts.run(ctx, p) })
	}
	if p.Log != "" {
		log.Go(func() { w.follow(ctx, p) })
	}
	log.Go(func() { w.agent.configs.run(ctx, p, w.agent.loop.pods.All, w.agent.loop.submit) })
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			log.Wait()
			return
		case <-ticker.C:
		}
		if !p.Lives() {
			cancel()
			log.Wait()
			seen.Ended, seen.NotUnderstood = true, w.odd
			w.agent.loop.submit(fact.Fact{Body: seen})
			return
		}
	}
}

func (w *words) follow(ctx context.Context, p kubelet.Process) {
	caughtUp := func() { w.setHeard(p.Verbosity) }
	var err error
	if p.Log == kubelet.Journal {
		err = kubelet.FollowJournal(ctx, p, w.since(), w.record, caughtUp)
	} else {
		err = kubelet.FollowFile(ctx, p.Log, w.record, caughtUp)
	}
	w.setHeard(-1)
	if err != nil {
		w.agent.o.Log.Warn("kubelet's log cannot be read", "path", p.Log, "error", err)
		w.agent.loop.submit(fact.Fact{Body: fact.Lost{Source: fact.SourceKubeletLog, Reason: err.Error(), From: time.Now().UTC()}})
	}
}

// wordsBack is how far back systemd's journal is read: what was before explains no pod
// that anybody still asks about.
const wordsBack = 3 * 24 * time.Hour

// since is from when on words are of interest.
func (w *words) since() time.Time {
	if back := time.Now().Add(-wordsBack); w.until.Before(back) {
		return back
	}
	return w.until.Add(-clocksApart)
}

func (w *words) setHeard(level int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = level
}

// tellsFailures says whether every failed attempt is told by kubelet's log.
func (w *words) tellsFailures() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard >= 1
}

// record takes one record of the log.
func (w *words) record(text string) {
	line, ok := kubelet.ParseLine(text, time.Now(), time.Local)
	if !ok || line.At.Before(w.until.Add(-clocksApart)) {
		return
	}
	if line.At.After(w.until) {
		w.until = line.At
	}
	word, about, understood := kubelet.Read(line)
	switch {
	case !about:
	case !understood:
		w.odd++
		w.agent.o.Log.Debug("a line of kubelet that is not understood", "line", line.Message)
	default:
		w.tell(word)
	}
}

func (w *words) tell(word kubelet.Word) {
	switch {
	case word.Reclaims != "":
		w.short = word.Reclaims
		return
	case len(word.Ranked) > 0:
		w.agent.ranked(word, w.short)
		return
	}
	if word.Probe == "" && word.Said == nil {
		return
	}
	pod, ok := w.agent.loop.pods.Get(word.UID)
	if !ok {
		pod, ok = w.agent.loop.pods.Named(word.Namespace, word.Name, word.At)
	}
	if word.UID == "" && !ok {
		return
	}
	f := fact.Fact{At: word.At, Pod: fact.Pod{Namespace: word.Namespace, Name: word.Name, UID: word.UID}, Container: word.Container}
	if ok {
		f.Pod = pod.Key
	}
	if f.Container != "" {
		f.Attempt = w.attempt(pod, word)
	}
	if word.Probe != "" && w.agent.attempts.tells(f.Pod.UID, f.Container, word.Probe) {
		return
	}
	switch {
	case word.Hook != "":
		f.Body = fact.HookRan{Hook: word.Hook, Error: word.Said.Message}
	case word.Said != nil:
		f.Body = *word.Said
	default:
		b := word.Attempt(probeOf(pod, word.Container, word.Probe))
		id := w.agent.loop.runs.id(f.Pod.UID, f.Container, f.Attempt)
		f.Body = w.agent.execs.withCode(b, pod, id, f.Container, f.At, f.At)
	}
	w.agent.loop.submit(f)
}

// attempt is the run that a word is about: by its container's id where that is said.
func (w *words) attempt(pod pods.Pod, word kubelet.Word) int32 {
	if word.ContainerID != "" {
		if r, ok := w.agent.loop.runs.known(pod.Key.UID, word.Container, word.ContainerID); ok {
			return r.attempt
		}
	}
	attempt, _ := w.agent.loop.runs.exactly(pod.Key.UID, word.Container, word.At)
	return attempt
}
