"""Speed on one core, each figure beside a peer measured in the same run: `python -m benchmarks`."""
