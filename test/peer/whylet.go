package peer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// StartWhylet starts a Whylet node as a user would (whylet up --detach) and loads
// the test images into it. flags go to whylet up.
func StartWhylet(ctx context.Context, bin Binaries, flags ...string) (*Stack, error) {
	s, err := newStack(ctx, "whylet")
	if err != nil {
		return nil, err
	}
	if err := s.whylet(ctx, bin, "up", flags...); err != nil {
		return nil, errors.Join(err, errors.New(s.Logs()), s.Stop())
	}
	return s, nil
}

// whylet starts a node by one of whylet's commands, and loads the test images into it.
func (s *Stack) whylet(ctx context.Context, bin Binaries, command string, flags ...string) error {
	s.program = filepath.Join(bin.Whylet, "whylet")
	s.onStop(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		return s.run(ctx, "down", "--purge")
	})
	began := time.Now()
	s.flags = append([]string{
		command, "--detach", "--kubeconfig", s.Kubeconfig,
		"--eviction-hard", "memory.available<100Mi", // as kubeletConfig has it
	}, flags...)
	if err := s.run(ctx, s.flags...); err != nil {
		return err
	}
	s.ToReady = time.Since(began)
	if err := s.connect(); err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	images, err := imageArchives(bin)
	if err != nil {
		return err
	}
	return s.run(ctx, append([]string{"image", "load"}, images...)...)
}

// Replace ends a node of Whylet's and starts it again on the same data by another release's
// programs, as its documentation says. Containers run on meanwhile.
func (s *Stack) Replace(ctx context.Context, bin Binaries) error {
	s.program = filepath.Join(bin.Whylet, "whylet")
	if err := s.run(ctx, "down"); err != nil {
		return err
	}
	if err := s.run(ctx, s.flags...); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	return s.waitReady(ctx)
}

// run runs whylet with the node's data.
func (s *Stack) run(ctx context.Context, args ...string) error {
	if out, err := s.Command(ctx, s.program, append(args, "--data-dir", filepath.Join(s.Dir, "data"))...).CombinedOutput(); err != nil {
		return fmt.Errorf("whylet %s: %w: %s", args[0], err, out)
	}
	return nil
}

// imageArchives are the images to load; by default the test images of `make images`.
func imageArchives(bin Binaries) ([]string, error) {
	dir := bin.Images
	if dir == "" {
		dir = filepath.Join(bin.Whylet, "images")
	}
	images, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err == nil && len(images) == 0 {
		err = fmt.Errorf("no images in %s: run 'make images'", dir)
	}
	return images, err
}
