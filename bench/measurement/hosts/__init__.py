"""Hosts: this machine, other machines through their agents, and what carries orders to them."""
