"""A shop whose machines are compiled while its wheel is built."""
