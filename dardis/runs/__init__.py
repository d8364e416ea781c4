"""What a run is, from its request to its folder: in this process, or over ranks."""
