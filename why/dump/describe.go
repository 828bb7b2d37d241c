package dump

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/record"
)

// described begins what kubectl describe prints of a pod (kubectl, pkg/describe/describe.go,
// describePod), whose forms are read here.
var described = regexp.MustCompile(`(?m)^Name: +\S+\nNamespace: +\S+\n`)

// mostLines bounds a description.
const mostLines = 100_000

func isDescription(text []byte) bool {
	at := described.FindIndex(text)
	return at != nil && at[0] == 0
}

// descriptions reads what kubectl describe prints of pods, one after another.
func (r *reader) descriptions(name, text string) (known bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	starts := described.FindAllStringIndex(text, -1)
	for i, at := range starts {
		to := len(text)
		if i+1 < len(starts) {
			to = starts[i+1][0]
		}
		top := parseTree(text[at[0]:to])
		if top.get("Containers") == nil {
			r.miss(name, "of what kubectl describe prints, pods are read; add kubectl get -o yaml of "+top.value("Name"))
			continue
		}
		p := describedPod(top)
		events := describedEvents(top, &p)
		for i := range events {
			events[i].InvolvedObject.FieldPath = cmp.Or(events[i].InvolvedObject.FieldPath, containerOf(&p, events[i]))
		}
		tellWaiting(&p, events)
		r.described, r.events = append(r.described, p), append(r.events, events...)
		known = true
	}
	return known
}

// placeDescribed puts the pods into the case that it has no better.
func (r *reader) placeDescribed() {
	for _, p := range r.described {
		if _, there := r.at[record.Kinds[0].Held(p.Namespace)+"/"+p.Name]; !there {
			r.keepMade(record.Kinds[0], p)
		}
	}
}

// tree is a line, and the lines below it that are further to the right.
type tree struct {
	text   string
	indent int
	below  []*tree
}

func parseTree(text string) *tree {
	top := &tree{indent: -1}
	path := []*tree{top}
	n := 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if n++; trimmed == "" || n > mostLines {
			continue
		}
		one := &tree{text: trimmed, indent: len(line) - len(strings.TrimLeft(line, " \t"))}
		for path[len(path)-1].indent >= one.indent {
			path = path[:len(path)-1]
		}
		in := path[len(path)-1]
		in.below = append(in.below, one)
		path = append(path, one)
	}
	return top
}

// split parts a line "Key:   value".
func (t *tree) split() (key, value string) {
	if key, found := strings.CutSuffix(t.text, ":"); found && !strings.Contains(key, ": ") {
		return key, ""
	}
	key, value, _ = strings.Cut(t.text, ": ")
	if value = strings.TrimSpace(value); value == "<none>" || value == "<unset>" {
		value = ""
	}
	return key, value
}

// lines are those below; none of no line.
func (t *tree) lines() []*tree {
	if t == nil {
		return nil
	}
	return t.below
}

// get is the line below with a key; nil where there is none.
func (t *tree) get(key string) *tree {
	for _, one := range t.lines() {
		if k, _ := one.split(); k == key {
			return one
		}
	}
	return nil
}

func (t *tree) value(key string) (value string) {
	if one := t.get(key); one != nil {
		_, value = one.split()
	}
	return value
}

// texts are the lines below.
func (t *tree) texts() (all []string) {
	for _, one := range t.lines() {
		all = append(all, one.text)
		all = append(all, one.texts()...)
	}
	return all
}

// at is a time as describe writes it.
func at(text string) metav1.Time {
	t, err := time.Parse(time.RFC1123Z, text)
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(t.UTC())
}

func number(text string) int32 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(text, "s"), 10, 32)
	return int32(n)
}

func describedPod(top *tree) v1.Pod {
	p := v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	p.Name, p.Namespace = top.value("Name"), top.value("Namespace")
	p.UID = types.UID(record.Kinds[0].Held(p.Namespace) + "/" + p.Name)
	p.Spec.NodeName, _, _ = strings.Cut(top.value("Node"), "/")
	p.Spec.ServiceAccountName = top.value("Service Account")
	p.Labels = map[string]string{}
	for i, one := range append([]string{top.value("Labels")}, top.get("Labels").texts()...) {
		if key, value, ok := strings.Cut(one, "="); ok && i < 100 {
			p.Labels[key] = value
		}
	}
	if start := at(top.value("Start Time")); !start.IsZero() {
		p.Status.StartTime, p.CreationTimestamp = &start, start
	}
	p.Status.Phase, p.Status.Reason, p.Status.Message = v1.PodPhase(top.value("Status")), top.value("Reason"), top.value("Message")
	if strings.HasPrefix(top.value("Status"), "Terminating") {
		p.Status.Phase = v1.PodRunning
	}
	p.Status.PodIP = top.value("IP")
	p.Status.QOSClass = v1.PodQOSClass(top.value("QoS Class"))
	if kind, name, ok := strings.Cut(top.value("Controlled By"), "/"); ok {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: versionOf(kind), Kind: kind, Name: name, Controller: &yes}}
	}
	p.Spec.InitContainers, p.Status.InitContainerStatuses = describedContainers(top.get("Init Containers"))
	p.Spec.Containers, p.Status.ContainerStatuses = describedContainers(top.get("Containers"))
	for _, line := range top.get("Conditions").texts() {
		if f := strings.Fields(line); len(f) == 2 && f[0] != "Type" {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.PodConditionType(f[0]), Status: v1.ConditionStatus(f[1])})
		}
	}
	p.Spec.Volumes = describedVolumes(top.get("Volumes"))
	return p
}

func versionOf(kind string) string {
	if i := slices.IndexFunc(record.Kinds, func(k record.Kind) bool { return k.Kind == kind }); i >= 0 {
		return record.Kinds[i].Version
	}
	return "v1"
}

func describedContainers(t *tree) (all []v1.Container, statuses []v1.ContainerStatus) {
	for _, one := range t.lines() {
		name, _ := one.split()
		c := v1.Container{Name: name, Image: one.value("Image"), Command: one.get("Command").texts(), Args: one.get("Args").texts()}
		c.Resources = v1.ResourceRequirements{Limits: quantities(one.get("Limits")), Requests: quantities(one.get("Requests"))}
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = probe(one.value("Liveness")), probe(one.value("Readiness")), probe(one.value("Startup"))
		c.Ports = ports(one.value("Port") + one.value("Ports"))
		c.Env, c.EnvFrom, c.VolumeMounts = variables(one.get("Environment")), sources(one.get("Environment Variables from")), mounts(one.get("Mounts"))
		all = append(all, c)
		if one.get("State") == nil {
			continue // kubelet has not told of it yet
		}
		s := v1.ContainerStatus{Name: name, Image: c.Image, ImageID: one.value("Image ID"), ContainerID: one.value("Container ID"), Ready: one.value("Ready") == "True", RestartCount: number(one.value("Restart Count"))}
		s.State, s.LastTerminationState = state(one.get("State")), state(one.get("Last State"))
		statuses = append(statuses, s)
	}
	return all, statuses
}

func state(t *tree) (s v1.ContainerState) {
	if t == nil {
		return s
	}
	switch _, kind := t.split(); kind {
	case "Running":
		s.Running = &v1.ContainerStateRunning{StartedAt: at(t.value("Started"))}
	case "Waiting":
		s.Waiting = &v1.ContainerStateWaiting{Reason: t.value("Reason")}
	case "Terminated":
		s.Terminated = &v1.ContainerStateTerminated{
			Reason: t.value("Reason"), Message: t.value("Message"), ExitCode: number(t.value("Exit Code")), Signal: number(t.value("Signal")),
			StartedAt: at(t.value("Started")), FinishedAt: at(t.value("Finished")),
		}
	}
	return s
}

// quantity is one that takes no time to read: with an exponent of many digits it takes forever.
var quantity = regexp.MustCompile(`^[0-9.]{1,20}([numkMGTPE]i?|[eE][+-]?\d{1,2})?$`)

func quantities(t *tree) (all v1.ResourceList) {
	for _, one := range t.lines() {
		name, text := one.split()
		if q, err := resource.ParseQuantity(quantity.FindString(text)); err == nil {
			if all == nil {
				all = v1.ResourceList{}
			}
			all[v1.ResourceName(name)] = q
		}
	}
	return all
}

var port = regexp.MustCompile(`(\d{1,5})/(TCP|UDP|SCTP)(?: \(([^)]+)\))?`)

func ports(text string) (all []v1.ContainerPort) {
	for _, m := range port.FindAllStringSubmatch(text, 100) {
		all = append(all, v1.ContainerPort{ContainerPort: number(m[1]), Protocol: v1.Protocol(m[2]), Name: m[3]})
	}
	return all
}

// probed is a probe as kubectl describes it (DescribeProbe); until 1.36 it wrote #success and #failure.
var probed = regexp.MustCompile(`^(exec|http-get|tcp-socket|grpc) (.*?) ?delay=(\d+)s timeout=(\d+)s period=(\d+)s (?:#success|successThreshold)=(\d+) (?:#failure|failureThreshold)=(\d+)$`)

func probe(text string) *v1.Probe {
	m := probed.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	p := &v1.Probe{InitialDelaySeconds: number(m[3]), TimeoutSeconds: number(m[4]), PeriodSeconds: number(m[5]), SuccessThreshold: number(m[6]), FailureThreshold: number(m[7])}
	switch m[1] {
	case "exec":
		p.Exec = &v1.ExecAction{Command: strings.Fields(strings.Trim(m[2], "[]"))}
	case "http-get":
		u, err := url.Parse(namedPort.ReplaceAllString(m[2], "$1"))
		if err != nil {
			return nil
		}
		p.HTTPGet = &v1.HTTPGetAction{Scheme: v1.URIScheme(strings.ToUpper(u.Scheme)), Host: u.Hostname(), Path: u.Path, Port: intstr.Parse(u.Port())}
		if m := namedPort.FindStringSubmatch(m[2]); m != nil {
			p.HTTPGet.Port = intstr.FromString(m[2])
		}
	case "tcp-socket":
		at := strings.LastIndexByte(m[2], ':')
		p.TCPSocket = &v1.TCPSocketAction{Host: m[2][:max(at, 0)], Port: intstr.Parse(m[2][at+1:])}
	case "grpc":
		_, n, _ := strings.Cut(m[2], ":")
		n, service, _ := strings.Cut(n, " ")
		p.GRPC = &v1.GRPCAction{Port: number(n), Service: &service}
	}
	return p
}

// namedPort is an address with a port that has a name, which no URL has.
var namedPort = regexp.MustCompile(`^([a-z]+://[^/:]*):([A-Za-z][-A-Za-z0-9]*|[0-9]+[A-Za-z-][-A-Za-z0-9]*)`)

// from is a variable that has its value from elsewhere.
var from = regexp.MustCompile(`^<set to the key '([^']+)' (?:in secret|of config map) '([^']+)'>`)

func variables(t *tree) (all []v1.EnvVar) {
	for _, one := range t.lines() {
		key, value := one.split()
		e := v1.EnvVar{Name: key, Value: value}
		if m := from.FindStringSubmatch(value); m != nil {
			optional := strings.HasSuffix(value, "Optional: true")
			e.Value, e.ValueFrom = "", &v1.EnvVarSource{}
			if of := (v1.LocalObjectReference{Name: m[2]}); strings.Contains(m[0], "in secret") {
				e.ValueFrom.SecretKeyRef = &v1.SecretKeySelector{LocalObjectReference: of, Key: m[1], Optional: &optional}
			} else {
				e.ValueFrom.ConfigMapKeyRef = &v1.ConfigMapKeySelector{LocalObjectReference: of, Key: m[1], Optional: &optional}
			}
		}
		all = append(all, e)
	}
	return all
}

func sources(t *tree) (all []v1.EnvFromSource) {
	for _, line := range t.texts() {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		optional := strings.HasSuffix(line, "Optional: true")
		switch of := (v1.LocalObjectReference{Name: f[0]}); f[1] {
		case "ConfigMap":
			all = append(all, v1.EnvFromSource{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: of, Optional: &optional}})
		case "Secret":
			all = append(all, v1.EnvFromSource{SecretRef: &v1.SecretEnvSource{LocalObjectReference: of, Optional: &optional}})
		}
	}
	return all
}

var mounted = regexp.MustCompile(`^(\S+) from (\S+) \((rw|ro)`)

func mounts(t *tree) (all []v1.VolumeMount) {
	for _, line := range t.texts() {
		if m := mounted.FindStringSubmatch(line); m != nil {
			all = append(all, v1.VolumeMount{MountPath: m[1], Name: m[2], ReadOnly: m[3] == "ro"})
		}
	}
	return all
}

// describedVolumes are those of the kinds that may be missing.
func describedVolumes(t *tree) (all []v1.Volume) {
	for _, one := range t.lines() {
		v := v1.Volume{}
		v.Name, _ = one.split()
		kind, _, _ := strings.Cut(one.value("Type"), " ")
		optional := one.value("Optional") == "true"
		switch kind {
		case "ConfigMap":
			v.ConfigMap = &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: one.value("Name")}, Optional: &optional}
		case "Secret":
			v.Secret = &v1.SecretVolumeSource{SecretName: one.value("SecretName"), Optional: &optional}
		case "PersistentVolumeClaim":
			v.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: one.value("ClaimName")}
		case "EmptyDir":
			v.EmptyDir = &v1.EmptyDirVolumeSource{}
		}
		all = append(all, v)
	}
	return all
}

// describedEvents are those at the end of a description, whose columns its first line has.
func describedEvents(top *tree, p *v1.Pod) (all []told) {
	lines := top.get("Events").lines()
	if len(lines) < 2 {
		return nil
	}
	heads := columns(lines[0].text)
	for _, line := range lines[1:] {
		row := cells(line.text, heads)
		e := told{space: p.Namespace, kind: "Pod", name: p.Name}
		e.Type, e.Reason, e.Message, e.Count = row["Type"], row["Reason"], row["Message"], 1
		e.Source.Component = row["From"]
		var ok bool
		if m := repeated.FindStringSubmatch(row["Age"]); m != nil {
			e.Count = number(m[2])
			e.last, ok = ago(m[1])
			e.first, _ = ago(m[3])
		} else if e.last, ok = ago(row["Age"]); ok {
			e.first = e.last
		}
		if path, rest, found := strings.Cut(e.Message, ": "); found && strings.HasPrefix(path, "spec.") {
			e.InvolvedObject.FieldPath, e.Message = path, rest
		}
		if ok && len(all) < 1000 {
			all = append(all, e)
		}
	}
	return all
}
