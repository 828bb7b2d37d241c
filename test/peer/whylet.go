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
	whylet, data := filepath.Join(bin.Whylet, "whylet"), filepath.Join(s.Dir, "data")
	s.onStop(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if out, err := s.Command(ctx, whylet, "down", "--purge", "--data-dir", data).CombinedOutput(); err != nil {
			return fmt.Errorf("whylet down --purge: %w: %s", err, out)
		}
		return nil
	})
	began := time.Now()
	args := []string{command, "--detach", "--data-dir", data, "--kubeconfig", s.Kubeconfig}
	if command == "up" {
		args = append(args, "--eviction-hard", "memory.available<100Mi") // as kubeletConfig has it
	}
	args = append(args, flags...)
	if out, err := s.Command(ctx, whylet, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("whylet %s: %w: %s", command, err, out)
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
	load := append([]string{"image", "load", "--data-dir", data}, images...)
	if out, err := s.Command(ctx, whylet, load...).CombinedOutput(); err != nil {
		return fmt.Errorf("whylet image load: %w: %s", err, out)
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
