// Package lint holds the project's own rules as tests: which package may import
// which, what pure packages may not touch, how long files may be, what must be
// documented. ARCHITECTURE.md explains the rules.
package lint
