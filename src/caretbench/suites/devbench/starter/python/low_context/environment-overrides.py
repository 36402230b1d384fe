import os
from contextlib import contextmanager


def assign(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextmanager
def environment(**overrides):
    """Override environment variables (None removes one) inside a block only, however it ends."""
    before = {name: os.environ.get(name) for name in overrides}
    ⟦try:
        for name, value in overrides.items():
            assign(name, value)
        yield
    finally:
        for name, value in before.items():
            assign(name, value)⟧
⟦tests⟧
os.environ["DEPLOY_REGION"] = "eu-west"
os.environ["DEPLOY_TOKEN"] = "t-1"
os.environ.pop("DEPLOY_STAGE", None)

with environment(DEPLOY_REGION="us-east", DEPLOY_TOKEN=None, DEPLOY_STAGE="canary"):
    assert os.environ["DEPLOY_REGION"] == "us-east"
    assert "DEPLOY_TOKEN" not in os.environ
    assert os.environ["DEPLOY_STAGE"] == "canary"
assert os.environ["DEPLOY_REGION"] == "eu-west"
assert os.environ["DEPLOY_TOKEN"] == "t-1"
assert "DEPLOY_STAGE" not in os.environ

try:
    with environment(DEPLOY_REGION=None, DEPLOY_STAGE="dev"):
        assert "DEPLOY_REGION" not in os.environ
        raise RuntimeError("deployment failed")
except RuntimeError as error:
    assert str(error) == "deployment failed"
else:
    raise AssertionError("the error of the block was swallowed")
assert os.environ["DEPLOY_REGION"] == "eu-west"
assert "DEPLOY_STAGE" not in os.environ

with environment(DEPLOY_REGION="outer"):
    with environment(DEPLOY_REGION="inner"):
        assert os.environ["DEPLOY_REGION"] == "inner"
    assert os.environ["DEPLOY_REGION"] == "outer"
assert os.environ["DEPLOY_REGION"] == "eu-west"
