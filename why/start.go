package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
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

// startTrouble says whether the newest run of a container could not be started.
func (h *inquiry) startTrouble(name string, runs []*history.Run) (trouble, bool) {
	last := runs[len(runs)-1]
	if last.Started != nil {
		return trouble{}, false
	}
	newest := func(r *history.Run) *fact.Fact {
		if r.Failed != nil {
			return r.Failed
		}
		for i := len(r.Images) - 1; i >= 0; i-- {
			if _, ok := r.Images[i].Body.(fact.ImageFailed); ok {
				return r.Images[i]
			}
			if _, ok := r.Images[i].Body.(fact.ImageReady); ok {
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
		return trouble{}, false
	}
	first, count := f, 0
	for i := range h.Facts {
		switch h.Facts[i].Body.(type) {
		case fact.StartFailed, fact.ImageFailed:
			if h.Facts[i].Container == name {
				count++
				first = earlier(first, &h.Facts[i])
			}
		}
	}
	return trouble{
		answer.Symptom{Kind: answer.NotStarting, Container: name, Count: count, First: first.When(), Last: f.When(), Text: fmt.Sprintf("container %s does not start", name)},
		func(id string) answer.Verdict { return h.explainStart(last, f, id) },
	}, true
}

func earlier(a, b *fact.Fact) *fact.Fact {
	if b.When().Before(a.When()) {
		return b
	}
	return a
}

// explainStart says why a container could not be started.
func (h *inquiry) explainStart(run *history.Run, failed *fact.Fact, id string) answer.Verdict {
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
		return best.verdict(id, run.Container, rest)
	}
	return undecided(id, run.Container, fmt.Sprintf("Container %s does not start (%s): %s.", run.Container, c.reason, prose.Brief(c.message, kept)), c.chain(), rest,
		"The words of the runtime fit no cause that is known here.", h.describeFix())
}

// chain is the decision to start, and what came of it.
func (c notStarted) chain() []answer.Link {
	var start *fact.Fact
	for _, id := range c.fact.Because {
		if f, ok := c.h.Fact(id); ok {
			start = f
		}
	}
	return links(start, c.fact)
}

func (c notStarted) says(one ...*words.Phrase) bool { return words.Any(c.message, one...) }

// These rules class why the runtime or the node could not make or start a
// container. CRI has no codes for these: the class is in the words of the node
// itself, of runc and of the kernel.
func init() {
	startRules.add(
		rule[notStarted]{name: "config-missing", causes: []answer.Cause{answer.ConfigMissing}, needs: "CreateContainerConfigError with the node's own words about an object or a key that does not exist", against: "", judge: func(c notStarted) *finding {
			if c.reason != "CreateContainerConfigError" || !c.says(words.NoSuchKey, words.NoSuchObject) {
				return nil
			}
			what := prose.Brief(c.message, kept)
			text := fmt.Sprintf("Container %s needs something that does not exist: %s.", c.run.Container, what)
			if c.says(words.NoSuchKey) {
				text = fmt.Sprintf("Container %s needs a key that its ConfigMap or Secret does not have: %s.", c.run.Container, what)
			}
			kind, name, _ := c.h.missingObject(c.message)
			return &finding{
				cause: answer.ConfigMissing, weight: certain, certainty: answer.Recorded, chain: c.chain(), text: text,
				fixes: []answer.Fix{c.h.inspect("see what is there", c.h.kubectl("get %s %s -o yaml", kind, name)), {Text: "create it, or add the key: the container starts by itself then", Risk: answer.Safe}},
			}
		}},
		rule[notStarted]{name: "security-refused", causes: []answer.Cause{answer.SecurityRefused}, needs: "the node's or the kernel's words about runAsNonRoot, seccomp, AppArmor or capabilities", against: "a file that is not executable says permission denied too", judge: func(c notStarted) *finding {
			if !c.says(words.RunsAsRoot, words.SecurityModule, words.Capability, words.PermissionDenied) {
				return nil
			}
			f := &finding{cause: answer.SecurityRefused, weight: certain, certainty: answer.Recorded, chain: c.chain()}
			f.text = fmt.Sprintf("The security settings of container %s do not let it start: %s.", c.run.Container, prose.Brief(c.message, kept))
			if !c.says(words.RunsAsRoot) {
				f.weight, f.certainty = strong, answer.Inferred
			}
			if c.says(words.PermissionDenied) && c.says(words.AboutExec) && !c.says(words.SecurityModule) {
				f.weight = weak // a file that is not executable says the same
			}
			f.fixes = []answer.Fix{c.h.specFix(map[bool]string{
				true:  "set runAsUser to a user other than root that the image knows",
				false: "change what it names in the securityContext, or run the pod on a node that supports it",
			}[c.says(words.RunsAsRoot)])}
			return f
		}},
		rule[notStarted]{name: "prepared-and-stopped", causes: []answer.Cause{answer.SecurityRefused}, needs: "runc's words that what it had prepared has ended before it was started, in a container with a seccomp profile of its own", against: "", judge: func(c notStarted) *finding {
			profile := c.h.seccompProfile(c.h.Spec(c.run.Container))
			if profile == "" || !c.says(words.StoppedBeforeStart) {
				return nil
			}
			return &finding{
				cause: answer.SecurityRefused, weight: fair, chain: c.chain(),
				text:  fmt.Sprintf("The seccomp profile of container %s (%s) seems to forbid what the runtime itself needs to start a container: its own process ended before the command was run.", c.run.Container, profile),
				fixes: []answer.Fix{c.h.specFix("allow in the profile what runc needs (chdir, execve, capset and the like), or use RuntimeDefault")},
			}
		}},
		rule[notStarted]{name: "command-not-found", causes: []answer.Cause{answer.AppStartFailed}, needs: "the runtime's words that exec found no file, or nothing that it can execute", against: "", judge: func(c notStarted) *finding {
			if !c.says(words.NoProgram) || !c.says(words.AboutExec) {
				return nil
			}
			f := &finding{cause: answer.AppStartFailed, weight: strong, chain: c.chain()}
			parts := strings.Split(c.message, "exec: ")
			f.text = fmt.Sprintf("The command of container %s cannot be run: %s.", c.run.Container, prose.Brief(parts[len(parts)-1], 120))
			if c.says(words.ExecFormat) {
				f.text = fmt.Sprintf("The program of container %s is made for another kind of machine (exec format error).", c.run.Container)
			}
			correct := c.h.specFix("correct command and args, or use an image that has the program")
			if fix, ok := c.h.modeFix(c.run.Container, words.NotExecutable(c.message)); ok {
				correct = fix
			}
			f.fixes = []answer.Fix{correct, c.h.inspect("see what it should run", c.h.kubectl("get pod %s -o jsonpath='{.spec.containers[*].command}'", c.h.Pod.Name))}
			return f
		}},
		rule[notStarted]{name: "working-directory", causes: []answer.Cause{answer.AppStartFailed}, needs: "the runtime's words that it cannot make or enter the container's workingDir", against: "", judge: func(c notStarted) *finding {
			spec := c.h.Spec(c.run.Container)
			if !c.says(words.WorkingDirectory) && (spec == nil || !words.NoDirectory(c.message, spec.WorkingDir)) {
				return nil
			}
			return &finding{
				cause: answer.AppStartFailed, weight: certain, chain: c.chain(),
				text:  fmt.Sprintf("Container %s cannot be started in its working directory: %s.", c.run.Container, prose.Brief(c.message, kept)),
				fixes: []answer.Fix{c.h.specFix("correct workingDir: it has to be a directory that the container's user may enter, or one that can be made")},
			}
		}},
		rule[notStarted]{name: "volume-mount", causes: []answer.Cause{answer.VolumeFailed}, needs: "the runtime's words about a mount", against: "words about exec", judge: func(c notStarted) *finding {
			if !c.says(words.Mounting) || c.says(words.ExecFailed) {
				return nil
			}
			return &finding{
				cause: answer.VolumeFailed, weight: fair, chain: c.chain(),
				text:  fmt.Sprintf("A volume could not be mounted into container %s: %s.", c.run.Container, prose.Brief(c.message, kept)),
				fixes: []answer.Fix{c.h.describeFix()},
			}
		}},
		rule[notStarted]{name: "sub-path", causes: []answer.Cause{answer.VolumeFailed}, needs: "CreateContainerConfigError with the node's own words that a subPathExpr cannot be expanded", against: "", judge: func(c notStarted) *finding {
			variable, ok := words.SubPathVariable(c.message)
			if c.reason != "CreateContainerConfigError" || !ok {
				return nil
			}
			return &finding{
				cause: answer.VolumeFailed, weight: certain, certainty: answer.Recorded, chain: c.chain(),
				text:  fmt.Sprintf("A volume cannot be mounted into container %s: the subPathExpr of its mount names the variable %s, which its env does not set.", c.run.Container, prose.Brief(variable, 60)),
				fixes: []answer.Fix{c.h.specFix("set the variable in the container's env, or correct subPathExpr")},
			}
		}},
		rule[notStarted]{name: "hook-before-start", causes: []answer.Cause{answer.HookFailed}, needs: "a waiting reason of a hook", against: "", judge: func(c notStarted) *finding {
			if !strings.Contains(c.reason, "Hook") {
				return nil
			}
			return &finding{cause: answer.HookFailed, weight: certain, certainty: answer.Recorded, chain: c.chain(), text: fmt.Sprintf("A hook of container %s failed before it could start: %s.", c.run.Container, prose.Brief(c.message, kept)), fixes: []answer.Fix{c.h.describeFix()}}
		}},
		rule[notStarted]{name: "start-oom", causes: oomCauses, needs: "runc's words that the container's init was OOM-killed; whose limit it was comes from the kernel's record", against: "", judge: startOOM},
		rule[notStarted]{name: "runtime-away", causes: []answer.Cause{answer.RuntimeFailed}, needs: "the runtime's socket refused or did not answer in time", against: "words about exec", judge: func(c notStarted) *finding {
			if !c.says(words.RuntimeAway) || c.says(words.ExecFailed) {
				return nil
			}
			return &finding{
				cause: answer.RuntimeFailed, weight: fair, chain: c.chain(), text: fmt.Sprintf("Container %s does not start because the container runtime failed: %s.", c.run.Container, prose.Brief(c.message, kept)),
				fixes: []answer.Fix{c.h.inspect("see how the node is", "whylet status")},
			}
		}},
	)
}

// startOOM: there was not even room for the process that prepares the container.
// Files in /dev/shm outlive the run that wrote them, and a limit may be that small.
func startOOM(c notStarted) *finding {
	if !c.says(words.InitOOM) {
		return nil
	}
	f := &finding{
		cause: answer.MemoryLimit, weight: strong, chain: c.chain(),
		text:  fmt.Sprintf("Container %s does not start: the process that prepares it was OOM-killed, because its memory limit is too low, or full already.", c.run.Container),
		fixes: []answer.Fix{c.h.limitsFix("raise the memory limit of container " + c.run.Container)},
	}
	record := c.filledBefore()
	if n := len(c.run.OOMKills); n > 0 {
		record = c.run.OOMKills[n-1]
	}
	if record != nil {
		f.chain = inOrder(append(f.chain, link(record)))
		c.h.blameOOM(f, c.run, record)
		if f.cause == answer.MemoryLimitChild {
			f.cause = answer.MemoryLimit // before its program ran there were no children
		}
		f.text, f.because = fmt.Sprintf("Container %s does not start.", c.run.Container), append([]string{f.text}, f.because...)
	}
	return f
}

// filledBefore is the OOM kill of the last run that told of files in memory, which
// are still there; nil where there was none.
func (c notStarted) filledBefore() *fact.Fact {
	var record *fact.Fact
	for _, r := range c.h.Runs(c.run.Container) {
		if r == c.run {
			break
		}
		for _, f := range r.OOMKills {
			record = nil
			if o := oomRecord(fact.Of[fact.OOMKilled](f)); c.h.OwnLimit(c.run.Container, fact.OOMKilled(o)) && o.inFiles(r.Dying(f)) {
				record = f
			}
		}
	}
	return record
}

// These rules say why there is no image, in the words of registries and of
// containerd (docker/resolver, reference/docker).
func init() {
	imageRules.add(
		rule[notStarted]{name: "image-policy-never", causes: []answer.Cause{answer.ImagePolicyNever}, needs: "ErrImageNeverPull", against: "", judge: func(c notStarted) *finding {
			if c.reason != "ErrImageNeverPull" {
				return nil
			}
			return c.image(answer.ImagePolicyNever, certain, answer.Recorded, "is not on the node, and imagePullPolicy is Never",
				answer.Fix{Text: "load it onto the node", Command: "whylet image load IMAGE.tar", Risk: answer.Safe}, c.h.specFix("set imagePullPolicy to IfNotPresent"))
		}},
		rule[notStarted]{name: "image-not-found", causes: []answer.Cause{answer.ImageNotFound}, needs: "the registry's words that there is no such image, or a name that is none", against: "words about credentials or name resolution", judge: func(c notStarted) *finding {
			switch {
			case c.reason == "InvalidImageName":
				return c.image(answer.ImageNotFound, certain, answer.Recorded, "is not a valid name of an image", c.h.specFix("correct the image's name"))
			case c.says(words.NoSuchImage) && !c.says(words.NotThatImage):
				return c.image(answer.ImageNotFound, strong, answer.Inferred, "does not exist in its registry", c.h.specFix("correct the image's name or tag"))
			}
			return nil
		}},
		rule[notStarted]{name: "image-unauthorized", causes: []answer.Cause{answer.ImageUnauthorized}, needs: "401 or 403 of the registry", against: "", judge: func(c notStarted) *finding {
			if !c.says(words.NotAuthorized) {
				return nil
			}
			return c.image(answer.ImageUnauthorized, strong, answer.Inferred, "may not be pulled with the credentials that the pod has (a registry also says this of names that do not exist)",
				c.h.inspect("see which pull secrets it has", c.h.kubectl("get pod %s -o jsonpath='{.spec.imagePullSecrets}'", c.h.Pod.Name)), c.h.specFix("add an imagePullSecret for the registry"))
		}},
		rule[notStarted]{name: "image-registry-unreachable", causes: []answer.Cause{answer.ImageRegistryUnreachable}, needs: "no connection, no answer or a server error of the registry", against: "", judge: func(c notStarted) *finding {
			if c.reason != "RegistryUnavailable" && !c.says(words.RegistryAway) {
				return nil
			}
			return c.image(answer.ImageRegistryUnreachable, strong, answer.Inferred, "cannot be pulled: its registry does not answer",
				c.h.inspect("ask the registry from the node", "curl -sI https://REGISTRY/v2/"), answer.Fix{Text: "or load it onto the node", Command: "whylet image load IMAGE.tar", Risk: answer.Safe})
		}},
	)
}

func (c notStarted) image(cause answer.Cause, w weight, certainty answer.Certainty, what string, fixes ...answer.Fix) *finding {
	failed := fact.Of[fact.ImageFailed](c.fact)
	f := &finding{cause: cause, weight: w, certainty: certainty, chain: c.chain(), fixes: fixes}
	f.text = fmt.Sprintf("The image %s of container %s %s.", failed.Image, c.run.Container, what)
	if failed.OnNode {
		f.because = []string{"The node has that image, and starts nothing of it because imagePullPolicy Always (which is what a tag latest, or none, stands for) asks the registry each time."}
		f.fixes = append([]answer.Fix{c.h.specFix("set imagePullPolicy to IfNotPresent, to use the image that is on the node")}, f.fixes...)
	}
	return f
}

// missingObject guesses from the pod's spec which object a message is about, for
// a command to look at it.
func (h *inquiry) missingObject(message string) (kind, name string, ok bool) {
	parts := strings.FieldsFunc(message, func(r rune) bool { return r == ' ' || r == '"' || r == '/' || r == ':' })
	for i, w := range parts {
		k := strings.ToLower(w)
		if k != "configmap" && k != "secret" || i+1 >= len(parts) {
			continue
		}
		name := parts[i+1]
		if name == h.Pod.Namespace && i+2 < len(parts) {
			name = parts[i+2]
		}
		return k, name, true
	}
	return "configmaps,secrets", "", false
}

// explainSetUp says why the pod's volumes, cgroup or sandbox cannot be made.
func (h *inquiry) explainSetUp(failed *fact.Fact, id string) answer.Verdict {
	b := fact.Of[fact.SetUpFailed](failed)
	f := finding{weight: strong, certainty: answer.Recorded, chain: notStarted{h: h, fact: failed}.chain()}
	message := prose.Brief(b.Message, 200)
	switch {
	case words.NoSpace.In(b.Message):
		f.cause, f.text = answer.DiskFull, fmt.Sprintf("The pod cannot be set up because a disk of the node is full: %s.", message)
		f.fixes = []answer.Fix{h.inspect("see what fills the node's disks", "df -h; df -i   # on the node")}
	case b.Stage == "sandbox" && words.InitOOM.In(b.Message):
		f.cause, f.text = answer.MemoryLimit, fmt.Sprintf("The pod's memory limit is too low even for its sandbox, which was OOM-killed as it was made: %s.", message)
		f.fixes = []answer.Fix{h.limitsFix("raise the memory limits of the pod's containers: together they are its limit")}
	case b.Stage == "sandbox" && words.NoRuntime(b.Message):
		f.cause, f.text = answer.RuntimeFailed, fmt.Sprintf("The pod cannot be set up because the container runtime did not answer: %s.", message)
		f.fixes = []answer.Fix{h.inspect("see whether it runs; the pod is set up by itself then", "whylet status")}
	case b.Stage == "sandbox":
		f.cause, f.text = answer.SandboxFailed, fmt.Sprintf("The pod's sandbox or network could not be made: %s.", message)
		f.fixes = []answer.Fix{h.inspect("see how the node is", "whylet status")}
	case b.Stage == "cgroup":
		f.cause, f.text = answer.RuntimeFailed, fmt.Sprintf("The pod's cgroup could not be made: %s.", message)
	case b.Stage == "devices":
		f.cause, f.text = answer.RuntimeFailed, fmt.Sprintf("The pod claims devices that the node cannot prepare: %s.", message)
	case words.VolumeObjectMissing(b.Message):
		kind, name, _ := h.missingObject(b.Message)
		f.cause, f.text = answer.ConfigMissing, fmt.Sprintf("A volume of the pod needs something that does not exist: %s.", message)
		f.fixes = []answer.Fix{h.inspect("see what is there", h.kubectl("get %s %s", kind, name)), {Text: "create it: the pod starts by itself then", Risk: answer.Safe}}
	default:
		f.cause, f.text = answer.VolumeFailed, fmt.Sprintf("A volume of the pod cannot be set up: %s.", message)
		f.fixes = []answer.Fix{h.describeFix()}
	}
	return f.verdict(id, "", nil)
}
