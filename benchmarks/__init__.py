"""What assembling a stream costs, as ratios to a floor measured in the same run. `make bench` prints the tables."""
