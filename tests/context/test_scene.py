"""What decisions are made from."""

from rehydrate.context import Meter, Policy, Request
from rehydrate.context.scene import Stage
from rehydrate.context.state import State


class Own(Meter):
    """A host's own, for which everything takes a thousand."""

    def block(self, block):
        return 1_000

    def message(self, message):
        return 1_000

    def fixed(self, *, system, tools):
        return 1_000


def test_a_meter_of_the_hosts_own_counts_all_of_a_request():
    stage = Stage(window=None, meter=Own(), policy=Policy())
    request = Request(model="m", format="anthropic", system="hi", control=[{"role": "user", "content": "now"}])
    assert stage.scene(State(), request).snapshot.tokens == 2_000
    assert stage.meter.block({"type": "text", "text": "hi"}) == 1_000
