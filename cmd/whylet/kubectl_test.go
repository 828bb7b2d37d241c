package main

import (
	"slices"
	"testing"
)

func TestKubectlArgs(t *testing.T) {
	for _, test := range []struct{ args, want []string }{
		{[]string{"whylet", "kubectl", "get", "pods"}, []string{"kubectl", "get", "pods"}},
		{[]string{"/usr/local/bin/kubectl", "get", "pods"}, []string{"/usr/local/bin/kubectl", "get", "pods"}},
		{[]string{"bin/whylet", "kubectl"}, []string{"kubectl"}},
		{[]string{"whylet", "why", "kubectl"}, nil},
		{[]string{"whylet"}, nil},
		{nil, nil},
	} {
		got, ok := kubectlArgs(test.args)
		if !slices.Equal(got, test.want) || ok != (test.want != nil) {
			t.Errorf("kubectlArgs(%q) = %q, %t, want %q", test.args, got, ok, test.want)
		}
	}
}
