package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/serve"
	"whylet.dev/whylet/why/suggest"
	"whylet.dev/whylet/why/whatif"
)

// propose answers --what-if and --suggest.
func (o *whyOptions) propose(ctx context.Context, s streams, from asked, t target) error {
	switch {
	case o.suggest && len(o.whatIf) > 0:
		return usageError("--what-if and --suggest exclude each other")
	case o.all || o.watch || t.kind != "pod":
		return usageError("--what-if and --suggest are about one pod")
	case o.output == "wide":
		return usageError("-o wide has nothing more to show here; text, json and yaml are known")
	}
	if o.suggest {
		var r suggest.Result
		if err := from.proposal(ctx, t, &r); err != nil {
			return err
		}
		if o.output == "text" {
			_, err := fmt.Fprint(s.out, r.Text())
			return err
		}
		return o.writeData(s, r)
	}
	if _, err := whatif.Parse(o.changes()); err != nil {
		return usageError("--what-if: %v", err)
	}
	var r whatif.Result
	if err := from.proposal(ctx, t, &r); err != nil {
		return err
	}
	if o.output == "text" {
		_, err := fmt.Fprint(s.out, r.Text(time.Local))
		return err
	}
	return o.writeData(s, r)
}

// changes are all of --what-if, however often it was given.
func (o *whyOptions) changes() string { return strings.Join(o.whatIf, ",") }

func (m *memory) proposal(_ context.Context, t target, into any) error {
	var err error
	switch r := into.(type) {
	case *suggest.Result:
		*r, err = serve.Suggest(m.source, m.question(t.name))
	case *whatif.Result:
		var changes []whatif.Change
		if changes, err = whatif.Parse(m.options.changes()); err == nil {
			*r, err = serve.WhatIf(m.source, m.question(t.name), changes)
		}
	}
	return err
}

// proposal asks the pod's node; where the pod is gone, all of them.
func (c *api) proposal(ctx context.Context, t target, into any) error {
	pod, err := c.client.CoreV1().Pods(c.space).Get(ctx, t.name, metav1.GetOptions{})
	if err == nil {
		if pod.Spec.NodeName == "" {
			return fmt.Errorf("pod %s/%s has no node yet, so nothing was recorded of it", c.space, t.name)
		}
		return c.ask(ctx, pod.Spec.NodeName, pod.Name, string(pod.UID), into)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading pod %s/%s: %w", c.space, t.name, err)
	}
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var errs []error
	for _, n := range nodes.Items {
		err := c.ask(ctx, n.Name, t.name, "", into)
		if err == nil {
			return nil
		}
		if !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("asking node %s: %w", n.Name, err))
		}
	}
	return errors.Join(append(errs, c.notKnown(ctx, t.name))...)
}
