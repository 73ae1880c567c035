"""What is installed: packages from locks, Python environments of their own, compiled programs."""
