"""What figures share: axes, lines, legends, and rows from a reference run."""
