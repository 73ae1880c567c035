"""Open loads in virtual time, through the real timed loop, and the certificate that they give the instrument."""
