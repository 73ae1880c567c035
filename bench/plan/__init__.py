"""What is asked: cases as plain data, plans, validation, parameters, placement, estimates."""
