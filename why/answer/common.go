package answer

import "slices"

// CommonKind says what pods that fail alike have in common.
type CommonKind string

// What pods can have in common: what they ask for, the revision of their workload, the
// nodes that they are on.
const (
	CommonDependency CommonKind = "dependency"
	CommonRevision   CommonKind = "revision"
	CommonNodes      CommonKind = "nodes"
)

// Common is something that pods which fail alike have in common. It is inferred to be why
// where others that do not have it do well, and unknown where they are too few to say.
type Common struct {
	Kind CommonKind `json:"kind"`
	// Name is the Service or place, the workload and its revision, or what the nodes share.
	Name      string    `json:"name"`
	Certainty Certainty `json:"certainty"`
	Text      string    `json:"text"`
	// With are the pods that have it, Without those that they are compared with. Pods that
	// fail otherwise are in neither.
	With    Tally `json:"with"`
	Without Tally `json:"without"`
	// Nodes is on how many nodes those of With are that fail.
	Nodes int `json:"nodes,omitempty"`
	// Changes are what a revision brought.
	Changes []string `json:"changes,omitempty"`
}

// Tally counts pods.
type Tally struct {
	Failing int `json:"failing"`
	All     int `json:"all"`
}

// Shared is something in common of several of many answers.
type Shared struct {
	Common
	// Cause is what the pods fail for, where all fail for the same, and Namespace where they
	// all are.
	Cause     Cause
	Namespace string
}

// InCommon collects what pods that fail alike have in common, each thing once, in the order
// of the answers.
func InCommon(all []Answer) []Shared {
	var found []Shared
	for _, a := range all {
		for _, v := range a.Verdicts {
			for _, c := range v.InCommon {
				cause := v.Cause
				if c.Kind == CommonDependency {
					cause = DependencyDown // each may say it in its own way
				}
				i := slices.IndexFunc(found, func(s Shared) bool { return s.Text == c.Text && s.Cause == cause && s.Name == c.Name })
				switch {
				case c.With.Failing < 2:
				case i < 0:
					found = append(found, Shared{c, cause, a.Subject.Namespace})
				case found[i].Namespace != a.Subject.Namespace:
					found[i].Namespace = ""
				}
			}
		}
	}
	return found
}

func commonRows(all []Common) []Row {
	var rows []Row
	for _, c := range all {
		rows = append(rows, Row{Kind: RowCommon, Tag: string(c.Certainty), Text: c.Text})
	}
	return titled("in common", rows)
}
