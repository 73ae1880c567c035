"""Code that runs inside measured processes: servers, clients, routers and the timed loops.

These files are imported by every server and client, so they use the standard library alone, and little of it.
"""
