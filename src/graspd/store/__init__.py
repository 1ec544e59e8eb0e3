"""Where events are kept: `ports` says what any store can do, `sqlite` does it."""
