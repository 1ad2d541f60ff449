package engine

// Kinds lists the kinds that the engine was made with.
func (e *Engine) Kinds() []Kind { return e.cfg.Kinds }

// Keys lists the proving keys that are known, resident or not.
func (e *Engine) Keys() []Key {
	if e.cfg.Keys == nil {
		return nil
	}
	return e.cfg.Keys.List()
}
