package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
	bolt "go.etcd.io/bbolt"
)

// containerd writes some twenty changes to its database for one pod, and waits
// for the disk twice with each: at four milliseconds a wait that is most of what a
// pod's start takes, and with a hundred pods at once nearly all of it. But what is
// written so carefully are containers, which a power cut ends anyway; only what
// is said of images has to outlive it.
//
// So containerd is told not to wait (no_sync), and a copy of the database, which
// is consistent and on disk, is made two seconds after a change. Nothing is lost
// when a program ends, however it does, because the kernel holds what was written.
// When the machine ends, the database may be torn: then the copy takes its place
// (restoreMetadata), and what the last seconds brought is missing. An image among
// it is pulled again, and containerd's collector removes what nobody names.
const (
	metadataPlugin = "whylet-metadata-copy"
	copyAfter      = 2 * time.Second
)

func metadataFile(root string) string {
	return filepath.Join(root, string(plugins.MetadataPlugin)+".bolt", "meta.db")
}

func metadataCopy(root string) string {
	return filepath.Join(root, string(plugins.InternalPlugin)+"."+metadataPlugin, "meta.db")
}

// restoreMetadata puts the copy in the place of a database that a machine's end
// may have torn. No copy is no error: then the database was written by a version
// that waited for the disk.
func restoreMetadata(root string) error {
	from, err := os.Open(metadataCopy(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the copy of containerd's database: %w", err)
	}
	defer from.Close()
	err = replaceDurably(metadataFile(root), func(to *os.File) error {
		_, err := io.Copy(to, from)
		return err
	})
	if err != nil {
		return fmt.Errorf("restoring containerd's database: %w", err)
	}
	return nil
}

// replaceDurably replaces a file as a whole: after a power cut it is the old one
// or the new one.
func replaceDurably(path string, write func(*os.File) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer next.Close()
	if err := write(next); err != nil {
		return err
	}
	if err := next.Sync(); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// database is what the copier needs of containerd's.
type database interface {
	View(func(*bolt.Tx) error) error
	RegisterMutationCallback(func(deleted bool))
}

// copier keeps the copy of the database.
type copier struct {
	db      database
	file    string
	after   time.Duration
	failed  func(error)
	changed chan struct{} // of one: that there was a change, not how many
	stop    chan struct{}
	once    sync.Once
	done    chan struct{}
}

// startCopier makes the first copy before it returns, so that there is one before
// anything is written that could be torn.
func startCopier(db database, file string, after time.Duration, failed func(error)) (*copier, error) {
	c := &copier{
		db: db, file: file, after: after, failed: failed,
		changed: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := c.save(); err != nil {
		return nil, err
	}
	db.RegisterMutationCallback(func(bool) {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	})
	go c.run()
	return c, nil
}

func (c *copier) run() {
	defer close(c.done)
	for {
		select {
		case <-c.changed:
		case <-c.stop:
			return
		}
		select {
		case <-time.After(c.after):
		case <-c.stop:
			c.saveOr()
			return
		}
		// What changes from here on is in the next copy.
		select {
		case <-c.changed:
		default:
		}
		c.saveOr()
	}
}

func (c *copier) saveOr() {
	if err := c.save(); err != nil {
		c.failed(err)
	}
}

func (c *copier) save() error {
	err := c.db.View(func(tx *bolt.Tx) error {
		return replaceDurably(c.file, func(to *os.File) error {
			_, err := tx.WriteTo(to)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("copying containerd's database: %w", err)
	}
	return nil
}

// Close makes a last copy if there was a change. containerd calls it when it ends,
// before it closes the database.
func (c *copier) Close() error {
	c.once.Do(func() { close(c.stop) })
	<-c.done
	select {
	case <-c.changed:
		return c.save()
	default:
		return nil
	}
}

// The copier is a part of containerd: nobody else may open the database.
func init() {
	registry.Register(&plugin.Registration{
		Type:     plugins.InternalPlugin,
		ID:       metadataPlugin,
		Requires: []plugin.Type{plugins.MetadataPlugin},
		InitFn: func(ic *plugin.InitContext) (any, error) {
			db, err := ic.GetSingle(plugins.MetadataPlugin)
			if err != nil {
				return nil, err
			}
			file := filepath.Join(ic.Properties[plugins.PropertyRootDir], "meta.db")
			return startCopier(db.(database), file, copyAfter, func(err error) {
				fmt.Fprintln(os.Stderr, "containerd:", err)
			})
		},
	})
}
