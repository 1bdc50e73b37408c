"""Self-play training: config, rollout, ppo, checkpoint; `train.py` puts them together."""
