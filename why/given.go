package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// mostGiven is how much of a pod's spec is laid beside words: more would bury them.
const mostGiven = 2

// given lays beside the words of a container's program what the pod gives it that they are about: a
// variable and where that is from, the user that it runs as, the volume in which a file is to be.
func (h *inquiry) given(f *finding, container, said string) {
	c := h.Spec(container)
	if c == nil || h.Object == nil || h.Causes {
		return
	}
	var all []string
	for _, look := range []func(*finding, *v1.Container, string) []string{h.givenNames, h.givenVariables, h.givenOptions, h.unknownOptions, h.givenUser, h.givenFiles} {
		all = append(all, look(f, c, said)...)
	}
	f.because = append(f.because, all[:min(len(all), mostGiven)]...)
}

// givenNames says of a name that words have that the pod gives it an address of its own, so that no DNS is
// asked for it.
func (h *inquiry) givenNames(f *finding, _ *v1.Container, said string) []string {
	for _, alias := range h.Object.Spec.HostAliases {
		for _, name := range alias.Hostnames {
			if !words.Has(said, name) {
				continue
			}
			f.first(h.specFix(fmt.Sprintf("take %s out of hostAliases, or give it its address of now: what stands there goes before DNS", name)))
			return []string{fmt.Sprintf("The pod's hostAliases say that %s is %s, so DNS is not asked for it.", name, alias.IP)}
		}
	}
	return nil
}

// givenVariables says where the variables come from that words name, or that the pod sets none of that
// name.
func (h *inquiry) givenVariables(f *finding, c *v1.Container, said string) (all []string) {
	missed := knowledge.SettingMissing.In(said)
	for _, name := range words.Variables(said) {
		i := slices.IndexFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == name })
		switch {
		case i >= 0:
			if text := h.givenFrom(f, c, &c.Env[i], missed); text != "" {
				all = append(all, text)
			}
		case missed && len(c.EnvFrom) == 0:
			but, fix := "", h.specFix(fmt.Sprintf("give container %s variable %s, in its env", c.Name, name)).About(name)
			if like := likeIt(name, c.Env); like != "" {
				but, fix = ", but "+like, h.specFix(fmt.Sprintf("name variable %s of container %s as its program asks for it: %s", like, c.Name, name)).About(like, name)
			}
			f.first(fix)
			all = append(all, fmt.Sprintf("The pod sets no variable %s in container %s%s.", name, c.Name, but))
		}
	}
	return all
}

// givenFrom says where the value of a variable is from that words name.
func (h *inquiry) givenFrom(f *finding, c *v1.Container, e *v1.EnvVar, missed bool) string {
	switch from := e.ValueFrom; {
	case from == nil && (missed || e.Value == "" || len(e.Value) > mostShown || redact.IsSetting(e.Name, e.Value)):
		return ""
	case from == nil:
		return fmt.Sprintf("The pod sets %s to %q.", e.Name, e.Value)
	case from.FieldRef != nil:
		return fmt.Sprintf("Variable %s is the pod's %s.", e.Name, from.FieldRef.FieldPath)
	}
	t, ok := takenBy(c, e.Name)
	if !ok {
		return ""
	}
	decode := map[string]shell.Line{"Secret": " | base64 -d"}[t.Kind]
	f.first(h.inspect(
		fmt.Sprintf("see the value that %s has, and whether a blank or a line end is at its end", e.Name),
		h.kubectl(`get %s %s -o jsonpath=%s%s | od -c | tail -n 5`, strings.ToLower(t.Kind), t.Name, "{.data."+strings.ReplaceAll(t.Keys[0], ".", `\.`)+"}", decode),
	).About(e.Name))
	return fmt.Sprintf("Variable %s is key %s of %s %s.", e.Name, t.Keys[0], t.Kind, t.Name)
}

// mostShown is the longest value of a variable that is shown.
const mostShown = 80

// likeIt is the variable whose name is one for another: the same without an ending or a beginning, or
// with another letter; empty where none or several are.
func likeIt(name string, env []v1.EnvVar) (like string) {
	for _, e := range env {
		if len(e.Name) < 4 || !strings.HasPrefix(name, e.Name) && !strings.HasPrefix(e.Name, name) &&
			!strings.HasSuffix(name, "_"+e.Name) && !strings.HasSuffix(e.Name, "_"+name) && prose.Distance(name, e.Name) > 2 {
			continue
		}
		if like != "" {
			return ""
		}
		like = e.Name
	}
	return like
}

// wantsOption fits words that ask for an option of the command line.
var wantsOption = regexp.MustCompile(`(?i)\b(?:without|use|using|specify|pass|passing|add|set|provide|supply|give)(?: (?:the|a|an|with|option|flag|argument|switch|parameter))*[ '"` + "`" + `]+(-{1,2}[a-z][\w-]*)\b`)

// unknownOption fits words that a program does not know an option.
var unknownOption = regexp.MustCompile(`(?i)\b(?:unknown|unrecogni[sz]ed|invalid|illegal|bad|unexpected|no such|undefined)(?: (?:short|long|command[- ]line|shorthand))* (?:flag|option|argument|switch|parameter)s?(?: provided but not defined)?[: ]+(?:--? ?)?['"` + "`" + `]?(-{0,2}[A-Za-z][\w-]*)|flag provided but not defined: (-{1,2}[\w-]+)`)

// unknownOptions names the arguments of the spec that words call unknown: as they stand there, and, of one with a
// single dash before a whole word, that many programs take that for options of one letter.
func (h *inquiry) unknownOptions(f *finding, c *v1.Container, said string) []string {
	for _, m := range unknownOption.FindAllStringSubmatch(said, -1) {
		option := m[1] + m[2]
		for i, arg := range slices.Concat(c.Command, c.Args) {
			bare, _, _ := strings.Cut(arg, "=")
			letters := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && len(bare) > 2
			short := letters && (option == arg[:2] || option == arg[1:2])
			if i == 0 || !strings.HasPrefix(arg, "-") || strings.TrimLeft(bare, "-") != strings.TrimLeft(option, "-") && !short {
				continue
			}
			does := fmt.Sprintf("take %s out of command or args of container %s, or write it as this version of the program has it", bare, c.Name)
			if short {
				does = fmt.Sprintf("write %s with two dashes (-%s) in command or args of container %s: with one it is taken for options of one letter", bare, bare, c.Name)
			}
			f.first(h.specFix(does))
			return []string{fmt.Sprintf("The pod gives it %s.", prose.Brief(arg, mostShown))}
		}
	}
	return nil
}

// givenOptions says of an option that words ask for that the pod does not give the program any.
func (h *inquiry) givenOptions(f *finding, c *v1.Container, said string) []string {
	argv := slices.Concat(c.Command, c.Args)
	if len(argv) < 2 || slices.ContainsFunc(argv, func(arg string) bool { return strings.ContainsAny(arg, " \n") }) {
		return nil // what a shell or a wrapper gives it nobody knows
	}
	for _, m := range wantsOption.FindAllStringSubmatch(said, -1) {
		if slices.ContainsFunc(argv, func(arg string) bool {
			return arg == m[1] || strings.HasPrefix(arg, m[1]+"=") || len(m[1]) == 2 && strings.HasPrefix(arg, m[1])
		}) {
			continue
		}
		f.first(h.specFix(fmt.Sprintf("give %s, which its words ask for, in command or args of container %s", m[1], c.Name)))
		return []string{fmt.Sprintf("The pod gives it no %s: its command is %s.", m[1], prose.Brief(strings.Join(argv, " "), 100))}
	}
	return nil
}

// ofUsers fits words about whom a program runs as.
var ofUsers = regexp.MustCompile(`(?i)\buser id\b|\bu?gid\b|\buid\b|\bset(?:e?[ug]id|groups)\b|\bgetpwuid\b|\brun(?:ning)?\b.{0,30}\bas (?:the )?(?:root|user|super-?user|non-?root)\b|\beffective user\b|\bunknown user\b|\bno passwd entry\b|\bprivileges?\b|\bmust be (?:the )?(?:root|owner)\b`)

// givenUser says whom the pod has a container run as, where its words are about that.
func (h *inquiry) givenUser(f *finding, c *v1.Container, said string) []string {
	if f.saysUser || !ofUsers.MatchString(said) && !knowledge.Refused.In(said) {
		return nil // or it is said
	}
	var is []string
	add := func(field string, id *int64) {
		if id != nil {
			is = append(is, fmt.Sprintf("%s %d", field, *id))
		}
	}
	pod, own := h.contexts(c)
	add("runAsUser", cmp.Or(own.RunAsUser, pod.RunAsUser))
	add("runAsGroup", cmp.Or(own.RunAsGroup, pod.RunAsGroup))
	add("fsGroup", pod.FSGroup)
	if len(is) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The pod has it run with %s.", prose.Some(is))}
}

// givenFiles says in which volume a file is to be that words miss, and who fills that.
func (h *inquiry) givenFiles(f *finding, c *v1.Container, said string) (all []string) {
	seen := map[string]bool{}
	for line := range strings.SplitSeq(said, " / ") { // as [logline.Story.Reason] puts them together
		if !knowledge.NoFile.In(line) {
			continue
		}
		for _, m := range aPath.FindAllStringSubmatch(line, mostPaths) {
			file := mounts.Clean(strings.TrimRight(m[1], ".-"))
			mount, volume := h.volumeOf(c.Name, file)
			at := prose.Whether(volume != nil, mount.MountPath, path.Dir(file))
			if text := h.filled(c.Name, file, mount, volume); text != "" && !seen[at] {
				seen[at] = true
				all = append(all, text)
				if volume == nil && c.Image != "" {
					f.fix(h.inspect("see what the image has there", h.kubectl("run look --rm -i --restart=Never --image=%s --command -- ls -la %s", c.Image, at)))
				}
			}
		}
	}
	return all
}

// filled says what a missed file would be of; empty where that is a ConfigMap or Secret, of which
// [inquiry.namedFile] tells.
func (h *inquiry) filled(container, file string, mount v1.VolumeMount, volume *v1.Volume) string {
	switch {
	case volume == nil:
		return fmt.Sprintf("No volume is mounted at %s: the image has to bring it, or the program to write it.", file)
	case volume.EmptyDir != nil:
		text := fmt.Sprintf("%s is in volume %s, an emptyDir: it has nothing at first but what containers of this pod write there", file, volume.Name)
		for _, i := range h.Object.Spec.InitContainers {
			if i.Name != container && slices.ContainsFunc(i.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == volume.Name }) {
				return fmt.Sprintf("%s, as init container %s can.", text, i.Name)
			}
		}
		return text + "."
	case volume.PersistentVolumeClaim != nil:
		return fmt.Sprintf("%s is in volume %s (claim %s, mounted at %s).", file, volume.Name, volume.PersistentVolumeClaim.ClaimName, mount.MountPath)
	case volume.HostPath != nil:
		return fmt.Sprintf("%s is in volume %s, the folder %s of the node.", file, volume.Name, volume.HostPath.Path)
	}
	return ""
}

// ofItsOwn are the causes for which a program's configuration is worth a look where nothing better is known.
var ofItsOwn = []answer.Cause{answer.AppExitError, answer.AppExitSuccess, answer.AppUnhealthy, answer.AppNotListening, answer.ChildProcessEnded, answer.InitFailed, answer.DependencyDown}

// mostOwn is how many variables of a spec are named.
const mostOwn = 4

// configuredBy adds what configures the container that is to blame, where nobody knows anything to change:
// there is what people look at next.
func (h *inquiry) configuredBy(v *answer.Verdict) {
	c := h.Spec(v.Container)
	if c == nil || !slices.Contains(ofItsOwn, v.Cause) || slices.ContainsFunc(v.Fixes, changes) {
		return
	}
	var maps, all []string
	for _, s := range h.sources(c) {
		if s.kind == "ConfigMap" && !slices.Contains(maps, s.name) {
			maps = append(maps, s.name)
		}
		if one := fmt.Sprintf("%s %s (%s)", s.kind, s.name, s.as); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if own := ownVariables(c); len(own) > 0 && len(own) <= mostOwn {
		all = append(all, "variable "+prose.Some(withValues(own))+" of the spec")
	}
	if len(all) == 0 {
		return
	}
	command := h.kubectl("get pod %s -o yaml", h.Pod.Name)
	if len(maps) > 0 {
		command = h.kubectl("get configmap %s -o yaml --ignore-not-found", shell.Words(maps...)) // an optional one may be missing
	}
	v.Fixes = append(v.Fixes, kubectl.Inspect(fmt.Sprintf("compare its words with what configures container %s: %s", c.Name, prose.Some(all)), command).As(answer.StepCompare, nil))
}

// ownVariables are those of a container that its spec itself gives a value.
func ownVariables(c *v1.Container) (own []setting) {
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			own = append(own, setting{e.Name, e.Value})
		}
	}
	return own
}

// source is a ConfigMap or Secret from which a container has something, and as what.
type source struct{ kind, name, as string }

// sources are those of a container's files and variables.
func (h *inquiry) sources(c *v1.Container) (all []source) {
	for m, volume := range h.mounted(c.Name) {
		if kind, name, _ := mounts.Source(volume); kind != "" {
			all = append(all, source{kind, name, "at " + m.MountPath})
		}
	}
	for _, t := range mounts.Variables(c) {
		all = append(all, source{t.Kind, t.Name, prose.Whether(t.Variable == "", "variables", "variable "+t.Variable)})
	}
	return all
}

// takenBy is what a variable of a container is taken from; ok is false where it is of no ConfigMap or Secret.
func takenBy(c *v1.Container, variable string) (t mounts.Taken, ok bool) {
	all := mounts.Variables(c)
	i := slices.IndexFunc(all, func(t mounts.Taken) bool { return t.Variable == variable })
	if i < 0 {
		return t, false
	}
	return all[i], true
}
