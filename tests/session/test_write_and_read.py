"""What a log has written is what the views of its session hold, whatever was done in whatever order."""

from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.clients.claude_code import layout, lineage, transcript
from rehydrate.session import Place, Session, SessionLog, assistant, user

from .conftest import SESSION


class Model:
    """A session that is written, and what its views are to hold."""

    def __init__(self, folder):
        self.place = Place(folder, "-w", SESSION)
        self.log = self.open()
        self.active = []
        self.scrollback = []
        self.words = []
        """What can still be taken back, taken out or preserved."""
        self.said = []
        """What somebody has said that was neither taken back nor out."""

    def open(self, tip=None):
        return SessionLog(self.place, cwd="/", tip=tip)

    def say(self, pick):
        text = f"{len(self.scrollback)}."  # not twice the same
        made = user(text) if len(self.words) % 2 == 0 else assistant(text)
        self._written(self.log.append(made))
        self.words.append(self.active[-1])
        self.said.append(self.active[-1])

    def retract(self, pick):
        if self.words and self.words[-1] == self.log.tip:
            uuid = self.words.pop()
            self.log.retract(uuid)
            self.active.remove(uuid)
            self.scrollback.remove(uuid)
            self.said.remove(uuid)

    def snip(self, pick):
        here = [uuid for uuid in self.words if uuid in self.active]
        if here:
            uuid = here[pick % len(here)]
            self._written(self.log.snip([uuid]))
            self.active.remove(uuid)
            self.words.remove(uuid)
            self.said.remove(uuid)

    def compact(self, pick):
        here = [uuid for uuid in self.active if uuid in self.words]
        if here:
            kept = here[len(here) - pick % (len(here) + 1) :]
            mark = self.log.compact("In short.", trigger="manual", preserve=kept)
            self.active = [mark, self.log.tip, *kept]
            self.scrollback += [mark, self.log.tip]

    def reopen(self, pick):
        self.log.close()
        self.log = self.open()

    def _written(self, uuid):
        self.active.append(uuid)
        self.scrollback.append(uuid)


steps = st.tuples(st.sampled_from(["say"] * 4 + ["retract", "snip", "compact", "reopen"]), st.integers(0, 9))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=14))
def test_the_views_hold_what_was_written(made):
    with TemporaryDirectory() as folder:
        model = Model(folder)
        model.say(0)
        for name, pick in made:
            getattr(model, name)(pick)
        model.log.close()
        with Session.open(model.place.path) as session:
            assert list(session.view("active").uuids) == model.active
            assert list(session.view("scrollback").uuids) == model.scrollback
            assert list(session.verify()) == [] and not session.view("scrollback").gaps
            leaf = session.leaf
        place = layout.place_of(model.place.path)  # for the client of Claude Code it is one of its own
        told = transcript.read(place, lineage.trace(place).segments, boundary=None)
        assert [turn.step for turn in told.turns] == model.said
        assert (transcript.survey(place).last_step, told.damaged) == (leaf, 0)
