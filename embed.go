// Package writ holds the tools and policies that the binary brings along, for
// whoever runs it without a configuration of their own.
package writ

import "embed"

// Packs holds tools.d and policies as they are in this repository.
//
//go:embed tools.d policies
var Packs embed.FS
