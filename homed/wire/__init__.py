"""What kernel, SDK and clients share: JSON-RPC, messages, manifest.  Light to import."""
