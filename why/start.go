package why

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// notStarted is the case of a container that cannot be started: why?
type notStarted struct {
	h    *inquiry
	run  *history.Run
	fact *fact.Fact
	// reason and message are those that Kubernetes shows.
	reason, message string
}

// calledOff is the reason of a start that the node itself called off (node/cri, ReasonCalledOff): nothing keeps the
// container from being started.
const calledOff = "Canceled"

// startTrouble says whether the newest run of a container could not be started.
func (h *inquiry) startTrouble(name string, runs []*history.Run) []trouble {
	last := runs[len(runs)-1]
	if last.Started != nil {
		return nil
	}
	newest := func(r *history.Run) *fact.Fact {
		if r.Failed != nil && fact.Of[fact.StartFailed](r.Failed).Reason == calledOff {
			return nil
		}
		if r.Failed != nil {
			return r.Failed
		}
		for _, f := range slices.Backward(r.Images) {
			switch f.Body.(type) {
			case fact.ImageFailed:
				return f
			case fact.ImageReady:
				return nil
			}
		}
		return nil
	}
	f := newest(last)
	for i := len(runs) - 2; f == nil && i >= 0 && runs[i].Started == nil; i-- {
		f = newest(runs[i])
	}
	if f == nil {
		return nil
	}
	first, count := f.When(), 0
	for i := range h.Facts {
		switch h.Facts[i].Body.(type) {
		case fact.StartFailed, fact.ImageFailed:
			if h.Facts[i].Container == name {
				count++
				first = earliest(first, h.Facts[i].When())
			}
		}
	}
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: count, First: first, Last: f.When(), Text: fmt.Sprintf("container %s does not start", name)},
		func() answer.Verdict { return h.explainStart(last, f) },
	}}
}

func (h *inquiry) explainStart(run *history.Run, failed *fact.Fact) answer.Verdict {
	c := notStarted{h: h, run: run, fact: failed}
	rules := &startRules
	switch b := failed.Body.(type) {
	case fact.StartFailed:
		c.reason, c.message = b.Reason, words.Start(b.Message)
	case fact.ImageFailed:
		c.reason, c.message = b.Reason, b.Message
		rules = &imageRules
	}
	best, rest := rules.hear(c).judge()
	if best != nil {
		v := best.verdict(run.Container, rest)
		if v.Cause == answer.AppStartFailed && h.IsInit(run.Container) && !h.isSidecar(run.Container) {
			return ofInit(v, run.Container)
		}
		return v
	}
	return undecided(run.Container, fmt.Sprintf("Container %s does not start (%s): %s.", run.Container, c.reason, prose.Brief(c.message, kept)), c.chain(), rest,
		"The words of the runtime fit no cause that is known here.", h.describeFix())
}

// chain is the decision to start, and what came of it.
func (c notStarted) chain() []answer.Link {
	before := c.h.because(c.fact)
	return links(append(before[max(0, len(before)-1):], c.fact)...)
}

// objectOfVolume is the Secret or ConfigMap that a volume, or the only such source of a projected one, is of.
func (h *inquiry) objectOfVolume(volume, kind string) (of, name string) {
	i := slices.IndexFunc(h.podSpec().Volumes, func(v v1.Volume) bool { return v.Name == volume })
	if i < 0 {
		return kind, ""
	}
	all := mounts.Files(&h.Object.Spec.Volumes[i])
	if len(all) > 1 { // a projected one
		all = slices.DeleteFunc(all, func(t mounts.Taken) bool { return strings.ToLower(t.Kind) != kind })
	}
	if len(all) != 1 {
		return kind, ""
	}
	return strings.ToLower(all[0].Kind), all[0].Name
}

// whyNotAttached is what was said of a volume that cannot be attached, where kubelet says only that it waits for it.
func (h *inquiry) whyNotAttached(message string) string {
	if !strings.Contains(message, "timed out waiting for the condition") && !strings.Contains(message, "context deadline exceeded") {
		return message
	}
	for _, f := range slices.Backward(fact.All[fact.SetUpFailed](h.Facts)) {
		if b := fact.Of[fact.SetUpFailed](f); b.Stage == "volumes" && (strings.HasPrefix(b.Message, "Multi-Attach error") || strings.HasPrefix(b.Message, "AttachVolume.Attach failed")) {
			return b.Message
		}
	}
	return message
}

// explainSetUp says why the pod's volumes, cgroup or sandbox cannot be made.
func (h *inquiry) explainSetUp(failed *fact.Fact) answer.Verdict {
	b := fact.Of[fact.SetUpFailed](failed)
	f := finding{weight: strong, certainty: answer.Recorded, chain: notStarted{h: h, fact: failed}.chain()}
	b.Message = h.whyNotAttached(b.Message)
	message := prose.Midst(b.Message, 200) // its end says why
	is := func(cause answer.Cause, text string, fixes ...answer.Fix) {
		f.cause, f.text, f.fixes = cause, fmt.Sprintf("%s: %s.", text, message), fixes
	}
	switch container, meant := h.thousandths(b.Message); {
	case knowledge.NoSpace.In(b.Message) && meant != "":
		f.cause, f.certainty, f.rule = answer.VolumeFailed, answer.Inferred, "set-up-in-memory"
		f.text = fmt.Sprintf("The pod cannot be set up: a volume that is kept in memory may be no larger than the memory limit of container %s, and that is %sm: m stands for thousandths of a byte, and %s is most likely meant.", container, strings.TrimSuffix(meant, "Mi"), meant)
		f.fixes = []answer.Fix{h.limitsFix(fmt.Sprintf("correct the memory limit of container %s, to %s most likely", container, meant))}
	case knowledge.NoSpace.In(b.Message):
		is(answer.DiskFull, "The pod cannot be set up because a disk of the node is full", nodesDisks)
	case b.Stage == "sandbox" && knowledge.InitOOM.In(b.Message):
		is(answer.MemoryLimit, "The pod's memory limit is too low even for its sandbox, which was OOM-killed as it was made", h.limitsFix("raise the memory limits of the pod's containers: together they are its limit"))
	case b.Stage == "sandbox" && words.NoRuntime(b.Message):
		is(answer.RuntimeFailed, "The pod cannot be set up because the container runtime did not answer", h.inspect("see whether it runs; the pod is set up by itself then", "whylet status"))
	case b.Stage == "sandbox":
		is(answer.SandboxFailed, "The pod's sandbox or network could not be made", h.nodeFix())
	case b.Stage == "cgroup":
		is(answer.RuntimeFailed, "The pod's cgroup could not be made")
	case b.Stage == "devices":
		is(answer.RuntimeFailed, "The pod claims devices that the node cannot prepare")
	case knowledge.NotRegistered.In(b.Message):
		return undecided("", fmt.Sprintf("A volume of the pod could not be set up by a kubelet that had just begun, and did not watch what it needs yet: %s.", message), f.chain, nil,
			"It tries again, and whether that still fails is not known.", h.describeFix())
	case words.VolumeObjectMissing(b.Message):
		kind, name := h.missingObject(b.Message)
		is(answer.ConfigMissing, "A volume of the pod needs an object that is not there")
		if volume, key := words.NoVolumeKey(b.Message); key != "" {
			if kind, name = h.objectOfVolume(volume, kind); name != "" {
				f.because = []string{fmt.Sprintf("Volume %s is of %s %s, and that has no key %s.", volume, kind, name, key)}
				f.fixes = h.makeFixes(kind, name, key, "pod", true)
				break
			}
		}
		f.fixes = h.makeFixes(kind, name, "", "pod", false)
	default:
		is(answer.VolumeFailed, "A volume of the pod cannot be set up", h.describeFix())
		if strings.Contains(b.Message, "hostPath type check failed") {
			f.fixes = []answer.Fix{h.specFix("correct path or type of the hostPath volume, or make what it names on the node")}
		}
		if strings.HasPrefix(b.Message, "Multi-Attach error") {
			f.because = []string{"A volume that is ReadWriteOnce can be attached to one node at a time, and another node still has it."}
			f.fixes = []answer.Fix{
				h.inspect("see which node has it", "kubectl get volumeattachments"),
				h.inspect("see which pods run on that node: the volume is free once the one that uses the claim has ended, or, if the node is gone for good, once the VolumeAttachment is deleted", h.kubectl("get pods -o wide")),
			}
		}
	}
	return f.verdict("", nil)
}

// startMount: the runtime cannot mount what it has.
func startMount(c notStarted) *finding {
	if !c.says(knowledge.Mounting) || c.says(knowledge.ExecFailed) {
		return nil
	}
	f := c.finds(answer.VolumeFailed, fair).
		says("A volume could not be mounted into container %s: %s.", c.run.Container, prose.Brief(c.message, kept)).
		fix(c.h.describeFix())
	at, why := words.MountFailed(c.message)
	if at == "" {
		return f
	}
	f.text = fmt.Sprintf("A volume could not be mounted at %s into container %s: %s.", at, c.run.Container, quote(why, kept))
	mount, volume := c.h.volumeOf(c.run.Container, path.Clean(at))
	if volume == nil || mount.MountPath != path.Clean(at) {
		return f
	}
	what := "volume " + volume.Name
	if mount.SubPath != "" {
		what = fmt.Sprintf("subPath %s of %s", mount.SubPath, what)
	}
	f.text = fmt.Sprintf("Container %s does not start, because %s could not be mounted at %s: %s.", c.run.Container, what, at, quote(why, kept))
	if strings.HasPrefix(why, words.NotDirectory) {
		c.misfit(f, what, mount, volume)
	}
	return f
}

// misfit says what is mounted where: one is a directory there, and the other none. The kernel says
// the same of both ways (mount(2), ENOTDIR).
func (c notStarted) misfit(f *finding, what string, mount v1.VolumeMount, volume *v1.Volume) {
	kind, name, items := mounts.Source(volume)
	directory := fmt.Sprintf("Container %s does not start, because a directory is to be mounted at %s, where the image has a file (not a directory): %s.", c.run.Container, mount.MountPath, what)
	within := func(i v1.KeyToPath) bool {
		return i.Path == mount.SubPath || strings.HasPrefix(i.Path, mount.SubPath+"/")
	}
	switch {
	case mount.SubPath == "" && volume.HostPath == nil:
		f.text, f.weight = directory, strong
		fix := "mount it where the image has a directory, or nothing"
		if kind != "" {
			fix = fmt.Sprintf("if one key of %s %s is to be that file, give the mount that key for its subPath; else %s", kind, name, fix)
		}
		f.fixes = []answer.Fix{c.h.specFix(fix)}
	case mount.SubPath == "", kind == "", len(items) > 0 && slices.ContainsFunc(items, within):
		f.because = append(f.because, "One of what is mounted and what the image has there is a directory, and the other is not.")
		f.first(c.h.specFix("mount a file onto a file, or a directory onto a directory; what a volume does not have is made as a directory there"))
	case len(items) > 0:
		f.text, f.weight = directory, strong
		f.because = append(f.because, fmt.Sprintf("What a subPath names and a volume does not have is made as a directory: the items of volume %s have no path %s.", volume.Name, mount.SubPath))
		f.fixes = []answer.Fix{c.h.specFix(fmt.Sprintf("have the subPath name one of the paths that the items of volume %s have, or add %s to them", volume.Name, mount.SubPath))}
	default:
		f.text, f.weight = directory, strong
		f.because = append(f.because, fmt.Sprintf("What a subPath names and a volume does not have is made as a directory: most likely %s %s has no key %s.", kind, name, mount.SubPath))
		f.fixes = []answer.Fix{
			c.h.inspect(fmt.Sprintf("see which keys %s %s has", kind, name), c.h.kubectl("describe %s %s", strings.ToLower(kind), name)),
			c.h.specFix(fmt.Sprintf("have the subPath name a key that it has, or add %s to it and make the pod anew; if it has that key, it is the image that has a directory at %s", mount.SubPath, mount.MountPath)),
		}
	}
}

// initTroubles are those of a container that has to end before others start.
func (h *inquiry) initTroubles(name string, ends []*history.Run, status v1.PodStatus) []trouble {
	if run := h.Last(name); run.Started != nil && run.Exit == nil && !final(status.Phase) && !h.triesAgain(run, ends) {
		since := run.Started.When()
		text := fmt.Sprintf("the pod has waited for init container %s for %s", name, prose.Span(max(h.Now.Sub(since), 0)))
		return []trouble{{
			answer.Symptom{Kind: answer.NotStarting, Container: name, Count: 1, First: since, Last: h.Now, Text: text},
			func() answer.Verdict { return h.initWaiting(run).verdict(name, nil) },
		}}
	}
	bad, last := 0, (*history.Run)(nil)
	for _, r := range ends {
		if last = r; fact.Of[fact.Exited](r.Exit).ExitCode != 0 {
			bad++
		}
	}
	if last == nil || fact.Of[fact.Exited](last.Exit).ExitCode == 0 {
		return nil // it came through in the end
	}
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: bad, First: ends[0].Exit.When(), Last: last.Exit.When(), Text: fmt.Sprintf("init container %s failed %s, and the others wait for it", name, prose.Times(bad))},
		func() answer.Verdict { return ofInit(explainExit(h, last), name) },
	}}
}

// triesAgain says whether an init container that runs has failed before and has
// not run for longer than then: it is about to fail once more, as far as anyone
// can tell.
func (h *inquiry) triesAgain(run *history.Run, ends []*history.Run) bool {
	var longest time.Duration
	for _, r := range ends {
		if e := newEnding(h, r); e.exit.ExitCode != 0 {
			longest = max(longest, e.lasted(), time.Second)
		}
	}
	return h.Now.Sub(run.Started.When()) <= 2*longest
}

// ofInit is the verdict on why an init container fails as that on the pod, which waits for it: why it ended
// stays in the text and among what contributed.
func ofInit(v answer.Verdict, container string) answer.Verdict {
	v.Contributing = append([]answer.Note{{Cause: v.Cause, Text: v.Text, Facts: idsOf(v.Chain)}}, v.Contributing...)
	v.Say(answer.Parts{
		Subject: subject(container), What: fmt.Sprintf("Init container %s fails, so the pod's containers never start.", container),
		Because: append(append([]string{v.Parts.What}, v.Parts.Because...), v.Parts.Then...),
	})
	v.Cause = answer.InitFailed
	if v.Certainty == answer.Unknown {
		v.Certainty, v.Rule = answer.Inferred, "init-ended"
	}
	return v
}

// initWaiting is the finding on an init container that goes on.
func (h *inquiry) initWaiting(run *history.Run) finding {
	f := finding{cause: answer.InitWaiting, weight: strong, rule: "init-still-runs", chain: links(run.Start, run.Started)}
	f.text = fmt.Sprintf("Init container %s has been running for %s and has not ended; the pod's containers start only after it.", run.Container, prose.Span(max(h.Now.Sub(run.Started.When()), time.Second)))
	f.notes = h.initNeeds(run)
	f.fixes = []answer.Fix{
		h.inspect("see what it waits for", h.kubectl("logs %s -c %s", h.Pod.Name, run.Container)),
		h.inside("and what runs in it", run.Container, "ps"),
	}
	if at, lines := run.Said(time.Time{}); at != nil {
		story := h.read(h.sinceWaits(lines))
		said := cmp.Or(story.Trouble(true), story.Reason())
		f.because, f.chain = []string{itsLog(said)}, links(run.Start, run.Started, at)
		h.meant(&f, run.Container, said)
	}
	if host := h.askedByInit(run); host != "" && !strings.Contains(strings.Join(f.because, " "), host) {
		f.because = append([]string{fmt.Sprintf("Its command asks %s.", answer.MarkNeed(answer.Need{Place: host}))}, f.because...)
	}
	return f
}

// sinceWaits are the lines of a log from where it only tells that its program waits; all where it does not.
func (h *inquiry) sinceWaits(lines []string) []string { return lines[h.read(lines).SinceWaits():] }

// initNeeds is what an init container waits for, where a look found that.
func (h *inquiry) initNeeds(r *history.Run) []answer.Note {
	for _, f := range slices.Backward(r.Looks) {
		if _, how := h.waitsFor(f, h.sinceWaits(fact.Of[fact.Looked](f).Said)); how != "" {
			return []answer.Note{{Cause: answer.DependencyDown, Text: answer.Unmarked("it waits for " + how), Facts: []fact.ID{f.ID}}}
		}
	}
	return nil
}

// sidecarTrouble is that of a restartable init container that runs and has not
// started in the sense of its startup probe: the containers after it wait.
func (h *inquiry) sidecarTrouble(name string, status v1.PodStatus) []trouble {
	run := h.Last(name)
	waits := slices.ContainsFunc(status.InitContainerStatuses, func(c v1.ContainerStatus) bool {
		return c.Name == name && c.State.Running != nil && c.Started != nil && !*c.Started
	})
	if !waits || final(status.Phase) || run.Started == nil || run.Exit != nil || h.spec(name).StartupProbe == nil {
		return nil
	}
	since := run.Started.When()
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: 1, First: since, Last: h.Now, Text: fmt.Sprintf("the pod has waited for sidecar %s to start for %s", name, prose.Span(max(h.Now.Sub(since), 0)))},
		func() answer.Verdict {
			p := newProbing(h, run, fact.Startup, nil)
			if len(p.failed) == 0 && h.FromAPI {
				return undecided(name, fmt.Sprintf("Sidecar %s runs and does not count as started yet; the pod's containers start only after it.", name), links(run.Started), nil, "", h.describeFix())
			}
			if len(p.failed) == 0 {
				f := finding{cause: answer.InitWaiting, weight: strong, rule: "init-still-runs", chain: links(run.Start, run.Started)}
				f.text = fmt.Sprintf("Sidecar %s runs, and its startup probe has not succeeded yet; the pod's containers start only after it.", name)
				f.fixes = []answer.Fix{h.inspect("see what it does", h.kubectl("logs %s -c %s", h.Pod.Name, name))}
				return f.verdict(name, nil)
			}
			v := p.explain()
			v.SayThen(fmt.Sprintf("So sidecar %s counts as not started, and the pod's containers wait for it.", name))
			return v
		},
	}}
}

// patientWithHook is how long a postStart hook may run before that is worth a word.
const patientWithHook = 30 * time.Second

// hookTrouble is a container that runs and does not count as started, because its
// postStart hook has not ended.
func (h *inquiry) hookTrouble(name string) []trouble {
	run, spec := h.Last(name), h.spec(name)
	if run == nil || run.Started == nil || run.Exit != nil || run.Kill != nil || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil {
		return nil
	}
	since := run.Started.When()
	if h.Now.Sub(since) < patientWithHook || h.Beside != "" && wasReady(run) || slices.ContainsFunc(run.Hooks, func(f *fact.Fact) bool { return fact.Of[fact.HookRan](f).Hook == fact.PostStart }) {
		return nil
	}
	return []trouble{{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: 1, First: since, Last: h.Now, Text: fmt.Sprintf("container %s runs, and does not count as started", name)},
		func() answer.Verdict {
			return finding{
				cause: answer.HookFailed, rule: "hook-failed", weight: fair, chain: links(run.Started),
				text:  fmt.Sprintf("The postStart hook of container %s has not ended for %s: until it does, the container does not count as started and is not probed.", name, prose.Span(h.Now.Sub(since))),
				fixes: []answer.Fix{h.inside("see what runs in it", name, "ps"), h.specFix("have the postStart hook end, or do its work in the main process or an init container")},
			}.verdict(name, nil)
		},
	}}
}
