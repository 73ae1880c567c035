"""From a plan to a run, in the parent: processes are started, made ready, measured, and ended."""
