"""Messages and their encoding. The only importer of msgpack."""
