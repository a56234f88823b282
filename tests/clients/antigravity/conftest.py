import pytest

from tests.clients.antigravity.making import Home


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)
