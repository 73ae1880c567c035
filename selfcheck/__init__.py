"""What bench itself costs, finds and misses: its overhead beside bare loops, its power, its false alarms."""
