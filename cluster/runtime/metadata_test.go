package runtime

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// notingDB is a database that tells of its changes, as containerd's does.
type notingDB struct {
	*bolt.DB
	told []func(bool)
}

func (d *notingDB) RegisterMutationCallback(f func(bool)) { d.told = append(d.told, f) }

func (d *notingDB) put(t *testing.T, n uint64) {
	t.Helper()
	err := d.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("b"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), binary.BigEndian.AppendUint64(nil, n))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tell := range d.told {
		tell(false)
	}
}

func openDB(t *testing.T, file string) *bolt.DB {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: time.Minute, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// number reads what put wrote; 0: nothing.
func number(t *testing.T, file string) (n uint64) {
	t.Helper()
	db := openDB(t, file)
	defer db.Close()
	err := db.View(func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte("b")); b != nil {
			n = binary.BigEndian.Uint64(b.Get([]byte("k")))
		}
		for err := range tx.Check() {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The copy follows the database, whole, and takes its place after a machine's end.
func TestCopyOfTheDatabase(t *testing.T) {
	root := t.TempDir()
	if err := restoreMetadata(root); err != nil {
		t.Error("with nothing to restore:", err)
	}
	db := &notingDB{DB: openDB(t, metadataFile(root))}
	c, err := startCopier(db, metadataCopy(root), time.Millisecond, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if got := number(t, metadataCopy(root)); got != 0 {
		t.Errorf("the first copy has %d", got)
	}
	for n := range uint64(50) {
		db.put(t, n+1)
	}
	eventually(t, "the copy has the last change", func() bool { return number(t, metadataCopy(root)) == 50 })
	db.put(t, 51)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := number(t, metadataCopy(root)); got != 51 {
		t.Errorf("after the end the copy has %d, want 51", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(metadataFile(root), bytes.Repeat([]byte("torn"), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restoreMetadata(root); err != nil {
		t.Fatal(err)
	}
	if got := number(t, metadataFile(root)); got != 51 {
		t.Errorf("after the restoration there is %d, want 51", got)
	}
}

// After a power cut that tears containerd's database the images are still there,
// and pods can be made.
func TestImagesOutliveAPowerCut(t *testing.T) {
	needRuntime(t)
	dir := dataDir(t)
	c := testConfig(dir)
	r, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadImage(t.Context(), r.Endpoint(), boxArchive(t, "box.tar"), ""); err != nil {
		t.Fatal(err)
	}
	root := c.paths().root
	eventually(t, "the image is in the copy", func() bool {
		raw, err := os.ReadFile(metadataCopy(root))
		return err == nil && bytes.Contains(raw, []byte(testImage))
	})
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(metadataFile(root), bytes.Repeat([]byte("torn"), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := AfterReboot(dir); err != nil {
		t.Fatal(err)
	}
	if r, err = Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s := connect(t, r.Endpoint())
	p := runPod(t, s, c, "after", nil, "/bin/busybox", "sleep", "3600")
	if state, _ := containerState(t.Context(), s, p.container); state != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container is %v", state)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
