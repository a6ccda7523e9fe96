// Package mask answers one question: what can a program that Writ started not
// see?
//
// A program behind the mask runs in mount, process and IPC namespaces of its
// own, where the state folder, the configuration, the control socket, /run,
// /tmp and the homes are hidden, except the declared roots and what its tool
// names as visible. It holds no capability that could lift the mask, can gain
// none, and can neither signal nor trace the server. One runner for each set
// of visible paths lives there and starts every program. The package decides
// nothing about calls, and never starts a program outside the mask: where the
// mask cannot be built, Status says why and the user of the package decides.
package mask

import "log/slog"

// Options say what is hidden and what is left. Paths are absolute.
type Options struct {
	State  string   // the state folder
	Config []string // the files and folders of the configuration; those that exist
	Socket string   // the control socket, "" when there is none; its folder is hidden
	Roots  []string // folders that programs may change
	Homes  []string // empty means those of this user; root hides all of /home too
	Log    *slog.Logger
}

// Program is one program to start. The descriptors stay the caller's.
type Program struct {
	Path, Cwd             string
	Argv, Environ         []string
	Stdin, Stdout, Stderr int
}

// Link is a descriptor that belongs to one started program. It is readable
// once the program has ended or could not be started. Closing it ends what is
// left of the program and of its group.
type Link int

// End is how a program ended. Code counts when Signal and Errno are 0.
type End struct {
	Code   int
	Signal int // the number of the signal that ended it
	Errno  int // why it could not be started
}
