package why

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// aPath fits a file that words name, from the root.
var aPath = regexp.MustCompile("(?:^|[\\s\"'`(=\\[<:])(/[\\w.@+-]+(?:/[\\w.@+-]+)+)")

// fromHere fits one from the folder that a program runs in.
var fromHere = regexp.MustCompile("(?:^|[\\s\"'`(=\\[<])((?:\\./)?[\\w@+-][\\w.@+-]*(?:/[\\w.@+-]+)+)(?:$|[\\s\"'`)\\]>:,])")

// ofScript fits a script at the start of what a shell says of one of its lines: the shell could read that.
var ofScript = regexp.MustCompile(`^\S+: line \d+: `)

// namedFile adds where a file comes from that a container's words name, and what to do there:
// it is in one of its volumes mostly; or else where its spec gives it what they name. What else the
// pod gives it that they are about is laid beside them.
func (h *inquiry) namedFile(f *finding, container, said string) {
	if knowledge.Any(said, knowledge.Refused, knowledge.ReadOnly) {
		said = ofScript.ReplaceAllString(said, "")
	}
	if fixes := h.ofNamedFile(container, said); len(fixes) > 0 {
		if fixes[0].ID == answer.StepAllowUser {
			f.fixes = slices.DeleteFunc(f.fixes, func(o answer.Fix) bool { return o.ID == answer.StepAllowUser })
		}
		f.first(fixes...)
	} else {
		h.namedSetting(f, container, said)
	}
	if at := path.Dir(h.refusedFile(container, said)); knowledge.Refused.In(said) && path.IsAbs(at) && f.cause == answer.AppExitError { // as its image has it run
		if _, volume := h.volumeOf(container, at); volume == nil {
			f.first(h.mayThen(container, said))
		}
	}
	h.given(f, container, said)
}

// ofNamedFile are what to do about the first file of a volume that words name.
func (h *inquiry) ofNamedFile(container, said string) []answer.Fix {
	var kept []answer.Fix
	for line := range strings.SplitSeq(said, " / ") { // as [logline.Story.Reason] puts them together
		for _, file := range h.pathsIn(container, line) {
			mount, volume := h.volumeOf(container, file)
			if volume == nil {
				continue
			}
			fixes := h.fileFixes(h.spec(container), file, mount, volume, line)
			switch {
			case len(fixes) == 0:
			case knowledge.Refused.In(line) && readable(volume): // of a copy that was refused, the other file goes before it
				kept = fixes
			default:
				return fixes
			}
		}
	}
	return kept
}

// pathsIn are the first files that a line names, those from the container's own folder at last.
func (h *inquiry) pathsIn(container, line string) []string {
	var all []string
	for _, m := range aPath.FindAllStringSubmatch(line, mostPaths) {
		all = append(all, mounts.Clean(strings.TrimRight(m[1], ".-")))
	}
	if spec := h.spec(container); spec.WorkingDir != "" {
		for _, m := range fromHere.FindAllStringSubmatch(line, mostPaths) {
			all = append(all, mounts.Clean(path.Join(spec.WorkingDir, m[1])))
		}
	}
	return all
}

// readable says whether everybody may read what is in a volume of a ConfigMap or a Secret. Nobody may write it.
func readable(volume *v1.Volume) bool {
	return (volume.ConfigMap != nil || volume.Secret != nil) && defaultMode(volume)&0o004 != 0
}

// raisingFile adds where the file comes from in whose code something was raised, where nothing else
// is known to change.
func (h *inquiry) raisingFile(f *finding, container string, at logline.Spot) {
	if !path.IsAbs(at.File) || f.advice.Text != "" || slices.ContainsFunc(f.fixes, changes) {
		return
	}
	file := mounts.Clean(at.File)
	mount, volume := h.volumeOf(container, file)
	if volume == nil {
		return
	}
	if kind, name, key := mounts.Key(file, mount, volume); kind != "" {
		f.first(kubectl.Edit(fmt.Sprintf("if %s, where that was raised, is wrong, correct it: it is %s of %s %s", file, key, kind, name), kind, h.Pod.Namespace, name, h.Object))
	}
}

// mostPaths is how many files are looked at that words name.
const mostPaths = 4

// mounted yields how the volumes of a container are mounted, with the volumes.
func (h *inquiry) mounted(container string) iter.Seq2[v1.VolumeMount, *v1.Volume] {
	return func(yield func(v1.VolumeMount, *v1.Volume) bool) {
		for _, m := range h.spec(container).VolumeMounts {
			if _, v := h.volumeOf(container, path.Clean(m.MountPath)); v != nil && !yield(m, v) {
				return
			}
		}
	}
}

// volumeOf is the volume of a container that a file is in, and how it is mounted; nil where it
// is in none.
func (h *inquiry) volumeOf(container, file string) (v1.VolumeMount, *v1.Volume) {
	return mounts.Volume(h.Object, h.Spec(container), file)
}

// fileFixes are what to do about a file of a volume.
func (h *inquiry) fileFixes(c *v1.Container, file string, mount v1.VolumeMount, volume *v1.Volume, said string) []answer.Fix {
	kind, name, key := mounts.Key(file, mount, volume)
	switch {
	case knowledge.ReadOnly.In(said) && kind != "":
		return []answer.Fix{h.specFix(fmt.Sprintf("do not change files below %s (chown, chmod, sed -i): files of a %s are always read-only; set their mode with defaultMode of volume %s, or copy them into an emptyDir first", mount.MountPath, kind, volume.Name))}
	case knowledge.Refused.In(said) && kind != "" && readable(volume):
		return []answer.Fix{h.specFix(fmt.Sprintf("have it write elsewhere than to %s, which is of %s %s and which its user may only read (copy it into an emptyDir first); if it is to be run, volume %s needs a defaultMode for that (0555)", file, kind, name, volume.Name))}
	case knowledge.Refused.In(said) && kind != "":
		return []answer.Fix{h.specFix(fmt.Sprintf("let its user read %s, which comes from %s %s: give volume %s defaultMode: 0444, or 0440 and %s", file, kind, name, volume.Name, h.groupField(c))).As(answer.StepAllowUser, nil)}
	case knowledge.Refused.In(said):
		return []answer.Fix{h.giveVolume(c, volume, ", in which "+file+" is")}
	case kind == "" && knowledge.NoFile.In(said) && (volume.EmptyDir != nil || volume.PersistentVolumeClaim != nil):
		return []answer.Fix{h.specFix(fmt.Sprintf("see that volume %s has %s before it starts (an init container that writes it there, or copies what the image has at %s, which the volume hides), or mount it elsewhere", volume.Name, file, mount.MountPath))}
	case kind == "":
		return nil
	case knowledge.NoFile.In(said) && kind == "ConfigMap" && mount.SubPath == "" && overPrograms.MatchString(mount.MountPath):
		return []answer.Fix{h.specFix(fmt.Sprintf("mount file by file: %s %s at %s covers the whole folder, and hides what the image has there (%s, if it has no such key): mount each of its keys with subPath, or add the others to it", kind, name, mount.MountPath, key)).As(answer.StepMountFiles, nil)}
	case knowledge.NoFile.In(said):
		return []answer.Fix{kubectl.Inspect(fmt.Sprintf("see whether %s %s, mounted at %s, has %s", kind, name, mount.MountPath, key), h.kubectl("describe %s %s", strings.ToLower(kind), name))}
	}
	if mode := defaultMode(volume); mode&0o004 == 0 && knowledge.NotOpened.In(said) {
		return []answer.Fix{h.specFix(fmt.Sprintf("let its user read %s: volume %s has defaultMode %04o, so only root can read it, and many servers drop root before they read; set 0444, or 0440 and %s", file, volume.Name, mode, h.groupField(c))).As(answer.StepAllowUser, nil)}
	}
	return []answer.Fix{kubectl.Edit(fmt.Sprintf("if %s, which its words name, is wrong, correct it: it is %s of %s %s", file, key, kind, name), kind, h.Pod.Namespace, name, h.Object)}
}

// overPrograms fits folders in which images have configuration of their own.
var overPrograms = regexp.MustCompile(`^/(?:etc|usr|opt|var/lib)/`)

// defaultMode is the mode that a volume gives its files, if it is of a ConfigMap or a Secret.
func defaultMode(volume *v1.Volume) int32 {
	var mode *int32
	switch {
	case volume == nil:
	case volume.Secret != nil:
		mode = volume.Secret.DefaultMode
	case volume.ConfigMap != nil:
		mode = volume.ConfigMap.DefaultMode
	}
	return ptr.Deref(mode, v1.SecretVolumeSourceDefaultMode)
}

// setting is a value that a container's spec gives its program, and what that is called there.
type setting struct{ name, value string }

// leastValue and mostSettings bound what is taken for a value that words name: a short one is a word
// like others, and one that stands in many places tells none.
const leastValue, mostSettings = 5, 2

// special fits what no plain word has.
var special = regexp.MustCompile(`[\d/:._=-]`)

// namedSetting adds where the spec of a container gives a value that its words name, or that of another
// container of its pod.
func (h *inquiry) namedSetting(f *finding, container, said string) {
	if _, asks := dependency(said); asks {
		return
	}
	for _, c := range h.ownFirst(container) {
		named := settingsNamed(c, said)
		if len(named) == 0 || len(named) > mostSettings {
			continue
		}
		text := fmt.Sprintf("if that value is wrong, correct it: container %s has it from %s", c.Name, prose.Some(withValues(named)))
		if others := settingsCalled(c, said, named); len(others) > 0 {
			text += ", and " + prose.Some(withValues(others)) + " is what its words speak of, too"
		}
		f.first(h.specFix(text))
		return
	}
	if fix, ok := h.calledVariable(h.spec(container), said); ok {
		f.first(fix)
	}
}

// calledVariable is the step for the one variable of a container that words call by the last words of its name, two
// or more: "cookie_secret" of OAUTH2_PROXY_COOKIE_SECRET.
func (h *inquiry) calledVariable(c *v1.Container, said string) (fix answer.Fix, ok bool) {
	spoken := strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(said))
	called := slices.DeleteFunc(slices.Clone(c.Env), func(e v1.EnvVar) bool {
		parts := flagWords.FindAllString(e.Name, -1)
		return len(parts) < 2 || !words.Has(spoken, strings.ToLower(strings.Join(parts[len(parts)-2:], " ")))
	})
	if len(called) != 1 {
		return fix, false
	}
	text := fmt.Sprintf("correct variable %s of container %s", called[0].Name, c.Name)
	if called[0].ValueFrom == nil {
		return h.specFix(text), true
	}
	t, ok := takenBy(c, called[0].Name)
	if !ok {
		return fix, false
	}
	return kubectl.Edit(fmt.Sprintf("%s: it is key %s of %s %s", text, t.Keys[0], t.Kind, t.Name), t.Kind, h.Pod.Namespace, t.Name, h.Object), true
}

// ownFirst are the containers of the pod, one of them before the others.
func (h *inquiry) ownFirst(container string) []*v1.Container {
	own := h.Spec(container)
	if own == nil || h.Object == nil {
		return nil
	}
	all := []*v1.Container{own}
	for _, c := range slices.Concat(h.Object.Spec.Containers, h.Object.Spec.InitContainers) {
		if c.Name != container {
			all = append(all, &c)
		}
	}
	return all
}

// settingsNamed are the settings of a container that words name: those whose whole value they have, where
// there are such.
func settingsNamed(c *v1.Container, said string) []setting {
	named := slices.DeleteFunc(settingsOf(c), func(s setting) bool { return !s.namedIn(said) && !s.spokenOf(said) })
	if exact := slices.DeleteFunc(slices.Clone(named), func(s setting) bool { return !names(said, strings.TrimLeft(s.name, "-")) }); len(exact) > 0 {
		return exact
	}
	return named
}

// settingsCalled are the other settings of a container, one at most, that words call by their names: of two words
// or more, without what a program puts before all of its own ("the initial cluster" of ETCD_INITIAL_CLUSTER).
func settingsCalled(c *v1.Container, said string, known []setting) (all []setting) {
	spoken := strings.ToLower(said)
	for _, s := range settingsOf(c) {
		parts := flagWords.FindAllString(strings.TrimPrefix(s.name, "variable "), -1)
		if strings.HasPrefix(s.name, "variable ") && len(parts) > 1 {
			parts = parts[1:]
		}
		called := len(parts) > 1 && words.Has(spoken, strings.ToLower(strings.Join(parts, " ")))
		if called && !slices.Contains(known, s) && !slices.ContainsFunc(all, func(o setting) bool { return o.name == s.name }) {
			all = append(all, s)
		}
	}
	if len(all) > 1 {
		return nil
	}
	return all
}

// withValues are settings with their values, where those are nobody's secret.
func withValues(all []setting) (where []string) {
	for _, s := range all {
		has := prose.Whether(!redact.IsSetting(s.name, s.value) && s.value != fact.NotKept, fmt.Sprintf(" (%s)", prose.Brief(s.value, 60)), "")
		where = append(where, s.name+has)
	}
	return where
}

// addressFix has an address corrected where the spec of a container gives it one that its words did not
// reach; it is the general advice where the spec has none.
func (h *inquiry) addressFix(container, place, general string) answer.Fix {
	host := hostIn(place)
	for _, c := range h.ownFirst(container) {
		has := slices.DeleteFunc(settingsOf(c), func(s setting) bool { return host == "" || !words.Has(s.value, host) })
		if n := len(has); n > 0 && n <= mostSettings {
			return h.specFix(fmt.Sprintf("if the address is wrong, correct it: container %s has it from %s", c.Name, prose.Some(withValues(has))))
		}
	}
	return h.configFix(container, general).As(answer.StepReaddress, nil)
}

// whereTo shows what a name without dots leads to, which is a Service of the pod's namespace.
func (h *inquiry) whereTo(place string) []answer.Fix {
	host := hostIn(place)
	if host == "" || strings.ContainsAny(host, ".:/") || loopback(host) {
		return nil
	}
	return []answer.Fix{h.inspect(fmt.Sprintf("check that Service %s exists, and its port and selector", host), h.kubectl("get services -o wide"))}
}

// option fits an option that stands behind a blank, as in a line of a shell.
var option = regexp.MustCompile(`(?:^| )(--?[A-Za-z][\w-]*)`)

// oneString adds that a container gives its program several arguments as one, where its words are about an
// option that stands in there: no shell takes it apart.
func (h *inquiry) oneString(f *finding, container, said string) {
	c := h.spec(container)
	argv := slices.Concat(c.Command, c.Args)
	for i, arg := range argv {
		script := i > 0 && strings.HasSuffix(argv[i-1], "c") && strings.HasPrefix(argv[i-1], "-") || strings.ContainsAny(arg, "\n;&|$")
		found, parts := option.FindAllStringSubmatch(arg, -1), strings.Fields(arg)
		if script || len(found) == 0 || len(parts) < 2 ||
			!strings.Contains(said, parts[len(parts)-1]) && !slices.ContainsFunc(found, func(m []string) bool { return words.Has(said, m[1]) }) {
			continue
		}
		f.because = append(f.because, fmt.Sprintf("Container %s is given %q as one argument, which no shell takes apart.", container, prose.Brief(arg, 80)))
		f.first(h.specFix("give each of these words as an element of its own in command or args"))
		return
	}
}

// flagWords part the name of a flag or a variable, numbered fits a value that is a number with or without
// a unit.
var (
	flagWords = regexp.MustCompile(`[A-Za-z]+`)
	numbered  = regexp.MustCompile(`^(\d{1,9})(?:[a-zA-Z]{1,2})?$`)
)

// spokenOf says whether words have a setting's name in words of their own, and its number: "time limit of
// 10s" of --time-limit=10, "maximum request limit of 20" of MAX_REQUESTS.
func (s setting) spokenOf(said string) bool {
	number, parts := numbered.FindStringSubmatch(s.value), flagWords.FindAllString(s.name, -1)
	if number == nil || len(parts) < 2 || !regexp.MustCompile(`\b`+number[1]+`(?:\D|$)`).MatchString(said) {
		return false
	}
	said = strings.ToLower(said)
	return !slices.ContainsFunc(parts, func(part string) bool { return part != "variable" && !words.Has(said, strings.ToLower(part)) })
}

// namedIn says whether words have a setting's value: one that no plain word is, or any that they quote.
func (s setting) namedIn(said string) bool {
	return special.MatchString(s.value) && names(said, s.value) ||
		len(s.value) >= leastQuoted && (strings.Contains(said, `"`+s.value+`"`) || strings.Contains(said, "'"+s.value+"'"))
}

// leastQuoted is how long a value has to be that words quote.
const leastQuoted = 3

// names says whether words have a value that is none of the short ones.
func names(said, value string) bool { return len(value) >= leastValue && words.Has(said, value) }

// settingsOf are the values of a container's arguments and variables, and of the commands of its probes, each
// without a space. The program itself and scripts are none.
func settingsOf(c *v1.Container) (all []setting) {
	add := func(name, value string) {
		for one := range strings.SplitSeq(value, ",") {
			if one != "" && !strings.ContainsAny(one, " \n\t") {
				all = append(all, setting{name, one})
			}
		}
	}
	command := func(where string, argv []string) {
		for i := 1; i < len(argv); i++ {
			name, value, has := strings.Cut(argv[i], "=")
			switch flag := strings.HasPrefix(argv[i], "-"); {
			case has && !strings.ContainsAny(name, " \n\t"):
				add(name, value)
			case flag && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-"):
				add(argv[i], argv[i+1])
				i++
			case !flag:
				add(where, argv[i])
			}
		}
	}
	command("its arguments", slices.Concat(c.Command, c.Args))
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			add("variable "+e.Name, e.Value)
		}
	}
	for _, kind := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
		if p := fact.ProbeOf(c, kind); p != nil && p.Exec != nil {
			command(fmt.Sprintf("the command of its %s probe", kindWord(kind)), p.Exec.Command)
		}
	}
	return all
}
