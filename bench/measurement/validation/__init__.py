"""From parameters to cases that this machine and its systems can measure: choices, checks, profiles, estimates."""
