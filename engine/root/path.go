package root

// Path returns the folder of a declared root, resolved when it is there. It
// is for tests of the configuration and for the person who runs the server,
// never for a caller.
func (s *Set) Path(name string) (path string, ok bool) {
	f, ok := s.folders[name]
	return f.path, ok
}
