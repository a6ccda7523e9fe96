//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/engine/mask"
)

// liveMasked starts the program behind the mask and returns when it has ended
// and its pipes are read. Its number is not ours to know: all that concerns it
// goes by the link, and closing that ends what is left of its group.
func (p *process) liveMasked(ctx context.Context, masked Masked, files []uintptr, buffer []byte) (end, error) {
	link, err := masked.Start(p.visible, mask.Program{
		Path: p.path, Cwd: p.cwd, Argv: p.argv, Environ: p.environ,
		Stdin: int(files[0]), Stdout: int(files[1]), Stderr: int(files[2]),
	})
	p.closeTheirs()
	if err != nil {
		return end{}, err
	}
	p.link, p.exit = link, int(link)
	stop := context.AfterFunc(ctx, p.terminate)
	lingered := p.attend(buffer)
	stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	if p.kill != nil {
		p.kill.Stop()
	}
	p.link.Close()
	if syscall.Errno(p.masked.Errno) == syscall.ENOENT {
		return end{}, errHidden
	}
	if p.masked.Errno != 0 {
		return end{}, syscall.Errno(p.masked.Errno)
	}
	e := end{code: p.masked.Code, stopped: p.stopped, lingered: lingered, escaped: p.escaped}
	if p.masked.Signal != 0 {
		e.signal = strings.TrimPrefix(unix.SignalName(syscall.Signal(p.masked.Signal)), "SIG")
	}
	return e, nil
}

// over takes note of the end of the program.
func (p *process) over() {
	if p.link < 0 {
		shut(&p.exit)
		return
	}
	p.masked, p.exit = p.link.Result(), -1
}

// errHidden is for who wrote the tool, too: most programs that are missing
// behind the mask lie in a home.
var errHidden = errors.New("the program, its interpreter or the folder to work in is hidden from programs, or not there any more; the tool can name it as visible, the settings as a root")
