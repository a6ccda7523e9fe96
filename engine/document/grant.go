package document

// Grant lets calls through that would otherwise need a person. Match names
// tools, and every scope key of each of them.
type Grant struct {
	Header
	Match *Match `json:"match"`
	When  string `json:"when,omitempty"`
	// MaxRisk is a level; "" is mutating (contract P-55).
	MaxRisk   string `json:"max_risk,omitempty"`
	ExpiresAt string `json:"expires_at"`     // RFC 3339
	Uses      int64  `json:"uses,omitempty"` // 0 means any number
	Reason    string `json:"reason"`
	// Reviewed is a day such as 2026-12-31, or "". A later one makes the grant
	// cover the tools that its patterns select at present.
	Reviewed string `json:"reviewed,omitempty"`
}
