package srs

import "cuzk/sector"

// Shape is the number of points in each list of a key. It follows from the
// circuit: with n rows (per-input rows included) and m the next power of two,
// H = m-1, L is every aux variable, A is every input and the aux variables that
// occur in matrix A, B is input one and the aux variables that occur in matrix
// B. A key of another shape is a key of another circuit.
type Shape struct {
	Inputs int // public inputs, one included: points of ic
	H      int
	L      int
	A      int
	B      int // points of b in G1, and again in G2
}

// VKBytes is the size of the verifying key.
func (s Shape) VKBytes() int64 { return vkHeader + g1Size*int64(s.Inputs) }

// ParamsBytes is the size of the proving key.
func (s Shape) ParamsBytes() int64 {
	g1 := int64(s.H) + int64(s.L) + int64(s.A) + int64(s.B)
	return s.VKBytes() + 5*countSize + g1Size*g1 + g2Size*int64(s.B)
}

// Bytes is the size of a part, Params or VK.
func (s Shape) Bytes(part string) int64 {
	if part == VK {
		return s.VKBytes()
	}
	return s.ParamsBytes()
}

// Shape is the shape of the circuit's key, all zero for a circuit that does not
// exist.
func (id ID) Shape() Shape { return shapes[id] }

// shapes was derived from the reference's circuits (storage-proofs-* 19.1 run
// under a recording constraint system). The numbers of porep-32GiB agree with
// those recorded by a prover with the published key, the sizes with published
// listings. Columns: Inputs, H, L, A, B.
var shapes = map[ID]Shape{
	{PoRep, sector.Size2KiB}:     {40, 4194303, 2685673, 2674948, 685522},
	{PoRep, sector.Size4KiB}:     {40, 4194303, 2786423, 2773198, 716040},
	{PoRep, sector.Size16KiB}:    {40, 4194303, 2974867, 2959970, 766964},
	{PoRep, sector.Size32KiB}:    {40, 4194303, 3075617, 3058220, 797482},
	{PoRep, sector.Size8MiB}:     {40, 4194303, 3842449, 3815036, 1011290},
	{PoRep, sector.Size16MiB}:    {40, 4194303, 3943199, 3913286, 1041808},
	{PoRep, sector.Size512MiB}:   {40, 8388607, 4420837, 4385080, 1174174},
	{PoRep, sector.Size1GiB}:     {40, 8388607, 4521587, 4483330, 1204692},
	{PoRep, sector.Size32GiB}:    {328, 134217727, 130169893, 129753620, 33112282},
	{PoRep, sector.Size64GiB}:    {328, 134217727, 131076643, 130637870, 33386944},
	{Winning, sector.Size2KiB}:   {133, 131071, 91674, 69433, 66793},
	{Winning, sector.Size4KiB}:   {133, 131071, 112464, 85075, 82303},
	{Winning, sector.Size16KiB}:  {133, 131071, 127116, 96295, 92467},
	{Winning, sector.Size32KiB}:  {133, 262143, 147906, 111937, 107977},
	{Winning, sector.Size8MiB}:   {133, 262143, 233442, 176881, 169489},
	{Winning, sector.Size16MiB}:  {133, 262143, 254232, 192523, 184999},
	{Winning, sector.Size512MiB}: {133, 524287, 304326, 230605, 220837},
	{Winning, sector.Size1GiB}:   {133, 524287, 325116, 246247, 236347},
	{Winning, sector.Size32GiB}:  {133, 524287, 375210, 284329, 272185},
	{Winning, sector.Size64GiB}:  {133, 524287, 396000, 299971, 287695},
	{Window, sector.Size2KiB}:    {23, 32767, 22128, 16793, 16029},
	{Window, sector.Size4KiB}:    {23, 32767, 28428, 21533, 20729},
	{Window, sector.Size16KiB}:   {23, 32767, 32868, 24933, 23809},
	{Window, sector.Size32KiB}:   {23, 65535, 39168, 29673, 28509},
	{Window, sector.Size8MiB}:    {23, 65535, 65088, 49353, 47149},
	{Window, sector.Size16MiB}:   {23, 131071, 71388, 54093, 51849},
	{Window, sector.Size512MiB}:  {23, 131071, 86568, 65633, 62709},
	{Window, sector.Size1GiB}:    {23, 131071, 92868, 70373, 67409},
	{Window, sector.Size32GiB}:   {25840, 134217727, 126902376, 96205645, 91925767},
	{Window, sector.Size64GiB}:   {25301, 134217727, 131500200, 99649801, 95413201},
	{Update, sector.Size2KiB}:    {5, 2097151, 1703569, 1697194, 444404},
	{Update, sector.Size4KiB}:    {5, 4194303, 2163189, 2155234, 564064},
	{Update, sector.Size16KiB}:   {5, 8388607, 6293944, 6284887, 1613423},
	{Update, sector.Size32KiB}:   {5, 8388607, 6753564, 6742927, 1733083},
	{Update, sector.Size8MiB}:    {5, 16777215, 9998039, 9981020, 2567922},
	{Update, sector.Size16MiB}:   {5, 16777215, 10457659, 10439060, 2687582},
	{Update, sector.Size512MiB}:  {5, 67108863, 57401314, 57212322, 14916880},
	{Update, sector.Size32GiB}:   {5, 134217727, 80978488, 80743586, 20983608},
	{Update, sector.Size64GiB}:   {5, 134217727, 84931220, 84682730, 22012684},
}
