package volumes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A claim that is bound stays bound to that volume, and where a volume lies
// cannot be changed (API validation). So what was found out at a pod's first
// set-up holds for its life, and is written to its directory: the next agent
// takes the pod over without asking an API server that may not be there.

// claimsFile is where, below the pod's directory.
const claimsFile = "claims.json"

// recorded is the file: persistent volumes by the name of the pod's volume.
type recorded map[string]*v1.PersistentVolume

// recall gives the persistent volume that a volume of the pod was set up with.
func (m *Manager) recall(uid types.UID, name string) (*v1.PersistentVolume, bool) {
	all, err := m.readRecord(uid)
	if err != nil {
		m.cfg.Log.Warn("what the pod's claims are bound to cannot be read; the API server is asked", "uid", uid, "error", err)
		return nil, false
	}
	pv, ok := all[name]
	return pv, ok && pv != nil
}

// record writes down what a volume of the pod was set up with. A failure is only
// logged: it costs a question later.
func (m *Manager) record(p *podVolumes, uid types.UID, name string, pv *v1.PersistentVolume) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := m.readRecord(uid)
	if err != nil || all == nil {
		all = recorded{}
	}
	all[name] = &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: pv.Name, UID: pv.UID, Annotations: pv.Annotations},
		Spec:       pv.Spec,
	}
	if err := m.writeRecord(uid, all); err != nil {
		m.cfg.Log.Warn("what the pod's claims are bound to cannot be written down", "uid", uid, "error", err)
	}
}

func (m *Manager) readRecord(uid types.UID) (recorded, error) {
	path := filepath.Join(m.podDir(uid), claimsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeRecord(text, path)
}

func decodeRecord(text []byte, path string) (recorded, error) {
	var all recorded
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// writeRecord replaces the file as a whole, so that an agent that dies leaves the
// old or the new one.
func (m *Manager) writeRecord(uid types.UID, all recorded) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	path := filepath.Join(m.podDir(uid), claimsFile)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
