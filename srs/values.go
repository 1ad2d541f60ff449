package srs

// Values are two lists of points that take the place of H where a prover can use
// them: those by which products on the coset and values of the rows are multiplied
// (package cuzk/backend/values says which).
type Values struct {
	K Query // a point for each point of the coset that counts
	M Query // a point for each row, those of the inputs last
}
