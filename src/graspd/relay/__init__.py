"""One client's conversation with us, decided without sockets: parse, check limits, say what is to be done. Pure."""
