"""The library's `dataclass`, `field` and `replace`, as far as we use them, for every module that a hook may load.

The library's loads `inspect` and a dozen modules more, and compiles half a dozen methods for each class: 27 of the 111
ms that a whole delivery took.  Here one method is compiled, the others are shared.  A class is what the library's
decorator makes of it (tests hold the two against each other), and the library's own functions take it, too.
"""

__all__ = ["dataclass", "field", "replace"]

TYPE_CHECKING = False
if TYPE_CHECKING:  # for a checker it is the library's
    from dataclasses import dataclass, field, replace
else:
    _NONE = object()

    def dataclass(*, slots, frozen=False):
        """Turns the annotations of a class into fields.  It always has slots, which the library is to be told."""
        return lambda cls: _made(cls, frozen)

    def field(*, default=_NONE, default_factory=_NONE, init=True, repr=True, compare=True):
        """What cannot be said of a field by a default alone."""
        return _Field(default, default_factory, init, repr, compare)

    def replace(instance, /, **changes):
        """The same with other values in some fields."""
        return type(instance)(**{**{name: getattr(instance, name) for name in instance.__match_args__}, **changes})

    class _Field:
        __slots__ = ("compare", "default", "factory", "init", "repr")

        def __init__(self, default=_NONE, factory=_NONE, init=True, repr=True, compare=True):
            self.default, self.factory, self.init, self.repr, self.compare = default, factory, init, repr, compare

    class _Fields:
        """What `dataclasses.fields` and its like ask a class for: made when they do."""

        def __init__(self, fields):
            self._fields = fields

        def __get__(self, _instance, cls):
            import dataclasses

            made = []
            for name, each in self._fields.items():
                named = {"default": each.default, "default_factory": each.factory}
                named = {key: value for key, value in named.items() if value is not _NONE}
                named |= {"init": each.init, "repr": each.repr, "compare": each.compare}
                made.append((name, cls.__annotations__[name], dataclasses.field(**named)))
            return dataclasses.make_dataclass(cls.__name__, made).__dataclass_fields__

    def _made(cls, frozen):
        members = dict(vars(cls))
        fields = {}
        for name in cls.__annotations__:
            said = members.pop(name, _NONE)
            fields[name] = said if type(said) is _Field else _Field(said)
        for name in ("__dict__", "__weakref__"):
            members.pop(name, None)
        members["__slots__"] = tuple(fields)
        members["__match_args__"] = tuple(name for name, each in fields.items() if each.init)
        members["__dataclass_fields__"] = _Fields(fields)
        for name, method in _methods(fields, frozen).items():
            members.setdefault(name, method)
        made = type(cls)(cls.__name__, cls.__bases__, members)
        made.__qualname__ = cls.__qualname__
        made.__init__ = _init(made, fields)
        return made

    def _init(cls, fields):
        """The one method that is compiled: calls are checked by the interpreter, and most objects are made by it."""
        known = {"_NONE": _NONE, "__name__": cls.__module__}
        parameters, lines = ["self"], []
        for name, each in fields.items():
            if not each.init:
                continue
            parameter = value = name
            known[f"_set_{name}"] = vars(cls)[name].__set__  # of a frozen one, too
            if each.factory is not _NONE:
                known[f"_new_{name}"] = each.factory
                parameter, value = f"{name}=_NONE", f"_new_{name}() if {name} is _NONE else {name}"
            elif each.default is not _NONE:
                known[f"_default_{name}"] = each.default
                parameter = f"{name}=_default_{name}"
            parameters.append(parameter)
            lines.append(f" _set_{name}(self, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines, " return None"]), known)
        known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return known["__init__"]

    def _methods(fields, frozen):
        shown = [name for name, each in fields.items() if each.repr]
        compared = [name for name, each in fields.items() if each.compare]

        def __repr__(self):
            return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in shown])})"

        def __eq__(self, other):
            if type(self) is not type(other):
                return NotImplemented
            return all(getattr(self, name) == getattr(other, name) for name in compared)

        def __hash__(self):
            return hash(tuple([getattr(self, name) for name in compared]))

        def __reduce__(self):
            return type(self), tuple([getattr(self, name) for name in self.__match_args__])

        def __setattr__(self, name, value):
            raise _frozen(f"cannot assign to field {name!r}")

        def __delattr__(self, name):
            raise _frozen(f"cannot delete field {name!r}")

        if not frozen:
            return {"__repr__": __repr__, "__eq__": __eq__, "__hash__": None, "__reduce__": __reduce__}
        return {
            "__repr__": __repr__,
            "__eq__": __eq__,
            "__hash__": __hash__,
            "__reduce__": __reduce__,
            "__setattr__": __setattr__,
            "__delattr__": __delattr__,
        }

    def _frozen(said):
        from dataclasses import FrozenInstanceError

        return FrozenInstanceError(said)
