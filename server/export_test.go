package server

// LookAtCerts is how long a change of certificates takes to be noticed at most.
const LookAtCerts = lookAtCerts
