"""Processes and what passes between them: messages, pipes, child processes, their CPU clocks and memory."""
