//go:build linux || darwin

package load

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/engine/diag"
)

// exposed reports files and folders that others can write: whoever can change
// the configuration can call anything. Root and the user who runs Writ may; a
// group may when it is the private group of the owner; on a read-only mount
// nobody can.
func (s *search) exposed() diag.List {
	var problems diag.List
	o := owners{us: os.Getuid(), private: map[[2]uint32]bool{}}
	for _, f := range s.folders {
		o.look(f.path, f.info, &problems)
	}
	for _, f := range s.files {
		o.look(f.path, f.info, &problems)
	}
	return problems
}

type owners struct {
	us      int
	private map[[2]uint32]bool // by user and group
}

func (o *owners) look(path string, info fs.FileInfo, problems *diag.List) {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	why, remedy := o.who(path, info.Mode(), owner.Uid, owner.Gid)
	if why == "" || readOnly(path) {
		return
	}
	problems.Errorf(diag.Position{File: path}, "exposed", "%s can change this, and with it what may be called", why).Hinted("%s", remedy)
}

// who names those who can write although they should not.
func (o *owners) who(path string, mode fs.FileMode, uid, gid uint32) (who, remedy string) {
	quoted := strconv.Quote(path)
	if !strings.ContainsAny(path, " \t\"'\\$`*?[](){}<>|&;#~") {
		quoted = path
	}
	var bits []string
	if mode&0o020 != 0 && !o.own(uid, gid) {
		who, bits = fmt.Sprintf("group %d", gid), append(bits, "g-w")
	}
	if mode&0o002 != 0 {
		who, bits = "every user", append(bits, "o-w")
	}
	if len(bits) > 0 {
		remedy = "run chmod " + strings.Join(bits, ",") + " " + quoted
	}
	if uid != 0 && int(uid) != o.us {
		who, remedy = fmt.Sprintf("its owner, user %d,", uid), fmt.Sprintf("run chown %d %s", o.us, quoted)
	}
	return who, remedy
}

// own reports whether a group is the private group of a user: of the same
// name, the user's first one, and without other members.
func (o *owners) own(uid, gid uint32) bool {
	key := [2]uint32{uid, gid}
	known, ok := o.private[key]
	if !ok {
		known = private(uid, gid)
		o.private[key] = known
	}
	return known
}

func private(uid, gid uint32) bool {
	owner, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return false
	}
	group, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10))
	if err != nil || group.Name != owner.Username || owner.Gid != group.Gid {
		return false
	}
	file, err := os.Open("/etc/group")
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 4 && fields[0] == group.Name {
			return fields[3] == "" || fields[3] == owner.Username
		}
	}
	return false
}

func readOnly(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && s.Flags&readOnlyFlag != 0
}
