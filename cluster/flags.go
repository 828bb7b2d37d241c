package cluster

import (
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// parseFlags sets a component's options the way its command line would. Flags
// are the interface that Kubernetes documents and keeps stable; its options
// structs are neither.
func parseFlags(component string, sets cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		all.AddFlagSet(set)
	}
	if err := all.Parse(args); err != nil {
		return fmt.Errorf("flags of %s: %w", component, err)
	}
	return nil
}
