"""Administration of an account's credentials. Every handler checks its scope and leaves an audit record."""

import functools


class Forbidden(Exception):
    pass


class NotFound(Exception):
    pass


class Store:
    def __init__(self, **tables):
        self.tables = tables
        self.audit_log = []

    def find(self, table, identifier):
        return self.tables[table].get(identifier)

    def remove(self, table, identifier):
        del self.tables[table][identifier]

    def audit(self, actor, action, identifier):
        self.audit_log.append((actor["name"], action, identifier))


def requires(scope):
    def decorate(handler):
        @functools.wraps(handler)
        def guarded(store, actor, identifier):
            if scope not in actor["scopes"]:
                raise Forbidden(f"{actor['name']} lacks {scope}")
            return handler(store, actor, identifier)

        guarded.scope = scope
        return guarded

    return decorate


@requires("keys:revoke")
def revoke_key(store, actor, key_id):
    if store.find("keys", key_id) is None:
        raise NotFound(f"key {key_id}")
    store.remove("keys", key_id)
    store.audit(actor, "key.revoke", key_id)
    return {"revoked": key_id, "kind": "key"}


@requires("webhooks:revoke")
def revoke_webhook(store, actor, webhook_id):
    if store.find("webhooks", webhook_id) is None:
        raise NotFound(f"webhook {webhook_id}")
    store.remove("webhooks", webhook_id)
    store.audit(actor, "webhook.revoke", webhook_id)
    return {"revoked": webhook_id, "kind": "webhook"}


⟦@requires("sessions:revoke")
def revoke_session(store, actor, session_id):
    if store.find("sessions", session_id) is None:
        raise NotFound(f"session {session_id}")
    store.remove("sessions", session_id)
    store.audit(actor, "session.revoke", session_id)
    return {"revoked": session_id, "kind": "session"}
⟧

HANDLERS = {
    ("DELETE", "/keys"): revoke_key,
    ("DELETE", "/webhooks"): revoke_webhook,
    ("DELETE", "/sessions"): revoke_session,
}


def handle(store, actor, method, path):
    collection, _, identifier = path.rpartition("/")
    return HANDLERS[method, collection](store, actor, identifier)
⟦tests⟧
store = Store(
    keys={"k1": {"owner": "ada"}, "s1": {"owner": "bo"}},
    webhooks={"w1": {"url": "https://example.org/hook"}},
    sessions={"s1": {"agent": "firefox"}, "s2": {"agent": "curl"}},
)
operator = {"name": "olga", "scopes": {"sessions:revoke"}}
auditor = {"name": "ali", "scopes": {"keys:revoke", "webhooks:revoke", "sessions:read"}}

assert handle(store, operator, "DELETE", "/sessions/s1") == {"revoked": "s1", "kind": "session"}
assert store.tables["sessions"] == {"s2": {"agent": "curl"}}
assert "s1" in store.tables["keys"]
assert store.audit_log == [("olga", "session.revoke", "s1")]

try:
    handle(store, operator, "DELETE", "/sessions/s1")
except NotFound as error:
    assert str(error) == "session s1"
else:
    raise AssertionError("a session was revoked twice")
assert len(store.audit_log) == 1

try:
    handle(store, auditor, "DELETE", "/sessions/s2")
except Forbidden as error:
    assert str(error) == "ali lacks sessions:revoke"
else:
    raise AssertionError("the scope was not checked")
assert "s2" in store.tables["sessions"]

assert handle(store, auditor, "DELETE", "/keys/k1")["kind"] == "key"
assert handle(store, auditor, "DELETE", "/webhooks/w1")["kind"] == "webhook"
assert [handler.scope for handler in HANDLERS.values()] == ["keys:revoke", "webhooks:revoke", "sessions:revoke"]
