package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

func (c notStarted) says(one ...*knowledge.Known) bool { return knowledge.Any(c.message, one...) }

// startSaid is the rule on a container that does not start, where the message says why.
func startSaid(fits func(notStarted) bool, cause answer.Cause, w weight, text string, fix func(*inquiry) answer.Fix) func(notStarted) *finding {
	return func(c notStarted) *finding {
		if !fits(c) {
			return nil
		}
		return c.finds(cause, w).says(text, c.run.Container, prose.Brief(c.message, kept)).fix(fix(c.h))
	}
}

// The rules of that kind: no workingDir, no runtime that answers, no room on a disk, and no more processes.
var (
	startDirectory = startSaid(func(c notStarted) bool {
		return c.says(knowledge.WorkingDirectory) || words.NoDirectory(c.message, c.h.spec(c.run.Container).WorkingDir)
	}, answer.AppStartFailed, certain, "Container %s cannot be started in its working directory: %s.", func(h *inquiry) answer.Fix {
		return h.specFix("correct workingDir: it has to be a directory that the container's user may enter, or one that can be made")
	})
	startRuntime = startSaid(func(c notStarted) bool { return c.says(knowledge.RuntimeAway) && !c.says(knowledge.ExecFailed) },
		answer.RuntimeFailed, fair, "Container %s does not start because the container runtime failed: %s.", (*inquiry).nodeFix)
	startDiskFull = startSaid(func(c notStarted) bool { return c.says(knowledge.NoSpace) },
		answer.DiskFull, certain, "Container %s does not start because a disk of the node is full: %s.", func(*inquiry) answer.Fix { return nodesDisks })
	startProcessLimit = startSaid(func(c notStarted) bool { return words.NoFork(c.message) },
		answer.ProcessLimit, certain, "Container %s does not start because no more processes are allowed: %s.", func(*inquiry) answer.Fix {
			return kubectl.OnNode("see how many there are", "cat /proc/loadavg; sysctl kernel.pid_max kernel.threads-max")
		})
)

// startHook: a hook of it failed first.
func startHook(c notStarted) *finding {
	if !strings.Contains(c.reason, "Hook") {
		return nil
	}
	return c.finds(answer.HookFailed, certain).recorded().fix(c.h.describeFix()).
		says("A hook of container %s failed before it could start: %s.", c.run.Container, prose.Brief(c.message, kept))
}

// startConfig: what it takes its configuration from is not there.
func startConfig(c notStarted) *finding {
	if c.reason != "CreateContainerConfigError" || !c.says(knowledge.NoSuchKey, knowledge.NoSuchObject) {
		return nil
	}
	key := c.says(knowledge.NoSuchKey)
	kind, name := c.h.missingObject(c.message)
	return c.finds(answer.ConfigMissing, certain).recorded().fix(c.h.makeFixes(kind, name, "", "container", key)...).
		says("Container %s needs %s: %s.", c.run.Container, prose.Whether(key, "a key that its ConfigMap or Secret does not have", "something that does not exist"), prose.Brief(c.message, kept))
}

// makeFixes have a ConfigMap or Secret made that a container or volume takes its configuration from, or a key of it.
func (h *inquiry) makeFixes(kind, name, key, then string, hasObject bool) []answer.Fix {
	target := kind + "/" + h.Pod.Namespace + "/" + name
	then = "the " + then + " then starts by itself"
	if hasObject {
		see := h.inspect("see which keys it has", h.kubectl("describe %s %s", kind, name)).As(answer.StepSeeObjects, nil)
		see.Target = target
		return []answer.Fix{kubectl.AddKey(target, key, then), see}
	}
	see := h.inspect(fmt.Sprintf("see which %ss there are, if its name is wrong", kind), h.kubectl("get %ss", kind)).As(answer.StepSeeObjects, nil)
	see.Target = target
	return []answer.Fix{kubectl.CreateObject(target, nil, then), see}
}

// startSecurity: what its securityContext asks for is not let be.
func startSecurity(c notStarted) *finding {
	if !c.says(knowledge.RunsAsRoot, knowledge.SecurityModule, knowledge.Capability, knowledge.PermissionDenied) {
		return nil
	}
	f := c.finds(answer.SecurityRefused, strong).says("The security settings of container %s do not let it start: %s.", c.run.Container, prose.Brief(ofPod.ReplaceAllString(c.message, ""), kept))
	if c.says(knowledge.RunsAsRoot) {
		f.recorded().weight = certain
	}
	if c.says(knowledge.PermissionDenied) && c.says(knowledge.AboutExec) && !c.says(knowledge.SecurityModule) {
		f.weight = weak // a file that is not executable says the same
	}
	if c.says(knowledge.RunsAsRoot) {
		return f.fix(c.notRootFix())
	}
	return f.fix(c.h.specFix("change what it names in the securityContext, or run the pod on a node that supports it"))
}

// ofPod fits where kubelet names the pod and the container behind what is wrong, namedUser the user that an image names,
// ofOwners a command that changes owners or modes.
var (
	ofPod     = regexp.MustCompile(` \(pod: .*$`)
	namedUser = regexp.MustCompile(`non-numeric user \(([^)]+)\)`)
	ofOwners  = regexp.MustCompile(`\bch(?:own|mod|grp)\b`)
)

// notRootFix is what to do about a container that begins as root where runAsNonRoot forbids that.
func (c notStarted) notRootFix() answer.Fix {
	name, spec := c.run.Container, c.h.spec(c.run.Container)
	pod, own := c.h.contexts(spec)
	forbids := "runAsNonRoot: true in the securityContext of the " + prose.Whether(own.RunAsNonRoot != nil, "container", "pod")
	sets := "its image begins as root"
	if user := cmp.Or(own.RunAsUser, pod.RunAsUser); user != nil && *user == 0 {
		sets = "runAsUser: 0 in the securityContext of the " + prose.Whether(own.RunAsUser != nil, "container", "pod") + " makes it root"
	}
	switch m := namedUser.FindStringSubmatch(c.message); {
	case m != nil:
		return c.h.specFix(fmt.Sprintf("set runAsUser of container %s to the number of user %s in its image (id -u %s): %s needs a number, not a name", name, m[1], m[1], forbids))
	case ofOwners.MatchString(strings.Join(slices.Concat(spec.Command, spec.Args), " ")):
		return c.h.specFix(fmt.Sprintf("remove container %s and set fsGroup in the pod's securityContext, which gives volumes to that group; or, as only root changes owners, set runAsNonRoot: false and runAsUser: 0 for it alone (%s forbids root, and %s)", name, forbids, sets))
	}
	return c.h.specFix(fmt.Sprintf("set runAsUser of container %s to the number of a user other than root that its image knows, or use an image that runs as one: %s, and %s forbids that; runAsNonRoot: false would let it run as root", name, sets, forbids))
}

// startStopped: its profile stops the process that is to run its command.
func startStopped(c notStarted) *finding {
	profile := c.h.seccompProfile(c.h.spec(c.run.Container))
	if profile == "" || !c.says(knowledge.StoppedBeforeStart) {
		return nil
	}
	return c.finds(answer.SecurityRefused, fair).
		says("The seccomp profile of container %s (%s) seems to forbid what the runtime itself needs to start a container: its own process ended before the command was run.", c.run.Container, profile).
		fix(c.h.specFix("allow in the profile what runc needs (chdir, execve, capset and the like), or use RuntimeDefault"))
}

// notRun is the name of a program that is nowhere in the PATH.
var notRun = regexp.MustCompile(`exec: "([^"/]{2,40})": executable file not found`)

// knownPrograms are those that commands of containers name most.
var knownPrograms = []string{
	"apache2", "bash", "bundle", "busybox", "caddy", "celery", "cp", "curl", "dotnet", "echo", "envoy", "flask", "gunicorn", "httpd", "java", "kubectl", "ls", "mysqld", "nginx", "node", "npm", "perl",
	"php", "pip", "postgres", "python", "python3", "rails", "redis-cli", "redis-server", "ruby", "sh", "sleep", "tail", "tini", "uvicorn", "wget", "yarn",
}

// startCommand: its command cannot be executed.
func startCommand(c notStarted) *finding {
	if !c.says(knowledge.NoProgram) || !c.says(knowledge.AboutExec) {
		return nil
	}
	f := c.finds(answer.AppStartFailed, strong)
	parts := strings.Split(c.message, "exec: ")
	f.text = fmt.Sprintf("The command of container %s cannot be run: %s.", c.run.Container, prose.Brief(parts[len(parts)-1], 120))
	if c.says(knowledge.ExecFormat) {
		f.text = fmt.Sprintf("The program of container %s is made for another kind of machine (exec format error).", c.run.Container)
	}
	correct := c.h.specFix("correct command and args, or use an image that has the program")
	if fix, ok := c.h.modeFix(c.run.Container, words.NotExecutable(c.message)); ok {
		correct = fix
	}
	if m := notRun.FindStringSubmatch(c.message); m != nil && !c.says(knowledge.ExecFormat) {
		if near := prose.Nearest(m[1], knownPrograms); near != "" {
			correct = c.h.specFix(fmt.Sprintf("run %s in place of %s, if that is meant, or use an image that has the program", near, m[1]))
		}
	}
	list := prose.Whether(c.h.IsInit(c.run.Container), "initContainers", "containers")
	return f.fix(correct, c.h.inspect("see what it should run", c.h.kubectl("get pod %s -o jsonpath='{.spec.%s[*].command}'", c.h.Pod.Name, list)))
}

// startSubPath: the path of a mount takes a variable that is not set.
func startSubPath(c notStarted) *finding {
	variable, ok := words.SubPathVariable(c.message)
	if c.reason != "CreateContainerConfigError" || !ok {
		return nil
	}
	return c.finds(answer.VolumeFailed, certain).recorded().fix(c.h.specFix("set the variable in the container's env, or correct subPathExpr")).
		says("A volume cannot be mounted into container %s: the subPathExpr of its mount names the variable %s, which its env does not set.", c.run.Container, prose.Brief(variable, 60))
}

// limit is the memory limit of the container in brackets; empty where it has none of its own.
func (c notStarted) limit() string {
	if limit := c.h.spec(c.run.Container).Resources.Limits.Memory(); !limit.IsZero() {
		return " (" + limit.String() + ")"
	}
	return ""
}

// startOOM: there was not even room for the process that prepares the container.
// Files in /dev/shm outlive the run that wrote them, and a limit may be that small.
func startOOM(c notStarted) *finding {
	if !c.says(knowledge.InitOOM) {
		return nil
	}
	f := c.finds(answer.MemoryLimit, strong).
		says("Container %s does not start: the process that prepares it was OOM-killed, because its memory limit%s is too low, or full already.", c.run.Container, c.limit()).
		fix(c.h.limitsFix("raise the memory limit of container " + c.run.Container))
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
	} else if c.h.FromAPI && len(c.h.inMemory(c.run.Container)) > 0 {
		return f.possibly() // what lies there counts for the limit
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

// missingObject is which object a message is about, for a command to look at it.
func (h *inquiry) missingObject(message string) (kind, name string) {
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
		if i > 0 && parts[i-1] == "non-existent" || name == "references" { // of its key the message tells, and not of its name
			return k, ""
		}
		return k, name
	}
	return "configmaps,secrets", ""
}

// imageNotPulled says why there is no image, in the words of registries and of containerd (docker/resolver,
// reference/docker).
func imageNotPulled(c notStarted) *finding {
	switch {
	case c.reason == "ErrImageNeverPull":
		return c.image(answer.ImagePolicyNever, certain, "is not on the node, and imagePullPolicy is Never", loadImage, c.h.specFix("set imagePullPolicy to IfNotPresent"))
	case c.reason == "InvalidImageName":
		return c.image(answer.ImageNotFound, certain, "is not a valid name of an image", c.h.specFix("correct the image's name"))
	case c.says(knowledge.NoSuchImage) && !c.says(knowledge.NotThatImage):
		return c.image(answer.ImageNotFound, strong, "does not exist in its registry", c.h.specFix("correct the image's name or tag"))
	case c.says(knowledge.NotAuthorized):
		return c.image(answer.ImageUnauthorized, strong, "may not be pulled with the credentials that the pod has (a registry also says this of names that do not exist)",
			c.h.specFix("add an imagePullSecret for the registry"), c.h.inspect("see which pull secrets it has", c.h.kubectl("get pod %s -o jsonpath='{.spec.imagePullSecrets}'", c.h.Pod.Name)))
	case c.says(knowledge.PullsLimited):
		return c.image(answer.ImageRegistryUnreachable, strong, "cannot be pulled: the rate limit of its registry is exceeded"+colon(prose.Last(c.message, kept)),
			c.h.specFix("pull with credentials (imagePullSecrets): a registry allows those who log in more; or name a mirror in the image"), loadImage)
	case c.reason == "RegistryUnavailable" || c.says(knowledge.RegistryAway):
		away := prose.Whether(strings.Contains(c.message, "lookup "), "the name of its registry was not resolved on the node", "its registry does not answer")
		return c.image(answer.ImageRegistryUnreachable, strong, "cannot be pulled: "+away+colon(prose.Last(c.message, kept)),
			kubectl.OnNode("ask the registry from the node", shell.Linef("curl -sI https://%s/v2/", registryOf(fact.Of[fact.ImageFailed](c.fact).Image))), loadImage)
	}
	return nil
}

var loadImage = answer.Fix{Text: "load the image onto the node by hand, from an archive of it", Risk: answer.Safe}

// registryOf returns the host that an image is pulled from: the first part of its name where that may be a
// host, else that of Docker Hub (github.com/distribution/reference, splitDockerDomain).
func registryOf(image string) string {
	host, _, found := strings.Cut(image, "/")
	if found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return host
	}
	return "registry-1.docker.io"
}

// image says of an image what keeps it away: certain is what kubelet itself decided.
func (c notStarted) image(cause answer.Cause, w weight, what string, fixes ...answer.Fix) *finding {
	failed := fact.Of[fact.ImageFailed](c.fact)
	f := c.finds(cause, w).fix(fixes...)
	if w == certain {
		f.recorded()
	}
	f.text = fmt.Sprintf("The image %s of container %s %s.", failed.Image, c.run.Container, what)
	if failed.OnNode {
		f.because = []string{"The node has that image, and starts nothing of it because imagePullPolicy Always (which is what a tag latest, or none, stands for) asks the registry each time."}
		f.first(c.h.specFix("set imagePullPolicy to IfNotPresent, to use the image that is on the node"))
	}
	return f
}
