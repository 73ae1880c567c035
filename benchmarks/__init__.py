"""What the laboratory itself costs: `make benchmark` prints ratios to bare loops, interleaved."""
