package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whylet.dev/whylet/fact"
)

// Change is one setting of a container with another value.
type Change struct {
	// Container is empty where the question names none: then it is the one that has
	// such a setting.
	Container string `json:"container,omitempty"`
	// Field is the path below the container, such as livenessProbe.timeoutSeconds.
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`

	probe  fact.ProbeKind // empty for memory
	number int32
	bytes  int64
}

const memoryField = "resources.limits.memory"

// probes are the probes by their fields.
var probes = map[string]fact.ProbeKind{"livenessProbe": fact.Liveness, "readinessProbe": fact.Readiness, "startupProbe": fact.Startup}

// settings are the fields of a probe that can be asked about, and the defaults of
// those that are left out (k8s.io/kubernetes pkg/apis/core/v1/defaults.go, SetDefaults_Probe).
var settings = map[string]int32{"initialDelaySeconds": 0, "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3}

// Fields lists what can be asked about.
func Fields() []string {
	all := []string{memoryField}
	for p := range probes {
		for s := range settings {
			all = append(all, p+"."+s)
		}
	}
	slices.Sort(all)
	return all
}

// Parse reads FIELD=VALUE or CONTAINER:FIELD=VALUE, several of them separated by
// commas. The values are looked at when a pod is known.
func Parse(text string) ([]Change, error) {
	var all []Change
	for part := range strings.SplitSeq(text, ",") {
		c, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func parse(text string) (Change, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return Change{}, fmt.Errorf("%q is not FIELD=VALUE, such as livenessProbe.timeoutSeconds=5", text)
	}
	c := Change{Field: strings.TrimSpace(name), To: strings.TrimSpace(value)}
	if container, rest, ok := strings.Cut(c.Field, ":"); ok {
		c.Container, c.Field = container, rest
	}
	if c.Field == "memory" || c.Field == "limits.memory" {
		c.Field = memoryField
	}
	if c.Field == memoryField {
		q, err := resource.ParseQuantity(c.To)
		if err != nil {
			return c, fmt.Errorf("%s: %w", c.Field, err)
		}
		c.bytes = q.Value()
		return c, nil
	}
	probe, setting, _ := strings.Cut(c.Field, ".")
	if _, ok := settings[setting]; !ok || probes[probe] == "" {
		return c, fmt.Errorf("%q cannot be asked about; these can: %s", c.Field, strings.Join(Fields(), ", "))
	}
	n, err := strconv.ParseInt(c.To, 10, 32)
	if err != nil {
		return c, fmt.Errorf("%s: %q is not a number of 32 bits", c.Field, c.To)
	}
	c.probe, c.number = probes[probe], int32(n)
	return c, nil
}

// resolve finds the containers that changes without one mean, and what is set now.
// It fails as the API server would refuse the values.
func resolve(pod *v1.Pod, changes []Change) ([]Change, error) {
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		var names []string
		for j := range pod.Spec.Containers {
			if k := &pod.Spec.Containers[j]; (c.Container == "" || c.Container == k.Name) && c.has(k) {
				names = append(names, k.Name)
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s a %s", nobodyHas(c.Container), strings.Split(c.Field, ".")[0])
		}
		if len(names) > 1 {
			return nil, fmt.Errorf("containers %s have a %s: say which, as in %s:%s=%s", strings.Join(names, " and "), strings.Split(c.Field, ".")[0], names[0], c.Field, c.To)
		}
		c.Container = names[0]
		index := slices.IndexFunc(pod.Spec.Containers, func(k v1.Container) bool { return k.Name == c.Container })
		c.From = c.now(&pod.Spec.Containers[index])
		if err := c.validate(&pod.Spec.Containers[index], field.NewPath("spec", "containers").Index(index)); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

func nobodyHas(name string) string {
	if name == "" {
		return "no container has"
	}
	return "container " + name + " does not have"
}

// has says whether the container has what the change is about. A memory limit can
// be given to any.
func (c Change) has(k *v1.Container) bool { return c.probe == "" || fact.ProbeOf(k, c.probe) != nil }

// settingsOf are the places of a probe's settings, by their fields.
func settingsOf(p *v1.Probe) map[string]*int32 {
	return map[string]*int32{
		"initialDelaySeconds": &p.InitialDelaySeconds, "periodSeconds": &p.PeriodSeconds, "timeoutSeconds": &p.TimeoutSeconds,
		"successThreshold": &p.SuccessThreshold, "failureThreshold": &p.FailureThreshold,
	}
}

// setting is the place of a value in a probe.
func (c Change) setting(p *v1.Probe) *int32 { return settingsOf(p)[strings.Split(c.Field, ".")[1]] }

func (c Change) now(k *v1.Container) string {
	if c.probe == "" {
		if k.Resources.Limits.Memory().IsZero() {
			return "none"
		}
		return k.Resources.Limits.Memory().String()
	}
	return strconv.Itoa(int(cmp.Or(*c.setting(fact.ProbeOf(k, c.probe)), settings[strings.Split(c.Field, ".")[1]])))
}

// validate refuses what the API server would, in its words (k8s.io/kubernetes
// pkg/apis/core/validation/validation.go: validateProbe, validateLivenessProbe,
// validateStartupProbe, ValidateResourceRequirements). A probe's zeros are no
// error there: they mean the default.
func (c Change) validate(k *v1.Container, at *field.Path) error {
	for part := range strings.SplitSeq(c.Field, ".") {
		at = at.Child(part)
	}
	switch {
	case c.probe == "" && c.bytes < 0:
		return field.Invalid(at, c.To, "must be greater than or equal to 0")
	case c.probe == "" && k.Resources.Requests.Memory().Value() > c.bytes:
		return field.Invalid(at, k.Resources.Requests.Memory().String(), fmt.Sprintf("must be less than or equal to memory limit of %s", c.To))
	case c.probe == "":
		return nil
	case c.number < 0:
		return field.Invalid(at, c.number, "must be greater than or equal to 0")
	case strings.HasSuffix(c.Field, "successThreshold") && c.probe != fact.Readiness && c.number > 1:
		return field.Invalid(at, c.number, "must be 1")
	}
	return nil
}

// changed is a container with the changes that are about it, and the defaults where nothing is set.
func changed(k v1.Container, changes []Change) v1.Container {
	k = *k.DeepCopy()
	for _, c := range changes {
		if c.Container != k.Name {
			continue
		}
		if c.probe == "" {
			if k.Resources.Limits == nil {
				k.Resources.Limits = v1.ResourceList{}
			}
			k.Resources.Limits[v1.ResourceMemory] = *resource.NewQuantity(c.bytes, resource.BinarySI)
			continue
		}
		*c.setting(fact.ProbeOf(&k, c.probe)) = c.number
	}
	for _, kind := range probes {
		if p := fact.ProbeOf(&k, kind); p != nil {
			for name, at := range settingsOf(p) {
				*at = cmp.Or(*at, settings[name])
			}
		}
	}
	return k
}
