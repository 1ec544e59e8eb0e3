"""Relays as others run them: pure objects that are given texts and answer with texts, each after a while.

    relay = Relay(url, manners, tempers)
    talk, replies = relay.connect(now)
    replies = talk.receive(text, now)          # [(delay, text)]; a text of None hangs up
    replies = relay.publish(event, now)        # [(talk, reply)] for whoever listens

`relay` is a relay as it should be; each other file is a temper that a relay may have, alone or with others. Chance is
given to them. They know nothing of links, faults of delivery or the engine, so a WebSocket server can serve them too.
"""
