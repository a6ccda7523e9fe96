package reload

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// maxFolders bounds the folders that the file system is asked to tell about;
// polling looks after the rest.
const maxFolders = 4096

// notifier tells that something changed in a folder.
type notifier interface {
	// events gives the changed path, or "" when changes may have been missed.
	events() <-chan string
	set(fingerprint)
	close()
}

// silent never tells anything.
type silent struct{}

func (silent) events() <-chan string { return nil }
func (silent) set(fingerprint)       {}
func (silent) close()                {}

// notifier opens the notifications of the system, or none where there are none
// to be had.
func (r *Reloader) notifier() notifier {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		r.options.Log.Warn("the file system does not tell about changes; polling alone", "reason", err, "interval", r.options.Poll)
		return silent{}
	}
	n := &notified{watcher: watcher, reloader: r, changes: make(chan string), done: make(chan struct{}), ended: make(chan struct{})}
	go n.translate()
	return n
}

type notified struct {
	watcher     *fsnotify.Watcher
	reloader    *Reloader
	changes     chan string
	done, ended chan struct{}
	complained  bool
}

func (n *notified) events() <-chan string { return n.changes }

// translate runs until the watcher is closed. A send that nobody waits for
// ends with it too.
func (n *notified) translate() {
	defer close(n.ended)
	for {
		path := ""
		select {
		case event, ok := <-n.watcher.Events:
			if !ok {
				return
			}
			path = filepath.Clean(event.Name)
		case _, ok := <-n.watcher.Errors: // an overflow: anything may have changed
			if !ok {
				return
			}
		}
		select {
		case n.changes <- path:
		case <-n.done:
			return
		}
	}
}

// set watches exactly the folders of a fingerprint. Each is added again even
// if it is watched: another folder may have taken its name.
func (n *notified) set(f fingerprint) {
	if len(f.folders) > maxFolders {
		n.complain("too many folders")
		return
	}
	for _, path := range n.watcher.WatchList() {
		if f.folders[path] == nil {
			_ = n.watcher.Remove(path) // it may have gone by itself
		}
	}
	for path := range f.folders {
		if err := n.watcher.Add(path); err != nil {
			n.complain(err.Error())
		}
	}
}

// complain logs once that notifications are not complete.
func (n *notified) complain(reason string) {
	if !n.complained {
		n.reloader.options.Log.Warn("some folders are only polled for changes", "reason", reason, "interval", n.reloader.options.Poll)
	}
	n.complained = true
}

func (n *notified) close() {
	close(n.done)
	_ = n.watcher.Close()
	<-n.ended
}
