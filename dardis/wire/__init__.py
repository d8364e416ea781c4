"""What task managers and node managers say to each other, and how it is written down. The only door to msgpack."""
