"""Players that search: the sampler of worlds (`worlds.py`), and what plays from the worlds."""
