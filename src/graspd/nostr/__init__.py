"""The Nostr protocol as values: events, filters, messages, kinds, tags, URLs and keys. Pure."""
