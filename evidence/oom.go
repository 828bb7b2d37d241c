package evidence

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
)

// OOM is one process that the kernel killed for want of memory.
type OOM struct {
	fact.OOMKilled
	// At is the time since boot of the record that says so.
	At time.Duration
	// TGID is the process of which PID is a thread; the same as PID, unless the
	// kernel's table says otherwise.
	TGID int
}

const (
	// oomSpan is how long the kernel may take from the first line about an OOM to
	// the kill. A stack dump over a serial console is slow.
	oomSpan = 30 * time.Second
	// groupSpan is how long after one kill of a group the next one may be printed:
	// the kernel does nothing else in between.
	groupSpan = time.Second
	// maxLine bounds a line that is put together from fragments.
	maxLine = 16 << 10
)

// OOMParser finds OOM kills among the records of a kernel's log, given in order.
//
// The kernel prints, under one lock, who asked for memory, a stack, the memory
// of the cgroup or of the machine, a table of processes, a summary, and the
// kill; records of other things may come in between, and a line may come in
// fragments. Since 5.0 the summary names both cgroups; before that a line says
// "Task in A killed as a result of limit of B", and until 5.2 a child could die
// in place of the process that was chosen. When many are killed the kernel
// leaves out all but the last line. (mm/oom_kill.c, mm/memcontrol.c)
type OOMParser struct {
	report *report
	// line is the one of the report that fragments belong to.
	line *string
}

// report is what was printed about one OOM so far.
type report struct {
	caller  string
	began   time.Duration
	invoker string
	usage   int64
	limit   int64
	anon    int64 // as the statistics of the cgroup have it
	shmem   int64
	task    string // "Task in A killed as a result of limit of B"
	summary string // "oom-kill:constraint=…"
	group   string // "Tasks in A are going to be killed due to memory.oom.group set"
	child   string // "Out of memory: Kill process N (name) score S or sacrifice child"
	columns []string
	tasks   []fact.OOMTask
	threads map[int]int // those of the table that are not their process's first
	killed  map[int]bool
	last    time.Duration // when the latest of them was
}

var (
	invokedLine = regexp.MustCompile(`(?s)^(.{0,64}?) invoked oom-killer: `)
	usageLine   = regexp.MustCompile(`^memory: usage (\d+)kB, limit (\d+)kB`)
	killLine    = regexp.MustCompile(`(?s)^(.*?)Killed process (\d+) \((.*)\)(?:,? UID:? ?\d+)?,? total-vm:`)
	killCut     = regexp.MustCompile(`(?s)^(Out of memory.*|Memory cgroup out of memory.*|)Killed process (\d+) (?:\((.{1,16}?)\))?`)
	summaryLine = regexp.MustCompile(`(?s)^oom-kill:constraint=([A-Z_]*)(.*)$`)
	summaryTask = regexp.MustCompile(`(?s)^(.*),task=(.*),pid=(\d+),uid=\d+$`)
	taskLine    = regexp.MustCompile(`^Task in (.*) killed as a result of limit of (.*)$`)
	groupLine   = regexp.MustCompile(`^Tasks in (.*) are going to be killed due to memory\.oom\.group set$`)
	statLine    = regexp.MustCompile(`^(anon|total_rss|shmem|total_shmem) (\d+)$`)
	tableRow    = regexp.MustCompile(`^\[ *(\d+)\] +(.*)$`)
	killNumbers = regexp.MustCompile(`(anon-rss|file-rss|shmem-rss):(\d+)kB|(oom_score_adj):(-?\d+)`)
)

// Take gives the kills that a record completes: none or one.
func (p *OOMParser) Take(r Record) []OOM {
	if r.Facility != 0 {
		return nil // written by a process, which may say what it likes
	}
	if r.Continues && p.line != nil && p.sameCaller(r) {
		if len(*p.line)+len(r.Text) <= maxLine {
			*p.line += r.Text
		}
		return nil
	}
	if m := invokedLine.FindStringSubmatch(r.Text); m != nil {
		p.begin(r)
		p.report.invoker = m[1]
		return nil
	}
	if strings.Contains(r.Text, "Killed process ") {
		return p.kill(r)
	}
	if strings.HasPrefix(r.Text, "Tasks in ") && p.report != nil {
		p.report.group = r.Text
		p.line = &p.report.group
		return nil
	}
	if (p.report == nil || len(p.report.killed) > 0) && opensReport(r.Text) {
		p.begin(r) // what came before it is gone
	}
	if p.report != nil && p.sameCaller(r) {
		p.read(r.Text)
	}
	return nil
}

// opensReport says whether a line is none that could follow a kill: where the first
// line of a report is lost, its next one ends the report before it.
func opensReport(text string) bool {
	return slices.ContainsFunc([]string{"memory: usage ", "Mem-Info:", "Tasks state (", "oom-kill:", "Task in "}, func(prefix string) bool {
		return strings.HasPrefix(text, prefix)
	})
}

// Forget drops what is half read, after records were lost.
func (p *OOMParser) Forget() { p.report, p.line = nil, nil }

func (p *OOMParser) begin(r Record) {
	p.report = &report{caller: r.Caller, began: r.At, killed: map[int]bool{}}
	p.line = nil
}

func (p *OOMParser) sameCaller(r Record) bool {
	return p.report == nil || p.report.caller == "" || p.report.caller == r.Caller
}

// read takes a line between the first and the kill.
func (p *OOMParser) read(text string) {
	o := p.report
	switch {
	case strings.HasPrefix(text, "oom-kill:"):
		o.summary, o.columns = text, nil
		p.line = &o.summary
	case strings.HasPrefix(text, "Task in "):
		o.task = text
		p.line = &o.task
	case strings.HasPrefix(text, "memory: usage "):
		if m := usageLine.FindStringSubmatch(text); m != nil && o.limit == 0 {
			o.usage, o.limit = kib(m[1]), kib(m[2])
		}
	case strings.HasPrefix(text, "anon "), strings.HasPrefix(text, "shmem "), strings.HasPrefix(text, "total_rss "), strings.HasPrefix(text, "total_shmem "):
		o.statistics(text)
	case strings.HasSuffix(text, " or sacrifice child"):
		o.child, o.columns = text, nil
	case strings.HasPrefix(text, "Out of memory and no killable processes"):
		p.Forget()
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, " name"):
		// "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name"
		if _, columns, ok := strings.Cut(text, "]"); ok {
			o.columns = strings.Fields(columns)
		}
	case o.columns != nil:
		o.row(text)
	}
}

// statistics takes what the kernel says of the memory of the cgroup whose limit
// was hit: a line for each value, or all in one record. Version 1 has the values
// of the cgroup alone before those of all below it, which begin with total_.
func (o *report) statistics(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		m := statLine.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[1] == "anon", m[1] == "total_rss":
			o.anon = number[int64](m[2])
		case m[1] == "total_shmem", o.anon > 0:
			o.shmem = number[int64](m[2])
		}
	}
}

// row takes a line of the table of processes, whose columns differ between
// kernels. Sizes are in pages.
func (o *report) row(text string) {
	m := tableRow.FindStringSubmatch(text)
	if m == nil {
		return
	}
	values := strings.Fields(m[2])
	if len(values) < len(o.columns)-1 {
		return
	}
	task := fact.OOMTask{PID: number[int](m[1])}
	tgid := task.PID
	for i, column := range o.columns[:len(o.columns)-1] {
		switch column {
		case "tgid":
			tgid = number[int](values[i])
		case "rss":
			task.RSS = number[int64](values[i]) * int64(os.Getpagesize())
		case "oom_score_adj":
			task.OOMScoreAdj = number[int](values[i])
		}
	}
	// The name is the rest of the line, and may have spaces.
	task.Command = strings.Join(values[len(o.columns)-1:], " ")
	if tgid != task.PID {
		if o.threads == nil {
			o.threads = map[int]int{}
		}
		o.threads[task.PID] = tgid
	}
	o.tasks = append(o.tasks, task)
	if len(o.tasks) > 4*fact.MostTasks {
		o.tasks = o.largest()
	}
}

// largest gives the table, largest first, bounded.
func (o *report) largest() []fact.OOMTask {
	tasks := slices.Clone(o.tasks)
	slices.SortStableFunc(tasks, func(a, b fact.OOMTask) int { return cmp.Compare(b.RSS, a.RSS) })
	return slices.Clip(tasks[:min(len(tasks), fact.MostTasks)])
}

// kill takes the last line. The report stays, for those that die with the victim.
func (p *OOMParser) kill(r Record) []OOM {
	m := killLine.FindStringSubmatch(r.Text)
	if m == nil {
		m = killCut.FindStringSubmatch(r.Text)
	}
	if m == nil || m[1] != "" && !strings.Contains(m[1], "ut of memory") {
		return nil
	}
	pid := number[int](m[2])
	if p.report == nil || !p.report.tells(pid, r) {
		p.begin(r) // the kernel printed this line only
	}
	o := p.report
	o.last = r.At
	if o.killed[pid] {
		return nil // with memory.oom.group the victim is said to be killed twice
	}
	k := OOM{At: r.At, TGID: pid, OOMKilled: fact.OOMKilled{
		PID: pid, Command: m[3], Invoker: o.invoker, Usage: o.usage, Limit: o.limit, Tasks: o.largest(),
		CgroupAnon: o.anon, CgroupShmem: o.shmem,
		Group: len(o.killed) > 0 && o.group != "",
	}}
	o.killed[pid] = true
	if tgid, ok := o.threads[pid]; ok {
		k.TGID = tgid
	}
	for _, v := range killNumbers.FindAllStringSubmatch(r.Text, -1) {
		switch v[1] + v[3] {
		case "anon-rss":
			k.AnonRSS = kib(v[2])
		case "file-rss":
			k.FileRSS = kib(v[2])
		case "shmem-rss":
			k.ShmemRSS = kib(v[2])
		case "oom_score_adj":
			k.OOMScoreAdj = number[int](v[4])
		}
	}
	o.cgroups(&k, m[1])
	return []OOM{k}
}

// tells says whether the report is about the kill of that process.
func (o *report) tells(pid int, r Record) bool {
	if r.At-o.began > oomSpan || o.caller != r.Caller {
		return false
	}
	if len(o.killed) > 0 {
		return o.killed[pid] || o.group != "" && r.At-o.last <= groupSpan
	}
	if _, _, chosen := o.parseSummary(); chosen != 0 && chosen != pid && o.child == "" {
		return false
	}
	return true
}

// cgroups fills in whose limit was hit, and where the victim was.
func (o *report) cgroups(k *OOM, prefix string) {
	prefix = cmp.Or(prefix, o.child)
	constraint, rest, _ := o.parseSummary()
	k.Constraint = constraint
	before, task, _ := strings.Cut(rest, ",task_memcg=")
	_, k.OOMCgroup, _ = strings.Cut(before, ",oom_memcg=")
	k.TaskCgroup = task
	if m := taskLine.FindStringSubmatch(o.task); m != nil {
		k.TaskCgroup, k.OOMCgroup = m[1], m[2]
	}
	if m := groupLine.FindStringSubmatch(o.group); m != nil && k.Group {
		k.TaskCgroup = m[1] // it is there or below
	}
	switch {
	case k.OOMCgroup != "" || strings.HasPrefix(prefix, "Memory cgroup"):
		// Some kernels said CONSTRAINT_NONE here (5.0 to 5.2).
		k.Constraint = "CONSTRAINT_MEMCG"
	case k.Constraint == "" && prefix != "":
		k.Constraint = "CONSTRAINT_NONE"
	}
}

// parseSummary takes the line that kernels print since 5.0 apart:
//
//	oom-kill:constraint=C,nodemask=N,cpuset=S,mems_allowed=M,oom_memcg=A,task_memcg=B,task=T,pid=P,uid=U
//
// with global_oom in place of oom_memcg when the machine itself ran out. rest is
// what is between the constraint and the task; what was cut off is empty.
func (o *report) parseSummary() (constraint, rest string, pid int) {
	m := summaryLine.FindStringSubmatch(o.summary)
	if m == nil {
		return "", "", 0
	}
	t := summaryTask.FindStringSubmatch(m[2])
	if t == nil {
		// Cut: a last value without its end could be half a path.
		return m[1], wholeValues(m[2]), 0
	}
	return m[1], t[1], number[int](t[3])
}

// wholeValues drops the last value of a line that was cut.
func wholeValues(s string) string {
	i := strings.LastIndex(s, ",")
	if i < 0 {
		return ""
	}
	return s[:i]
}

func kib(s string) int64 { return number[int64](s) * 1024 }

// number reads a number that a pattern found. One that is absurd is 0: so large
// is only what the kernel says for "no limit", and counters that went negative.
func number[T int | int64](s string) T {
	n, err := strconv.ParseInt(s, 10, 45)
	if err != nil {
		return 0
	}
	return T(n)
}
