package command

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/prose"
)

// completing bounds how long a shell waits for what could follow.
const completing = 3 * time.Second

// completeNames completes NAME, KIND/NAME and KIND NAME from the cluster, or from the
// journal that is asked.
func (o *options) completeNames(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	kind, prefix := "pod", ""
	if before, _, found := strings.Cut(begun, "/"); found {
		kind, prefix = before, before+"/"
	} else if len(args) > 0 && !strings.Contains(args[0], "/") {
		if named, ok := ask.Kind(args[0]); ok {
			kind = named
		}
	}
	kind, ok := ask.Kind(kind)
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := prose.Each(o.names(cmd.Context(), kind), func(name string) string { return prefix + name })
	if names = starting(names, begun); len(names) > 0 || prefix != "" || len(args) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	kinds := prose.Each(ask.Kinds, func(kind string) string { return kind + "/" })
	return starting(kinds, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// names are all of a kind; none where nobody can be asked.
func (o *options) names(ctx context.Context, kind string) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completing)
	defer cancel()
	from, err := o.source()
	if err != nil {
		return nil
	}
	if o.local() {
		answers, _ := from.All(ctx)
		return prose.Each(answers, func(a answer.Answer) string { return a.Subject.Name })
	}
	targets, _ := from.Select(ctx, kind, "")
	return prose.Each(targets, func(t ask.Target) string { return t.Name })
}

func starting(all []string, begun string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, begun) })
}

func (o *options) completeFlags(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return starting(o.names(cmd.Context(), "namespace"), begun), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("context", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		raw, err := o.config.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return starting(slices.Sorted(maps.Keys(raw.Contexts)), begun), cobra.ShellCompDirectiveNoFileComp
	})
}
