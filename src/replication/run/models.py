"""Declared settings: models that refuse unknown keys and convert nothing, with errors of one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from privrep.options import hint_on_text, misnamed

EMPTY = "this is empty; it needs at least one entry"


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the file, the key, the value and what it may be."""


class UnknownKey(ValueError):
    """A key that a model does not have."""

    def __init__(self, key: str, known: list[str]):
        super().__init__(misnamed(key, "not a known key", known))
        self.key = key


class Model(BaseModel):
    """An entry of the configuration."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, content: object) -> object:
        if isinstance(content, Mapping) and cls.model_config.get("extra") == "forbid":
            for key in content:
                if key not in cls.model_fields:
                    raise UnknownKey(key, list(cls.model_fields))
        return content


M = TypeVar("M", bound=Model)


def filled(entry: M, shared: Mapping[str, Any]) -> M:
    """Return an entry with its unset fields taken from `shared`, as far as that has them."""
    return entry.model_copy(update={key: value for key, value in shared.items() if key not in entry.model_fields_set})


Count = Annotated[int, Field(ge=1)]


LIMITS = {"ge": "at least", "le": "at most", "gt": "greater than", "lt": "less than"}
TYPES = {"int": "an integer", "float": "a number", "string": "a text", "bool": "true or false"}
TYPES |= dict.fromkeys(("list", "tuple"), "a list") | dict.fromkeys(("dict", "model"), "a mapping")


def _complaint(error: Mapping[str, Any]) -> str:
    """Return one clause for an entry of pydantic's list of errors."""
    kind, value, about = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        return f"the key {error['loc'][-1]!r} is missing"
    if kind == "value_error":
        return str(about["error"])
    if kind == "union_tag_invalid":
        tags = about["expected_tags"].replace(chr(39), "")
        return f"{about['discriminator'].strip(chr(39))}: {about['tag']!r} must be one of {tags}"
    if kind == "literal_error":
        return f"{value!r} must be one of {about['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    if kind in ("too_short", "string_too_short"):
        return EMPTY if not value else f"{value!r} is too short"
    for limit, words in LIMITS.items():
        if limit in about:
            return f"{value!r} must be {words} {about[limit]:g}"
    wanted = TYPES.get(kind.removesuffix("_type"))
    if wanted is None:
        return f"{value!r}: {error['msg']}"
    return f"{value!r} is a {type(value).__name__}, it must be {wanted}{hint_on_text(value)}"


def _place(location: tuple[int | str, ...], content: Any) -> list[str]:
    """Return the keys in the file that lead to an entry, without pydantic's names of models between them."""
    keys = []
    for key in location:
        inside = isinstance(content, Mapping) and key in content
        if inside or isinstance(key, int):
            keys.append(str(key))
            content = content[key]
    return keys


def checked(model: type[M], content: object, source: str, where: Callable[[list[str]], str] = lambda keys: "") -> M:
    """Return the content as a model; ConfigError with its first error in one sentence.

    where : keys of an entry -> its file and line, in place of the source; empty if unknown.
    """
    try:
        return model.model_validate(content)
    except ValidationError as invalid:
        error = invalid.errors()[0]
    place = _place(error["loc"][:-1] if error["type"] == "missing" else error["loc"], content)
    key = f"{'.'.join(place)}: " if place else ""
    wrong = error.get("ctx", {}).get("error")
    at = where([*place, wrong.key] if isinstance(wrong, UnknownKey) else place)
    raise ConfigError(f"{at or source}: {key}{_complaint(error)}")
