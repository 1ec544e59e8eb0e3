"""Range-based set reconciliation: negentropy protocol V1, the one NIP-77 carries.

Two parties hold sets of (created_at, id) and find out what each lacks while sending little more than the
differences. Pure: bytes in, bytes out.

    items = ItemSet.from_columns(created_at, ids)       # sorted columns, no Python object an item
    initiator = Initiator(items, frame_size_limit=60_000)
    message = initiator.initiate()                      # send; then for each message that comes back:
    reply = initiator.reconcile(answer)                 # reply.have, reply.need; reply.message is None when done
    answer = Responder(items).reconcile(message)        # the other side

Whatever a peer sends, `NegentropyError` is all that comes of it.
"""

from graspd.negentropy.items import ItemSet
from graspd.negentropy.lists import id_list
from graspd.negentropy.reconcile import FRAME_SIZE_MIN, Initiator, Reply, Responder
from graspd.negentropy.wire import NegentropyError

__all__ = ["FRAME_SIZE_MIN", "Initiator", "ItemSet", "NegentropyError", "Reply", "Responder", "id_list"]
