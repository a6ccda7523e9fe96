package control

import "golang.org/x/sys/unix"

// peer is the user at the other end, as the kernel knows it.
func peer(fd int) (int, error) {
	credentials, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(credentials.Uid), nil
}
