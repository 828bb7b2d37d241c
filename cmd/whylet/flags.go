package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// leastMemory is the smallest node that is of any use, in bytes.
const leastMemory = 64 << 20

// memory is the node's size in bytes, 0 for all of the machine's.
func (s settings) memory() (int64, error) {
	if s.NodeMemory == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(s.NodeMemory)
	if err != nil || q.Value() < leastMemory {
		return 0, fmt.Errorf("--node-memory %q is not an amount of memory of at least 64Mi, such as 2Gi", s.NodeMemory)
	}
	return q.Value(), nil
}

// hostNodeName is the host's name, made fit to be a node's.
func hostNodeName() string {
	host, err := os.Hostname()
	if err != nil {
		return "whylet"
	}
	return sanitiseNodeName(host)
}

// sanitiseNodeName makes a DNS subdomain (RFC 1123) of name: lower case, with a
// hyphen for what may not be in one; "whylet" when nothing is left.
func sanitiseNodeName(name string) string {
	valid := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	var labels []string
	for label := range strings.SplitSeq(valid, ".") {
		if label = strings.Trim(label, "-"); label != "" {
			labels = append(labels, label)
		}
	}
	valid = strings.Join(labels, ".")
	if len(valid) > validation.DNS1123SubdomainMaxLength {
		valid = strings.Trim(valid[:validation.DNS1123SubdomainMaxLength], "-.")
	}
	if valid == "" {
		return "whylet"
	}
	return valid
}
