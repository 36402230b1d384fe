import functools


class StaleToken(Exception):
    pass


def refreshing(refresh):
    """Decorate a call so that a stale token is refreshed and the call made again, once."""
    def decorate(call):
        @functools.wraps(call)
        def wrapper(*args, **kwargs):
            ⟦try:
                return call(*args, **kwargs)
            except StaleToken:
                refresh()
                return call(*args, **kwargs)⟧
        return wrapper
    return decorate
⟦tests⟧
log = []
stale = {"left": 0}


@refreshing(lambda: log.append("refresh"))
def fetch(path, *, page=1):
    """Fetch a page."""
    log.append(path)
    if stale["left"]:
        stale["left"] -= 1
        raise StaleToken(path)
    if path == "/missing":
        raise KeyError(path)
    return f"{path}?page={page}"


assert fetch.__name__ == "fetch" and fetch.__doc__ == "Fetch a page."
assert fetch("/users") == "/users?page=1"
assert log == ["/users"]

log.clear()
stale["left"] = 1
assert fetch("/users", page=3) == "/users?page=3"
assert log == ["/users", "refresh", "/users"]

log.clear()
stale["left"] = 5
try:
    fetch("/users")
except StaleToken:
    pass
else:
    raise AssertionError("a token that stays stale must surface")
assert log == ["/users", "refresh", "/users"]

log.clear()
stale["left"] = 0
try:
    fetch("/missing")
except KeyError:
    pass
else:
    raise AssertionError("another error was swallowed")
assert log == ["/missing"]
