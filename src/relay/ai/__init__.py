"""One vocabulary for language models and every provider that speaks it."""
