"""What is asked, as plain data: cases, plans, parameters, placement, hosts, retry policies."""
