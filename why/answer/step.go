package answer

import "slices"

// StepID names a kind of step that another part of an answer finds, completes or replaces.
type StepID string

// Kinds of steps, with the slots that each fills.
const (
	StepReadLog      StepID = "read-log"              // command, which shows more
	StepExec         StepID = "exec"                  // container
	StepTop          StepID = "top"                   // container
	StepOnNode       StepID = "on-node"               // command
	StepExplain      StepID = "explain"               // kubectl why about Target
	StepCheckDNS     StepID = "check-dns"             // whether the cluster's name servers run
	StepWhose        StepID = "whose-address"         // shows which Service or pod has an address
	StepEdit         StepID = "edit"                  // Target
	StepAdvice       StepID = "follow-advice"         // advice
	StepAllowUser    StepID = "allow-user"            // the configuration is right
	StepAllowAny     StepID = "allow-any"             // what was refused is unknown
	StepMountFiles   StepID = "mount-files"           // the configuration is right
	StepNoLinks      StepID = "no-service-links"      // the configuration is right
	StepCompare      StepID = "compare-configuration" // nobody knows which of it is wrong
	StepReaddress    StepID = "correct-address"       // nobody knows where the address is from
	StepGiveAddress  StepID = "give-address"          // container, place, rest
	StepAddEntry     StepID = "add-hba-entry"         // a line of PostgreSQL's pg_hba.conf
	StepCorrectLine  StepID = "correct-line"          // Target is the ConfigMap
	StepGiveSetting  StepID = "give-setting"          // nobody knows which
	StepCreateObject StepID = "create-object"         // Target is the ConfigMap or Secret; then
	StepAddKey       StepID = "add-key"               // Target is the ConfigMap or Secret; then
	StepSeeObjects   StepID = "see-objects"           // Target is the ConfigMap or Secret that is missing, or lacks a key
	StepCorrect      StepID = "correct"               // what a message names, in an unknown place
	StepSetVariables StepID = "set-variables"         // variables
	StepGrowClaim    StepID = "grow-claim"            // Target is the claim; nobody knows whether its StorageClass allows it
	StepMendAsked    StepID = "mend-asked"            // when; what the pod asks is not known
)

// Slots are what a step's text and command were made of, by name.
type Slots map[string]string

// Names of slots.
const (
	SlotContainer = "container"
	SlotCommand   = "command"
	SlotAdvice    = "advice"
	SlotPlace     = "place"
	SlotRest      = "rest"
	SlotWhen      = "when"
	SlotThen      = "then"
)

// As returns the step with an ID and the slots that it fills.
func (f Fix) As(id StepID, slots Slots) Fix {
	f.ID, f.Slots = id, slots
	return f
}

// About returns the step with the environment variables that it names.
func (f Fix) About(variables ...string) Fix {
	f.Variables = append(slices.Clip(f.Variables), variables...)
	return f
}

// SameCommand reports whether two steps run the same command, or none.
func (f Fix) SameCommand(other Fix) bool { return f.Command == other.Command }

// SameAs reports whether two steps do the same to one object.
func (f Fix) SameAs(other Fix) bool { return f.ID == other.ID && f.Target == other.Target }

// Step returns the index of the first step of a kind; -1 where there is none.
func (v *Verdict) Step(id StepID) int {
	return slices.IndexFunc(v.Fixes, func(f Fix) bool { return f.ID == id })
}

// HasStep reports whether a verdict has a step of one of these kinds.
func (v *Verdict) HasStep(ids ...StepID) bool {
	return slices.ContainsFunc(v.Fixes, func(f Fix) bool { return slices.Contains(ids, f.ID) })
}

// MostSteps is how many steps people are shown: the likeliest come first.
const MostSteps = 3

// Steps returns the steps that people are shown: the first three, no text and no inspecting command twice.
func (v *Verdict) Steps() (all []Fix) {
	for _, f := range v.Fixes {
		again := func(o Fix) bool {
			return o.Text == f.Text || f.Risk == Inspect && f.Command != "" && o.Command == f.Command
		}
		if len(all) < MostSteps && !slices.ContainsFunc(all, again) {
			all = append(all, f)
		}
	}
	return all
}

// DropSteps removes the steps that fit.
func (v *Verdict) DropSteps(fits func(Fix) bool) {
	v.Fixes = slices.DeleteFunc(slices.Clone(v.Fixes), fits)
}

// AddFirst puts steps before all others.
func (v *Verdict) AddFirst(steps ...Fix) { v.Fixes = append(steps, v.Fixes...) }
