package knowledge

import (
	"regexp"
	"strings"

	"whylet.dev/whylet/shell"
)

// verb is what a step of one kind needs.
type verb struct {
	wantsText, wantsCommand, takesCommand bool
	slots                                 []string
}

// Verbs are what steps can do, by name. What each does with a pod's spec is a reasoner's business.
var Verbs = map[string]verb{
	"change-spec":           {wantsText: true},                                // edit the workload's template
	"change-program":        {wantsText: true},                                // change the program, its image or what is outside the cluster
	"restart":               {wantsText: true},                                // start the workload's pods again
	"edit-config":           {wantsText: true},                                // edit the one ConfigMap that configures the container, else the template
	"at-database":           {wantsText: true, takesCommand: true},            // change what the container asks, wherever that is
	"inspect":               {wantsText: true, wantsCommand: true},            // look
	"run":                   {wantsText: true, wantsCommand: true},            // run a command
	"compare-credentials":   {wantsText: true},                                // compare credentials, by the Secret that has them
	"check-certificate":     {wantsText: true},                                // show the certificate of the server that is asked
	"give-setting":          {wantsText: true},                                // set a variable or setting that is missing, or find where it is lost
	"rejoin-cluster":        {wantsText: true},                                // join a cluster again, and keep the data from then on
	"repair-data":           {},                                               // copy and repair the data of the container's volume
	"replace-mounted-file":  {},                                               // change a file that is a mount point elsewhere
	"add-module":            {},                                               // add the module that is missing to the image
	"create-database":       {},                                               // create the database or user that is missing
	"add-hba-line":          {slots: []string{"host", "user"}},                // add a line to pg_hba.conf
	"allow-service-account": {slots: []string{"account", "verb", "resource"}}, // bind a role to a service account
}

// risks are what a step may do.
var risks = []string{"inspect", "safe", "restarts", "changes-limits", "destructive"}

// ofPod are slots that a step has from the pod that it is for.
var ofPod = []string{"pod", "namespace", "container"}

// slotForm fits a slot in a text: {name}, or {name|what stands there without it}; {{name}} stands for {name} itself.
var slotForm = regexp.MustCompile(`\{(\{)?([a-z][a-z_]*)(?:\|([^{}]*))?\}(\})?`)

// slotsOf are the slots in a text that nothing stands for where they are missing.
func slotsOf(text string) (all []string) {
	for _, m := range slotForm.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			all = append(all, m[2])
		}
	}
	return all
}

// Fill puts the values of slots into a text.
func Fill(text string, slots map[string]string) string {
	return slotForm.ReplaceAllStringFunc(text, func(whole string) string {
		m := slotForm.FindStringSubmatch(whole)
		if m[1] != "" {
			return strings.TrimSuffix(strings.TrimPrefix(whole, "{"), "}")
		}
		if value := slots[m[2]]; value != "" {
			return value + m[4]
		}
		return m[3] + m[4]
	})
}

// FillCommand puts the values of slots into a command line, in quotes where a shell would read more into them: what a
// log says may be anything.
func FillCommand(command string, slots map[string]string) string {
	quoted := map[string]string{}
	for name, value := range slots {
		if value != "" {
			quoted[name] = string(shell.Words(value))
		}
	}
	return Fill(command, quoted)
}
