"""Sessions of one's own agent, as `rehydrate.session` writes them.  Nothing runs a hook for them."""
