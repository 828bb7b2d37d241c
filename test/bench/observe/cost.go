package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/test/peer"
)

// use is what a process used so far.
type use struct {
	peer.Process
	user, system time.Duration
	switches     int64 // how often its threads were switched to and from
	anonymous    int64 // bytes of RSS that no file holds
}

// costs prints what each agent uses over a window, in turns, and what kubelet and the
// runtime do beside it.
func (b *bench) costs(ctx context.Context, o options) error {
	for turn := range o.turns {
		for i, program := range o.programs() {
			if turn+i > 0 {
				if err := b.begin(program); err != nil {
					return err
				}
			}
			if err := b.cost(ctx, program, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) cost(ctx context.Context, program string, o options) error {
	if err := pause(ctx, o.settle); err != nil {
		return err
	}
	before, err := b.uses()
	if err != nil {
		return err
	}
	if err := pause(ctx, o.window); err != nil {
		return err
	}
	after, err := b.uses()
	if err != nil {
		return err
	}
	per := func(now, then time.Duration) float64 { return 1000 * (now - then).Seconds() / o.window.Seconds() }
	for _, name := range []string{filepath.Base(program), "kubelet", "containerd"} {
		now, then := after[name], before[name]
		fmt.Printf("%s: %.1f millicores (%.1f user, %.1f system), %.0f switches a second, %d MiB resident (%d anonymous); load %s\n",
			name, per(now.user+now.system, then.user+then.system), per(now.user, then.user), per(now.system, then.system),
			float64(now.switches-then.switches)/o.window.Seconds(), now.RSS>>20, now.anonymous>>20, load())
	}
	if err := b.end(); err != nil {
		return err
	}
	return b.said("asked so far")
}

// said prints what the agents logged that has a word in it.
func (b *bench) said(word string) error {
	log, err := os.ReadFile(b.log.Name())
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, word) {
			fmt.Print(line)
		}
	}
	return err
}

// uses are the processes of the stack by name.
func (b *bench) uses() (map[string]use, error) {
	all, err := b.Processes()
	named := map[string]use{}
	for _, p := range all {
		u := use{Process: p}
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.PID))
		for _, task := range tasks { // what ends meanwhile is left out
			u.switches += fieldOf(task+"/status", "voluntary_ctxt_switches:") + fieldOf(task+"/status", "nonvoluntary_ctxt_switches:")
		}
		u.anonymous = fieldOf(fmt.Sprintf("/proc/%d/status", p.PID), "RssAnon:") << 10
		u.user, u.system = times(p.PID)
		named[p.Name] = u
	}
	return named, err
}

// fieldOf reads a number that stands behind a name at the beginning of a line.
func fieldOf(file, name string) int64 {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// times are the processor times of a process without its children, in the kernel's unit of
// a hundredth of a second.
func times(pid int) (user, system time.Duration) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	f := strings.Fields(string(raw)[strings.LastIndexByte(string(raw), ')')+1:])
	u, _ := strconv.ParseInt(f[11], 10, 64)
	s, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(u) * 10 * time.Millisecond, time.Duration(s) * 10 * time.Millisecond
}
