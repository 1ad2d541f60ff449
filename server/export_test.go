package server

// LookAtFiles is how long a change of certificates or token takes to be noticed at most.
const LookAtFiles = lookAtFiles
